// SPDX-License-Identifier: Apache-2.0
// Requests to the pages of a development server, with any bytes: each ends with a response, and
// only those that are valid reach a shard.
//
// Input: an HTTP request. After the request the bytes choose the counts that a wait gets.
#include <cstdint>
#include <memory>
#include <string_view>

#include "core/base/check.h"
#include "proto/dev/dev_call.h"
#include "proto/http/parser.h"
#include "proto/text/duration.h"

namespace pawl {
namespace {

struct Control final : DevControl {
  void advance_clock(Duration by) override {
    CHECK(by.ms >= 0 && by.ms <= duration_max.ms, "{} ms", by.ms);
  }
  std::uint32_t shards() const override { return 2; }
};

Directory make_directory() {
  Directory directory;
  QueueConfig config;
  config.id = QueueId{1};
  config.account = "000000000000";
  config.name = "q";
  directory.put(std::make_shared<const QueueConfig>(std::move(config)));
  return directory;
}

void answer(const CallRoute& route, std::string_view& choices) {
  CHECK(route.request->op == Op::none || route.request->op == Op::count ||
            route.request->op == Op::delete_queue,
        "op {}", static_cast<int>(route.request->op));
  if (choices.empty()) return;
  const auto choice = static_cast<unsigned char>(choices.front());
  choices.remove_prefix(1);
  route.request->counts = {.visible = choice & 3U, .in_flight = choice >> 2 & 3U};
  if (choice > 250) route.request->error = Errc::no_such_queue;
  if (choice == 250) route.request->error = Errc::overloaded;
}

void ask(std::string_view bytes) {
  static const Directory directory = make_directory();
  static Control control;
  CallSettings settings;
  settings.dev = &control;
  HttpParser parser;
  std::size_t consumed = 0;
  if (parser.feed(bytes, consumed) != HttpParser::State::complete) return;
  std::string_view choices = bytes.substr(consumed);
  DevCall call;
  std::size_t rounds = 0;
  for (CallStep step = call.begin(parser.request(), "000000000000", directory, settings,
                                  Instant{1'796'000'000'000});
       step == CallStep::route; step = call.resume()) {
    CHECK(!call.routes().empty() && call.routes().size() <= DevCall::routes_max);
    for (const CallRoute& route : call.routes()) answer(route, choices);
    // A wait counts once more than it rests.
    CHECK(++rounds <= 3 + 2 * static_cast<std::size_t>(DevCall::wait_max.ms / DevCall::rest.ms),
          "round {}", rounds);
  }
  CHECK(call.status() >= 200 && call.status() <= 503 && call.body().ends_with('\n'));
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  pawl::ask({reinterpret_cast<const char*>(data), size});
  return 0;
}

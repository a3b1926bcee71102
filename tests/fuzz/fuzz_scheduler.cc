// SPDX-License-Identifier: Apache-2.0
// Definitions of schedules and requests of EventBridge Scheduler's API, with any bytes. A
// definition that can be read is the same when written and read again. Every request ends with a
// response; each schedule that one made can be read, and its fires follow each other.
//
// Input: a byte, then a definition if the byte is 'd', else an HTTP request. The byte also chooses
// the broker's answers.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "core/queue/directory.h"
#include "proto/http/parser.h"
#include "proto/scheduler/call.h"
#include "proto/scheduler/reader.h"
#include "proto/scheduler/schedule.h"
#include "proto/sns/topic.h"
#include "proto/text/json_dom.h"

namespace pawl {
namespace {

constexpr std::string_view account = "000000000000";
constexpr Instant fuzz_now{1'700'000'000'000};

QueueConfig row_of(std::uint32_t id, std::string_view row_account, std::string_view name) {
  QueueConfig row;
  row.id = QueueId{id};
  row.set_name(row_account, name);
  return row;
}

// A queue, a FIFO queue, a topic with a subscription, a group, a schedule in it and one outside.
Directory make_rows() {
  Directory rows;
  QueueConfig fifo = row_of(2, account, "q.fifo"), topic = row_of(3, topic_account(account), "t");
  fifo.apply({Attribute::fifo_queue, 1, {}});
  topic.apply({Attribute::topic, -1, "{}"});
  topic.apply({Attribute::topic_row, 1,
               R"({"id":"00000000-0000-4000-8000-000000000001","endpoint":)"
               R"("arn:aws:sqs:r:000000000000:q","attributes":{}})"});
  const std::string schedules = schedule_account(account);
  QueueConfig group = row_of(4, schedules, "g"), n = row_of(5, schedules, "g/n"),
              m = row_of(6, schedules, "default/m");
  for (QueueConfig* row : {&n, &m})
    row->apply({Attribute::schedule, -1,
                R"j({"FlexibleTimeWindow":{"Mode":"OFF"},"ScheduleExpression":"rate(5 minutes)",)j"
                R"j("Target":{"Arn":"arn:aws:sqs:r:000000000000:q",)j"
                R"j("RoleArn":"arn:aws:iam::000000000000:role/r"},"CreationDate":1699999999})j"});
  for (const QueueConfig& row : {row_of(1, account, "q"), fifo, topic, group, n, m})
    rows.put(std::make_shared<const QueueConfig>(row));
  return rows;
}

void check_row(const QueueConfig& row, const Directory& rows) {
  static const DefinitionReader reader(CallSettings(), "http://h");
  const ScheduleTerms terms = reader.terms(row);
  Instant after = fuzz_now;
  for (int i = 0; i < 3 && after < never; ++i) {
    const Instant next = reader.next(row, after);
    CHECK(next > after, "a fire at {} after {}", next.ms, after.ms);
    if (next < never) {
      for (const FiredMessage& message : reader.messages(row, next, rows, ShardId{0})) {
        // No target and no body: no queue can take the message of this fire.
        CHECK(message.targets.empty() == message.body.empty(), "half a message");
        for (const FanOutTarget& target : message.targets)
          CHECK(rows.find(target.queue) != nullptr);
      }
    }
    after = next;
  }
  CHECK(terms.from <= never);
}

void read_definition(std::string_view text) {
  const auto schedule = Schedule::from_text(text);
  if (!schedule) return;
  const std::string written = schedule->text();
  const auto again = Schedule::from_text(written);
  CHECK(again && again->text() == written && again->same_request(*schedule), "{}", written);
  static const Directory rows = make_rows();
  QueueConfig row = row_of(9, schedule_account(account), "default/x");
  row.apply({Attribute::schedule, -1, std::string(text)});
  check_row(row, rows);
}

// Acts as the control shard: all succeeds, or the choice says with which error it does not.
void apply(Request& request, std::uint8_t choice, Directory& rows) {
  constexpr Errc errors[] = {Errc::ok, Errc::overloaded, Errc::directory_full, Errc::io};
  request.error = errors[choice & 3U];
  if (request.op == Op::none || request.error != Errc::ok) return;
  if (request.op == Op::delete_queue) {
    if (rows.find(request.queue) == nullptr) request.error = Errc::no_such_queue;
    return rows.drop(request.queue);
  }
  if (request.op == Op::create_queue) {
    QueueConfig row = row_of(100, request.spec->account, request.spec->name);
    for (const AttributeChange& change : request.spec->changes) {
      CHECK(change.text.size() <= schedule_bytes_max, "{} bytes", change.text.size());
      row.apply(change);
    }
    request.config = std::make_shared<const QueueConfig>(std::move(row));
    if ((choice & 4U) != 0) request.error = Errc::queue_exists;
    return rows.put(request.config);
  }
  CHECK(request.op == Op::set_attributes, "op {}", static_cast<int>(request.op));
  const ConfigPtr is = *rows.find(request.queue);
  QueueConfig row = *is;
  for (const AttributeChange& change : request.changes) row.apply(change);
  if (request.tags != nullptr) {
    CHECK(request.tags->size() <= 50, "{} tags", request.tags->size());
    row.tags = *request.tags;
  }
  request.config = (choice & 8U) != 0 ? is : std::make_shared<const QueueConfig>(std::move(row));
  if ((choice & 8U) != 0) request.error = Errc::changed_meanwhile;
  rows.put(request.config);
}

void ask(std::string_view bytes, std::uint8_t choice) {
  HttpParser parser;
  std::size_t consumed = 0;
  if (parser.feed(bytes, consumed) != HttpParser::State::complete) return;
  if (!SchedulerCall::is_for(parser.request())) return;
  Directory rows = make_rows();
  static const CallSettings settings;
  SchedulerCall call;
  unsigned rounds = 0;
  CallStep step =
      call.begin(parser.request(),
                 {.directory = &rows, .config = &settings, .account = account, .now = fuzz_now});
  for (; step == CallStep::route; step = call.resume(rows)) {
    CHECK(!call.routes().empty() && ++rounds <= change_retries_max + 4, "round {}", rounds);
    for (const CallRoute& route : call.routes()) apply(*route.request, choice, rows);
  }
  CHECK(call.status() >= 200 && call.status() <= 500, "status {}", call.status());
  CHECK(call.error_code().empty() == (call.status() == 200));
  JsonDom dom;
  CHECK(dom.parse(call.body()), "no JSON: {}", call.body());
  rows.for_each([&](const ConfigPtr& row) {
    if (row->kind == ConfigKind::schedule) check_row(*row, rows);
  });
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  data[0] == 'd' ? pawl::read_definition(rest) : pawl::ask(rest, data[0]);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// Receives the messages of a queue, prints each body and deletes the message. It ends when no
// message has come for two seconds.
//
//   consumer QUEUE [PORT]
//
// A message is deleted after it has been printed: a crash between the two prints it again later.
#include <pawl/client.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

int fail(const char* what, const pawl::Client::Error& error) {
  const std::string_view name = pawl::Client::name_of(error.code);
  std::fprintf(stderr, "consumer: %s: %.*s\n", what, static_cast<int>(name.size()), name.data());
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: consumer QUEUE [PORT]\n"), 2;
  pawl::Client::Options options{.name = "example consumer"};
  if (argc > 2) options.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  auto client = pawl::Client::connect(options);
  if (!client) return fail("connect", client.error());
  auto queue = client->open_queue(argv[1]);
  if (!queue) return fail("open queue", queue.error());

  for (;;) {
    auto messages = client->receive(*queue, {.max = 100, .wait = std::chrono::seconds(2)});
    if (!messages) return fail("receive", messages.error());
    if (messages->empty()) return 0;
    std::vector<pawl::Client::Receipt> receipts;
    for (const pawl::Client::Message& message : *messages) {
      std::printf("%.*s\n", static_cast<int>(message.body.size()), message.body.data());
      receipts.push_back(message.receipt);
    }
    std::fflush(stdout);
    auto deleted = client->delete_message(*queue, receipts);
    if (!deleted) return fail("delete", deleted.error());
  }
}

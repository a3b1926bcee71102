// SPDX-License-Identifier: Apache-2.0
// Sends the lines of the standard input to a queue, pipelined: up to the server's credit of batches
// is in flight. Prints the number of lines that are on the server's disk.
//
//   producer QUEUE [PORT] < lines
//
// Exit code: 0 when every line was acknowledged, else 1 with the reason.
#include <pawl/client.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

namespace {

constexpr std::size_t batch_max = 100;

int fail(const char* what, const pawl::Client::Error& error) {
  const std::string_view name = pawl::Client::name_of(error.code);
  std::fprintf(stderr, "producer: %s: %.*s\n", what, static_cast<int>(name.size()), name.data());
  return 1;
}

class Producer {
 public:
  Producer(pawl::Client& client, const pawl::Client::Queue& queue)
      : client_(client), queue_(queue) {}

  // Sends one batch. Without credit it waits for responses first.
  pawl::Client::Result<void> send(const std::vector<std::string>& lines) {
    std::vector<pawl::Client::Outgoing> batch;
    for (const std::string& line : lines) batch.push_back({.body = line});
    for (;;) {
      const auto ticket = client_.submit_send(queue_, batch);
      if (ticket) return {};
      if (ticket.error().code != pawl::Client::Code::would_block)
        return std::unexpected(ticket.error());
      if (auto taken = take_responses(); !taken) return taken;
    }
  }

  pawl::Client::Result<void> take_responses() {
    if (auto polled = client_.poll(completions_, std::chrono::seconds(30)); !polled)
      return std::unexpected(polled.error());
    for (const pawl::Client::Completion& completion : completions_) {
      if (completion.error.code != pawl::Client::Code::ok) return std::unexpected(completion.error);
      for (const pawl::Client::Sent& sent : completion.sent) {
        // A program that must not stop would send the message again: 2xxx codes are retryable.
        if (sent.code != pawl::Client::Code::ok)
          return std::unexpected(pawl::Client::Error{.code = sent.code});
        ++acknowledged_;
      }
    }
    return {};
  }

  std::size_t acknowledged() const { return acknowledged_; }

 private:
  pawl::Client& client_;
  pawl::Client::Queue queue_;
  std::vector<pawl::Client::Completion> completions_;
  std::size_t acknowledged_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: producer QUEUE [PORT] < lines\n"), 2;
  pawl::Client::Options options{.name = "example producer"};
  if (argc > 2) options.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  auto client = pawl::Client::connect(options);
  if (!client) return fail("connect", client.error());
  auto queue = client->create_queue(argv[1]);
  if (!queue) return fail("create queue", queue.error());

  Producer producer(*client, *queue);
  std::vector<std::string> lines;
  const auto send = [&] {
    auto sent = producer.send(lines);
    lines.clear();
    return sent;
  };
  for (std::string line; std::getline(std::cin, line);) {
    if (line.empty()) continue;  // a body has at least one byte
    lines.push_back(std::move(line));
    if (lines.size() < batch_max) continue;
    if (auto sent = send(); !sent) return fail("send", sent.error());
  }
  if (!lines.empty()) {
    if (auto sent = send(); !sent) return fail("send", sent.error());
  }
  while (client->outstanding() > 0) {
    if (auto taken = producer.take_responses(); !taken) return fail("send", taken.error());
  }
  std::printf("%zu\n", producer.acknowledged());
}

// SPDX-License-Identifier: Apache-2.0
// Sends the lines of the standard input to a queue, also while the server restarts. Prints the
// number of lines that are on the server's disk.
//
//   send_lines QUEUE [PORT] < lines
//
// Exit code: 0 when every line was acknowledged, else 1.
#include <pawl/producer.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

namespace {

// Relaxed: drain() returns after the last call of on_complete().
struct Count {
  std::atomic<std::uint64_t> sent = 0, failed = 0;
};

// The Producer calls it once for each accepted message, on its own thread.
void on_complete(void* context, std::uint64_t line,
                 const pawl::Client::Result<pawl::Client::Sent>& outcome) {
  Count& count = *static_cast<Count*>(context);
  if (outcome) {
    count.sent.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  count.failed.fetch_add(1, std::memory_order_relaxed);
  const std::string_view name = pawl::Client::name_of(outcome.error().code);
  std::fprintf(stderr, "line %llu: %.*s\n", static_cast<unsigned long long>(line),
               static_cast<int>(name.size()), name.data());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: send_lines QUEUE [PORT] < lines\n"), 2;
  pawl::Producer::Options options{.queue = argv[1]};
  options.endpoint.connection.name = "example send_lines";
  if (argc > 2) options.endpoint.connection.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  Count count;
  auto producer = pawl::Producer::start(options, on_complete, &count);
  if (!producer) return std::fprintf(stderr, "send_lines: cannot start\n"), 1;

  std::uint64_t number = 0;
  for (std::string line; std::getline(std::cin, line);) {
    ++number;
    if (line.empty()) continue;  // a body has at least one byte
    pawl::SendResult result = producer->send({.body = line}, number);
    using Status = pawl::SendResult::Status;
    while (result.status == Status::full || result.status == Status::throttled) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      result = producer->send({.body = line}, number);
    }
    if (result.accepted()) continue;
    count.failed.fetch_add(1, std::memory_order_relaxed);
    std::fprintf(stderr, "line %llu: %s\n", static_cast<unsigned long long>(number),
                 result.text.c_str());
  }
  const auto drained = producer->drain(std::chrono::steady_clock::now() + std::chrono::minutes(3));
  std::printf("%llu\n",
              static_cast<unsigned long long>(count.sent.load(std::memory_order_relaxed)));
  return drained && count.failed.load(std::memory_order_relaxed) == 0 ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// Prints the messages of a queue until SIGINT or SIGTERM, also while the server restarts. A message
// is deleted after it was printed.
//
//   print_messages QUEUE [PORT]
#include <pawl/consumer.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace {

// The Consumer calls it for each message, on one of its threads.
pawl::Verdict print(const pawl::Client::MessageView& message, pawl::Consumer::Token) {
  const int size = static_cast<int>(message.body.size());
  if (std::printf("%.*s\n", size, message.body.data()) < 0 || std::fflush(stdout) != 0)
    return pawl::Verdict::retry_in(std::chrono::seconds(1));
  return pawl::Verdict::done();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::fprintf(stderr, "usage: print_messages QUEUE [PORT]\n"), 2;
  pawl::Consumer::Options options{.queue = argv[1]};
  options.endpoint.connection.name = "example print_messages";
  if (argc > 2) options.endpoint.connection.port = static_cast<std::uint16_t>(std::atoi(argv[2]));
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  auto consumer = pawl::Consumer::start(options, print);
  if (!consumer) return std::fprintf(stderr, "print_messages: cannot start\n"), 1;
  int received = 0;
  sigwait(&signals, &received);
  const auto drained = consumer->drain(std::chrono::steady_clock::now() + std::chrono::seconds(10));
  return drained ? 0 : 1;
}

// SPDX-License-Identifier: Apache-2.0
// pawl::Consumer: hands the messages of one queue to a handler and acknowledges them, through
// disconnects.
//
//   received --handler--> under way --done-----> deleted
//                            |   ^  \--retry_in--> visible again after the delay
//                            |   |  \--dead------> sent to the dead-letter queue, then deleted
//                      later |   |  \--shutdown--> visible again at once
//                            +---+ until complete(): the visibility timeout is extended
//
// The server sends the messages of a standard queue as they become visible (SUBSCRIBE); those of a
// FIFO queue are polled. At most Options::concurrency messages are under way. While one is, its
// visibility timeout is extended every third of it. Deletes and changes of visibility gather into
// batches. A message that is delivered again while it is under way here, or while its delete is
// unconfirmed, is not handled twice.
//
// Order: the handler has one message of a FIFO queue's group at a time, in the order of their
// sequence numbers, whatever the number of handler threads. A message that is returned (retry_in,
// or dead without a dead-letter queue) stops its group: the later ones are returned too, and come
// again behind it. The order also holds over reconnects and restarts of the server. When its
// visibility timeout passes while the server cannot be reached, another Consumer may get a message.
//
// Dead letters: the protocol has no verb that moves a single message. With
// Options::dead_letter_queue the message is sent there, with its body, attributes and group, and
// then deleted; a crash between the two leaves it in both queues. Without it, `dead` only ends the
// extension: the message is delivered again after its visibility timeout, until the queue's own
// redrive policy moves it.
//
// Units:  durations have their unit in the type.
// Limits: concurrency 1 to 100,000; a long poll waits 1 to 20 s.
// Errors: status() counts refusals and has the last error of the connection. A message whose
//         delete was refused may be delivered again.
// Owner:  any thread may call complete() and status(). In the loop form drain(), on_ready() and the
//         destructor belong to the loop's thread; with a thread of its own any thread but the
//         handler's may call them. A child of fork() has no Consumer: there drain()
//         fails with invalid, complete() and on_ready() do nothing, and the destructor frees
//         nothing.
#pragma once

#include <pawl/client.h>
#include <pawl/endpoint.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace pawl {

// The handler's decision about one message.
struct Verdict {
  enum class Kind : std::uint8_t { done, retry, dead, later };

  Kind kind = Kind::done;
  std::chrono::milliseconds delay{0};  // of retry

  static constexpr Verdict done() { return {}; }
  // 0 to 12 h since the receive; a value outside counts as the nearest one.
  static constexpr Verdict retry_in(std::chrono::milliseconds delay) {
    return {.kind = Kind::retry, .delay = delay};
  }
  static constexpr Verdict dead() { return {.kind = Kind::dead}; }
  // The verdict comes by complete().
  static constexpr Verdict later() { return {.kind = Kind::later}; }
};

class [[gnu::visibility("default")]] Consumer {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    Endpoint endpoint{};
    std::string queue{};                // its name
    std::uint32_t concurrency = 100;    // messages under way
    std::uint32_t handler_threads = 1;  // of start(); 1 to 1024
    // Wait of a long poll: FIFO queues, and servers before protocol 1.5, are polled.
    std::chrono::milliseconds wait{20'000};
    // Up to 12 h, or to the queue's x-max-visibility; none: the queue's own.
    std::optional<std::chrono::milliseconds> visibility{};
    std::string dead_letter_queue{};                   // it must exist; empty: see above
    std::chrono::milliseconds release_timeout{5'000};  // to release messages at shutdown
  };

  // Names one delivery for complete().
  struct Token {
    std::uint32_t slot = 0;
    std::uint32_t use = 0;
  };

  // Views in the message are valid until it returns: copy them with Client::Message. It must not
  // throw, and must not destroy or drain the Consumer.
  using Handler = std::function<Verdict(const Client::MessageView& message, Token token)>;

  // Empty, or the first option that is out of range, with its value and range.
  static std::string problem_of(const Options& options);

  // Starts a thread for the connection and `handler_threads` threads, which call the handler at the
  // same time. A handler may take any time: the visibility timeout is extended meanwhile.
  // Errors: invalid (see problem_of()), no_memory, and errno in Error::system.
  static Client::Result<Consumer> start(const Options& options, Handler handler);
  // No thread: the caller's loop waits until descriptor() is readable or next_deadline() passes,
  // and calls on_ready(), which calls the handler. A handler that takes long returns later().
  static Client::Result<Consumer> create_on_loop(const Options& options, Handler handler);

  Consumer(Consumer&&) noexcept;
  Consumer& operator=(Consumer&&) noexcept;
  // Waits for handlers that are running, and at most Options::release_timeout for the server: gives
  // unconfirmed verdicts and releases all other messages, visible again at once.
  ~Consumer();

  // The verdict of a message whose handler returned later(). A second verdict is ignored, and so is
  // one for a message that was released.
  void complete(Token token, Verdict verdict);

  // Receives no more, waits until all messages under way have their verdicts and these are
  // confirmed by the server, and closes as the destructor does. Errors: timed_out (some were
  // released), busy (called by a handler).
  Client::Result<void> drain(Clock::time_point deadline);

  struct Status {
    bool connected = false;
    Client::Error last_error{};  // of the last failed or refused connection; ok: none
    std::uint64_t connections = 0;
    std::uint64_t received = 0;  // messages given to the handler
    std::uint64_t deleted = 0;
    std::uint64_t released = 0;   // visible again: retry_in, or shutdown
    std::uint64_t dead = 0;       // verdicts
    std::uint64_t refused = 0;    // deletes, changes of visibility and dead letters
    std::uint32_t under_way = 0;  // or not confirmed by the server
  };
  Status status() const;

  // --- of the loop form ---
  int descriptor() const;  // the same for the life of the Consumer; wait until it is readable
  Clock::time_point next_deadline() const;
  void on_ready(Clock::time_point now);

 private:
  class [[gnu::visibility("hidden")]] Impl;
  explicit Consumer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl

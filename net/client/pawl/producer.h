// SPDX-License-Identifier: Apache-2.0
// pawl::Producer: sends messages to one queue, from any thread, through disconnects.
//
//   send() --accepted--> waiting --batch--> in flight --acknowledged or refused--> completed
//                           ^                  |
//                           +--- disconnect, or a refusal 2xxx (retried after its delay)
//
// send() copies the message and returns at once. An idle Producer sends it at once; while requests
// are in flight, messages gather into the next batch. Each accepted message is completed exactly
// once, by a call of the function given at creation. After a disconnect, unacknowledged messages
// are sent again, in order. The server accepts each once: on a FIFO queue by its deduplication id,
// on a standard queue by its number. A server before protocol 1.5 may accept a message of a
// standard queue twice. The sequence and id of a completion are 0 if the server accepted the
// message before and does not know them any more.
//
// Order: on a FIFO queue one batch is in flight at a time, so that a retried message does not fall
//        behind later ones.
//
// Units:  durations have their unit in the type.
// Limits: Options::memory_limit for messages, their bookkeeping and the connection's buffers; 1024
//         messages and 1 MiB a batch, and the server's credit. A message has at most 1 MiB, and at
//         most an eighth of the memory limit. The server remembers a message for five minutes: a
//         deadline beyond that allows duplicates.
// Errors: send() returns a SendResult. A completion has a Client::Error: the server's refusal;
//         timed_out (the deadline passed; status() has the reason; a message in flight waits for
//         its response, at most request_timeout longer); closed; or broken (closed while the
//         message was in flight). After broken, and after timed_out of a message that was sent
//         before a disconnect, the server may have it nevertheless.
// Owner:  any thread may call send(), flush(), drain() and status(); completions may call send()
//         and status(). In the loop form flush(), drain(), on_ready() and the destructor belong to
//         the loop's thread. A child of fork() has no Producer: there
//         send() is refused with invalid and a text, flush() and drain() fail with invalid, and the
//         destructor frees nothing.
#pragma once

#include <pawl/client.h>
#include <pawl/endpoint.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

namespace pawl {

struct SendResult {
  enum class Status : std::uint8_t { accepted, full, throttled, closed, invalid };

  Status status = Status::accepted;
  std::chrono::milliseconds retry_after{0};  // throttled: as long as the server asked to wait
  std::string text{};  // invalid: the attribute, its value and the allowed range

  bool accepted() const { return status == Status::accepted; }
};

class [[gnu::visibility("default")]] Producer {
 public:
  using Clock = std::chrono::steady_clock;

  struct Options {
    Endpoint endpoint{};
    std::string queue{};                  // its name; ".fifo" at the end makes it a FIFO queue
    std::size_t memory_limit = 64 << 20;  // bytes; 1 MiB to 64 GiB
    // The time that an idle Producer waits for further messages before it sends a batch, and the
    // longest time that a message waits for a full batch; 0: see above.
    std::chrono::microseconds linger{0};
    std::chrono::milliseconds deadline{120'000};  // of each message, from send(); at least 1 ms
  };

  // Called once for each accepted message, with its cookie. It must not block, and must not destroy
  // the Producer. `context` is the pointer given at creation.
  using OnComplete = void (*)(void* context, std::uint64_t cookie,
                              const Client::Result<Client::Sent>& outcome);

  // Empty, or the first option that is out of range, with its value and range.
  static std::string problem_of(const Options& options);

  // Starts a thread, which connects, sends and calls `on_complete`.
  // Errors: invalid (see problem_of()), no_memory, and errno in Error::system.
  static Client::Result<Producer> start(const Options& options, OnComplete on_complete,
                                        void* context);
  // No thread: the caller's loop waits until descriptor() is readable or next_deadline() passes,
  // and calls on_ready(), which calls `on_complete`.
  static Client::Result<Producer> create_on_loop(const Options& options, OnComplete on_complete,
                                                 void* context);

  Producer(Producer&&) noexcept;
  Producer& operator=(Producer&&) noexcept;
  // Completes what is left, with closed or broken, and does not wait for the server.
  ~Producer();

  // Never blocks. With a status other than accepted, `on_complete` is not called.
  SendResult send(const Client::Outgoing& message, std::uint64_t cookie);
  SendResult send(const Client::Outgoing& message, std::uint64_t cookie,
                  const Client::SendOptions& options);

  // Waits until all messages accepted before the call are completed. Batches do not linger
  // meanwhile.
  // Errors: timed_out (the deadline), busy (called by a completion).
  Client::Result<void> flush(Clock::time_point deadline);
  // Refuses new messages, waits like flush(), and completes what is left with closed or broken.
  Client::Result<void> drain(Clock::time_point deadline);

  struct Status {
    bool connected = false;
    Client::Error last_error{};  // of the last failed or refused connection; ok: none
    std::uint64_t connections = 0;
    std::uint64_t accepted = 0;
    std::uint64_t completed = 0;  // with any outcome
    std::size_t memory_free = 0;  // bytes for messages
  };
  Status status() const;

  // --- of the loop form ---
  int descriptor() const;  // the same for the life of the Producer; wait until it is readable
  Clock::time_point next_deadline() const;
  void on_ready(Clock::time_point now);

 private:
  class [[gnu::visibility("hidden")]] Impl;
  explicit Producer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace pawl

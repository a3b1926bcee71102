// SPDX-License-Identifier: Apache-2.0
// The thread-safe front of a Producer: checks, copies and queues messages, and wakes the driver.
//
//   send() --encoded into the pool--> gathered --collect()--> the core --release()--> free memory
//
// One mutex guards everything; it is held while one message is copied, never during a system call
// other than the wake-up. The driver is woken only after sleep(), when its threshold is reached.
//
// Limits: the memory limit, of which an eighth (at most 1.1 MiB) is for encoding a message, as much
//         for the connection's output, and 384 KiB for its input and tables.
// Errors: SendResult.
// Owner:  one ProducerCore.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>

#include "net/client/message_pool.h"
#include "net/client/pawl/producer.h"
#include "net/client/readiness.h"

namespace pawl::client {

using Clock = std::chrono::steady_clock;

// The driver wants to be woken when this much has gathered.
struct WakeThreshold {
  static constexpr std::uint64_t never = ~std::uint64_t{0};
  std::uint64_t messages = 1;  // either suffices
  std::uint64_t bytes = never;
};

class Intake {
 public:
  Intake(const Producer::Options& options, const Readiness& readiness);
  bool valid() const { return pool_.valid(); }
  // The longest encoded message, and the longest batch.
  std::size_t unit_bytes() const { return unit_bytes_; }

  // --- any thread ---
  SendResult send(const Client::Outgoing& message, std::uint64_t cookie,
                  const Client::SendOptions& options = {});
  void close();  // send() returns closed from now on
  // Asks for the completion of all messages accepted so far: the number to wait for.
  std::uint64_t request_flush();
  bool is_flushed(std::uint64_t number) const;
  bool wait_flushed(std::uint64_t number, Clock::time_point deadline);
  void end_flush();
  Producer::Status status() const;

  // --- the driver ---
  // Moves the gathered messages to the end of `into`. True: batches must not linger.
  bool collect(MessageList& into);
  void release(MessageList& done);  // frees their memory
  // Ends flushes. `oldest`: the lowest number of a collected message that is not completed, or
  // no_message.
  void publish(std::uint64_t oldest);
  // False: something has arrived, and the driver must take another turn.
  bool sleep(WakeThreshold threshold);
  void interrupt();  // wakes the driver; any thread may call it
  void throttle(Clock::time_point until);
  // Sets the status, except for the members that the intake counts itself.
  void report(const Producer::Status& status);

  MessagePool& pool() { return pool_; }
  const MessagePool& pool() const { return pool_; }
  static constexpr std::uint64_t no_message = ~std::uint64_t{0};

 private:
  std::string problem_of(const Client::Outgoing& message) const;
  SendResult accept(const Client::Outgoing& message, std::uint64_t cookie,
                    const Client::SendOptions& options);
  void wake_sleeper();
  void wake();

  const std::size_t unit_bytes_;
  const bool fifo_;
  const std::chrono::milliseconds deadline_;  // of each message
  const Readiness& readiness_;

  mutable std::mutex mutex_;
  std::condition_variable flushed_;
  MessagePool pool_;
  std::string scratch_;  // one encoded message
  MessageList gathered_;
  std::uint64_t next_number_ = 1;
  std::uint64_t oldest_ = 1;  // lowest number that may be incomplete
  int flushes_ = 0;
  bool closed_ = false;
  bool asleep_ = false;
  bool signalled_ = false;  // the wake-up descriptor is readable
  WakeThreshold threshold_;
  Clock::time_point throttled_until_;
  Producer::Status status_;
};

}  // namespace pawl::client

// SPDX-License-Identifier: Apache-2.0
// ReceiveRequestAttemptId: a receive from a FIFO queue whose response was lost can be repeated.
//
// Within five minutes the same attempt id gets the same messages with the same handles. Their
// visibility timeout restarts. This holds as long as none of the messages was deleted, changed or
// became visible again. Attempts are not on disk: after a restart their messages are in flight and
// become visible by their timeouts.
//
// Limits: attempts_max a queue; the oldest is dropped first. ShardLimits::attempts_bytes_max for
//         all queues of a shard, as counted by their shared total; attempts beyond it are not
//         remembered.
// Owner:  one FIFO queue of one shard.
// Source: SQS API Reference, ReceiveMessage.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/base/usage.h"
#include "core/containers/ring_queue.h"

namespace pawl {

struct Attempted {  // a delivered message
  Seq seq = 0;
  std::uint32_t nonce = 0;
  Instant deadline;
};

class Attempts {
 public:
  static constexpr std::size_t attempts_max = 10'000;
  static constexpr Duration window = seconds(300);
  static constexpr std::uint64_t attempt_bytes = 128;  // and its messages

  explicit Attempts(std::uint64_t& bytes_total) : usage_(bytes_total) {}

  // The messages of the attempt, to read and update; null: no such attempt.
  std::vector<Attempted>* find(const TextKey& id, Instant now);
  void put(const TextKey& id, std::vector<Attempted> messages, Instant now);
  // Drops expired attempts, at most `most`. False: there may be more.
  bool forget_over(Instant now, std::size_t most);
  std::size_t size() const { return old_.size(); }
  // The next expiry, or never.
  Instant next_over() const { return old_.empty() ? never : old_.front().until; }

 private:
  struct Old {
    TextKey id;
    Instant until;
  };
  void pop();

  std::map<TextKey, std::vector<Attempted>> by_id_;
  RingQueue<Old> old_;  // in the order they were made
  UsageCounter usage_;
};

}  // namespace pawl

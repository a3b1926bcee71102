// ReceiveRequestAttemptId: a receive from a FIFO queue whose answer was lost may be asked again.
//
// Within five minutes the same attempt id gets the same messages with the same handles, their visibility
// begun anew, as long as none of them was deleted, changed or became visible again. Attempts are not on
// disk: after a restart the messages of one are in flight and come back by their timeouts.
//
// Limits: attempts_max a queue; the oldest goes first. And ShardLimits::attempts_bytes_max for all queues of a shard,
//         which an account counts: what comes beyond it is not remembered.
// Owner:  one FIFO queue of one shard.
// Source: SQS API Reference, ReceiveMessage.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/account.h"
#include "core/ids.h"
#include "core/ring_queue.h"
#include "core/time.h"

namespace pawl {

struct Attempted {  // a message as it was handed out
  Seq seq = 0;
  std::uint32_t nonce = 0;
  Instant deadline;
};

class Attempts {
 public:
  static constexpr std::size_t attempts_max = 10'000;
  static constexpr Duration window = seconds(300);
  static constexpr std::uint64_t attempt_bytes = 128;  // and its messages

  explicit Attempts(std::uint64_t& account) : share_(account) {}

  // What the attempt got, to be read and brought up to date; null: there is none.
  std::vector<Attempted>* find(const TextKey& id, Instant now);
  void put(const TextKey& id, std::vector<Attempted> messages, Instant now);
  // Forgets what is over, at most `most`. False: there may be more of it.
  bool forget_over(Instant now, std::size_t most);
  std::size_t size() const { return old_.size(); }
  // When the next is over, or never.
  Instant next_over() const { return old_.empty() ? never : old_.front().until; }

 private:
  struct Old {
    TextKey id;
    Instant until;
  };
  void pop();

  std::map<TextKey, std::vector<Attempted>> by_id_;
  RingQueue<Old> old_;  // in the order they were made
  Share share_;
};

}  // namespace pawl

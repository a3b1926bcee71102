// SPDX-License-Identifier: Apache-2.0
// SendHistory: sends are remembered for five minutes, so that each is accepted once. FIFO queues
// and topics have deduplication entries, standard queues have producers. Receive attempts of FIFO
// queues are remembered as long.
//
//   none --first send--> remembered --timer, expired--> forgotten; armed again while some are left
//
// A queue has its entries in Queue::fifo and Queue::producers, and one timer for all entries.
//
// Units:  Instant and Duration are ms.
// Limits: ShardLimits: dedup_max, attempts_bytes_max, producers_bytes_max; forgotten_a_turn entries
//         of each kind a turn.
// Errors: none; the caller refuses a send for which there is no room.
// Owner:  core/shard/shard.h.
// Source: SQS API reference, SendMessage: MessageDeduplicationId; ReceiveMessage:
//         ReceiveRequestAttemptId.
#pragma once

#include "core/queue/queue.h"
#include "core/shard/shard_state.h"

namespace pawl {

class SendHistory {
 public:
  explicit SendHistory(ShardState& state) : state_(state) {}

  // The entries of the queue, made if it has none.
  Fifo& fifo_of(Queue& queue);
  Producers& producers_of(Queue& queue);

  // One more send, or receive attempt, may be remembered.
  bool has_room() const { return state_.deduplicated < state_.limits.dedup_max; }
  bool has_attempt_room() const { return state_.attempts_bytes < state_.limits.attempts_bytes_max; }
  // The same for a message of a producer that is not remembered yet.
  bool make_room(Producers& producers, const ProducerKey& key, std::uint64_t floor) const {
    return producers.make_room(key, floor, state_.limits.producers_bytes_max);
  }

  // Arms the queue's timer for its next expired entry. Call after one was added.
  void arm(Queue& queue, Instant not_before);
  // The queue's timer has fired: drops expired entries and arms it again.
  void forget_expired(Queue& queue, Instant now);

 private:
  ShardState& state_;
};

}  // namespace pawl

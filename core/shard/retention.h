// SPDX-License-Identifier: Apache-2.0
// Retention of messages, and the five minutes of deduplication.
//
//   armed --timer--> expire_retention --more, or a later bucket--> armed again
//
// A queue has one timer for its oldest bucket of send times (SendTimes), and one for expired sends,
// receive attempts and producers.
//
// Units:  Instant and Duration are ms.
// Limits: ShardLimits::retired_a_turn messages and forgotten_a_turn entries a turn.
// Owner:  core/shard/shard.h.
#pragma once

#include "core/queue/effects.h"
#include "core/shard/message_states.h"
#include "core/shard/shard_state.h"

namespace pawl {

class Retention {
 public:
  Retention(ShardState& state, MessageStates& states) : state_(state), states_(states) {}

  // Arms the queue's timer for its oldest message.
  void arm_retention(Queue& queue);
  void expire_retention(Queue& queue, Instant now, Effects& effects);
  AgedArrivals& aged_of(Queue& queue);

  Fifo& fifo_of(Queue& queue);
  Producers& producers_of(Queue& queue);
  // Arms the queue's timer for its next expired send, attempt or producer.
  void arm_forget(Queue& queue, Instant not_before);
  void forget_expired(Queue& queue, Instant now);

 private:
  void arm_retention(Queue& queue, Instant due);

  ShardState& state_;
  MessageStates& states_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Retention: the end of messages that have been in a queue for its retention period.
//
//   armed --timer--> expire_retention --more, or a later bucket--> armed again
//
// A queue has one timer for its oldest bucket of send times (SendTimes).
//
// Units:  Instant and Duration are ms.
// Limits: ShardLimits::retired_a_turn messages a turn.
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

 private:
  void arm_retention(Queue& queue, Instant due);

  ShardState& state_;
  MessageStates& states_;
};

}  // namespace pawl

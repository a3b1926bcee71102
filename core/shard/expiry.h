// SPDX-License-Identifier: Apache-2.0
// Expiry: messages that are past the retention period of their queue, or past their time to live,
// are deleted, or with x-dlq-on-expiry go to the dead-letter queue.
//
//   the queue's timer (Retention) --> times to live and aged messages, one by one, then whole
//   buckets --> armed again
//
// A message with Slot::aged_apart stays when its bucket ends; it has an entry in Queue::aged from
// the time at which it first becomes visible.
//
// Units:  Instant and Duration are ms.
// Limits: ShardLimits::retired_a_turn messages a turn.
// Owner:  core/shard/shard.h.
#pragma once

#include "core/queue/effects.h"
#include "core/shard/message_states.h"
#include "core/shard/retention.h"
#include "core/shard/returns.h"
#include "core/shard/shard_state.h"

namespace pawl {

class Expiry {
 public:
  Expiry(ShardState& state, MessageStates& states, Retention& retention, Returns& returns)
      : state_(state), states_(states), retention_(retention), returns_(returns) {}

  // Returns the work done.
  std::size_t expire(Queue& queue, Instant now, Effects& effects);

 private:
  bool end_listed(Queue& queue, AgedArrivals* times, Returns::Ended ended, std::size_t& left,
                  Instant now, Effects& effects);
  bool delete_older(Queue& queue, std::size_t& left, Instant now, Effects& effects);
  bool move_older(Queue& queue, std::size_t& left, Instant now, Effects& effects);
  static Seq oldest_apart(const Queue& queue);
  bool is_older(IndexEntry indexed, Duration retention, Instant now) const;

  ShardState& state_;
  MessageStates& states_;
  Retention& retention_;
  Returns& returns_;
};

}  // namespace pawl

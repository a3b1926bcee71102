// SPDX-License-Identifier: Apache-2.0
// Retention: the ages of a queue's messages, and the timer for the oldest.
//
//   armed --timer--> Expiry::expire() --more, or a later bucket--> armed again
//
// A queue has one timer for its oldest bucket of send times (SendTimes), or for its oldest message
// with an age of its own (AgedArrivals).
//
// Units:  Instant and Duration are ms.
// Owner:  core/shard/shard.h.
#pragma once

#include "core/shard/shard_state.h"

namespace pawl {

class Retention {
 public:
  explicit Retention(ShardState& state) : state_(state) {}

  // Arms the queue's timer for its oldest message.
  void arm_retention(Queue& queue);
  void arm_retention(Queue& queue, Instant due);
  AgedArrivals& aged_of(Queue& queue);
  // A message with Slot::aged_apart, never delivered, changes from `before` to `after`; its
  // deadline is that of `before`, or when it becomes visible.
  void aged_apart(Queue& queue, const Slot& slot, Slot::State before, Slot::State after);
  // After recovery: a delivered message without an entry ages from its first receive.
  void add_missing(Queue& queue);

 private:
  ShardState& state_;
};

}  // namespace pawl

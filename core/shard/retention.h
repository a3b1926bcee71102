// SPDX-License-Identifier: Apache-2.0
// Retention: the ages of a queue's messages, the ends of their times to live, and the timer for the
// first of these times.
//
//   armed --timer--> Expiry::expire() --more, or a later bucket--> armed again
//
// A queue has one timer: for its oldest bucket of send times (SendTimes), its oldest message with
// an age of its own (AgedArrivals), or the first end of a time to live.
//
// Units:  Instant and Duration are ms.
// Owner:  core/shard/shard.h.
#pragma once

#include <utility>
#include <vector>

#include "core/shard/shard_state.h"

namespace pawl {

class Retention {
 public:
  explicit Retention(ShardState& state) : state_(state) {}

  // Arms the queue's timer.
  void arm_retention(Queue& queue);
  void arm_retention(Queue& queue, Instant due);
  AgedArrivals& aged_of(Queue& queue);
  AgedArrivals& ttl_ends_of(Queue& queue);
  // The time to live of the message has begun. It is in the index.
  void ends_at(Queue& queue, Seq seq, Instant end);
  // A message with Slot::aged_apart, never delivered, changes from `before` to `after`; its
  // deadline is that of `before`, or when it becomes visible.
  void aged_apart(Queue& queue, const Slot& slot, Slot::State before, Slot::State after);
  // A message that was never delivered has become visible.
  void begin_life(Queue& queue, Slot& slot);
  using Ages = std::vector<std::pair<Seq, Instant>>;
  // Messages with Slot::aged_apart age from these times, except those that have an entry.
  void add_unless_known(Queue& queue, const Ages& ages);
  // After recovery: a delivered message without an entry ages from its first receive.
  void add_missing(Queue& queue);

 private:
  ShardState& state_;
};

}  // namespace pawl

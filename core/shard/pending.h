// SPDX-License-Identifier: Apache-2.0
// Pending messages: delayed for so long that they have no slot and no timer yet.
//
//   sent --appended--> pending --its bucket begins within the horizon--> delayed, with a slot
//                         \--cancelled, rescheduled, purged--> its entry of the calendar is stale
//
// Only messages without a group are pending, in queues in which retention counts from the delivery
// time. Each queue has one timer, for the first bucket of its calendar. A message whose slot must
// wait for memory stays pending: it may be late then, never early.
//
// A checkpoint has a pending message as a tracked one without a time of its sending; so an older
// version reads it as a delayed message.
//
// Units:  Instant, ms.
// Limits: ShardLimits::calendar_horizon, calendar_bits, slots_of_calendar_a_turn.
// Owner:  core/shard/shard.h.
#pragma once

#include <cstddef>

#include "core/queue/queue.h"
#include "core/shard/message_states.h"
#include "core/shard/retention.h"
#include "core/shard/shard_state.h"

namespace pawl {

class Pending {
 public:
  Pending(ShardState& state, MessageStates& states, Retention& retention)
      : state_(state), states_(states), retention_(retention) {}

  // The message is in the log at `position`, not durable yet.
  void add(Queue& queue, Seq seq, LogPos position, Instant at);
  // It is durable: it counts as delayed.
  static void settle(Queue& queue, Seq seq, IndexEntry indexed);
  // The timer has fired: messages get slots. Returns the number of entries examined, at least 1.
  std::size_t approach(Queue& queue, Instant now);
  static bool live(const Queue& queue, const TimerEntry& entry) {
    return queue.pending && queue.pending->armed != never &&
           queue.pending->generation == entry.generation;
  }

  // --- checkpoint and recovery ---
  static TrackedMessage tracked(Seq seq, IndexEntry indexed, Instant at);
  // A tracked message of a checkpoint was pending, or may be again.
  static bool was(const TrackedMessage& message);
  // At the end of recovery: a message with a slot may be pending from now on.
  bool takes(const Queue& queue, const Slot& slot, Instant passed) const;
  void take(Queue& queue, std::uint32_t row);
  // All records are read: messages whose time is near get slots.
  void resume(Queue& queue, Instant passed, Instant now);

 private:
  Calendar& calendar_of(Queue& queue);
  bool is_near(const Queue& queue, Instant now) const;
  bool may_take_slot(const Queue& queue, Instant now) const;
  bool give_slot(Queue& queue, const Calendar::Entry& entry, Instant passed, Instant late);
  void arm(Queue& queue, Instant due);
  void arm(Queue& queue);

  ShardState& state_;
  MessageStates& states_;
  Retention& retention_;
};

}  // namespace pawl

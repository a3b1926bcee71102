// SPDX-License-Identifier: Apache-2.0
// The states of tracked messages, in slots (queue/slot.h) and leases (queue/lease.h). A change
// updates counters, timers, groups and the set of ready messages, and wakes waiting receives.
//
// Limits: ShardLimits::slots_max; without a free slot a function returns Slab<Slot>::none.
// Owner:  core/shard/shard.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/queue/effects.h"
#include "core/queue/request.h"
#include "core/shard/long_polls.h"
#include "core/shard/retention.h"
#include "core/shard/shard_state.h"

namespace pawl {

// During recovery the slot limit is lifted: a checkpoint may list messages that the log deletes
// later.
inline constexpr std::uint32_t restoring_max = UINT32_MAX;

class MessageStates {
 public:
  MessageStates(ShardState& state, LongPolls& polls, Retention& retention)
      : state_(state), polls_(polls), retention_(retention) {}

  // --- slots ---
  std::uint32_t take_slot(Queue& queue, Seq seq, Slot::State state, LogPos position);
  // A leased message leaves its lease; that never fails. A pending message is delayed without a
  // timer, or sent if it is not durable, until the caller sets its time.
  std::uint32_t slot_for(Queue& queue, Seq seq, IndexEntry indexed);
  std::uint32_t new_slot(Queue& queue, Seq seq, const Content& content);
  // The pending message leaves the calendar of its queue, as sent.
  std::uint32_t slot_for_pending(Queue& queue, Seq seq, IndexEntry indexed);
  // The delayed message gives its slot back: it is pending from now on.
  void make_pending(Queue& queue, std::uint32_t row);
  // The groups of the queue, made if it has none.
  Groups& groups_of(Queue& queue, bool fifo);
  void set_slots_max(std::uint32_t max) { state_.slots.write().set_max(max); }
  // Frees the message's slot or its place in a lease, and adds its record to `freed` unless it is
  // of this turn.
  void release(IndexEntry indexed, std::vector<LogPos>& freed);

  // --- leases ---
  // A lease for the fresh messages of a receive, from `seq` on; Leases::none: few are expected, or
  // few slots are free.
  std::uint32_t open_lease(Queue& queue, Seq seq, std::uint32_t nonce, std::uint64_t expected,
                           Instant now, Duration visibility);
  // The message, fresh and without a slot, is in flight as a member of the lease.
  Slot lease(Queue& queue, std::uint32_t row, Seq seq, LogPos position, std::uint32_t nonce);
  // No more messages join the lease: a single one gets a slot.
  void close_lease(Queue& queue, std::uint32_t row);
  // The timer of the lease has fired. Returns the slots of its messages, in flight without a timer,
  // for Returns::lease_ended(); valid until the next call. None: its queue is gone.
  std::span<const std::uint32_t> end_lease(std::uint32_t row);

  // --- states ---
  void change_state(Queue& queue, std::uint32_t row, Slot::State state);
  // Hidden until `deadline`. The second form is for timeouts that repeat: they share a lane of
  // timers.
  void hide(Queue& queue, std::uint32_t row, Slot::State state, Instant deadline);
  void hide(Queue& queue, std::uint32_t row, Slot::State state, Instant now, Duration timeout);
  void show(Queue& queue, std::uint32_t row);
  void erase(Queue& queue, Seq seq, std::vector<LogPos>& freed);
  void erase(Queue& queue, Seq seq, IndexEntry indexed, std::vector<LogPos>& freed);
  // End of a message's delay by the queue's present setting: only in a FIFO queue, and only for a
  // message never received. 0: it has no delay, or one of its own.
  static Instant delay_end(const Queue& queue, const Slot& slot);
  // A FIFO queue's new delay also applies to the messages in it that were never received, and a new
  // x-fifo-delay to all.
  void delay_anew(Queue& queue, Instant now);
  // Each message of a FIFO queue takes its place by the queue's x-fifo-delay.
  void order_groups(Queue& queue) { order_groups(queue, queue.config->passes_delayed()); }

  // --- messages set aside: their bodies cannot be read ---
  void set_aside(QueueId queue, Seq seq);
  // Null: none with this number is set aside.
  static const TrackedMessage* find_set_aside(const Queue& queue, Seq seq);
  // Deletes it; else it would be back after the next startup. False: there is none.
  static bool erase_set_aside(Queue& queue, Seq seq, Effects& effects);
  // Its time has ended, if one with this number is set aside: it goes after the next startup.
  static void expire_set_aside(Queue& queue, Seq seq, Effects& effects);
  std::uint64_t set_aside() const { return set_aside_; }  // messages since startup

  // --- positions in the log ---
  LogPos position_of(QueueId queue, Seq seq);
  LogPos position_of(IndexEntry indexed) const { return state_.position_of(indexed); }
  void relocated(QueueId queue, Seq seq, LogPos position);
  void set_position(Queue& queue, Seq seq, IndexEntry indexed, LogPos position);

  // Its retention does not follow its number.
  bool is_apart(IndexEntry indexed) const {
    return indexed.is_pending() || (indexed.is_slot() && state_.slots[indexed.slot()].aged_apart);
  }

  // --- records ---
  // The message has a slot or a lease.
  TrackedMessage tracked_message_of(const Queue& queue, Seq seq, IndexEntry indexed) const;
  void record(const Slot& slot, Effects& effects) const;

 private:
  void order_groups(Queue& queue, bool passes);
  bool join_group(Queue& queue, std::uint32_t row, const Content& content);
  std::uint32_t break_out(Queue& queue, IndexEntry indexed);
  void leave_lease(Queue& queue, IndexEntry indexed);
  static void leave_calendar(Queue& queue, IndexEntry indexed);
  static void sweep_calendar(Queue& queue);

  ShardState& state_;
  LongPolls& polls_;
  Retention& retention_;
  std::uint64_t set_aside_ = 0;
  std::vector<std::uint32_t> ended_;  // see end_lease()
};

}  // namespace pawl

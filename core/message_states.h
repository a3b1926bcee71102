// SPDX-License-Identifier: Apache-2.0
// The states of tracked messages (core/slot.h). A change updates counters, timers, groups and the
// set of ready messages, and wakes waiting receives.
//
// Limits: ShardLimits::slots_max; without a free slot a function returns Slab<Slot>::none.
// Owner:  core/shard.h.
#pragma once

#include <cstdint>
#include <vector>

#include "core/effects.h"
#include "core/long_polls.h"
#include "core/request.h"
#include "core/shard_state.h"

namespace pawl {

// During recovery the slot limit is lifted: a checkpoint may list messages that the log deletes
// later.
inline constexpr std::uint32_t restoring_max = UINT32_MAX;

class MessageStates {
 public:
  MessageStates(ShardState& state, LongPolls& polls) : state_(state), polls_(polls) {}

  // --- slots ---
  std::uint32_t take_slot(Queue& queue, Seq seq, Slot::State state, LogPos position);
  std::uint32_t slot_for(Queue& queue, Seq seq, IndexEntry indexed);
  std::uint32_t new_slot(Queue& queue, Seq seq, const Content& content);
  // Frees the message's slot, and adds its record to `freed` unless it is of this turn.
  void release(IndexEntry indexed, std::vector<LogPos>& freed);

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
  // A FIFO queue's new delay also applies to the messages in it that were never received.
  void delay_anew(Queue& queue, Instant now);

  // --- messages set aside: their bodies cannot be read ---
  void set_aside(QueueId queue, Seq seq);
  std::uint64_t set_aside() const { return set_aside_; }  // messages since startup

  // --- positions in the log ---
  LogPos position_of(QueueId queue, Seq seq);
  void relocated(QueueId queue, Seq seq, LogPos position);
  void set_position(Queue& queue, Seq seq, IndexEntry indexed, LogPos position);

  // --- records ---
  TrackedMessage tracked_message_of(const Queue& queue, const Slot& slot) const;
  void record(const Slot& slot, Effects& effects) const;

 private:
  bool join_group(Queue& queue, std::uint32_t row, const Content& content);

  ShardState& state_;
  LongPolls& polls_;
  std::uint64_t set_aside_ = 0;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Selection: the choice of the next message of a queue, for receives, long polls and move tasks.
//
// A message is fresh (never received) or returned (visible again). The next message of a queue:
//
//   standard queue
//     without groups                    the oldest message, fresh or returned
//     the oldest returned within 1 s    it and the oldest fresh message take turns
//     with groups too                   a message with a group and one without take turns
//     several groups (tenants)          the tenants take turns; noisy ones wait (queue/groups.h)
//     after a dead letter that stays    the oldest fresh message without a group
//   FIFO queue
//     a new receive, or a group's end   the first message of the group that is ready the longest
//     within a group                    the following message, if visible and of a higher number
//     after a dead letter that moves    the next group: the messages behind it wait
//     after a dead letter that stays    none
//   move task
//     in both kinds                     the oldest without a group; else by group, as above
//
//   Selection --next()--> choice --(the caller changes its state)--> next() ... --> none
//
// Units:  Instant, ms.
// Limits: in_flight_max a queue.
// Owner:  one receive or move task, within a turn. The queue keeps whose turn is next.
// Source: SQS Developer Guide, "FIFO queue delivery logic", "Amazon SQS fair queues", quotas.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "core/base/mutant.h"
#include "core/base/time.h"
#include "core/containers/slab.h"
#include "core/queue/queue.h"
#include "core/queue/seq_index.h"
#include "core/queue/slot.h"

namespace pawl {

class Selection {
 public:
  struct Choice {
    Seq seq = 0;  // 0: none
    IndexEntry indexed;
  };

  Selection(const Slab<Slot>& slots, Queue& queue, Instant now)
      : slots_(slots), queue_(queue), now_(now), fifo_(queue.config->is_fifo()) {}

  // The queue has as many messages in flight as it may have.
  static bool full(const Queue& queue) { return queue.in_flight >= in_flight_max; }
  // A receive may get a message.
  static bool any(const Queue& queue) { return queue.has_ready() && !full(queue); }
  // The number of messages that a receive of `asked` may get.
  static std::uint32_t most(const Queue& queue, std::uint32_t asked) {
    const std::uint64_t left = in_flight_max - std::min(in_flight_max, queue.in_flight);
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(asked, left));
  }

  // The next message for a receive. It stays visible until the caller changes its state.
  Choice next() { return fifo_ ? next_in_order() : next_in_turn(); }
  // The last choice is a dead letter: it is moving now, or it stays and must not be chosen again.
  void passed_dead_letter(bool moving);
  // The next message for a move task. The queue has one.
  Choice next_to_move();

 private:
  Choice in_index(Seq seq) const { return {seq, queue_.index.find(seq)}; }
  Choice in_group(std::uint32_t row) const { return {slots_[row].seq, IndexEntry::slot(row)}; }
  Choice next_in_turn();
  Choice next_ungrouped();
  Choice next_in_order();
  Choice in_order(std::uint32_t row);

  const Slab<Slot>& slots_;
  Queue& queue_;
  Instant now_;
  bool fifo_;
  bool dead_letters_stay_ = false;
  std::uint32_t row_ = 0;  // FIFO: the message behind the last choice; 0: the group has ended
  Seq seq_ = 0;            // FIFO: the last choice
};

// Chooses this message and continues behind it.
inline Selection::Choice Selection::in_order(std::uint32_t row) {
  const Slot& slot = slots_[row];
  row_ = slot.next_in_group;
  seq_ = slot.seq;
  if (MUTANT(overtake) && row_ != 0 && slots_[row_].state != Slot::State::visible)
    row_ = slots_[row_].next_in_group;
  return {slot.seq, IndexEntry::slot(row)};
}

// In the header, to be inlined: a message of a FIFO queue takes 10 instructions less.
inline Selection::Choice Selection::next_in_order() {
  if (dead_letters_stay_ || !queue_.groups) return {};
  const Groups& groups = *queue_.groups;
  const std::uint32_t behind = row_;
  // A message that was passed waits until those before it have gone (queue/groups.h).
  if (behind != 0 && slots_[behind].state == Slot::State::visible && slots_[behind].seq > seq_)
    return in_order(behind);
  if (!groups.any_ready()) return {};
  const std::uint32_t first = groups.next_in_order();
  CHECK(first != 0, "a ready group of queue {} has no message", raw(queue_.id));
  return in_order(first);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/pending.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

using State = Slot::State;

// Pause before the next try when few slots are free.
constexpr Duration slots_pause = seconds(1);
// The last slots are for other messages, unless the time of a pending one is so near.
constexpr std::size_t reserved_part = 8;
constexpr Duration reserve_ends = seconds(60);

}  // namespace

Calendar& Pending::calendar_of(Queue& queue) {
  if (!queue.pending) queue.pending = std::make_unique<PendingMessages>();
  std::unique_ptr<Calendar>& calendar = queue.pending->calendar;
  if (!calendar)
    calendar =
        std::make_unique<Calendar>(state_.limits.calendar_bits, state_.calendar_bytes.write());
  return *calendar;
}

void Pending::add(Queue& queue, Seq seq, LogPos position, Instant at) {
  CHECK(queue.index.find(seq).absent(), "seq {} of queue {} is there", seq, raw(queue.id));
  calendar_of(queue).add(seq, at);
  queue.index.put(seq, IndexEntry::pending(position, false));
  queue.keeps_apart = true;
  ++queue.pending->count;
  if (queue.config != nullptr) arm(queue);  // else resume() does
}

void Pending::settle(Queue& queue, Seq seq, IndexEntry indexed) {
  CHECK(indexed.is_pending() && !indexed.is_durable(), "seq {} is durable twice", seq);
  CHECK(queue.pending != nullptr && queue.pending->count > 0, "seq {} is not counted", seq);
  queue.index.put(seq, IndexEntry::pending(indexed.position(), true));
  ++queue.delayed;
}

// --- the timer ---

void Pending::arm(Queue& queue, Instant due) {
  CHECK(due != never && queue.config != nullptr, "queue {} is armed for {}", raw(queue.id), due.ms);
  if (queue.pending->armed != never) state_.timers.cancelled();
  queue.pending->armed = due;
  state_.timers.arm(due, timer_calendar, raw(queue.id), ++queue.pending->generation);
}

void Pending::arm(Queue& queue) {
  const PendingMessages& pending = *queue.pending;
  CHECK(pending.count == 0 || pending.calendar != nullptr, "{} messages without a calendar",
        pending.count);
  if (!pending.calendar || pending.calendar->empty()) return;
  const Instant due = pending.calendar->begin() - state_.limits.calendar_horizon;
  if (due < pending.armed) arm(queue, due);
}

bool Pending::is_near(const Queue& queue, Instant now) const {
  const std::unique_ptr<Calendar>& calendar = queue.pending->calendar;
  return calendar && !calendar->empty() &&
         calendar->begin() <= now + state_.limits.calendar_horizon;
}

std::size_t Pending::approach(Queue& queue, Instant now) {
  CHECK(queue.pending != nullptr && queue.pending->armed <= now, "armed for {}, now {}",
        queue.pending->armed.ms, now.ms);
  // The timer was that of a pause: messages may be late.
  const bool waited =
      is_near(queue, now) &&
      queue.pending->armed > queue.pending->calendar->begin() - state_.limits.calendar_horizon;
  queue.pending->armed = never;
  CHECK(state_.limits.slots_of_calendar_a_turn > 0, "no slot a turn");
  std::size_t examined = 0;
  for (; is_near(queue, now); ++examined) {
    if (examined == state_.limits.slots_of_calendar_a_turn) {
      arm(queue);  // it is due: the shard comes back as soon as its turn allows
      return examined;
    }
    if (!may_take_slot(queue, now) ||
        !give_slot(queue, queue.pending->calendar->first(), Instant{}, waited ? now : Instant{})) {
      arm(queue, now + slots_pause);
      return examined + 1;
    }
    queue.pending->calendar->drop_first();
  }
  arm(queue);
  return std::max<std::size_t>(1, examined);
}

bool Pending::may_take_slot(const Queue& queue, Instant now) const {
  const bool near = queue.pending->calendar->begin() <= now + reserve_ends;
  return near || state_.slots->free() > state_.limits.slots_max / reserved_part;
}

// False: no slot is free. A message that is not durable is hidden when it is; one whose time has
// come is shown by its timer, or if it is not after `passed`, at once. `late`: the time from which
// the retention counts of a message that waited for a slot beyond its own time; 0: none waited.
bool Pending::give_slot(Queue& queue, const Calendar::Entry& entry, Instant passed, Instant late) {
  const IndexEntry indexed = queue.index.find(entry.seq);
  if (!indexed.is_pending() || MUTANT(forget_pending)) return true;
  const std::uint32_t row = states_.slot_for_pending(queue, entry.seq, indexed);
  if (row == Slab<Slot>::none) return false;
  CHECK(state_.slots[row].seq == entry.seq, "seq {} in place of {}", state_.slots[row].seq,
        entry.seq);
  const Instant due = entry.at <= passed ? entry.at : std::max(entry.at, late);
  state_.slot(row).deadline = due;
  if (!indexed.is_durable()) return true;
  if (due <= passed || MUTANT(deliver_pending_early)) {
    states_.show(queue, row);
  } else {
    states_.hide(queue, row, State::delayed, due);
  }
  return true;
}

// --- checkpoint and recovery ---

TrackedMessage Pending::tracked(Seq seq, IndexEntry indexed, Instant at) {
  CHECK(indexed.is_pending(), "seq {} is not pending", seq);
  return {.seq = seq, .position = indexed.position(), .deadline = at, .aged_apart = true};
}

bool Pending::was(const TrackedMessage& message) {
  TrackedMessage as_pending{.seq = message.seq,
                            .position = message.position,
                            .deadline = message.deadline,
                            .aged_apart = true};
  return message == as_pending;
}

bool Pending::takes(const Queue& queue, const Slot& slot, Instant passed) const {
  return !queue.config->is_fifo() && slot.never_delivered() && slot.aged_apart && slot.group == 0 &&
         slot.life_ahead().ms == 0 && !slot.unsettled && !slot.final_deadline &&
         state_.is_far(passed, slot.deadline);
}

void Pending::take(Queue& queue, std::uint32_t row) {
  const Slot& slot = state_.slots[row];
  CHECK(slot.deadline.ms > 0, "seq {} has no time", slot.seq);
  calendar_of(queue).add(slot.seq, slot.deadline);
  states_.make_pending(queue, row);
}

void Pending::resume(Queue& queue, Instant passed, Instant now) {
  if (!queue.pending) return;
  CHECK(passed <= now, "passed {}, now {}", passed.ms, now.ms);
  CHECK(queue.pending->armed == never, "queue {} is armed before its start", raw(queue.id));
  Retention::Ages delivered;
  while (is_near(queue, now)) {
    const Calendar::Entry entry = queue.pending->calendar->first();
    const IndexEntry indexed = queue.index.find(entry.seq);
    if (indexed.is_slot()) {
      // A record said more of it: it was delivered after this time, or has another one.
      const Slot& slot = state_.slots[indexed.slot()];
      const bool another = !slot.never_delivered() || slot.deadline != entry.at;
      if (queue.aged && another) queue.aged->remove({entry.at.ms, entry.seq});
      if (slot.aged_apart && !slot.never_delivered()) delivered.emplace_back(entry.seq, entry.at);
    } else if (!give_slot(queue, entry, passed, Instant{})) {
      break;
    }
    queue.pending->calendar->drop_first();
  }
  retention_.add_unless_known(queue, delivered);
  if (queue.pending->count == 0) queue.pending->calendar.reset();
  if (queue.pending->calendar && !queue.pending->calendar->empty())
    arm(queue, std::max(now + milliseconds(1),
                        queue.pending->calendar->begin() - state_.limits.calendar_horizon));
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/id_requests.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

using State = Slot::State;

// A message of this turn is not in the log yet; nobody has been told its id.
bool with_others(const ShardState& state, IndexEntry indexed) {
  if (indexed.is_lease()) return true;
  if (!indexed.is_slot()) return false;
  const Slot& slot = state.slots[indexed.slot()];
  return slot.state == State::in_flight || slot.state == State::moving ||
         slot.position == log_pos_none;
}

bool is_visible(const ShardState& state, const Queue& queue, Seq seq, IndexEntry indexed) {
  return indexed.is_slot() ? state.slots[indexed.slot()].state == State::visible
                           : queue.index.is_ready(seq);
}

}  // namespace

Errc IdRequests::cancel(Queue& queue, ReceiptEntry& entry, Instant now, Effects& effects) {
  if (entry.error != Errc::ok) return entry.error;
  const Seq seq = seq_of_id(state_.identity.secret, queue.id, entry.id);
  if (seq == 0) return Errc::message_id_invalid;
  CHECK(now >= queue.purged_at, "purged at {}, now {}", queue.purged_at.ms, now.ms);
  const IndexEntry indexed = queue.index.find(seq);
  if (indexed.absent()) {
    entry.cancelled = MessageStates::erase_set_aside(queue, seq, effects);
    return Errc::ok;
  }
  if (with_others(state_, indexed)) return cancel_in_flight(queue, entry, seq, indexed, effects);
  entry.cancelled = true;
  states_.erase(queue, seq, indexed, effects.freed);
  if (!MUTANT(forget_cancel_record)) effects.deletes.push_back({queue.id, seq});
  state_.statistics.leave(queue, QueueCounter::cancelled);
  return Errc::ok;
}

// Its consumer may still delete it: that is no other end than the one asked for.
Errc IdRequests::cancel_in_flight(Queue& queue, ReceiptEntry& entry, Seq seq, IndexEntry indexed,
                                  Effects& effects) {
  if (entry.by != ReceiptEntry::By::id_even_in_flight) return Errc::message_in_flight;
  const std::uint32_t row = states_.slot_for(queue, seq, indexed);
  CHECK(row != Slab<Slot>::none, "seq {} is in flight without a slot", seq);
  Slot& slot = state_.slot(row);
  if (slot.state != State::in_flight) return Errc::message_in_flight;
  entry.cancelled = true;
  if (slot.cancelled) return Errc::ok;
  CHECK(slot.seq == seq, "seq {} is in the slot of seq {}", seq, slot.seq);
  slot.cancelled = true;
  states_.record(slot, effects);
  return Errc::ok;
}

// A waiting message gets a slot: visible, or sent while it is not durable.
std::uint32_t IdRequests::slot_of(Queue& queue, Seq seq, IndexEntry indexed) {
  if (indexed.is_slot() || indexed.is_pending() || queue.index.is_ready(seq))
    return states_.slot_for(queue, seq, indexed);
  CHECK(indexed.in_log(), "seq {} is leased", seq);
  return states_.take_slot(queue, seq, State::sent, indexed.position());
}

Errc IdRequests::reschedule(Queue& queue, const ReceiptEntry& entry, Instant now,
                            Effects& effects) {
  if (entry.error != Errc::ok) return entry.error;
  const Seq seq = seq_of_id(state_.identity.secret, queue.id, entry.id);
  if (seq == 0) return Errc::message_id_invalid;
  const IndexEntry indexed = queue.index.find(seq);
  if (indexed.absent()) return Errc::message_gone;
  if (with_others(state_, indexed)) return Errc::message_in_flight;
  // Its retention has ended, and the sweep will delete it.
  if (seq < queue.expired && !states_.is_apart(indexed)) return Errc::message_gone;
  const bool stays = entry.visibility.ms == 0 && is_visible(state_, queue, seq, indexed);
  if (stays && !queue.config->is_fifo()) return Errc::ok;
  const std::uint32_t row = slot_of(queue, seq, indexed);
  if (row == Slab<Slot>::none) return Errc::overloaded;
  Slot& slot = state_.slot(row);
  slot.final_deadline = true;
  if (slot.receive_count == 0) {
    slot.since = Instant{};  // its own time, not that of its queue
    if (slot.never_delivered() && queue.config->ages_from_delivery() && !stays)
      queue.keep_apart(slot);
  }
  CHECK(slot.seq == seq && slot.queue == queue.id, "seq {} is in the slot of seq {}", seq,
        slot.seq);
  const Instant at = now + entry.visibility;
  if (slot.state == State::sent) {
    slot.deadline = at;
  } else if (at > now) {
    states_.hide(queue, row, State::delayed, at);
  } else {
    slot.deadline = std::min(slot.deadline, now);
    if (!stays) states_.show(queue, row);
  }
  if (!MUTANT(forget_reschedule)) states_.record(slot, effects);
  return Errc::ok;
}

}  // namespace pawl

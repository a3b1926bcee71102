// SPDX-License-Identifier: Apache-2.0
#include "core/shard/returns.h"

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "core/queue/retry_backoff.h"

namespace pawl {
namespace {

using State = Slot::State;

}  // namespace

// The nonce differs in each delivery, so the waits of a message are independent of each other.
Duration wait_after(const QueueConfig& config, const Slot& slot) {
  if (slot.final_deadline) return Duration{0};
  return backoff_wait(config.text(Attribute::backoff_plan), slot.receive_count,
                      slot.seq << 32 ^ slot.nonce);
}

void Returns::timer_fired(Queue& queue, std::uint32_t row, Instant now, Effects& effects) {
  const State state = state_.slots[row].state;
  CHECK(state == State::in_flight || state == State::delayed || state == State::moving,
        "the timer of seq {} has fired in state {}", state_.slots[row].seq,
        static_cast<int>(state));
  if (state == State::in_flight) return lease_ended(queue, row, now, effects);
  // A move that did not begin or was refused is tried again: no receive may ever come.
  if (state == State::moving && state_.slots[row].expired) {
    if (follows_expired(queue, row)) return wait_to_follow(queue, row, now);
    return end_expired(queue, row, now, effects);
  }
  if (state == State::moving && move_if_spent(queue, row, now, effects)) return;
  states_.show(queue, row);
}

void Returns::lease_ended(Queue& queue, std::uint32_t row, Instant now, Effects& effects) {
  state_.statistics.count(queue, QueueCounter::lease_expired);
  if (give_back(queue, row, now, effects)) states_.record(state_.slots[row], effects);
}

bool Returns::returned(Queue& queue, std::uint32_t row, Instant now, Effects& effects) {
  CHECK(state_.slots[row].queue == queue.id, "a slot of queue {}", raw(state_.slots[row].queue));
  const Seq seq = state_.slots[row].seq;
  if (state_.slots[row].state == State::in_flight) {
    state_.statistics.count(queue, QueueCounter::returned);
    state_.slot(row).deadline = now;
    state_.slot(row).final_deadline = false;
    give_back(queue, row, now, effects);
  } else if (!state_.slots[row].waits()) {
    state_.slot(row).deadline = now;
    state_.slot(row).final_deadline = queue.config->acts_at_lease_end();
    states_.show(queue, row);
  }
  const IndexEntry indexed = queue.index.find(seq);
  CHECK(indexed.absent() || indexed.is_slot(), "seq {} has no slot any more", seq);
  return !indexed.absent();
}

bool Returns::end_if_over(Queue& queue, std::uint32_t row, Instant now, Effects& effects) {
  const Seq seq = state_.slots[row].seq;
  CHECK(state_.slots[row].state == State::in_flight, "seq {} is not in flight", seq);
  if (state_.slots[row].cancelled && !MUTANT(forget_cancel)) {
    remove(queue, seq, QueueCounter::cancelled, effects);
    return true;
  }
  if (!state_.slots[row].expired || MUTANT(revive_expired)) return false;
  end_expired(queue, row, now, effects);
  return true;
}

bool Returns::give_back(Queue& queue, std::uint32_t row, Instant now, Effects& effects) {
  if (end_if_over(queue, row, now, effects)) return false;
  if (move_if_spent(queue, row, now, effects)) return false;
  const Slot& slot = state_.slots[row];
  const Instant deadline = slot.deadline + wait_after(*queue.config, slot);
  if (deadline <= now || MUTANT(forget_backoff)) {
    states_.show(queue, row);
    return false;
  }
  state_.statistics.count(queue, QueueCounter::backed_off);
  states_.hide(queue, row, State::delayed, deadline);
  state_.slot(row).final_deadline = true;
  return true;
}

// --- the end of its time ---

bool Returns::expire(Queue& queue, Seq seq, Ended ended, Instant now, Effects& effects) {
  const IndexEntry indexed = queue.index.find(seq);
  if (indexed.absent()) {
    MessageStates::expire_set_aside(queue, seq, effects);
    return true;
  }
  const bool moves = transfers_.takes_expired(queue);
  const State state = indexed.is_slot()           ? state_.slots[indexed.slot()].state
                      : indexed.is_lease()        ? State::in_flight
                      : indexed.is_durable()      ? State::delayed
                      : queue.index.is_ready(seq) ? State::visible
                                                  : State::sent;
  const bool kept = state == State::in_flight || state == State::moving;
  if (kept ? ended == Ended::retention && !moves : !moves) {
    remove(queue, seq, QueueCounter::expired, effects);
    return true;
  }
  CHECK(!indexed.is_slot() || state_.slots[indexed.slot()].seq == seq, "seq {} is in a wrong slot",
        seq);
  if (!kept && (state == State::sent || !transfers_.may_transfer())) return false;
  const std::uint32_t row = states_.slot_for(queue, seq, indexed);
  if (row == Slab<Slot>::none) return false;
  if (indexed.is_pending()) state_.slot(row).deadline = now;
  state_.slot(row).expired = !MUTANT(forget_expired);
  // A checkpoint under way may have the message, and will not have the end of its time.
  states_.record(state_.slots[row], effects);
  if (kept) return true;
  follows_expired(queue, row) ? wait_to_follow(queue, row, now)
                              : end_expired(queue, row, now, effects);
  return true;
}

void Returns::remove(Queue& queue, Seq seq, QueueCounter reason, Effects& effects) {
  CHECK(seq >= queue.low && seq < queue.next_seq, "seq {} of {} to {}", seq, queue.low,
        queue.next_seq);
  states_.erase(queue, seq, effects.freed);
  effects.deletes.push_back({queue.id, seq});
  state_.statistics.leave(queue, reason);
}

// The message before it in its group goes too, and has not arrived yet: they arrive in order, even
// if one is read or accepted later than the other.
bool Returns::follows_expired(const Queue& queue, std::uint32_t row) const {
  const Slot& slot = state_.slots[row];
  CHECK(slot.queue == queue.id, "a slot of queue {}", raw(slot.queue));
  if (!queue.config->is_fifo() || slot.prev_in_group == 0) return false;
  const Slot& before = state_.slots[slot.prev_in_group];
  return before.state == State::moving && before.expired;
}

// Transfers::commit() of the message before it goes on with this one; a timer does if that one
// goes in another way.
void Returns::wait_to_follow(Queue& queue, std::uint32_t row, Instant now) {
  CHECK(state_.slots[row].expired, "seq {} has not expired", state_.slots[row].seq);
  const State state = state_.slots[row].state;
  if (state != State::visible && state != State::moving)
    states_.change_state(queue, row, State::visible);
  states_.hide(queue, row, State::moving, now + follow_pause);
}

void Returns::end_expired(Queue& queue, std::uint32_t row, Instant now, Effects& effects) {
  const Slot& slot = state_.slots[row];
  CHECK(slot.state != State::free && slot.queue == queue.id, "a slot of queue {}", raw(slot.queue));
  if (!transfers_.takes_expired(queue))
    return remove(queue, slot.seq, QueueCounter::expired, effects);
  move(queue, row, now, effects);
}

// To the dead-letter queue, now or after a pause.
void Returns::move(Queue& queue, std::uint32_t row, Instant now, Effects& effects) {
  if (state_.slots[row].state != State::visible) states_.change_state(queue, row, State::visible);
  std::uint32_t dead_letters = 0;
  if (!transfers_.move_to_dead_letters(queue, row, dead_letters, now, effects))
    states_.hide(queue, row, State::moving, now + crowded_pause);
}

bool Returns::move_if_spent(Queue& queue, std::uint32_t row, Instant now, Effects& effects) {
  if (!transfers_.moves_by_itself(queue, state_.slots[row]) || MUTANT(forget_spent_lease))
    return false;
  move(queue, row, now, effects);
  return true;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/message_states.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

using State = Slot::State;

constexpr unsigned bit(State state) { return 1u << static_cast<unsigned>(state); }

// The states that may follow each state, by core/queue/slot.h.
constexpr bool may_become(State before, State after) {
  constexpr unsigned shown = bit(State::visible), gone = bit(State::free);
  constexpr unsigned hidden = bit(State::in_flight) | bit(State::delayed);
  switch (before) {
    case State::free:
      return false;
    case State::sent:
      return (bit(after) & (shown | hidden | gone)) != 0;
    case State::visible:
    case State::moving:
      return (bit(after) & (shown | hidden | gone | bit(State::moving))) != 0;
    case State::delayed:
    case State::in_flight:
      return (bit(after) & (shown | hidden | gone)) != 0;
  }
  return false;
}

void count_down(std::uint64_t& count) {
  CHECK(count > 0, "a message is counted that was not");
  --count;
}

// A message that moves has the time of its next try as deadline, but its lease has ended.
Instant recorded_deadline(const Slot& slot) {
  const bool moves = slot.state == State::moving && slot.nonce != 0;
  return moves ? std::min(slot.deadline, slot.since) : slot.deadline;
}

}  // namespace

// --- slots ---

// A slot for a message that has none; only the generation of its timer goes on.
std::uint32_t MessageStates::take_slot(Queue& queue, Seq seq, State state, LogPos position) {
  const std::uint32_t row = state_.slots.write().take();
  if (row == Slab<Slot>::none) return row;
  Slot& slot = state_.slot(row);
  CHECK(slot.state == State::free && !slot.timer_armed, "slot {} is in use", row);
  const std::uint32_t generation = slot.generation;
  slot = Slot();
  slot.position = position;
  slot.state = state;
  slot.seq = seq;
  slot.queue = queue.id;
  slot.generation = generation;
  CHECK(seq > 0 && seq <= seq_newest_max, "seq {}", seq);
  queue.index.put(seq, IndexEntry::slot(row));
  ++queue.slots;
  return row;
}

// The slot of a message that is there, made if it had none.
std::uint32_t MessageStates::slot_for(Queue& queue, Seq seq, IndexEntry indexed) {
  if (indexed.is_slot()) return indexed.slot();
  if (indexed.is_pending()) {
    const std::uint32_t row = slot_for_pending(queue, seq, indexed);
    if (row == Slab<Slot>::none) return row;
    sweep_calendar(queue);
    state_.slot(row).deadline = never;
    if (indexed.is_durable()) change_state(queue, row, State::delayed);
    return row;
  }
  if (!indexed.is_lease()) return take_slot(queue, seq, State::visible, indexed.position());
  const std::uint32_t row = break_out(queue, indexed);
  Slot& slot = state_.slot(row);
  CHECK(slot.seq == seq, "seq {} is leased as seq {}", seq, slot.seq);
  slot.timer_armed = true;
  state_.timers.arm(slot.deadline, timer_message, row, slot.generation);
  return row;
}

std::uint32_t MessageStates::slot_for_pending(Queue& queue, Seq seq, IndexEntry indexed) {
  CHECK(indexed.is_pending(), "seq {} of queue {} is not pending", seq, raw(queue.id));
  const std::uint32_t row = take_slot(queue, seq, State::sent, indexed.position());
  if (row == Slab<Slot>::none) return row;
  leave_calendar(queue, indexed);
  queue.keep_apart(state_.slot(row));
  return row;
}

void MessageStates::make_pending(Queue& queue, std::uint32_t row) {
  const Slot& slot = state_.slots[row];
  CHECK(slot.state == State::sent && slot.group == 0 && slot.aged_apart && queue.pending,
        "seq {} cannot be pending", slot.seq);
  CHECK(slot.position != log_pos_none && !slot.timer_armed, "seq {} has a timer", slot.seq);
  queue.index.put(slot.seq, IndexEntry::pending(slot.position, true));
  ++queue.delayed;
  ++queue.pending->count;
  count_down(queue.slots);
  state_.slot(row).state = State::free;
  state_.slots.write().give(row);
}

// Its entry in the calendar is out of date from now on.
void MessageStates::leave_calendar(Queue& queue, IndexEntry indexed) {
  CHECK(queue.pending != nullptr && queue.pending->count > 0, "queue {} has no pending message",
        raw(queue.id));
  if (indexed.is_durable()) count_down(queue.delayed);
  --queue.pending->count;
}

// An entry of the calendar is out of date. Recovery needs the times of messages that have a slot by
// now, see Pending::resume().
void MessageStates::sweep_calendar(Queue& queue) {
  std::unique_ptr<Calendar>& calendar = queue.pending->calendar;
  const bool recovers = queue.config == nullptr;
  CHECK(calendar != nullptr, "queue {} has no calendar", raw(queue.id));
  if (queue.pending->count == 0 && !recovers) return calendar.reset();
  calendar->went([&](Seq seq) {
    const IndexEntry indexed = queue.index.find(seq);
    return indexed.is_pending() || (recovers && !indexed.absent());
  });
}

// The slot of a new message, as sent and in its group.
std::uint32_t MessageStates::new_slot(Queue& queue, Seq seq, const Content& content) {
  const std::uint32_t row = take_slot(queue, seq, State::sent, log_pos_none);
  if (row == Slab<Slot>::none || join_group(queue, row, content)) return row;
  queue.index.erase(seq);
  count_down(queue.slots);
  state_.slot(row).state = State::free;
  state_.slots.write().give(row);
  return Slab<Slot>::none;
}

bool MessageStates::join_group(Queue& queue, std::uint32_t row, const Content& content) {
  if (content.group.empty()) return true;
  // A message of a FIFO queue always has what it is deduplicated by, one of another never.
  Groups& groups = groups_of(queue, !content.dedup_id.empty());
  return groups.join(row, text_key(state_.identity.secret, content.group));
}

Groups& MessageStates::groups_of(Queue& queue, bool fifo) {
  if (queue.groups) return *queue.groups;
  queue.groups = std::make_unique<Groups>(state_.slots.write(), fifo, state_.groups_bytes.write());
  if (fifo && queue.config != nullptr) queue.groups->order({}, queue.config->passes_delayed());
  return *queue.groups;
}

void MessageStates::release(IndexEntry indexed, std::vector<LogPos>& freed) {
  if (!indexed.is_slot()) {
    freed.push_back(position_of(indexed));
    if (indexed.is_lease()) state_.leases.write().leave(indexed);
    return;
  }
  Slot& slot = state_.slot(indexed.slot());
  if (slot.state != State::free) {  // its queue has gone
    if (slot.timer_armed) state_.timers.cancelled();
    slot.timer_armed = false;
    ++slot.generation;
    slot.state = State::free;
  }
  // Without a position its record is of this turn: appended() sees to it.
  if (slot.position != log_pos_none) freed.push_back(slot.position);
  state_.slots.write().give(indexed.slot());
}

// --- leases ---

std::uint32_t MessageStates::open_lease(Queue& queue, Seq seq, std::uint32_t nonce,
                                        std::uint64_t expected, Instant now, Duration visibility) {
  if (expected < Lease::members_min) return Leases::none;
  const auto members =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(expected, Lease::members_max));
  const std::uint32_t row =
      state_.leases.write().open(queue.id, seq, nonce, members, now, visibility);
  if (row != Leases::none) ++queue.leases;
  return row;
}

Slot MessageStates::lease(Queue& queue, std::uint32_t row, Seq seq, LogPos position,
                          std::uint32_t nonce) {
  CHECK(state_.leases[row].queue == queue.id, "a lease of queue {}", raw(state_.leases[row].queue));
  const IndexEntry member = state_.leases.write().join(row, seq, position, nonce);
  queue.index.take(seq, member);
  ++queue.in_flight;
  return state_.leases->slot_of(member);
}

void MessageStates::close_lease(Queue& queue, std::uint32_t row) {
  const Lease& lease = state_.leases[row];
  if (lease.members() >= Lease::members_min) return;
  const std::uint32_t only = lease.first();
  slot_for(queue, lease.seq(only), IndexEntry::lease(row, only));
}

std::span<const std::uint32_t> MessageStates::end_lease(std::uint32_t row) {
  state_.leases.write().fired(row);
  ended_.clear();
  const Lease& lease = state_.leases[row];
  // A lease of a retired queue is freed later; the queue does not know it.
  Queue* const queue = state_.existing_queue(raw(lease.queue));
  const std::uint32_t first = lease.first();
  if (queue == nullptr || queue->index.find(lease.seq(first)) != IndexEntry::lease(row, first))
    return {};
  for (std::uint32_t left = lease.members(); left > (MUTANT(forget_lease_member) ? 1 : 0); --left)
    ended_.push_back(break_out(*queue, IndexEntry::lease(row, lease.first())));
  return ended_;
}

// The slot of a leased message, without a timer: a lease reserves it.
std::uint32_t MessageStates::break_out(Queue& queue, IndexEntry indexed) {
  const Slot leased = state_.leases->slot_of(indexed);
  leave_lease(queue, indexed);
  const std::uint32_t row = take_slot(queue, leased.seq, leased.state, leased.position);
  CHECK(row != Slab<Slot>::none, "no slot was reserved for seq {}", leased.seq);
  Slot& slot = state_.slot(row);
  slot.deadline = leased.deadline;
  slot.nonce = leased.nonce;
  slot.set_received(leased.receive_count, leased.first_received(), leased.since);
  return row;
}

void MessageStates::leave_lease(Queue& queue, IndexEntry indexed) {
  CHECK(state_.leases[indexed.lease()].queue == queue.id, "a lease of queue {}",
        raw(state_.leases[indexed.lease()].queue));
  if (state_.leases.write().leave(indexed)) count_down(queue.leases);
}

// --- states ---

void MessageStates::change_state(Queue& queue, std::uint32_t row, State state) {
  Slot& slot = state_.slot(row);
  const State before = slot.state;
  CHECK(may_become(before, state), "seq {} of queue {}: state {} after {}", slot.seq,
        raw(slot.queue), static_cast<int>(state), static_cast<int>(before));
  CHECK(slot.queue == queue.id, "a slot of queue {}", raw(slot.queue));
  if (slot.timer_armed) state_.timers.cancelled();
  slot.timer_armed = false;
  ++slot.generation;
  if (before == State::in_flight && !MUTANT(leak_in_flight)) count_down(queue.in_flight);
  if (before == State::delayed) count_down(queue.delayed);
  if (before == State::moving) count_down(queue.leaving);
  if (state == State::in_flight) ++queue.in_flight;
  if (state == State::delayed) ++queue.delayed;
  if (state == State::moving) ++queue.leaving;
  CHECK(queue.delayed + queue.leaving <= queue.slots + queue.pending_count(),
        "{} delayed, {} leaving of {}, {} pending", queue.delayed, queue.leaving, queue.slots,
        queue.pending_count());
  if (slot.never_delivered()) {
    if (slot.aged_apart) retention_.aged_apart(queue, slot, before, state);
    if (state == State::visible && slot.life_ahead().ms != 0) retention_.begin_life(queue, slot);
  }
  slot.state = state;
  if (slot.group != 0) {
    CHECK(queue.groups != nullptr, "seq {} is in a group of none", slot.seq);
    queue.groups->changed(row, before);
  } else if (state == State::visible) {
    queue.index.make_ready(
        slot.seq, slot.receive_count == 0 ? SeqIndex::Set::fresh : SeqIndex::Set::returned);
  } else if (before == State::visible) {
    queue.index.make_unready(slot.seq);
  }
}

void MessageStates::hide(Queue& queue, std::uint32_t row, State state, Instant deadline) {
  Slot& slot = state_.slot(row);
  change_state(queue, row, state);
  slot.deadline = deadline;
  slot.timer_armed = true;
  state_.timers.arm(MUTANT(fire_too_soon) ? deadline - milliseconds(1) : deadline, timer_message,
                    row, slot.generation);
}

// The same with a timeout that repeats: it has a lane.
void MessageStates::hide(Queue& queue, std::uint32_t row, State state, Instant now,
                         Duration timeout) {
  Slot& slot = state_.slot(row);
  change_state(queue, row, state);
  slot.deadline = now + timeout;
  slot.timer_armed = true;
  state_.timers.arm(now, timeout, timer_message, row, slot.generation);
}

void MessageStates::show(Queue& queue, std::uint32_t row) {
  change_state(queue, row, State::visible);
  if (!MUTANT(lose_wakeup)) polls_.want_match(queue);
}

// The message goes. Its record is in `freed`, unless it is needed still.
void MessageStates::erase(Queue& queue, Seq seq, std::vector<LogPos>& freed) {
  const IndexEntry indexed = queue.index.find(seq);
  if (!indexed.absent()) erase(queue, seq, indexed, freed);
}

void MessageStates::erase(Queue& queue, Seq seq, IndexEntry indexed, std::vector<LogPos>& freed) {
  if (indexed.is_slot()) {
    change_state(queue, indexed.slot(), State::free);
    if (state_.slots[indexed.slot()].group != 0) queue.groups->leave(indexed.slot());
    count_down(queue.slots);
  }
  queue.index.erase(seq);
  if (indexed.is_lease()) {
    if (!MUTANT(leak_in_flight)) count_down(queue.in_flight);
    freed.push_back(state_.leases->position(indexed));
    leave_lease(queue, indexed);
  } else {
    release(indexed, freed);
    if (indexed.is_pending()) {
      leave_calendar(queue, indexed);
      sweep_calendar(queue);
    }
  }
  if (queue.ttl_ends) queue.ttl_ends->look(queue);
  // It may have been in the way: at the limit of messages in flight, or at the front of its group.
  if (queue.has_ready() && !MUTANT(group_sleeps)) polls_.want_match(queue);
}

// --- delays of FIFO queues ---

// End of a message's delay by the queue's present setting: only in a FIFO queue, and only for a
// message never received. 0: it has no delay, or one of its own.
Instant MessageStates::delay_end(const Queue& queue, const Slot& slot) {
  const bool its_own = slot.receive_count > 0 || slot.since.ms == 0;
  return its_own || !queue.config->is_fifo() ? Instant{} : slot.since + queue.config->delay();
}

// A FIFO queue's new delay also holds for the messages in it that were never received.
void MessageStates::delay_anew(Queue& queue, Instant now) {
  order_groups(queue, false);  // places by time are taken once, at the end
  queue.index.for_each([&](Seq, IndexEntry indexed) {
    if (!indexed.is_slot()) return;
    Slot& slot = state_.slot(indexed.slot());
    const bool waits = slot.state == State::delayed || slot.state == State::visible;
    const Instant deadline = delay_end(queue, slot);
    if (deadline.ms == 0) return;
    if (slot.state == State::sent) {
      if (deadline > slot.since && queue.config->ages_from_delivery()) queue.keep_apart(slot);
      slot.deadline = deadline;
    } else if (waits && deadline > now) {
      if (queue.config->ages_from_delivery()) queue.keep_apart(slot);
      hide(queue, indexed.slot(), State::delayed, deadline);
    } else if (slot.state == State::delayed) {
      slot.deadline = slot.life_ahead().ms == 0 ? deadline : now;  // it begins to live
      show(queue, indexed.slot());
      if (queue.config->passes_delayed()) slot.deadline = deadline;  // as after a restart
    } else if (waits && queue.config->passes_delayed() && slot.deadline != deadline) {
      change_state(queue, indexed.slot(), State::delayed);
      slot.deadline = deadline;
      show(queue, indexed.slot());
    }
  });
  order_groups(queue);
}

void MessageStates::order_groups(Queue& queue, bool passes) {
  if (!queue.groups || queue.groups->passes() == passes) return;
  std::vector<std::uint32_t> rows;
  queue.index.for_each([&](Seq seq, IndexEntry indexed) {
    CHECK(indexed.is_slot(), "seq {} of a FIFO queue has no slot", seq);
    rows.push_back(indexed.slot());
  });
  queue.groups->order(rows, passes);
}

// --- messages set aside ---

void MessageStates::set_aside(QueueId id, Seq seq) {
  Queue* const queue = state_.find_queue(id);
  const IndexEntry indexed = queue == nullptr ? IndexEntry() : queue->index.find(seq);
  // Nobody reads the body of a pending message before its time.
  if (indexed.absent() || indexed.is_pending()) return;
  TrackedMessage message{.seq = seq};
  if (!indexed.in_log()) message = tracked_message_of(*queue, seq, indexed);
  message.position = position_of(indexed);
  CHECK(message.position != log_pos_none, "seq {} is not in the log", seq);
  const auto at = std::ranges::lower_bound(queue->set_aside, seq, {}, &TrackedMessage::seq);
  CHECK(at == queue->set_aside.end() || at->seq != seq, "seq {} is set aside twice", seq);
  queue->set_aside.insert(at, message);
  std::vector<LogPos> kept;
  erase(*queue, seq, indexed, kept);  // its record stays
  CHECK(kept.size() == 1 && kept.front() == message.position, "{} records", kept.size());
  state_.statistics.leave(*queue, QueueCounter::set_aside);
  queue->count_kept();
  ++set_aside_;
}

const TrackedMessage* MessageStates::find_set_aside(const Queue& queue, Seq seq) {
  const auto found = std::ranges::lower_bound(queue.set_aside, seq, {}, &TrackedMessage::seq);
  return found == queue.set_aside.end() || found->seq != seq ? nullptr : &*found;
}

void MessageStates::expire_set_aside(Queue& queue, Seq seq, Effects& effects) {
  const auto found = std::ranges::lower_bound(queue.set_aside, seq, {}, &TrackedMessage::seq);
  if (found == queue.set_aside.end() || found->seq != seq) return;
  CHECK(found->position != log_pos_none, "seq {} is not in the log", seq);
  found->expired = true;
  // A checkpoint under way may have the message, and will not have the end of its time.
  effects.receives.push_back({.queue = queue.id,
                              .seq = seq,
                              .nonce = found->nonce,
                              .receive_count = found->receive_count,
                              .deadline = found->deadline,
                              .first_received = found->since - span_of(found->first_before),
                              .last_received = found->since,
                              .waits = found->waits,
                              .final_deadline = found->final_deadline,
                              .cancelled = found->cancelled,
                              .aged_apart = found->aged_apart,
                              .expired = true});
}

bool MessageStates::erase_set_aside(Queue& queue, Seq seq, Effects& effects) {
  const TrackedMessage* const found = find_set_aside(queue, seq);
  if (found == nullptr) return false;
  CHECK(found->position != log_pos_none, "seq {} is not in the log", seq);
  effects.freed.push_back(found->position);
  effects.deletes.push_back({queue.id, seq});
  queue.set_aside.erase(queue.set_aside.begin() + (found - queue.set_aside.data()));
  return true;
}

// --- positions in the log ---

LogPos MessageStates::position_of(QueueId id, Seq seq) {
  const Queue* const queue = state_.find_queue(id);
  return queue == nullptr ? log_pos_none : position_of(queue->index.find(seq));
}

void MessageStates::relocated(QueueId id, Seq seq, LogPos position) {
  Queue* const found = state_.find_queue(id);
  CHECK(found != nullptr, "queue {} is gone", raw(id));
  Queue& queue = *found;
  set_position(queue, seq, queue.index.find(seq), position);
}

void MessageStates::set_position(Queue& queue, Seq seq, IndexEntry indexed, LogPos position) {
  CHECK(!indexed.absent() && position != log_pos_none, "seq {} at {}", seq, position);
  if (indexed.is_slot()) {
    state_.slot(indexed.slot()).position = position;
  } else if (indexed.is_lease()) {
    state_.leases.write().set_position(indexed, position);
  } else {
    queue.index.put(seq, indexed.moved_to(position));
  }
}

// --- records ---

TrackedMessage MessageStates::tracked_message_of(const Queue& queue, Seq seq,
                                                 IndexEntry indexed) const {
  const Slot slot =
      indexed.is_lease() ? state_.leases->slot_of(indexed) : state_.slots[indexed.slot()];
  CHECK(slot.seq == seq, "seq {} is in the slot of seq {}", seq, slot.seq);
  CHECK(slot.queue == queue.id, "a slot of queue {}", raw(slot.queue));
  CHECK(slot.group == 0 || queue.groups != nullptr, "seq {} is in a group of none", slot.seq);
  return {.seq = slot.seq,
          .position = slot.position,
          .deadline = recorded_deadline(slot),
          .since = slot.since,
          .first_before = slot.first_before,
          .receive_count = slot.receive_count,
          .nonce = slot.nonce,
          .group = slot.group == 0 ? TextKey{} : queue.groups->name_of(slot.group),
          .waits = slot.waits(),
          .final_deadline = slot.final_deadline,
          .cancelled = slot.cancelled,
          .aged_apart = slot.aged_apart,
          .expired = slot.expired};
}

void MessageStates::record(const Slot& slot, Effects& effects) const {
  CHECK(slot.seq != 0 && slot.state != State::free, "seq {} has gone", slot.seq);
  effects.receives.push_back({.queue = slot.queue,
                              .seq = slot.seq,
                              .nonce = slot.nonce,
                              .receive_count = slot.receive_count,
                              .deadline = recorded_deadline(slot),
                              .first_received = slot.first_received(),
                              .last_received = slot.since,
                              .waits = slot.waits(),
                              .final_deadline = slot.final_deadline,
                              .cancelled = slot.cancelled,
                              .aged_apart = slot.aged_apart,
                              .expired = slot.expired});
}

}  // namespace pawl

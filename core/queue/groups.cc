// SPDX-License-Identifier: Apache-2.0
#include "core/queue/groups.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

std::uint32_t Groups::find(const TextKey& name) const {
  return index_.find(name.low, [&](std::uint32_t row) { return groups_[row].name == name; });
}

std::uint32_t Groups::make(const TextKey& name) {
  const std::uint32_t row = groups_.take();
  if (row == groups_.none) return row;
  groups_[row] = Group{.name = name};
  index_.put(name.low, row, [this](std::uint32_t r) { return groups_[r].name.low; });
  count();
  return row;
}

void Groups::drop(std::uint32_t row) {
  const Group& group = groups_[row];
  CHECK(group.messages == 0 && group.in_flight == 0, "{} messages, {} in flight", group.messages,
        group.in_flight);
  CHECK(group.first == 0 && group.last == 0 && group.returned_first == 0, "a message is linked");
  if (group.ready) pop_ready(row);
  index_.erase(groups_[row].name.low, row, [this](std::uint32_t r) { return groups_[r].name.low; });
  groups_.give(row);
  count();
}

// --- messages ---

bool Groups::join(std::uint32_t slot, const TextKey& name) {
  std::uint32_t row = find(name);
  if (row == HashIndex::none) row = make(name);
  if (row == groups_.none) return false;
  CHECK((*slots_)[slot].group == 0, "slot {} is in group {}", slot, (*slots_)[slot].group);
  Group& group = groups_[row];
  ++group.messages;
  (*slots_)[slot].group = row;
  if (fifo_ && has_place((*slots_)[slot])) {
    link({group.first, group.last}, slot);
    refresh(row);
  }
  return true;
}

void Groups::leave(std::uint32_t slot) {
  Slot& s = (*slots_)[slot];
  const std::uint32_t row = s.group;
  Group& group = groups_[row];
  CHECK(group.messages > 0, "group {} is empty", row);
  if (fifo_ && is_linked(group, slot)) unlink({group.first, group.last}, slot);
  s.group = 0;
  if (--group.messages == 0) {
    drop(row);
  } else {
    refresh(row);
  }
}

void Groups::changed(std::uint32_t slot, Slot::State before) {
  using State = Slot::State;
  Slot& s = (*slots_)[slot];
  Group& group = groups_[s.group];
  if (before == State::in_flight) {
    CHECK(group.in_flight > 0, "group {} has none in flight", s.group);
    --group.in_flight;
  }
  if (s.state == State::in_flight) ++group.in_flight;
  CHECK(group.in_flight <= group.messages, "{} in flight of {}", group.in_flight, group.messages);
  if (before == State::visible) {
    CHECK(visible_ > 0, "no message is visible");
    --visible_;
  }
  if (s.state == State::visible) ++visible_;
  if (passes_ && s.state != State::free && has_place(s) != is_linked(group, slot)) {
    has_place(s) ? link({group.first, group.last}, slot) : unlink({group.first, group.last}, slot);
  }
  if (!fifo_) {
    if (before == State::visible) unlink(list_of(group, s), slot);
    if (s.state == State::visible) {
      s.returned = s.receive_count > 0;
      link(list_of(group, s), slot);
    }
  }
  refresh(s.group);
}

bool Groups::is_linked(const Group& group, std::uint32_t slot) const {
  return (*slots_)[slot].prev_in_group != 0 || group.first == slot;
}

// FIFO: the message has its place before the other one.
bool Groups::precedes(const Slot& slot, const Slot& other) const {
  if (!passes_ || MUTANT(forget_place)) return slot.seq < other.seq;
  if ((slot.nonce != 0) != (other.nonce != 0)) return slot.nonce != 0;
  if (slot.nonce == 0 && slot.deadline != other.deadline) return slot.deadline < other.deadline;
  return slot.seq < other.seq;
}

// The places follow from the states alone, so they are the same after a restart.
void Groups::order(std::span<std::uint32_t> slots, bool passes) {
  CHECK(fifo_, "groups of a standard queue have no order");
  CHECK(slots.size() >= groups_.taken(), "{} messages in {} groups", slots.size(), groups_.taken());
  for (const std::uint32_t slot : slots) {
    Group& group = groups_[(*slots_)[slot].group];
    if (is_linked(group, slot)) unlink({group.first, group.last}, slot);
  }
  passes_ = passes;
  std::ranges::sort(slots, [&](std::uint32_t a, std::uint32_t b) {
    return precedes((*slots_)[a], (*slots_)[b]);
  });
  for (const std::uint32_t slot : slots) {
    Group& group = groups_[(*slots_)[slot].group];
    if (has_place((*slots_)[slot])) link({group.first, group.last}, slot);
  }
  for (const std::uint32_t slot : slots) refresh((*slots_)[slot].group);
}

// Links in order, searching from the end: new messages come last. Recovery may bring them in
// another order, and a timer may be late. A message that moves away keeps its place.
void Groups::link(List list, std::uint32_t slot) {
  Slot& s = (*slots_)[slot];
  CHECK(s.prev_in_group == 0 && s.next_in_group == 0 && list.last != slot, "slot {} is linked",
        slot);
  CHECK((list.first == 0) == (list.last == 0), "from {} to {}", list.first, list.last);
  std::uint32_t prev = list.last;
  const auto follows = [&](const Slot& other) {
    return precedes(s, other) && (!passes_ || other.state == Slot::State::visible);
  };
  while (prev != 0 && fifo_ && follows((*slots_)[prev])) prev = (*slots_)[prev].prev_in_group;
  const std::uint32_t next = prev != 0 ? (*slots_)[prev].next_in_group : list.first;
  s.prev_in_group = prev;
  s.next_in_group = next;
  (prev != 0 ? (*slots_)[prev].next_in_group : list.first) = slot;
  (next != 0 ? (*slots_)[next].prev_in_group : list.last) = slot;
}

void Groups::unlink(List list, std::uint32_t slot) {
  Slot& s = (*slots_)[slot];
  CHECK(s.prev_in_group != 0 || list.first == slot, "slot {} is not the first", slot);
  CHECK(s.next_in_group != 0 || list.last == slot, "slot {} is not the last", slot);
  (s.prev_in_group != 0 ? (*slots_)[s.prev_in_group].next_in_group : list.first) = s.next_in_group;
  (s.next_in_group != 0 ? (*slots_)[s.next_in_group].prev_in_group : list.last) = s.prev_in_group;
  s.prev_in_group = s.next_in_group = 0;
}

// --- who is next ---

void Groups::refresh(std::uint32_t row) {
  const Group& group = groups_[row];
  const bool ready = fifo_
                         ? group.first != 0 && (*slots_)[group.first].state == Slot::State::visible
                         : group.first != 0 || group.returned_first != 0;
  if (ready == group.ready) return;
  ready ? push_ready(row) : pop_ready(row);
}

void Groups::push_ready(std::uint32_t row) {
  Group& group = groups_[row];
  CHECK(!group.ready && group.messages > 0, "group {} of {} messages", row, group.messages);
  group.ready = true;
  group.prev = last_ready_;
  group.next = 0;
  (last_ready_ != 0 ? groups_[last_ready_].next : first_ready_) = row;
  last_ready_ = row;
}

void Groups::pop_ready(std::uint32_t row) {
  Group& group = groups_[row];
  CHECK(group.ready, "group {} is not ready", row);
  CHECK(group.prev != 0 || first_ready_ == row, "group {} is not the first", row);
  CHECK(group.next != 0 || last_ready_ == row, "group {} is not the last", row);
  group.ready = false;
  (group.prev != 0 ? groups_[group.prev].next : first_ready_) = group.next;
  (group.next != 0 ? groups_[group.next].prev : last_ready_) = group.prev;
}

bool Groups::is_noisy(const Group& group, std::uint64_t in_flight) const {
  return group.in_flight >= noisy_in_flight &&
         std::uint64_t{group.in_flight} * noisy_share > in_flight;
}

// The first fresh message or the first returned one.
std::uint32_t Groups::next_of(Group& group, Instant now) const {
  CHECK(group.first != 0 || group.returned_first != 0, "a ready group without a message");
  bool returned = group.first == 0;
  if (group.first != 0 && group.returned_first != 0) {
    const Slot& slot = (*slots_)[group.returned_first];
    returned = slot.precedes((*slots_)[group.first].seq, group.chose_returned, now);
  }
  group.chose_returned = returned;
  return returned ? group.returned_first : group.first;
}

std::uint32_t Groups::next_fairly(std::uint64_t in_flight, Instant now) {
  CHECK(!fifo_ && first_ready_ != 0);
  std::uint32_t chosen = first_ready_;
  for (std::uint32_t row = first_ready_; row != 0; row = groups_[row].next) {
    if (!is_noisy(groups_[row], in_flight)) {
      chosen = row;
      break;
    }
    if (groups_[row].in_flight < groups_[chosen].in_flight) chosen = row;
  }
  pop_ready(chosen);
  push_ready(chosen);
  return next_of(groups_[chosen], now);
}

}  // namespace pawl

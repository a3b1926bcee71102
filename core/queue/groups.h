// SPDX-License-Identifier: Apache-2.0
// The message groups of one queue: order in a FIFO queue, fairness in a standard one.
//
// FIFO: a group is the list of all its messages, in order. It is ready while its first message is
// visible. Messages are delivered from the front, up to the first one that is not visible. So a
// group with an in-flight message at its front waits, and a message that returns early goes first.
// Order is by number.
//
// FIFO with x-fifo-delay=pass: a message that was never delivered is not in the list while it is
// delayed or not durable. Then it comes behind all that were delivered, in order of the time at
// which it became visible. No receive delivers a message behind one of a higher number, which has
// passed it. So those that were delivered are in order of their numbers, as after a restart.
//
// Standard: a group is the visible messages of one tenant, returned messages apart from those never
// received. Tenants take turns. A noisy tenant has 30 messages in flight and over a tenth of all in
// flight. It is served only while no other tenant has visible messages, the tenant with the fewest
// in flight first. At most nine tenants can be noisy at a time, so skipping them is short.
//
// Ready groups are a list in the order they became ready: a served group goes to the end. No cost
// here depends on the number of groups or messages, except that of order().
//
// Limits: some 80 bytes and a hash entry a group, in blocks of 64, the first of 8; a group without
//         messages is freed.
// Owner:  one queue of one shard; the slots are the shard's.
// Source: SQS Developer Guide, "FIFO queue delivery logic", "Amazon SQS fair queues".
#pragma once

#include <cstdint>
#include <span>

#include "core/base/ids.h"
#include "core/base/mutant.h"
#include "core/base/usage.h"
#include "core/containers/hash_index.h"
#include "core/containers/slab.h"
#include "core/queue/slot.h"

namespace pawl {

struct Group {
  TextKey name;
  std::uint32_t first = 0, last = 0;                    // slots; see above
  std::uint32_t returned_first = 0, returned_last = 0;  // standard: returned messages
  std::uint32_t prev = 0, next = 0;                     // in the list of ready groups
  std::uint32_t messages = 0;
  std::uint32_t in_flight = 0;
  bool chose_returned = false;  // last choice between a just returned and a fresh message
  bool ready = false;
};

class Groups {
 public:
  static constexpr std::uint32_t noisy_in_flight = 30;
  static constexpr std::uint32_t noisy_share = 10;  // one tenth of all in flight

  // `bytes_total`: sums the bytes of all Groups that share it.
  Groups(Slab<Slot>& slots, bool fifo, std::uint64_t& bytes_total)
      : slots_(&slots), usage_(bytes_total), fifo_(fifo) {
    count();
  }

  bool is_fifo() const { return fifo_; }
  // FIFO: delayed messages do not hold their groups.
  bool passes() const { return passes_; }
  // FIFO: with a new value of passes(). `slots`: all messages of the groups, in any order.
  void order(std::span<std::uint32_t> slots, bool passes);
  // Adds a message that is not visible to the group. False: full.
  bool join(std::uint32_t slot, const TextKey& name);
  // The message's state has changed.
  void changed(std::uint32_t slot, Slot::State before);
  // Takes the message, no longer visible, out of its group.
  void leave(std::uint32_t slot);

  bool any_ready() const { return first_ready_ != 0; }
  std::uint64_t visible() const { return visible_; }
  std::size_t size() const { return groups_.taken(); }
  const TextKey& name_of(std::uint32_t row) const { return groups_[row].name; }
  std::uint32_t in_flight_of(std::uint32_t row) const { return groups_[row].in_flight; }
  // Standard: the visible messages of other tenants go first; `in_flight` is the queue's.
  bool is_noisy(std::uint32_t row, std::uint64_t in_flight) const {
    return is_noisy(groups_[row], in_flight);
  }
  // FIFO: the slot of the first message of a group.
  std::uint32_t first_of(std::uint32_t row) const { return groups_[row].first; }

  // FIFO: the first message of the next group; the others follow by Slot::next_in_group. The caller
  // changes its state; a group that stays ready is next again.
  std::uint32_t next_in_order() const {
    CHECK(fifo_ && first_ready_ != 0);
    return groups_[first_ready_].first;
  }
  // Standard: a message of the tenant whose turn it is; `in_flight` is the queue's.
  std::uint32_t next_fairly(std::uint64_t in_flight, Instant now);

 private:
  static constexpr std::uint32_t groups_max = 1u << 30;
  struct List {
    std::uint32_t& first;
    std::uint32_t& last;
  };

  List list_of(Group& group, const Slot& slot) {
    return slot.returned ? List{group.returned_first, group.returned_last}
                         : List{group.first, group.last};
  }
  void count() { usage_.set(sizeof(Groups) + groups_.bytes() + index_.bytes()); }
  std::uint32_t find(const TextKey& name) const;
  std::uint32_t make(const TextKey& name);
  void drop(std::uint32_t row);
  bool is_linked(const Group& group, std::uint32_t slot) const;
  bool precedes(const Slot& slot, const Slot& other) const;
  // FIFO: it has a place in the list.
  bool has_place(const Slot& slot) const {
    const bool waits = slot.state == Slot::State::sent || slot.state == Slot::State::delayed;
    return !passes_ || !waits || slot.nonce != 0 || MUTANT(hold_group);
  }
  void link(List list, std::uint32_t slot);
  void unlink(List list, std::uint32_t slot);
  void refresh(std::uint32_t row);
  void push_ready(std::uint32_t row);
  void pop_ready(std::uint32_t row);
  std::uint32_t next_of(Group& group, Instant now) const;
  bool is_noisy(const Group& group, std::uint64_t in_flight) const;

  Slab<Slot>* slots_;
  UsageCounter usage_;
  bool fifo_, passes_ = false;
  Slab<Group, 64, 8> groups_{groups_max};
  HashIndex index_;
  std::uint32_t first_ready_ = 0, last_ready_ = 0;
  std::uint64_t visible_ = 0;
};

}  // namespace pawl

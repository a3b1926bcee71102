// SPDX-License-Identifier: Apache-2.0
// The leases of a shard (core/queue/lease.h) with their timers.
//
//   open --> join, a message at a time --> leave, a message at a time --> the row is freed
//                                \--> fired(), then every member leaves
//
// A lease reserves a slot for each member, so that a member can always leave for one, and one more
// for itself: its row is not larger than two slots. ShardLimits::slots_max therefore bounds the
// memory of leases too.
//
// Limits: open() needs free slots for all messages expected, else it returns `none`.
// Owner:  the ShardState; core/shard/message_states.h keeps the queue's index and counts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/containers/slab.h"
#include "core/containers/timer_wheel.h"
#include "core/queue/lease.h"
#include "core/queue/seq_index.h"
#include "core/queue/slot.h"

namespace pawl {

class Leases {
 public:
  using Table = Slab<Lease, 512>;
  static constexpr std::uint32_t none = Table::none;
  static constexpr std::uint64_t lease_bytes = sizeof(Lease) + sizeof(TimerEntry);
  static_assert(sizeof(Lease) <= 2 * sizeof(Slot));
  static_assert(Lease::members_max <= IndexEntry::members_max);

  // `kind` is the kind of its entries in `timers`.
  Leases(Slab<Slot>& slots, TimerWheel& timers, std::uint16_t kind, std::size_t spare_bytes);

  // A lease of messages delivered now: the first one is `seq`, with `nonce`. `expected` of them, at
  // most members_max, are about to join.
  std::uint32_t open(QueueId queue, Seq seq, std::uint32_t nonce, std::uint32_t expected,
                     Instant now, Duration visibility);
  IndexEntry join(std::uint32_t row, Seq seq, LogPos position, std::uint32_t nonce);
  // The member is deleted, or gets its slot. True: it was the last, and the lease has ended.
  bool leave(IndexEntry member);
  // The timer's entry has been visited.
  void fired(std::uint32_t row);
  bool live(const TimerEntry& entry) const;

  LogPos position(IndexEntry member) const { return lease_of(member).positions[member.member()]; }
  void set_position(IndexEntry member, LogPos position);
  Slot slot_of(IndexEntry member) const { return lease_of(member).slot_of(member.member()); }
  const Lease& operator[](std::uint32_t row) const { return table_[row]; }
  std::size_t size() const { return table_.taken(); }
  std::size_t bytes() const { return table_.bytes(); }

 private:
  const Lease& lease_of(IndexEntry member) const {
    const Lease& lease = table_[member.lease()];
    CHECK(lease.has(member.member()), "lease {} has no member {}", member.lease(), member.member());
    return lease;
  }

  Slab<Slot>& slots_;
  TimerWheel& timers_;
  std::uint16_t kind_;
  Table table_;
};

}  // namespace pawl

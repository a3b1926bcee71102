// SPDX-License-Identifier: Apache-2.0
#include "core/queue/leases.h"

#include <algorithm>

#include "core/base/mutant.h"

namespace pawl {

Leases::Leases(Slab<Slot>& slots, TimerWheel& timers, std::uint16_t kind, std::size_t spare_bytes)
    : slots_(slots),
      timers_(timers),
      kind_(kind),
      table_(UINT32_MAX, std::max<std::size_t>(1, spare_bytes / Table::block_bytes())) {}

std::uint32_t Leases::open(QueueId queue, Seq seq, std::uint32_t nonce, std::uint32_t expected,
                           Instant now, Duration visibility) {
  CHECK(expected >= Lease::members_min && expected <= Lease::members_max, "{} expected", expected);
  if (slots_.free() < expected + 1) return none;
  slots_.reserve(1);
  const std::uint32_t row = table_.take();
  CHECK(row != none, "{} leases", table_.taken());
  Lease& lease = table_[row];
  CHECK(lease.live == 0 && !lease.timer_armed, "lease {} is in use", row);
  lease.first_seq = seq;
  lease.deadline = now + visibility;
  lease.received = now;
  lease.queue = queue;
  lease.first_nonce = nonce;
  lease.timer_armed = true;
  timers_.arm(now, visibility, kind_, row, lease.generation);
  return row;
}

IndexEntry Leases::join(std::uint32_t row, Seq seq, LogPos position, std::uint32_t nonce) {
  Lease& lease = table_[row];
  const std::uint32_t member = nonce - lease.first_nonce;
  CHECK(lease.fits(seq, nonce) && !lease.has(member), "seq {} does not fit into lease {}", seq,
        row);
  CHECK(position != log_pos_none, "seq {} is not in the log", seq);
  slots_.reserve(1);
  lease.live |= static_cast<std::uint16_t>(1u << member);
  lease.offsets[member] = static_cast<std::uint16_t>(seq - lease.first_seq);
  lease.positions[member] = position;
  return IndexEntry::lease(row, member);
}

bool Leases::leave(IndexEntry member) {
  const std::uint32_t row = member.lease();
  Lease& lease = table_[row];
  CHECK(lease.has(member.member()), "lease {} has no member {}", row, member.member());
  lease.live &= static_cast<std::uint16_t>(~(1u << member.member()));
  slots_.unreserve(1);
  if (lease.live != 0) return false;
  slots_.unreserve(1);
  if (lease.timer_armed) timers_.cancelled();
  lease.timer_armed = false;
  if (!MUTANT(reuse_lease_timer)) ++lease.generation;
  table_.give(row);
  return true;
}

void Leases::fired(std::uint32_t row) {
  CHECK(table_[row].timer_armed && table_[row].live != 0, "lease {} has ended", row);
  table_[row].timer_armed = false;
}

bool Leases::live(const TimerEntry& entry) const {
  if (!table_.there(entry.subject)) return false;
  const Lease& lease = table_[entry.subject];
  return lease.timer_armed && lease.generation == entry.generation;
}

void Leases::set_position(IndexEntry member, LogPos position) {
  Lease& lease = table_[member.lease()];
  CHECK(lease.has(member.member()) && position != log_pos_none, "lease {} has no member {}",
        member.lease(), member.member());
  if (!MUTANT(forget_lease_relocation)) lease.positions[member.member()] = position;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Lease: the messages of one receive from a standard queue, delivered for the first time, while
// they are in flight.
//
//   fresh --receive--> member --delete--> gone
//                        |--timeout--> slot, visible
//                        \--change of visibility, returned delivery--> slot, in flight
//
// The members share deadline, timer and time of delivery: in a full lease a message costs 14 bytes,
// in a slot with a timer 82. A member whose state changes alone gets the slot that slot_of()
// describes: its state is then the same as if it had never been in a lease.
//
// Member i was delivered with the nonce first_nonce + i. Messages that the receive delivered from
// slots in between leave gaps.
//
// Limits: members_max messages, whose numbers differ by at most 65,535.
// Units:  Instant, ms.
// Owner:  the shard's table of leases, core/queue/leases.h.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/queue/slot.h"

namespace pawl {

struct Lease {
  static constexpr std::uint32_t members_max = 10;  // the largest batch of SQS
  static constexpr std::uint32_t members_min = 2;   // a lease of one costs more than a slot

  Seq first_seq = 0;
  Instant deadline;
  Instant received;
  QueueId queue = QueueId::none;
  std::uint32_t first_nonce = 0;
  std::uint32_t generation = 0;  // generation of its timer; survives the reuse of the row
  std::uint16_t live = 0;        // a bit for each member that has not left
  bool timer_armed = false;
  std::array<std::uint16_t, members_max> offsets{};  // number of each member, less first_seq
  std::array<SlotPos, members_max> positions{};

  // True if a message delivered next can be a member.
  bool fits(Seq seq, std::uint32_t nonce) const {
    return nonce - first_nonce < members_max && seq - first_seq <= UINT16_MAX;
  }
  bool has(std::uint32_t member) const {
    return member < members_max && (live >> member & 1u) != 0;
  }
  std::uint32_t members() const { return static_cast<std::uint32_t>(std::popcount(live)); }
  std::uint32_t first() const { return static_cast<std::uint32_t>(std::countr_zero(live)); }
  Seq seq(std::uint32_t member) const { return first_seq + offsets[member]; }
  // The slot that the member would have.
  Slot slot_of(std::uint32_t member) const {
    return {.position = positions[member],
            .state = Slot::State::in_flight,
            .seq = seq(member),
            .deadline = deadline,
            .since = received,
            .receive_count = 1,
            .queue = queue,
            .nonce = first_nonce + member};
  }
};
static_assert(sizeof(Lease) == 120);

}  // namespace pawl

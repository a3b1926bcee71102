// SPDX-License-Identifier: Apache-2.0
#include "core/queue/lease.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Lease, FitsTheNextTenDeliveries) {
  const Lease lease{.first_seq = 100, .first_nonce = UINT32_MAX - 3};
  EXPECT_TRUE(lease.fits(100, UINT32_MAX - 3));
  EXPECT_TRUE(lease.fits(109, 5)) << "the nonces begin again with 0";
  EXPECT_FALSE(lease.fits(110, 6));
  EXPECT_FALSE(lease.fits(100, UINT32_MAX - 4)) << "delivered before it";
}

TEST(Lease, FitsNumbersFromItsFirstOn) {
  const Lease lease{.first_seq = 1'000, .first_nonce = 7};
  EXPECT_TRUE(lease.fits(1'000 + UINT16_MAX, 8));
  EXPECT_FALSE(lease.fits(1'001 + UINT16_MAX, 8));
  EXPECT_FALSE(lease.fits(999, 8));
}

TEST(Lease, DescribesTheSlotOfAMember) {
  Lease lease{.first_seq = seq_max - 20,
              .deadline = Instant{31'000},
              .received = Instant{1'000},
              .queue = QueueId{5},
              .first_nonce = 70};
  lease.live = 1u << 9 | 1u << 4;
  lease.offsets[9] = 20;
  lease.positions[9] = log_pos_max;
  const Slot slot = lease.slot_of(9);
  EXPECT_EQ(slot.seq, seq_max);
  EXPECT_EQ(slot.position, log_pos_max);
  EXPECT_EQ(slot.queue, QueueId{5});
  EXPECT_EQ(slot.state, Slot::State::in_flight);
  EXPECT_EQ(slot.nonce, 79u);
  EXPECT_EQ(slot.receive_count, 1u);
  EXPECT_EQ(slot.deadline, Instant{31'000});
  EXPECT_EQ(slot.since, Instant{1'000});
  EXPECT_EQ(slot.first_received(), Instant{1'000});
  EXPECT_EQ(slot.group, 0u);
  EXPECT_FALSE(slot.timer_armed);
}

TEST(Lease, CountsTheMembersThatHaveNotLeft) {
  Lease lease;
  EXPECT_EQ(lease.members(), 0u);
  lease.live = 1u << 9 | 1u << 4;
  EXPECT_EQ(lease.members(), 2u);
  EXPECT_EQ(lease.first(), 4u);
  EXPECT_TRUE(lease.has(9));
  EXPECT_FALSE(lease.has(5));
  EXPECT_FALSE(lease.has(Lease::members_max));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/queue/leases.h"

#include <gtest/gtest.h>

#include <vector>

namespace pawl {
namespace {

constexpr Instant start{1'000'000};
constexpr std::uint16_t kind = 7;
constexpr QueueId queue{3};

class LeasesTest : public testing::Test {
 protected:
  // A lease of `count` messages, from number `seq` on.
  std::vector<IndexEntry> lease_out(Seq seq, std::uint32_t count) {
    const std::uint32_t row = leases_.open(queue, seq, 50, count, start, seconds(30));
    std::vector<IndexEntry> members;
    for (std::uint32_t i = 0; row != Leases::none && i < count; ++i)
      members.push_back(leases_.join(row, seq + i, 1'000 + seq + i, 50 + i));
    return members;
  }
  std::vector<TimerEntry> fire(Instant now) {
    std::vector<TimerEntry> fired;
    timers_.expire(now, 1'000, [&](const TimerEntry& entry) {
      const bool live = leases_.live(entry);
      if (live) fired.push_back(entry);
      return live;
    });
    return fired;
  }

  Slab<Slot> slots_{100};
  TimerWheel timers_{start};
  Leases leases_{slots_, timers_, kind, 0};
};

TEST_F(LeasesTest, HaveOneTimerForAllMembers) {
  const std::vector<IndexEntry> members = lease_out(1, 10);
  ASSERT_EQ(members.size(), 10u);
  EXPECT_EQ(leases_.size(), 1u);
  EXPECT_EQ(timers_.size(), 1u);
  EXPECT_TRUE(fire(start + milliseconds(29'999)).empty());
  const std::vector<TimerEntry> fired = fire(start + seconds(30));
  ASSERT_EQ(fired.size(), 1u);
  EXPECT_EQ(fired[0].kind, kind);
  EXPECT_EQ(fired[0].subject, members[0].lease());
}

TEST_F(LeasesTest, EndWithTheirLastMember) {
  const std::vector<IndexEntry> members = lease_out(1, 3);
  EXPECT_FALSE(leases_.leave(members[1]));
  EXPECT_FALSE(leases_.leave(members[0]));
  EXPECT_EQ(timers_.stale(), 0u);
  EXPECT_TRUE(leases_.leave(members[2]));
  EXPECT_EQ(timers_.stale(), 1u);
  EXPECT_EQ(leases_.size(), 0u);
  const std::vector<IndexEntry> next = lease_out(4, 2);
  EXPECT_EQ(next[0].lease(), members[0].lease()) << "the row is used again";
  EXPECT_EQ(fire(start + seconds(30)).size(), 1u) << "the timer of the second lease only";
}

TEST_F(LeasesTest, DoNotCancelATimerThatHasFired) {
  const std::vector<IndexEntry> members = lease_out(1, 2);
  ASSERT_EQ(fire(start + seconds(30)).size(), 1u);
  leases_.fired(members[0].lease());
  for (const IndexEntry member : members) leases_.leave(member);
  EXPECT_EQ(leases_.size(), 0u);
  EXPECT_EQ(timers_.stale(), 0u);
}

TEST_F(LeasesTest, ReserveASlotForEachMemberAndOneMore) {
  const std::vector<IndexEntry> members = lease_out(1, 10);
  EXPECT_EQ(slots_.free(), 89u);
  for (const IndexEntry member : members) {
    leases_.leave(member);
    EXPECT_NE(slots_.take(), Slab<Slot>::none);
  }
  EXPECT_EQ(slots_.free(), 90u);
}

TEST_F(LeasesTest, AreNoneWithoutFreeSlotsForAllThatAreExpected) {
  slots_.set_max(10);
  EXPECT_TRUE(lease_out(1, 10).empty());
  EXPECT_EQ(slots_.free(), 10u);
  EXPECT_EQ(timers_.size(), 0u);
  EXPECT_EQ(lease_out(1, 9).size(), 9u);
  EXPECT_EQ(slots_.take(), Slab<Slot>::none);
}

TEST_F(LeasesTest, KeepTheLogPositionOfEachMember) {
  const std::vector<IndexEntry> members = lease_out(8, 2);
  leases_.set_position(members[0], 77'000);
  EXPECT_EQ(leases_.position(members[0]), 77'000u);
  EXPECT_EQ(leases_.position(members[1]), 1'009u);
  EXPECT_EQ(leases_.slot_of(members[0]).position, 77'000u);
}

TEST_F(LeasesTest, LeaveGapsForDeliveriesFromSlots) {
  const std::uint32_t row = leases_.open(queue, 20, 50, 5, start, seconds(30));
  const IndexEntry first = leases_.join(row, 20, 1, 50);
  const IndexEntry second = leases_.join(row, 90, 2, 53);
  EXPECT_EQ(leases_[row].members(), 2u);
  EXPECT_EQ(leases_.slot_of(first).nonce, 50u);
  EXPECT_EQ(leases_.slot_of(second).nonce, 53u);
  EXPECT_EQ(leases_.slot_of(second).seq, 90u);
}

TEST_F(LeasesTest, GiveBackTheirMemory) {
  std::vector<IndexEntry> members;
  slots_.set_max(1'000'000);
  for (Seq seq = 1; seq < 40'000; seq += 2)
    for (const IndexEntry member : lease_out(seq, 2)) members.push_back(member);
  EXPECT_GE(leases_.bytes(), leases_.size() * sizeof(Lease));
  for (const IndexEntry member : members) leases_.leave(member);
  EXPECT_LE(leases_.bytes(), Leases::Table::block_bytes()) << "one block is kept";
}

using LeasesDeathTest = LeasesTest;

TEST_F(LeasesDeathTest, RefuseWhatIsNotAMember) {
  const std::vector<IndexEntry> members = lease_out(1, 2);
  leases_.leave(members[0]);
  EXPECT_DEATH(leases_.leave(members[0]), "CHECK");
  EXPECT_DEATH((void)leases_.position(members[0]), "CHECK");
  EXPECT_DEATH(leases_.set_position(members[0], 5), "CHECK");
  EXPECT_DEATH(leases_.join(members[1].lease(), 2, 5, 51), "CHECK") << "the nonce is another's";
  EXPECT_DEATH(leases_.join(members[1].lease(), 3, 5, 60), "CHECK") << "an eleventh";
}

}  // namespace
}  // namespace pawl

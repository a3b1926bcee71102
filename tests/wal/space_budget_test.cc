// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/space_budget.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/wal/memory_disk.h"
#include "tests/wal/reuse_fixture.h"

namespace pawl {
namespace {

using From = SpaceBudget::From;

class Budget : public testing::Test {
 protected:
  static constexpr Geometry geometry{0x5eed, 64 << 10, 16 << 10};
  static constexpr std::uint64_t step = 8 << 10, frame = 16 << 10;

  Budget() {
    pool.start(0);
    for (int i = 0; i < 8; ++i) EXPECT_TRUE(pool.create_now());
    pool.enter(0);
  }
  void add_messages(int n) {
    for (int i = 0; i < n; ++i) pool.add_live(0);
  }

  MemoryDisk disk;
  SegmentPool pool{disk, geometry, 2, false, Duration{}};
  SpaceBudget space{geometry, pool};
  const Lsn end = block_bytes;
};

TEST_F(Budget, TheReserveGrowsWithTheMessagesUpToTwoSegments) {
  EXPECT_EQ(space.least_reserve(), step + 2 * frame);
  EXPECT_EQ(space.reserve(), space.least_reserve());
  add_messages(3);
  EXPECT_EQ(space.reserve(), space.least_reserve() + 3 * 2 * block_bytes);
  add_messages(1000);
  EXPECT_EQ(space.reserve(), 2 * geometry.segment_bytes + 2 * step + 2 * frame);
}

TEST_F(Budget, ALargerCheckpointNeedsALargerReserve) {
  const std::uint64_t least = space.least_reserve();
  space.set_checkpoint_bytes(5000);
  EXPECT_EQ(space.least_reserve(), least + 2 * 5000);
  add_messages(1000);
  EXPECT_EQ(space.reserve(), 2 * geometry.segment_bytes + 2 * step + 2 * frame + 4 * 5000);
}

TEST_F(Budget, SendersLeaveTheStepToOtherQueuesAndRelocationMayUseMostOfTheReserve) {
  add_messages(1000);
  const std::uint64_t behind = pool.free_space_behind(end);
  EXPECT_EQ(space.free(end, From::queue), behind - space.reserve());
  EXPECT_EQ(space.free(end, From::sender), space.free(end, From::queue) - step);
  EXPECT_EQ(space.free(end, From::relocation), behind - (2 * step + 2 * frame));
}

TEST_F(Budget, AcceptedBytesAreReservedUntilTheTurnEnds) {
  const std::uint64_t free = space.free(end, From::sender);
  space.accept(1000);
  space.accept(500);
  EXPECT_EQ(space.free(end, From::sender), free - 1500);
  space.end_turn();
  EXPECT_EQ(space.free(end, From::sender), free);
}

TEST_F(Budget, NothingIsFreeWhenTheReserveIsReached) {
  const Lsn last = 8 * geometry.segment_bytes;
  EXPECT_FALSE(space.is_short(end));
  pool.enter(7);
  EXPECT_TRUE(space.is_short(last - 100));
  for (const From from : {From::sender, From::queue, From::relocation})
    EXPECT_EQ(space.free(last - 100, from), 0u);
  space.accept(1000);
  EXPECT_EQ(space.free(last - 100, From::queue), 0u);
}

TEST_F(Reuse, OnAFullDiskSendsAreRefusedAndDeletesFreeSpace) {
  disk->capacity = 0;
  for (const auto& [name, bytes] : disk->files) disk->capacity += bytes->size();
  std::vector<LogPos> positions;
  while (log->check_free_space(9000) == Errc::ok) {
    ++seq;
    ASSERT_LT(seq, 100u);
    positions.push_back(send(seq, body_of(seq, 9000)));
    if (log->wants_checkpoint()) checkpoint();
  }
  EXPECT_EQ(log->check_free_space(9000), Errc::no_space);
  EXPECT_GE(seq, 4u) << "a spare segment was there, besides what is for deletes";
  EXPECT_NE(log->next_due(), never) << "the disk is to be tried again";
  // The deletes fit, and a segment is free when they are durable.
  for (std::size_t i = 0; i < positions.size(); ++i) {
    append_delete(i + 1);
    log->release(positions[i]);
  }
  settle();
  EXPECT_FALSE(log->pending());
  EXPECT_FALSE(log->failure());
  now = now + seconds(1);
  settle();
  EXPECT_EQ(log->check_free_space(9000), Errc::ok);
}

TEST_F(Reuse, RecordsBeyondTheLastReadySegmentWaitAndAreNotLost) {
  disk->capacity = 0;
  for (const auto& [name, bytes] : disk->files) disk->capacity += bytes->size();
  fill_to(2);
  Seq wait = seq;
  while (appended / options.segment_bytes < 3)
    append_send(++wait, "x"), settle();  // regardless of check_free_space()
  EXPECT_TRUE(log->pending());
  EXPECT_FALSE(log->failure());
  EXPECT_NE(log->next_due(), never);
  disk->capacity = UINT64_MAX;
  now = now + seconds(1);
  settle();
  EXPECT_FALSE(log->pending());
  open();
  EXPECT_EQ(found.messages.size(), wait);
}

}  // namespace
}  // namespace pawl

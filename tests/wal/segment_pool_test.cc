// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/segment_pool.h"

#include <gtest/gtest.h>

#include "tests/wal/pool_fixture.h"

namespace pawl {
namespace {

using Pool = PoolTest;

TEST_F(Pool, ARetiredSegmentIsRenamedInsteadOfMadeAnew) {
  pump(100);
  pool->enter(1);
  pool->retire(1, 0);
  disk.calls.clear();
  pump(100);
  EXPECT_EQ(disk.calls, (Calls{"rename 000000000000.seg 000000000003.seg",
                               "write 000000000003.seg 0 4096", "sync_dir"}));
  EXPECT_EQ(
      read_segment_header(ConstBlock(disk.content("000000000003.seg").data(), block_bytes))->number,
      3u);
}

TEST_F(Pool, ASegmentWithAMessageStaysWhateverIsAroundIt) {
  pump(100);
  for (std::uint64_t i = 1; i <= 5; ++i) {
    pool->enter(i);
    pump(100);
  }
  pool->add_live(1);
  pool->add_live(3);
  pool->add_live(3);
  pool->retire(5, 0);
  EXPECT_EQ(pool->first(), 1u);
  EXPECT_FALSE(pool->ready(2));
  EXPECT_TRUE(pool->ready(3));
  pool->release(3, 100);
  pool->release(3, 200);
  pool->retire(5, 199);
  EXPECT_TRUE(pool->ready(3)) << "what says that it is empty is not durable";
  pool->retire(5, 200);
  EXPECT_FALSE(pool->ready(3));
  EXPECT_EQ(pool->first(), 1u);
  pool->release(1, 200);
  pool->retire(5, 200);
  EXPECT_EQ(pool->first(), 5u);
}

TEST_F(Pool, OnAFullDiskARetiredSegmentTakesThePlaceOfOneThatCannotBeFilled) {
  pump(100);
  disk.capacity = 3 * geometry.segment_bytes + 1;
  pool->enter(1, now);
  pump(20);
  ASSERT_TRUE(pool->disk_full());
  EXPECT_TRUE(disk.files.contains("000000000003.seg")) << "or there is nothing to show";
  pool->retire(1, 0);
  now = now + SegmentPool::retry_after;
  pump(20);
  EXPECT_FALSE(pool->disk_full());
  EXPECT_EQ(pool->ready_end(), 4u);
  EXPECT_EQ(disk.content("000000000003.seg").size(), geometry.segment_bytes);
  EXPECT_FALSE(disk.files.contains("000000000000.seg"));
}

TEST_F(Pool, OnAFullDiskARetiredSegmentIsTakenAtOnce) {
  pump(100);
  disk.capacity = 3 * geometry.segment_bytes;
  disk.fail_create = ENOSPC;
  pool->enter(1, now);
  pump(20);
  ASSERT_TRUE(pool->disk_full());
  pool->retire(1, 0);
  EXPECT_EQ(pool->free_space_behind(geometry.segment_base(1)), 3 * geometry.segment_bytes)
      << "it needs a name alone";
  pump(20);
  EXPECT_EQ(pool->ready_end(), 4u) << "though it is not time to try the disk again";
  EXPECT_EQ(pool->free_space_behind(geometry.segment_base(1)), 3 * geometry.segment_bytes);
}

TEST_F(Pool, StoppingFinishesWhatIsUnderWayAndStartsNothing) {
  disk.hold = true;
  pump();
  ASSERT_TRUE(pool->busy());
  disk.finish_all();
  ASSERT_TRUE(pool->pump(now, true));
  EXPECT_FALSE(pool->busy());
  EXPECT_EQ(disk.under_way(), 0u);
}

}  // namespace
}  // namespace pawl

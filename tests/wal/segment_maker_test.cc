// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/segment_maker.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "tests/wal/pool_fixture.h"

namespace pawl {
namespace {

using Maker = PoolTest;

TEST_F(Maker, ASpareIsAllocatedFilledGivenItsHeaderAndItsNameMadeDurableInThisOrder) {
  disk.hold = true;
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(pool->spares(), 0u);
    pump();
    pump();  // nothing has finished: nothing more is started
    disk.finish_all();
  }
  pump();
  EXPECT_EQ(pool->spares(), 1u);
  disk.calls.resize(8);
  EXPECT_EQ(disk.calls,
            (Calls{"create 000000000001.seg", "allocate 000000000001.seg 65536",
                   "write 000000000001.seg 0 16384", "write 000000000001.seg 16384 16384",
                   "write 000000000001.seg 32768 16384", "write 000000000001.seg 49152 16384",
                   "write 000000000001.seg 0 4096", "sync_dir"}));
  EXPECT_EQ(disk.unflushed_writes, 0u) << "each piece is durable by itself";
  const auto header =
      read_segment_header(ConstBlock(disk.content("000000000001.seg").data(), block_bytes));
  ASSERT_TRUE(header);
  EXPECT_EQ(header->number, 1u);
  EXPECT_EQ(header->base, 64u << 10);
}

TEST_F(Maker, ALargeSegmentIsFilledInPiecesOf256KiB) {
  pool.reset();
  pool = std::make_unique<SegmentPool>(disk, Geometry{1, 5 << 19, 5 << 19}, 1, true, Duration{});
  pool->start(1);
  pool->enter(1, now);
  disk.calls.clear();
  pump(40);
  EXPECT_EQ(pool->spares(), 1u) << "besides the one the tail is in";
  EXPECT_EQ(pool->ready_end(), 3u);
  disk.calls.resize(4);
  EXPECT_EQ(disk.calls,
            (Calls{"create 000000000001.seg", "allocate 000000000001.seg 2621440",
                   "write 000000000001.seg 0 262144", "write 000000000001.seg 262144 262144"}));
}

TEST_F(Maker, AFileSystemThatCannotAllocateIsAskedOnce) {
  disk.fail_allocate = EOPNOTSUPP;
  pump(100);
  EXPECT_EQ(pool->spares(), 2u);
  EXPECT_EQ(std::ranges::count_if(
                disk.calls, [](const std::string& call) { return call.starts_with("allocate"); }),
            1);
}

TEST_F(Maker, PiecesOfZerosLeaveTheDiskToTheTailWhileThereIsFreeSpace) {
  pool.reset();
  begin(SegmentPool::fill_every_default);
  pump(3);
  EXPECT_EQ(disk.calls.back(), "write 000000000001.seg 0 16384");
  const Instant due = now + SegmentPool::fill_every_default;
  for (; now < due; now = now + Duration{1}) pump();
  EXPECT_EQ(disk.calls.back(), "write 000000000001.seg 0 16384");
  EXPECT_EQ(pool->next_due(), due);
  pump();
  EXPECT_EQ(disk.calls.back(), "write 000000000001.seg 16384 16384");
  pump(2);
  EXPECT_EQ(disk.calls.back(), "write 000000000001.seg 16384 16384");

  pool->want_ahead(128 << 10, block_bytes);
  pump(20);
  EXPECT_GE(pool->spares(), 2u) << "space that is needed is made at once";
}

TEST_F(Maker, WhileZerosMayWaitThereIsNoWork) {
  pool.reset();
  begin(SegmentPool::fill_every_default);
  for (; pool->spares() == 0; now = now + Duration{1}) pump();
  const Lsn end = block_bytes;
  pool->want_ahead(0, end);
  now = now + SegmentPool::fill_every_default;
  pump(3);
  ASSERT_EQ(disk.calls.back(), "write 000000000002.seg 0 16384");
  pump();
  EXPECT_FALSE(pool->has_work(now, 0, end));
  EXPECT_FALSE(pool->has_work(now, block_bytes, end)) << "there is space for more";
  EXPECT_TRUE(pool->has_work(now + SegmentPool::fill_every_default, 0, end)) << "zeros are due";
  EXPECT_TRUE(pool->has_work(now, 0, end + 16384 / 8)) << "the log has grown by an eighth of them";
  EXPECT_TRUE(pool->has_work(now, 64 << 10, end)) << "requests would wait";
  EXPECT_EQ(disk.calls.back(), "write 000000000002.seg 0 16384");
}

TEST_F(Maker, ADiskWithSlowFlushesGetsOneForTheZerosOfASegment) {
  pool.reset();
  begin(Duration{}, false);
  disk.calls.clear();
  for (; pool->spares() == 0; now = now + Duration{1}) pump();
  disk.calls.resize(9);  // the next segment follows
  EXPECT_EQ(disk.calls,
            (Calls{"create 000000000001.seg", "allocate 000000000001.seg 65536",
                   "write 000000000001.seg 0 16384", "write 000000000001.seg 16384 16384",
                   "write 000000000001.seg 32768 16384", "write 000000000001.seg 49152 16384",
                   "sync 000000000001.seg", "write 000000000001.seg 0 4096", "sync_dir"}));
}

// Blocks without zeros make a small write of the log slower: the file system notes them as written.
TEST_F(Maker, ZerosKeepPaceWithTheLog) {
  pool.reset();
  begin(SegmentPool::fill_every_default);
  for (; pool->spares() == 0; now = now + Duration{1}) pump();
  Lsn end = block_bytes;
  pool->want_ahead(0, end);
  now = now + SegmentPool::fill_every_default;
  pump(3);
  EXPECT_EQ(disk.calls.back(), "write 000000000002.seg 0 16384");
  for (std::uint64_t at = 0; at < 3 * 16384; at += 16384) {
    pool->want_ahead(0, end);
    pump(2);
    EXPECT_EQ(disk.calls.back(), fmt::format("write 000000000002.seg {} 16384", at));
    pool->want_ahead(0, end + 1024);
    pump(2);
    EXPECT_EQ(disk.calls.back(), fmt::format("write 000000000002.seg {} 16384", at));
    end += 2048;
  }
}

TEST_F(Maker, WhenSpaceIsWantedASegmentIsReadyAtOnceAndFilledAfterwards) {
  pool->want_ahead(56 << 10, 60 << 10);
  pump(9);
  EXPECT_EQ(pool->spares(), 2u);
  EXPECT_EQ(disk.calls,
            (Calls{"create 000000000001.seg", "allocate 000000000001.seg 65536",
                   "write 000000000001.seg 61440 4096", "write 000000000001.seg 0 4096", "sync_dir",
                   "create 000000000002.seg", "allocate 000000000002.seg 65536",
                   "write 000000000002.seg 61440 4096", "write 000000000002.seg 0 4096", "sync_dir",
                   "write 000000000001.seg 4096 16384"}));
  pump(30);
  for (const char* name : {"000000000001.seg", "000000000002.seg"}) {
    EXPECT_EQ(std::ranges::count(disk.calls, fmt::format("write {} 53248 12288", name)), 1);
    EXPECT_TRUE(read_segment_header(ConstBlock(disk.content(name).data(), block_bytes)));
  }
}

// Filled retired files are free space, but they are ready only after the segment being made.
TEST_F(Maker, ASegmentThatTheLogWaitsForIsReadyAtOnceThoughFilledFilesAreRetired) {
  pool.reset();
  begin(SegmentPool::fill_every_default);
  for (; pool->spares() < 2; now = now + Duration{1}) pump();
  pool->enter(1, now);
  now = now + SegmentPool::fill_every_default;
  pump(10);
  EXPECT_EQ(disk.calls.back(), "write 000000000003.seg 0 16384");
  pool->enter(2, now);
  pool->retire(2, 0);
  pool->enter(3, now);
  pool->want_ahead(0, geometry.segment_base(3) + block_bytes);
  pump(10);
  EXPECT_TRUE(pool->ready(3));
}

TEST_F(Maker, ASegmentIsNotReadyWhileZerosAreWrittenToItAndNotFilledWhenTheTailIsInIt) {
  pool->want_ahead(56 << 10, 60 << 10);
  pump(8);
  disk.hold = true;
  pump();
  EXPECT_EQ(disk.calls.back(), "write 000000000001.seg 4096 16384");
  EXPECT_FALSE(pool->ready(1));
  EXPECT_TRUE(pool->ready(2));
  pool->enter(1, now);
  disk.finish_all();
  pool->want_ahead(0, 64 << 10);
  pump();
  EXPECT_TRUE(pool->ready(1));
  EXPECT_EQ(disk.calls.back(), "write 000000000002.seg 4096 16384");
}

TEST_F(Maker, ASpareThatCannotBeFilledStaysReady) {
  pool->want_ahead(56 << 10, 60 << 10);
  pump(8);
  disk.fail_write = EIO;
  pump(3);
  disk.fail_write = 0;
  EXPECT_EQ(pool->spares(), 2u);
  EXPECT_EQ(pool->set_aside(), 0u);
  EXPECT_TRUE(pool->ready(1));
}

// The disk blocks of a write that failed twice stay in the file set aside: a new file that took its
// space would fail again.
TEST_F(Maker, AFileThatCannotBeWrittenIsSetAsideAndAnotherOneMade) {
  disk.hold = true;
  for (int i = 0; i < 3; ++i) {
    pump();
    disk.finish_all();
  }
  for (int i = 0; i < 2; ++i) {
    pump();
    ASSERT_EQ(disk.op(0).kind, MemoryDisk::Kind::write);
    disk.finish(0, -EIO);
  }
  disk.hold = false;
  pump(100);
  EXPECT_EQ(pool->spares(), 2u);
  EXPECT_EQ(pool->set_aside(), 1u);
  EXPECT_EQ(pool->set_aside_errno(), EIO);
  EXPECT_FALSE(pool->disk_full());
  EXPECT_TRUE(disk.files.contains(set_aside_name(1)));
}

TEST_F(Maker, AShortWriteIsTriedAgainForItsReason) {
  disk.hold = true;
  for (int i = 0; i < 2; ++i) {
    pump();
    disk.finish_all();
  }
  pump();
  disk.finish(0, -EIO);  // a disk reports a short write as EIO
  pump();
  disk.finish(0, -ENOSPC);
  pump();
  EXPECT_TRUE(pool->disk_full());
  EXPECT_EQ(pool->set_aside(), 0u);
}

TEST_F(Maker, AfterSomeFilesSetAsideAnErrorIsFinal) {
  pool->adopt_set_aside(3);  // from an earlier startup
  disk.fail_write = EIO;
  Result<void> pumped;
  int pumps = 0;
  for (; pumps < 100 && pumped; ++pumps) pumped = pool->pump(now, false);
  ASSERT_FALSE(pumped);
  EXPECT_EQ(pumped.error().sys, EIO);
  EXPECT_EQ(pool->set_aside(), SegmentPool::set_aside_max);
  EXPECT_TRUE(disk.files.contains(set_aside_name(4)));
  EXPECT_FALSE(disk.files.contains(set_aside_name(1)));
}

TEST_F(Maker, NoTurnWaitsForTheDeletionOfAFileAndAFailedOneIsRepeated) {
  pump(100);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    pool->enter(i);
    pump(100);
  }
  disk.hold = true;
  pool->retire(4, 0);
  const std::size_t before = disk.files.size();
  pump();
  ASSERT_EQ(disk.under_way(), 1u);
  EXPECT_EQ(disk.op(0).kind, MemoryDisk::Kind::remove);
  EXPECT_EQ(disk.files.size(), before) << "it takes its time";
  disk.finish(0, -EBUSY);
  pump();
  EXPECT_EQ(disk.under_way(), 0u) << "not before its time";
  EXPECT_EQ(pool->next_due(), now + SegmentPool::retry_after);
  now = now + SegmentPool::retry_after;
  pump();
  disk.finish(0);
  EXPECT_EQ(disk.files.size(), before - 1);
  disk.hold = false;
  pump(100);
  EXPECT_EQ(disk.files.size(), 1u + 2 + 2);
  EXPECT_FALSE(pool->disk_full());
}

TEST_F(Maker, AFullDiskIsTriedAgainEveryQuarterSecondWhereItStopped) {
  struct Case {
    const char* name;
    std::uint64_t capacity;  // bytes beyond the first segment
  };
  constexpr Case cases[] = {
      {"at the create", 0},
      {"at the fill",   1},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    pool.reset();
    disk.files.clear();
    disk.capacity = UINT64_MAX;
    SetUp();
    disk.capacity = geometry.segment_bytes + c.capacity;
    pump(100);
    EXPECT_EQ(pool->spares(), 0u);
    EXPECT_EQ(pool->next_due(), now + SegmentPool::retry_after);
    disk.capacity = UINT64_MAX;
    pump(100);
    EXPECT_EQ(pool->spares(), 0u) << "not before its time";
    now = now + SegmentPool::retry_after;
    pump(100);
    EXPECT_EQ(pool->spares(), 2u);
    EXPECT_EQ(pool->next_due(), never);
  }
}

TEST_F(Maker, AFileThatCannotBeHadIsTriedAgain) {
  for (const int error : {EMFILE, ENFILE, ENOMEM}) {
    SCOPED_TRACE(error);
    const std::uint64_t before = pool->ready_end();
    pool->enter(before - 1);  // one more segment is wanted
    disk.fail_create = error;
    pump(5);
    EXPECT_TRUE(pool->disk_full());
    EXPECT_EQ(pool->ready_end(), before);
    disk.fail_create = 0;
    now = now + SegmentPool::retry_after;
    pump(40);
    EXPECT_FALSE(pool->disk_full());
    EXPECT_EQ(pool->spares(), 2u);
  }
  disk.fail_create = EACCES;
  pool->enter(pool->ready_end() - 1);
  EXPECT_FALSE(pool->pump(now, false));
}

TEST_F(Maker, AFlushOfTheDirectoryThatFailsIsFinal) {
  disk.fail_sync = EIO;
  Result<void> pumped;
  for (int i = 0; i < 10 && pumped; ++i) pumped = pool->pump(now, false);
  ASSERT_FALSE(pumped);
  EXPECT_EQ(pumped.error().sys, EIO);
}

TEST_F(Maker, AFlushOfTheDirectoryThatFindsNoSpaceIsFinalToo) {
  disk.hold = true;
  const auto finish = [&](MemoryDisk::Kind kind, std::int32_t result) {
    for (int i = 0; i < 100; ++i) {
      pump();
      ASSERT_EQ(disk.under_way(), 1u);
      const bool there = disk.op(0).kind == kind;
      if (there) {
        disk.finish(0, result);
        return;
      }
      disk.finish(0);
    }
    FAIL();
  };
  finish(MemoryDisk::Kind::sync_dir, -ENOSPC);
  EXPECT_FALSE(pool->pump(now, false));
}

}  // namespace
}  // namespace pawl

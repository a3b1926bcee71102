// SPDX-License-Identifier: Apache-2.0
#include "wal/segment_pool.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/dedup.h"
#include "tests/wal/log_fixture.h"

namespace pawl {
namespace {

using Calls = std::vector<std::string>;

class Pool : public testing::Test {
 protected:
  // With one extent a segment is never small.
  static constexpr Geometry geometry{0x5eed, 64 << 10, 64 << 10};

  void SetUp() override {
    begin(Duration{});
    disk.trace = true;
  }
  void begin(Duration fill_every) {
    disk.files.clear();
    pool = std::make_unique<SegmentPool>(disk, geometry, 2, true, fill_every);
    pool->start(0);
    ASSERT_TRUE(pool->create_now());
    pool->enter(0, now);
  }
  void pump(int times = 1) {
    for (int i = 0; i < times; ++i) ASSERT_TRUE(pool->pump(now, false));
  }

  MemoryDisk disk;
  std::unique_ptr<SegmentPool> pool;
  Instant now{1000};
};

TEST_F(Pool, ASpareIsAllocatedFilledGivenItsHeaderAndItsNameMadeDurableInThisOrder) {
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

TEST_F(Pool, ALargeSegmentIsFilledInPiecesOf256KiB) {
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

TEST_F(Pool, AFileSystemThatCannotAllocateIsAskedOnce) {
  disk.fail_allocate = EOPNOTSUPP;
  pump(100);
  EXPECT_EQ(pool->spares(), 2u);
  EXPECT_EQ(std::ranges::count_if(
                disk.calls, [](const std::string& call) { return call.starts_with("allocate"); }),
            1);
}

TEST_F(Pool, PiecesOfZerosLeaveTheDiskToTheTailWhileThereIsRoom) {
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

TEST_F(Pool, WhenRoomIsWantedASegmentIsReadyAtOnceAndFilledAfterwards) {
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

TEST_F(Pool, ASegmentIsNotReadyWhileZerosAreWrittenToItAndNotFilledWhenTheTailIsInIt) {
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

TEST_F(Pool, ASpareThatCannotBeFilledStaysReady) {
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
TEST_F(Pool, AFileThatCannotBeWrittenIsSetAsideAndAnotherOneMade) {
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

TEST_F(Pool, AShortWriteIsTriedAgainForItsReason) {
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

TEST_F(Pool, AfterSomeFilesSetAsideAnErrorIsFinal) {
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

TEST_F(Pool, ItStopsWhenThereAreEnough) {
  pump(100);
  EXPECT_EQ(pool->spares(), 2u);
  EXPECT_EQ(disk.files.size(), 3u);
  EXPECT_FALSE(pool->busy());
}

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

TEST_F(Pool, RetiredSegmentsThatNobodyWillNeedAreRemoved) {
  pump(100);
  for (std::uint64_t i = 1; i <= 8; ++i) {
    pool->enter(i);
    pump(100);
  }
  pool->retire(8, 0);
  pump(100);
  EXPECT_EQ(pool->spares(), 2u);
  EXPECT_EQ(disk.files.size(), 1u + 2 + 2) << "in use, ready, kept for the next";
}

TEST_F(Pool, AtRestWhatIsNotWantedGoesOneAtATime) {
  pump(100);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    pool->enter(i, now);
    pump(100);
  }
  pool->want_ahead(0, geometry.segment_base(4) + block_bytes);
  pool->retire(4, 0);
  pump(100);
  ASSERT_EQ(disk.files.size(), 1u + 2 + 2);
  EXPECT_EQ(pool->next_due(), now + SegmentPool::rest_after);
  now = now + SegmentPool::rest_after;
  pump(100);
  EXPECT_EQ(disk.files.size(), 1u + 2 + 1);
  EXPECT_EQ(pool->next_due(), now + SegmentPool::shrink_every);
  now = now + SegmentPool::shrink_every;
  pump(100);
  EXPECT_EQ(disk.files.size(), 1u + 2);
  EXPECT_EQ(pool->spares(), 2u);
  now = now + SegmentPool::shrink_every;
  disk.calls.clear();
  pump(100);
  EXPECT_EQ(disk.calls, (Calls{"remove 000000000006.seg", "sync_dir"}))
      << "or it might come back without the one before it";
  EXPECT_EQ(pool->spares(), 1u);
  EXPECT_EQ(pool->next_due(), never);
  pool->enter(5, now);
  pump(100);
  EXPECT_EQ(pool->spares(), 2u) << "the log grows again";
}

class SmallSegments : public testing::Test {
 protected:
  static constexpr Geometry geometry{0x5eed, 512 << 10, 16 << 10};
  static constexpr std::uint64_t small = 128 << 10;
  static constexpr std::uint64_t beyond = 80 << 10;  // kept ready ahead of the tail at rest

  void SetUp() override {
    pool->start(0);
    ASSERT_TRUE(pool->create_now());
  }
  void come_to(Lsn end) {
    if (geometry.segment_of(end) != pool->tail()) pool->enter(geometry.segment_of(end), now);
    pool->want_ahead(0, end);
    for (int i = 0; i < 100; ++i) ASSERT_TRUE(pool->pump(now, false));
  }
  std::uint64_t usable_in_header(std::uint64_t number) {
    const auto& bytes = disk.content(segment_name(number));
    EXPECT_EQ(bytes.size(), geometry.segment_bytes) << "the rest is a hole";
    const auto header = read_segment_header(ConstBlock(bytes.data(), block_bytes));
    return header ? usable_bytes(*header, geometry) : 0;
  }

  MemoryDisk disk;
  std::unique_ptr<SegmentPool> pool =
      std::make_unique<SegmentPool>(disk, geometry, 2, true, Duration{});
  Instant now{1000};
};

TEST_F(SmallSegments, ANewLogHasOneAndGrowsByThemUntilThereIsRoomAhead) {
  come_to(block_bytes);
  EXPECT_EQ(pool->ready_end(), 1u);
  EXPECT_EQ(pool->bytes(), small);
  EXPECT_EQ(pool->free_space_behind(block_bytes), small - block_bytes);
  EXPECT_EQ(usable_in_header(0), small);

  come_to(small - beyond);
  EXPECT_EQ(pool->ready_end(), 1u);
  come_to(small - beyond + block_bytes);
  EXPECT_EQ(pool->ready_end(), 2u) << "any request finds space";
  EXPECT_EQ(pool->bytes(), 2 * small);
  EXPECT_EQ(usable_in_header(1), small);

  EXPECT_EQ(pool->frame_position(small - block_bytes), small - block_bytes);
  EXPECT_EQ(pool->frame_position(small), geometry.segment_base(1) + block_bytes);
  EXPECT_EQ(pool->between(small - block_bytes, geometry.segment_base(1) + block_bytes),
            2 * block_bytes);
  come_to(geometry.segment_base(1) + block_bytes);
  EXPECT_EQ(usable_in_header(2), small);
  EXPECT_EQ(usable_in_header(3), small);
  EXPECT_EQ(usable_in_header(4), geometry.segment_bytes) << "two small ones are ahead";
  EXPECT_EQ(pool->free_space_behind(geometry.segment_base(1) + block_bytes),
            small - block_bytes + 2 * small + 2 * geometry.segment_bytes);
}

TEST_F(SmallSegments, TheOneThatTheTailHasComeToIsWhole) {
  disk.capacity = geometry.segment_bytes;
  pool->enter(1, now);  // it contains frames already
  come_to(geometry.segment_base(1) + small + block_bytes);
  ASSERT_EQ(pool->ready_end(), 1u);
  disk.capacity = UINT64_MAX;
  now = now + SegmentPool::retry_after;
  come_to(geometry.segment_base(1) + small + block_bytes);
  EXPECT_EQ(usable_in_header(1), geometry.segment_bytes);
  EXPECT_EQ(usable_in_header(2), small);
}

TEST_F(SmallSegments, WhatWasChosenStaysWhenAnotherFileIsTaken) {
  disk.hold = true;
  pool->want_ahead(0, small / 2 + block_bytes);
  ASSERT_TRUE(pool->pump(now, false));  // the allocation
  disk.finish_all();
  pool->enter(1, now);  // a frame relies on the size of the new file
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(pool->pump(now, false));
    disk.finish(0, -EIO);
  }
  disk.hold = false;
  come_to(geometry.segment_base(1) + block_bytes);
  EXPECT_EQ(pool->set_aside(), 1u);
  EXPECT_EQ(usable_in_header(1), small);
}

TEST_F(Pool, NoTurnWaitsForAFileToBeRemovedAndOneThatCannotBeIsTriedAgain) {
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

TEST_F(Pool, AFullDiskIsTriedAgainEveryQuarterSecondWhereItStopped) {
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

TEST_F(Pool, WhatIsWantedAheadMayBeRetired) {
  pump(100);
  for (std::uint64_t i = 1; i <= 4; ++i) {
    pool->enter(i, now);
    pump(100);
  }
  pool->retire(4, 0);
  pool->want_ahead(3 * geometry.segment_bytes, UINT64_MAX);
  disk.calls.clear();
  pump(100);
  EXPECT_EQ(pool->spares(), 2u);
  EXPECT_EQ(pool->free_space_behind(geometry.segment_base(4)), 7 * geometry.segment_bytes);
  EXPECT_TRUE(disk.calls.empty()) << "six are ready or retired, four are wanted";

  pool->want_ahead(8 * geometry.segment_bytes, UINT64_MAX);
  pump(200);
  EXPECT_EQ(pool->free_space_behind(geometry.segment_base(4)), 10 * geometry.segment_bytes);
}

TEST_F(Pool, AFileThatCannotBeHadIsTriedAgain) {
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

TEST_F(Pool, AFlushOfTheDirectoryThatFailsIsFinal) {
  disk.fail_sync = EIO;
  Result<void> pumped;
  for (int i = 0; i < 10 && pumped; ++i) pumped = pool->pump(now, false);
  ASSERT_FALSE(pumped);
  EXPECT_EQ(pumped.error().sys, EIO);
}

TEST_F(Pool, AFlushOfTheDirectoryThatFindsNoRoomIsFinalToo) {
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

// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/segment_demand.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "tests/wal/pool_fixture.h"
#include "tests/wal/records_fixture.h"

namespace pawl {
namespace {

using Demand = PoolTest;

TEST_F(Demand, ItStopsWhenThereAreEnough) {
  pump(100);
  EXPECT_EQ(pool->spares(), 2u);
  EXPECT_EQ(disk.files.size(), 3u);
  EXPECT_FALSE(pool->busy());
}

TEST_F(Demand, RetiredSegmentsThatNobodyWillNeedAreRemoved) {
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

TEST_F(Demand, AtRestWhatIsNotWantedGoesOneAtATime) {
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

// A full look at the figures must confirm the noted limits, while the log's end and the wanted
// bytes change at random.
class SegmentDemandLimits : public testing::Test {
 protected:
  static constexpr Geometry geometry{0x5eed, 512 << 10, 16 << 10};

  // A log of some ready segments, whose end is not known yet.
  void begin(std::uint64_t ready, std::uint64_t retired_files) {
    table.emplace(geometry);
    retired.emplace();
    table->start(0);
    for (std::uint64_t n = 0; n < ready; ++n)
      table->adopt(n, FileId{1}, geometry.segment_bytes, geometry.segment_bytes, {});
    for (std::uint64_t n = retired_files; n > 0; --n)
      retired->add({100 + n, FileId{1}, true, geometry.segment_bytes});
    demand.emplace(geometry, *table, *retired, 2, random.chance());
  }
  void want(std::uint64_t bytes) {
    end = block_bytes;
    wanted = bytes;
    demand->want(wanted, end);
  }
  // Calls confirm() after each change within the noted limits.
  template <typename Confirm>
  void change(Confirm confirm) {
    for (int step = 0; step < 50; ++step) {
      end += random.below(4) * block_bytes;
      const std::uint64_t by = random.below(geometry.segment_bytes / 8);
      wanted = random.chance() ? wanted + by : wanted - std::min(wanted, by);
      demand->want(wanted, end);
      if (demand->satisfied()) {
        ++held;
        confirm();
      } else {
        ++passed;
      }
    }
  }
  void TearDown() override {
    EXPECT_GT(held, 1000);
    EXPECT_GT(passed, 1000);
  }

  records_test::Random random{7};
  std::optional<SegmentTable> table;
  std::optional<RetiredFiles> retired;
  std::optional<SegmentDemand> demand;
  Lsn end = 0;
  std::uint64_t wanted = 0;
  int held = 0, passed = 0;  // changes within the noted limits, and beyond them
};

TEST_F(SegmentDemandLimits, NeverHideAFileThatIsWantedOrTooMany) {
  for (int trial = 0; trial < 2000; ++trial) {
    const std::uint64_t ready = 1 + random.below(5);
    begin(ready, random.below(5));
    want(random.below(4 * geometry.segment_bytes));
    if (random.chance()) demand->grow();
    demand->note_tail(Instant{1000});
    if (!demand->enough() || demand->too_many_retired()) continue;
    demand->note_satisfied();
    change([this] {
      EXPECT_TRUE(demand->enough());
      EXPECT_FALSE(demand->too_many_retired());
      if (demand->noted_shrink() == never) {
        EXPECT_EQ(demand->next_shrink(), never);
      }
    });
  }
}

TEST_F(SegmentDemandLimits, NeverHideARequestThatWouldWait) {
  for (int trial = 0; trial < 2000; ++trial) {
    begin(1 + random.below(4), 0);
    EXPECT_FALSE(demand->note_calm()) << "the end is not known yet";
    want(random.below(2 * geometry.segment_bytes));
    if (demand->is_urgent()) continue;
    ASSERT_TRUE(demand->note_calm());
    change([this] { EXPECT_FALSE(demand->is_urgent()) << wanted << " wanted behind " << end; });
  }
}

class SmallSegments : public testing::Test {
 protected:
  static constexpr Geometry geometry{0x5eed, 512 << 10, 16 << 10};
  static constexpr std::uint64_t small = 128 << 10;
  // Kept ready ahead of the tail at rest: an eighth of a segment, and a record.
  const std::uint64_t beyond = (64 << 10) + geometry.record_space();

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

TEST_F(SmallSegments, ANewLogHasOneAndGrowsByThemUntilThereIsSpaceAhead) {
  come_to(block_bytes);
  EXPECT_EQ(pool->ready_end(), 1u);
  EXPECT_EQ(pool->bytes(), small);
  EXPECT_EQ(pool->free_space_behind(block_bytes), small - block_bytes);
  EXPECT_EQ(usable_in_header(0), small);

  come_to(small - beyond);
  EXPECT_EQ(pool->ready_end(), 1u);
  come_to(small - beyond + block_bytes);
  EXPECT_EQ(pool->ready_end(), 2u) << "a record of any size finds space";
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

TEST_F(SmallSegments, ARequestAsksForItsSpace) {
  come_to(block_bytes);
  ASSERT_EQ(pool->ready_end(), 1u);
  EXPECT_FALSE(pool->owes_space());
  pool->ask_for_space(300 << 10);
  EXPECT_TRUE(pool->owes_space());
  EXPECT_TRUE(pool->has_work(now, 0, block_bytes));
  come_to(block_bytes);
  EXPECT_FALSE(pool->owes_space());
  EXPECT_EQ(pool->ready_end(), 3u);
  EXPECT_GE(pool->free_space_behind(block_bytes), std::uint64_t{300} << 10);
  for (int rests = 0; rests < 3; ++rests) {
    now = now + SegmentPool::rest_after;
    come_to(block_bytes);
  }
  EXPECT_EQ(pool->ready_end(), 2u) << "its space goes at rest";
}

TEST_F(SmallSegments, ALogThatGrowsMakesMoreForARequest) {
  pool->enter(0, now);
  come_to(block_bytes);
  const std::uint64_t asked = 4 * geometry.segment_bytes;
  ASSERT_LT(pool->free_space_behind(block_bytes), asked);
  pool->ask_for_space(asked);
  come_to(block_bytes);
  EXPECT_FALSE(pool->owes_space());
  EXPECT_GE(pool->free_space_behind(block_bytes), asked);
  EXPECT_FALSE(pool->has_work(now, 0, block_bytes));
  EXPECT_TRUE(pool->has_work(now, 0, pool->free_space_behind(0) - asked + 2 * block_bytes));
}

TEST_F(SmallSegments, OnAFullDiskARequestIsOwed) {
  come_to(block_bytes);
  disk.capacity = pool->bytes();
  pool->ask_for_space(300 << 10);
  come_to(block_bytes);
  EXPECT_TRUE(pool->owes_space());
  EXPECT_TRUE(pool->disk_full());
  disk.capacity = UINT64_MAX;
  now = now + SegmentPool::retry_after;
  come_to(block_bytes);
  EXPECT_FALSE(pool->owes_space());
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

TEST_F(Demand, WhatIsWantedAheadMayBeRetired) {
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

}  // namespace
}  // namespace pawl

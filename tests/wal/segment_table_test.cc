// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/segment_table.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

constexpr Geometry geometry{0x5eed, 64 << 10, 16 << 10};
constexpr std::uint64_t whole = geometry.segment_bytes, quarter = 16 << 10;

class Table : public testing::Test {
 protected:
  // Segments 0 to 4 are ready, the tail is in segment 2; segment 3 is small.
  Table() {
    table.start(0);
    for (std::uint64_t n = 0; n < 5; ++n) adopt(n, n == 3 ? quarter : whole, 0);
    table.enter(2);
  }
  void adopt(std::uint64_t number, std::uint64_t usable, std::uint64_t zeros) {
    table.adopt(number, FileId{static_cast<int>(number) + 1}, usable, zeros, {});
  }

  SegmentTable table{geometry};
  RetiredFiles retired;
};

TEST_F(Table, TheSpaceAheadOfTheTailIsThatOfTheSpares) {
  EXPECT_EQ(table.spares(), 2u);
  EXPECT_EQ(table.usable(), 4 * whole + quarter);
  EXPECT_EQ(table.spare_usable(), quarter + whole);
  table.enter(3);
  EXPECT_EQ(table.spare_usable(), whole);
  EXPECT_EQ(table.rest_of_tail(geometry.segment_base(3) + 1000), quarter - 1000);
}

TEST_F(Table, NoFrameBeginsBehindTheSpaceOfASmallSegment) {
  const Lsn small = geometry.segment_base(3);
  EXPECT_EQ(table.frame_position(small), small + block_bytes);
  EXPECT_EQ(table.frame_position(small + quarter), geometry.segment_base(4) + block_bytes);
  EXPECT_EQ(table.between(small, geometry.segment_base(4)), quarter);
}

TEST_F(Table, TheNextSegmentHasTheChosenSpace) {
  EXPECT_EQ(table.usable_bytes(5), whole);
  table.choose_next_usable(quarter);
  EXPECT_EQ(table.usable_bytes(5), quarter);
  EXPECT_EQ(table.usable_bytes(6), whole);
}

TEST_F(Table, ASpareIsNotReadyWhileItIsFilled) {
  EXPECT_EQ(table.first_unfilled_spare(), 3u);
  table.begin_filling(3);
  EXPECT_FALSE(table.ready(3));
  table.end_filling(quarter);
  EXPECT_TRUE(table.ready(3));
  EXPECT_EQ(table.first_unfilled_spare(), 4u);
}

TEST_F(Table, ASegmentIsRetiredWhenItsEmptinessIsDurable) {
  table.add_live(0);
  table.add_live(1);
  table.release(1, 500);
  table.retire(2, 499, retired);
  EXPECT_TRUE(retired.empty());
  table.retire(2, 500, retired);
  ASSERT_EQ(retired.size(), 1u);
  EXPECT_EQ(retired[0].number, 1u);
  table.drop_front(2);
  EXPECT_EQ(table.first(), 0u) << "a message is there";
  table.release(0, 100);
  table.retire(2, 500, retired);
  table.drop_front(2);
  EXPECT_EQ(table.first(), 2u);
  EXPECT_EQ(table.live(), 0u);
}

TEST_F(Table, TheEmptiestSegmentHasTheSmallestShareOfLiveBytes) {
  for (int i = 0; i < 4; ++i) table.add_send(0, 1000, false);
  for (int i = 0; i < 4; ++i) table.add_send(1, 1000, false);
  table.release(1, 1);
  table.release(1, 2);
  const SegmentTable::Use use = table.use(2, 2);
  EXPECT_EQ(use.emptiest, 1u);
  EXPECT_EQ(use.left, 2000u);
  EXPECT_EQ(use.live, 6000u);
  EXPECT_EQ(use.oldest, 0u);
  EXPECT_EQ(table.use(1, 2).emptiest, 0u) << "segment 1 is in the part that recovery reads";
}

TEST_F(Table, MessagesWithoutAFileAreFound) {
  EXPECT_EQ(table.first_missing(), table.ready_end());
  table.retire(1, 0, retired);
  table.add_live(0);
  EXPECT_EQ(table.first_missing(), 0u);
}

TEST_F(Table, TimesFillGapsFromBehindAndNeverFall) {
  SegmentTable timed{geometry};
  timed.start(0);
  const std::int64_t begun[] = {100, 0, 90, 400};
  for (std::uint64_t n = 0; n < 4; ++n) timed.adopt(n, FileId{1}, whole, whole, Instant{begun[n]});
  timed.adopted(Instant{300});
  EXPECT_EQ(timed.begun(0), Instant{100});
  EXPECT_EQ(timed.begun(1), Instant{100});
  EXPECT_EQ(timed.begun(2), Instant{100});
  EXPECT_EQ(timed.begun(3), Instant{300});
}

using TableDeathTest = Table;

TEST_F(TableDeathTest, CountsAndMarksNeverGoBack) {
  EXPECT_DEATH(table.release(0, 1), "has no message");
  EXPECT_DEATH(table.enter(1), "the tail goes from segment 2 to 1");
  EXPECT_DEATH(table.retire_one(2, 0, retired), "the tail in 2");
  EXPECT_DEATH(table.begin_filling(2), "the tail in 2");
  EXPECT_DEATH(adopt(4, whole, 0), "segment 4 after 5");
  EXPECT_DEATH(adopt(5, 100, 0), "100");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/segment_retention.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

constexpr Geometry geometry{0x5eed, 64 << 10, 16 << 10};

// Segment n was begun at 100 * n; the tail is in segment 5.
class Retention : public testing::Test {
 protected:
  Retention() {
    table.start(0);
    for (std::uint64_t n = 0; n < 7; ++n)
      table.adopt(n, FileId{1}, geometry.segment_bytes, geometry.segment_bytes, {});
    for (std::uint64_t n = 0; n <= 5; ++n)
      table.enter(n, Instant{static_cast<std::int64_t>(100 * n)});
  }

  SegmentTable table{geometry};
  SegmentRetention retention{table};
};

TEST_F(Retention, ASegmentLiesBeforeATimeIfTheNextOneWasBegunBeforeIt) {
  EXPECT_EQ(retention.first_since(Instant{300}), 2u);
  EXPECT_EQ(retention.first_since(Instant{301}), 3u);
  EXPECT_EQ(retention.first_since(never), 5u);
  EXPECT_EQ(retention.first_after(Instant{299}), 3u);
  EXPECT_EQ(retention.first_after(Instant{300}), 4u);
  EXPECT_EQ(retention.first_after(Instant{500}), 6u) << "one past the tail";
}

TEST_F(Retention, EverythingFromATimeOrASegmentOnIsKept) {
  EXPECT_EQ(retention.kept_from(), UINT64_MAX) << "nothing";
  retention.keep(Instant{301}, UINT64_MAX);
  EXPECT_EQ(retention.kept_from(), 3u);
  retention.keep(Instant{301}, 1);
  EXPECT_EQ(retention.kept_from(), 1u) << "a replay task reads there";
  retention.keep(never, UINT64_MAX);
  EXPECT_EQ(retention.kept_from(), UINT64_MAX);
}

TEST_F(Retention, OnlySegmentsWithoutMessagesCountAsKeptForReplay) {
  retention.keep(Instant{101}, UINT64_MAX);
  table.add_live(2);
  EXPECT_EQ(retention.bytes(5), 3 * geometry.segment_bytes);
  table.release(2, 1);
  EXPECT_EQ(retention.bytes(5), 4 * geometry.segment_bytes);
}

}  // namespace
}  // namespace pawl

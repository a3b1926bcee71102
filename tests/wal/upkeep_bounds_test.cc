// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/upkeep_bounds.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(UpkeepBounds, HoldForAllFiguresUntilTheyAreNarrowed) {
  const UpkeepBounds bounds;
  EXPECT_TRUE(bounds.hold(0, 0, Instant{0}));
  EXPECT_TRUE(bounds.hold(1u << 30, 1u << 20, Instant{1'000'000}));
}

TEST(UpkeepBounds, EndWithEachFigureAlone) {
  UpkeepBounds bounds;
  bounds.end_before(1000);
  bounds.end_before(2000);
  bounds.messages_min = 2;
  bounds.messages_max = 4;
  bounds.sum_max = 900 + 4 * UpkeepBounds::message_bytes;
  bounds.due_at(Instant{50});
  bounds.due_at(Instant{60});
  EXPECT_TRUE(bounds.hold(900, 4, Instant{49}));
  EXPECT_FALSE(bounds.hold(901, 4, Instant{49})) << "the sum";
  EXPECT_TRUE(bounds.hold(999, 3, Instant{49}));
  EXPECT_FALSE(bounds.hold(1000, 3, Instant{49})) << "the end";
  EXPECT_FALSE(bounds.hold(100, 1, Instant{49})) << "too few messages";
  EXPECT_FALSE(bounds.hold(100, 5, Instant{49})) << "too many messages";
  EXPECT_FALSE(bounds.hold(900, 4, Instant{50})) << "the time";
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/base/time_shift.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace pawl {
namespace {

TEST(TimeShift, AddsTheLeadOfTheWallClock) {
  TimeShift shift;
  shift.set_us(3'600'000'000);
  EXPECT_EQ(shift.wall(Instant{1'000'000}), Instant{4'600'000});
  EXPECT_EQ(shift.engine(Instant{4'600'000}), Instant{1'000'000});
  shift.set_us(-5'000'000);
  EXPECT_EQ(shift.wall(Instant{1'000'000}), Instant{995'000});
}

TEST(TimeShift, TakesATimeThereAndBackWithoutLoss) {
  TimeShift shift;
  for (const std::int64_t us :
       {0l, 1l, 999l, 1'000l, 1'999l, -1l, -999l, -1'001l, -86'400'000'001l}) {
    shift.set_us(us);
    EXPECT_EQ(shift.us(), us);
    const Instant engine{1'700'000'000'123};
    EXPECT_EQ(shift.engine(shift.wall(engine)), engine) << us;
  }
}

TEST(TimeShift, LeavesNoTimeAsItIs) {
  TimeShift shift;
  shift.set_us(3'600'000'000);
  EXPECT_EQ(shift.wall(Instant{0}), Instant{0});
  EXPECT_EQ(shift.engine(Instant{0}), Instant{0});
}

TEST(TimeShift, IsNothingUntilTheWallClockIsStepped) {
  EXPECT_EQ(no_shift.us(), 0);
  EXPECT_EQ(no_shift.wall(Instant{1234}), Instant{1234});
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/base/time.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace pawl {
namespace {

TEST(Time, CountsInMilliseconds) {
  EXPECT_EQ(seconds(3).ms, 3000);
  EXPECT_EQ(milliseconds(3).ms, 3);
  EXPECT_EQ(seconds(1), milliseconds(1000));
  EXPECT_EQ(seconds(2) + milliseconds(5), Duration{2005});
  EXPECT_EQ(milliseconds(150) * 4, Duration{600});
}

TEST(Time, AnInstantMovesByADurationAndTwoAreADurationApart) {
  const Instant noon{1'000'000};
  EXPECT_EQ(noon + seconds(5), Instant{1'005'000});
  EXPECT_EQ(noon - seconds(5), Instant{995'000});
  EXPECT_EQ((noon + seconds(5)) - noon, seconds(5));
  EXPECT_EQ(noon - (noon + seconds(5)), seconds(-5));
  EXPECT_LT(noon, noon + milliseconds(1));
}

TEST(Time, NeverIsAfterEveryInstantAndSumsDoNotOverflow) {
  constexpr Instant last{(std::int64_t{1} << 48) - 1};  // in the year 10889
  EXPECT_GT(never, last);
  EXPECT_GT(never - last, seconds(0));
  EXPECT_GT(never + (last - Instant{0}), never) << "no overflow";
  EXPECT_GT(never - Instant{-last.ms}, seconds(0));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/queue/retry_backoff.h"

#include <gtest/gtest.h>

#include <vector>

namespace pawl {
namespace {

std::string plan(Jitter jitter) {
  return backoff_plan(jitter, std::vector{seconds(1), seconds(2), seconds(30)});
}

TEST(RetryBackoff, WaitsTheStepOfTheReceiveAndRepeatsTheLast) {
  EXPECT_EQ(plan(Jitter::none), "none 1000,2000,30000");
  const std::vector<std::int64_t> waits = {1000, 2000, 30000, 30000, 30000};
  for (std::uint32_t receives = 1; receives <= waits.size(); ++receives)
    EXPECT_EQ(backoff_wait(plan(Jitter::none), receives, 7).ms, waits[receives - 1]) << receives;
  EXPECT_EQ(backoff_wait(plan(Jitter::none), UINT32_MAX, 7), seconds(30));
  EXPECT_EQ(backoff_wait("", 3, 7), Duration{0}) << "no policy";
}

// Each tenth of the range has a tenth of 10,000 waits, to within a quarter.
TEST(RetryBackoff, SpreadsEvenly) {
  for (const Jitter jitter : {Jitter::full, Jitter::equal}) {
    const std::int64_t least = jitter == Jitter::full ? 0 : 15'000, range = 30'000 - least;
    std::vector<int> tenths(11);
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      const std::int64_t wait = backoff_wait(plan(jitter), 3, i << 32 ^ i).ms;
      ASSERT_GE(wait, least);
      ASSERT_LE(wait, 30'000);
      ++tenths[static_cast<std::size_t>((wait - least) * 10 / range)];
    }
    for (std::size_t tenth = 0; tenth < 10; ++tenth) EXPECT_NEAR(tenths[tenth], 1000, 250) << tenth;
  }
}

TEST(RetryBackoff, RepeatsItselfForTheSameNumber) {
  EXPECT_EQ(backoff_wait(plan(Jitter::full), 3, 42), backoff_wait(plan(Jitter::full), 3, 42));
  EXPECT_NE(backoff_wait(plan(Jitter::full), 3, 42), backoff_wait(plan(Jitter::full), 3, 43));
}

}  // namespace
}  // namespace pawl

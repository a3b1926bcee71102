// SPDX-License-Identifier: Apache-2.0
#include "core/queue/task_pace.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

constexpr Instant start{1'000'000};
constexpr Instant at(std::int64_t ms) { return start + milliseconds(ms); }

TEST(TaskPace, WithoutARateAllMayLeave) {
  TaskPace pace;
  pace.from(start);
  EXPECT_EQ(pace.allowed(start, 0, 64), 64u);
  pace.took(64, start, 0);
  EXPECT_EQ(pace.allowed(start, 0, 64), 64u);
}

TEST(TaskPace, NothingLeavesBeforeItBegins) {
  TaskPace pace;
  pace.from(at(500));
  EXPECT_FALSE(pace.allows(at(499)));
  EXPECT_EQ(pace.allowed(at(499), 0, 64), 0u);
  EXPECT_EQ(pace.next(), at(500));
  EXPECT_TRUE(pace.allows(at(500)));
}

TEST(TaskPace, SoManyASecondLeave) {
  for (const std::uint32_t rate : {1u, 7u, 300u, 50'000u}) {
    TaskPace pace;
    pace.from(start);
    std::size_t sent = 0;
    for (Instant now = start; now < at(10'000);) {
      const std::size_t some = pace.allowed(now, rate, 64);
      pace.took(some, now, rate);
      sent += some;
      now = pace.allows(now) ? now + milliseconds(1) : pace.next();
    }
    EXPECT_GE(sent + rate / 1000, 10 * rate) << rate;
    EXPECT_LE(sent, 10 * rate + 1) << rate;
  }
}

TEST(TaskPace, AfterAPauseATenthOfASecondIsMadeUpFor) {
  TaskPace pace;
  pace.from(start);
  EXPECT_EQ(pace.allowed(at(60'000), 100, 64), 11u);
  pace.took(11, at(60'000), 100);
  EXPECT_EQ(pace.allowed(at(60'000), 100, 64), 0u);
  EXPECT_EQ(pace.next(), at(60'010));
}

}  // namespace
}  // namespace pawl

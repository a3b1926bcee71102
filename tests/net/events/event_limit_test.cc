// SPDX-License-Identifier: Apache-2.0
#include "net/events/event_limit.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace pawl {
namespace {

constexpr std::int64_t start_us = 5'000'000, second_us = 1'000'000;

int admitted(EventLimit& limit, std::uint32_t lines_a_minute, int tries, std::int64_t now_us) {
  int count = 0;
  for (int i = 0; i < tries; ++i) count += limit.admit(lines_a_minute, now_us);
  return count;
}

TEST(EventLimit, AdmitsTheLinesOfAMinuteAtOnceAndThenEvenly) {
  EventLimit limit;
  EXPECT_EQ(admitted(limit, 60, 100, start_us), 60);
  EXPECT_EQ(limit.take_suppressed(), 40u);
  EXPECT_EQ(limit.take_suppressed(), 0u);
  EXPECT_EQ(admitted(limit, 60, 10, start_us + second_us - 1), 0);
  EXPECT_EQ(admitted(limit, 60, 10, start_us + second_us), 1);
  EXPECT_EQ(admitted(limit, 60, 10, start_us + 11 * second_us), 10);
  EXPECT_EQ(limit.take_suppressed(), 19u);
  EXPECT_EQ(admitted(limit, 60, 100, start_us + 1000 * second_us), 60);
}

TEST(EventLimit, AdmitsNoMoreToSeveralThreads) {
  EventLimit limit;
  std::vector<std::thread> threads;
  std::atomic<int> count{0};
  for (int i = 0; i < 4; ++i)
    threads.emplace_back(
        [&] { count.fetch_add(admitted(limit, 600, 1000, start_us), std::memory_order_relaxed); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count.load(std::memory_order_relaxed), 600);
  EXPECT_EQ(limit.take_suppressed(), 3400u);
}

TEST(EventLimit, CountsLinesThatWereLostLater) {
  EventLimit limit;
  limit.suppress(3);
  EXPECT_TRUE(limit.admit(1, start_us));
  EXPECT_FALSE(limit.admit(1, start_us));
  EXPECT_EQ(limit.take_suppressed(), 4u);
}

}  // namespace
}  // namespace pawl

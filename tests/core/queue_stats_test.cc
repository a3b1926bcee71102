// SPDX-License-Identifier: Apache-2.0
#include "core/queue/queue_stats.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

namespace pawl {
namespace {

TEST(LeaseTimes, KnowTheirPercentilesWithinAQuarter) {
  LeaseTimes leases;
  EXPECT_EQ(leases.percentile(0.5), Duration{0}) << "none has ended";
  for (std::int64_t ms = 1; ms <= 1000; ++ms) leases.note(milliseconds(ms));
  EXPECT_NEAR(static_cast<double>(leases.percentile(0.5).ms), 500, 125);
  EXPECT_NEAR(static_cast<double>(leases.percentile(0.99).ms), 990, 250);
  EXPECT_LE(leases.percentile(0.01).ms, 20);
  EXPECT_EQ(leases.count(), 1000u);
  EXPECT_EQ(leases.sum_ms(), 500'500u);
}

TEST(LeaseTimes, TakeAnyDuration) {
  LeaseTimes leases;
  for (const std::int64_t ms : {std::int64_t{0}, std::int64_t{-5}, std::int64_t{1},
                                std::numeric_limits<std::int64_t>::max() / 2})
    leases.note(milliseconds(ms));
  EXPECT_EQ(leases.count(), 4u);
  EXPECT_LE(leases.percentile(0.5).ms, 2);
  EXPECT_GE(leases.percentile(1).ms, 12 * 3600 * 1000) << "the longest visibility timeout";
}

TEST(LeaseTimes, ForgetWhatIsLongPast) {
  LeaseTimes leases;
  for (std::uint32_t i = 0; i < 100'000; ++i) leases.note(seconds(30));
  for (std::uint32_t i = 0; i < 3 * LeaseTimes::remembered; ++i) leases.note(milliseconds(2));
  EXPECT_LT(leases.percentile(0.8).ms, 4);
  for (std::uint32_t i = 0; i < 8 * LeaseTimes::remembered; ++i) leases.note(milliseconds(2));
  EXPECT_LT(leases.percentile(0.99).ms, 4);
}

TEST(Rate, IsThatOfTheLastMinute) {
  Instant now{1000};
  Rate rate(now);
  rate.read(0, now + milliseconds(500));
  EXPECT_EQ(rate.per_second(), 0) << "too early";
  rate.read(100, now + seconds(10));
  EXPECT_DOUBLE_EQ(rate.per_second(), 10) << "since the begin";
  std::uint64_t counter = 100;
  for (now = now + seconds(10); now.ms < 400'000; now = now + seconds(15))
    rate.read(counter += 1500, now + seconds(15));
  EXPECT_NEAR(rate.per_second(), 100, 1);
  rate.read(counter, now + seconds(60));
  EXPECT_NEAR(rate.per_second(), 100 / 2.718, 2) << "a minute without any";
}

TEST(QueueSums, KnowHowLongTheirMessagesHaveBeenThere) {
  QueueSums sums;
  const Instant start{1'900'000'000'000};
  sums.begin(2, start);
  sums.begin(3, start + seconds(10));
  EXPECT_EQ(sums.messages, 5u);
  EXPECT_EQ(sums.message_ms(start + seconds(20)), 2u * 20'000 + 3u * 10'000);
  sums.leave(QueueCounter::deleted, 5, start + seconds(20));
  EXPECT_EQ(sums.messages, 0u);
  EXPECT_EQ(sums.message_ms(start + seconds(3600)), 70'000u) << "what has left counts no more";
  EXPECT_EQ(sums[QueueCounter::deleted], 5u);
}

// A number of messages for which the products alone would overflow.
TEST(QueueSums, AreExactBeyondTheRangeOfTheirProducts) {
  QueueSums sums;
  const Instant start{1'900'000'000'000};
  sums.begin(1'000'000'000'000, start);
  sums.leave(QueueCounter::deleted, 1'000'000'000'000, start + milliseconds(1000));
  EXPECT_EQ(sums.message_ms(start + seconds(9)), 1'000'000'000'000'000u);
}

TEST(DeliveryTimes, AreInTheBucketThatEndsWithThem) {
  DeliveryTimes times;
  for (const std::int64_t ms : {-1, 0, 1, 2, 1000, 3'600'001}) times.note(milliseconds(ms));
  EXPECT_EQ(times.counts[0], 3u) << "up to 1 ms";
  EXPECT_EQ(times.counts[1], 1u);
  EXPECT_EQ(times.counts[7], 1u) << "a second";
  EXPECT_EQ(times.counts.back(), 1u);
  EXPECT_EQ(times.sum_ms, 3'601'004u);
  times.note(milliseconds(7), 10);
  EXPECT_EQ(times.counts[3], 10u);
  EXPECT_EQ(times.sum_ms, 3'601'074u);
}

}  // namespace
}  // namespace pawl

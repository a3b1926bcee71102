// SPDX-License-Identifier: Apache-2.0
#include "core/base/duration_counts.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(DurationCounts, CountADurationInTheFirstBucketThatIsLongEnough) {
  DurationCounts counts;
  for (const std::uint64_t us : {0, 63, 64, 127, 128, 524'287, 524'288, 1'000'000'000})
    counts.note(us);
  EXPECT_EQ(counts.buckets[0], 2u) << "below 64 us";
  EXPECT_EQ(counts.buckets[1], 2u);
  EXPECT_EQ(counts.buckets[2], 1u);
  EXPECT_EQ(counts.buckets[DurationCounts::ends - 1], 1u) << "below 524.288 ms";
  EXPECT_EQ(counts.buckets[DurationCounts::ends], 2u);
  EXPECT_EQ(counts.count(), 8u);
  EXPECT_EQ(counts.sum_us, 1'001'048'957u);
}

TEST(DurationCounts, AreAddedBucketByBucket) {
  DurationCounts one, other;
  one.note(10);
  other.note(10);
  other.note(100);
  one.add(other);
  EXPECT_EQ(one.buckets[0], 2u);
  EXPECT_EQ(one.buckets[1], 1u);
  EXPECT_EQ(one.sum_us, 120u);
}

}  // namespace
}  // namespace pawl

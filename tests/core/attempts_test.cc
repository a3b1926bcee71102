// SPDX-License-Identifier: Apache-2.0
#include "core/queue/attempts.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

constexpr Instant start{1'000'000};

TEST(Attempts, AreKnownForFiveMinutes) {
  std::uint64_t bytes = 0;
  Attempts attempts(bytes);
  const TextKey id{1, 2};
  EXPECT_EQ(attempts.find(id, start), nullptr);
  attempts.put(id,
               {
                   {.seq = 7, .nonce = 8, .deadline = start + seconds(30)}
  },
               start);
  ASSERT_NE(attempts.find(id, start + seconds(300) - milliseconds(1)), nullptr);
  EXPECT_EQ(attempts.find(id, start)->at(0).seq, 7u);
  EXPECT_EQ(attempts.find({1, 3}, start), nullptr);
  EXPECT_EQ(attempts.find(id, start + seconds(300)), nullptr);
}

TEST(Attempts, BeyondTheLimitTheOldestGoes) {
  std::uint64_t bytes = 0;
  Attempts attempts(bytes);
  for (std::uint64_t n = 1; n <= Attempts::attempts_max + 3; ++n)
    attempts.put({n, 0}, {{.seq = n}}, start);
  EXPECT_EQ(attempts.find({3, 0}, start), nullptr);
  ASSERT_NE(attempts.find({4, 0}, start), nullptr);
  EXPECT_EQ(attempts.find({Attempts::attempts_max + 3, 0}, start)->at(0).seq,
            Attempts::attempts_max + 3);
}

TEST(Attempts, AreForgottenBitByBitWhenTheyAreOver) {
  std::uint64_t bytes = 0;
  Attempts attempts(bytes);
  for (std::uint64_t n = 1; n <= 10; ++n)
    attempts.put({n, 0}, {{.seq = n}, {.seq = n}}, start + seconds(static_cast<std::int64_t>(n)));
  attempts.put({10, 0}, {{.seq = 11}}, start + seconds(11));
  EXPECT_EQ(bytes, 10 * (Attempts::attempt_bytes + 2 * sizeof(Attempted)));
  EXPECT_EQ(attempts.next_over(), start + seconds(301));
  EXPECT_TRUE(attempts.forget_over(start + seconds(300), 1));
  EXPECT_FALSE(attempts.forget_over(start + seconds(305), 4));
  EXPECT_EQ(attempts.next_over(), start + seconds(305));
  EXPECT_TRUE(attempts.forget_over(start + seconds(305), 4));
  EXPECT_EQ(bytes, 5 * (Attempts::attempt_bytes + 2 * sizeof(Attempted)));
  EXPECT_TRUE(attempts.forget_over(never, 5));
  EXPECT_EQ(attempts.next_over(), never);
  EXPECT_EQ(bytes, 0u);
}

}  // namespace
}  // namespace pawl

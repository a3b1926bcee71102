#include "core/attempts.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

constexpr Instant start{1'000'000};

TEST(Attempts, AreKnownForFiveMinutes) {
  Attempts attempts;
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
  Attempts attempts;
  for (std::uint64_t n = 1; n <= Attempts::attempts_max + 3; ++n)
    attempts.put({n, 0}, {{.seq = n}}, start);
  EXPECT_EQ(attempts.find({3, 0}, start), nullptr);
  ASSERT_NE(attempts.find({4, 0}, start), nullptr);
  EXPECT_EQ(attempts.find({Attempts::attempts_max + 3, 0}, start)->at(0).seq,
            Attempts::attempts_max + 3);
}

TEST(Attempts, AreForgottenTogether) {
  Attempts attempts;
  attempts.put({1, 0}, {{.seq = 1}}, start);
  attempts.clear();
  EXPECT_EQ(attempts.find({1, 0}, start), nullptr);
  attempts.put({1, 0}, {{.seq = 2}}, start + seconds(200));
  ASSERT_NE(attempts.find({1, 0}, start + seconds(400)), nullptr)
      << "the older one's time is not its";
}

}  // namespace
}  // namespace pawl

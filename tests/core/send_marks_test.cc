// SPDX-License-Identifier: Apache-2.0
#include "core/queue/send_marks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace pawl {
namespace {

constexpr Instant start{1'900'000'000'000};

class SendMarksTest : public ::testing::Test {
 protected:
  std::uint64_t bytes_ = 0;
  SendMarks marks_{bytes_};
};

TEST_F(SendMarksTest, KnowNothingOfMessagesFromBefore) {
  EXPECT_EQ(marks_.around(7).at, never);
  marks_.note(10, start);
  EXPECT_EQ(marks_.around(9).at, never);
  EXPECT_EQ(marks_.around(9).end, 10u);
  EXPECT_EQ(marks_.around(10).at, start);
  EXPECT_EQ(marks_.around(seq_max).at, start) << "sent in the same millisecond";
}

TEST_F(SendMarksTest, AreExactWhileTheyAreFew) {
  for (Seq seq = 1; seq <= 100; ++seq)
    marks_.note(seq * 10, start + seconds(static_cast<std::int64_t>(seq)));
  const SendMarks::Sends sends = marks_.around(505);
  EXPECT_EQ(sends.at, start + seconds(50));
  EXPECT_EQ(sends.first, 500u);
  EXPECT_EQ(sends.end, 510u);
}

TEST_F(SendMarksTest, TakeTheSendsOfAMillisecondTogether) {
  for (Seq seq = 1; seq <= 1000; ++seq) marks_.note(seq, start);
  EXPECT_EQ(marks_.size(), 1u);
}

// Sends with pauses of any length: at any time each message's age is known to within a quarter.
TEST_F(SendMarksTest, KnowEachAgeWithinAQuarter) {
  std::vector<Instant> sent{Instant{}};
  Instant now = start;
  std::uint64_t random = 1;
  for (Seq seq = 1; seq <= 50'000; ++seq) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    now = now + Duration{static_cast<std::int64_t>(random >> 40) >> (random >> 33 & 31)};
    sent.push_back(now);
    marks_.note(seq, now);
    ASSERT_LE(marks_.size(), SendMarks::marks_max);
    if (seq % 5000 != 0) continue;
    for (Seq each = 1; each <= seq; ++each) {
      const SendMarks::Sends sends = marks_.around(each);
      ASSERT_NE(sends.at, never) << "message " << each << " of " << seq;
      const std::int64_t age = (now - sent[each]).ms, known = (now - sends.at).ms;
      ASSERT_LE(std::max(age - known, known - age), age / 4 + 1)
          << "message " << each << " of " << seq;
    }
  }
  EXPECT_GT((now - start).ms, 86'400'000) << "the pauses add up to days";
}

TEST_F(SendMarksTest, CountTheirBytes) {
  for (Seq seq = 1; seq <= 100'000; ++seq)
    marks_.note(seq, start + milliseconds(static_cast<std::int64_t>(seq)));
  EXPECT_GE(bytes_, marks_.size() * 24);
  EXPECT_LE(bytes_, 3u << 10);
  {
    const SendMarks moved = std::move(marks_);
  }
  EXPECT_EQ(bytes_, 0u);
}

}  // namespace
}  // namespace pawl

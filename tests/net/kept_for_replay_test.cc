// SPDX-License-Identifier: Apache-2.0
#include "net/engine/kept_for_replay.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace pawl {
namespace {

constexpr Duration minute = seconds(60);

TEST(KeptForReplay, WhatIsWantedNowIsKeptAtOnce) {
  KeptForReplay kept;
  EXPECT_EQ(kept.note({}, 0, 0).retention, Duration{0});
  EXPECT_EQ(kept.note({minute, 500}, 1000, 0).retention, minute);
  EXPECT_EQ(kept.note({minute, 500}, 1000, 0).position, 500u);
}

// The queue of the retention was deleted, and its deletion was not durable at a power cut.
TEST(KeptForReplay, ADeletionThatIsNotDurableFreesNothing) {
  KeptForReplay kept;
  kept.note({minute}, 1000, 1000);
  EXPECT_EQ(kept.note({}, 2000, 1000).retention, minute);
  EXPECT_EQ(kept.note({}, 3000, 1999).retention, minute);
  EXPECT_EQ(kept.note({}, 3000, 2000).retention, Duration{0});
}

TEST(KeptForReplay, ATaskKeepsTheLogFromItsDurablePosition) {
  KeptForReplay kept;
  kept.note({minute, 100}, 1000, 1000);
  EXPECT_EQ(kept.note({minute, 300}, 2000, 1000).position, 100u);
  EXPECT_EQ(kept.note({minute, 600}, 3000, 1000).position, 100u);
  EXPECT_EQ(kept.note({minute, 600}, 3000, 2000).position, 300u);
  EXPECT_EQ(kept.note({minute, 600}, 3000, 3000).position, 600u);
}

// Whatever prefix of the records is durable: its state needs no more than is kept.
TEST(KeptForReplay, KeepsWhatEveryStateSinceTheDurableOneNeeds) {
  std::uint64_t random = 7;
  const auto next = [&random](std::uint64_t below) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return (random >> 33) % below;
  };
  KeptForReplay kept;
  std::vector<ReplayNeeds> states(1);  // states[n]: after n records
  Lsn durable = 0;
  for (int turn = 0; turn < 10'000; ++turn) {
    const ReplayNeeds given = kept.note(states.back(), states.size() - 1, durable);
    ASSERT_GE(given.retention, states[durable].retention) << turn;
    ASSERT_LE(given.position, states[durable].position) << turn;
    ASSERT_GE(given.retention, states.back().retention) << turn;
    ASSERT_LE(given.position, states.back().position) << turn;
    if (next(2) == 0) states.push_back({Duration{static_cast<std::int64_t>(next(4))}, next(1000)});
    if (next(4) == 0) durable += next(states.size() - durable);
  }
  EXPECT_GT(durable, 1000u);
}

}  // namespace
}  // namespace pawl

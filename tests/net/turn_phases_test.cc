// SPDX-License-Identifier: Apache-2.0
#include "net/engine/turn_phases.h"

#include <gtest/gtest.h>

#include <array>

namespace pawl {
namespace {

class CountedClocks final : public MachineClocks {
 public:
  std::int64_t wall_us() const override { return 0; }
  std::int64_t running_us() const override {
    ++readings;
    return at_us;
  }
  BootId boot_id() const override { return {}; }
  bool synchronised() const override { return true; }

  std::int64_t at_us = 1000;
  mutable int readings = 0;
};

constexpr std::array<std::int64_t, turn_spans> spans_us{7, 3, 20, 5, 9, 40};

void run_turn(TurnPhases& phases, CountedClocks& clocks) {
  phases.begin_turn();
  for (std::size_t i = 0; i < turn_spans; ++i) {
    phases.begin(static_cast<TurnSpan>(i));
    clocks.at_us += spans_us[i];
    phases.end(static_cast<TurnSpan>(i));
  }
}

TEST(TurnPhases, TheSumsApproachTheTimeOfAllTurns) {
  CountedClocks clocks;
  TurnPhases phases(clocks);
  constexpr std::size_t rounds = 100;
  for (std::size_t i = 0; i < rounds * turn_spans; ++i) run_turn(phases, clocks);
  constexpr std::uint64_t turns = rounds * turn_spans;
  EXPECT_EQ(phases.sum(TurnPhase::connections), turns * (7 + 9));
  EXPECT_EQ(phases.sum(TurnPhase::log), turns * (3 + 5));
  EXPECT_EQ(phases.sum(TurnPhase::engine), turns * 20);
  EXPECT_EQ(phases.sum(TurnPhase::kernel), turns * 40);
}

TEST(TurnPhases, ATurnReadsTheClockTwice) {
  CountedClocks clocks;
  TurnPhases phases(clocks);
  for (int turn = 1; turn <= 50; ++turn) {
    run_turn(phases, clocks);
    EXPECT_EQ(clocks.readings, 2 * turn);
  }
}

TEST(TurnPhases, ASpanThatATurnLeavesOutCountsNothing) {
  CountedClocks clocks;
  TurnPhases phases(clocks);
  for (std::size_t i = 0; i < turn_spans; ++i) {
    phases.begin_turn();
    phases.end(TurnSpan::end_writes);
    clocks.at_us += 100;
  }
  EXPECT_EQ(phases.sum(TurnPhase::log), 0u);
}

}  // namespace
}  // namespace pawl

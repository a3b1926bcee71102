// SPDX-License-Identifier: Apache-2.0
#include "bench/load_figures.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using load::Interval;
using load::LoadFigures;

constexpr std::uint64_t ms = 1'000'000;

class LoadFiguresTest : public testing::Test {
 protected:
  void advance(LoadFigures& figures, std::uint64_t now) {
    figures.advance(now, [this](const Interval& i) {
      seconds_.push_back({i.second, i.messages, i.errors, i.latency->count()});
    });
  }
  // A message with its latency.
  static void answer(LoadFigures& figures, std::uint64_t now) {
    figures.record(1000);
    figures.count_good(1, now);
  }

  struct Second {
    std::uint64_t second, messages, errors, latencies;
    bool operator==(const Second&) const = default;
  };
  std::vector<Second> seconds_;
};

TEST_F(LoadFiguresTest, DividesTheTimeAfterTheWarmUpIntoRounds) {
  LoadFigures figures(2);
  figures.begin(100 * ms, 200 * ms, 400 * ms);
  EXPECT_EQ(figures.next_end(), 200 * ms);
  answer(figures, 150 * ms);
  advance(figures, 200 * ms);
  EXPECT_EQ(figures.next_end(), 300 * ms);
  answer(figures, 250 * ms);
  figures.count_failed(3, "busy");
  advance(figures, 310 * ms);
  for (int i = 0; i < 2; ++i) answer(figures, 390 * ms);
  advance(figures, 410 * ms);
  answer(figures, 420 * ms);  // late: it belongs to the last round
  figures.finish(500 * ms);

  const load::LoadRound* const rounds = figures.rounds();
  EXPECT_EQ(rounds[0].messages, 1u);
  EXPECT_EQ(rounds[0].errors, 3u);
  EXPECT_EQ(rounds[0].latency.count(), 1u);
  EXPECT_DOUBLE_EQ(rounds[0].seconds, 0.11) << "until the moment at which its end was noticed";
  EXPECT_EQ(rounds[1].messages, 3u);
  EXPECT_EQ(rounds[1].latency.count(), 3u);
  EXPECT_DOUBLE_EQ(rounds[1].seconds, 0.11) << "until the last response";
  EXPECT_EQ(figures.messages(), 5u) << "with the warm-up";
  EXPECT_EQ(figures.reasons(), (std::map<std::string, std::uint64_t>{
                                   {"busy", 3}
  }));
}

TEST_F(LoadFiguresTest, CountsSecondsFromTheEndOfTheWarmUp) {
  LoadFigures figures(2);
  figures.begin(0, 500 * ms, 3500 * ms);
  answer(figures, 400 * ms);
  advance(figures, 500 * ms);
  EXPECT_EQ(figures.next_end(), 1500 * ms);
  answer(figures, 600 * ms);
  advance(figures, 1500 * ms);
  answer(figures, 1600 * ms);
  advance(figures, 2000 * ms);  // a round ends inside the second
  answer(figures, 2100 * ms);
  figures.count_failed(1, "busy");
  figures.count_failed(0, "nothing");
  advance(figures, 2500 * ms);
  EXPECT_EQ(seconds_, (std::vector<Second>{
                          {1, 1, 0, 1},
                          {2, 2, 1, 2}
  }));
  EXPECT_EQ(figures.reasons().size(), 1u);
}

TEST_F(LoadFiguresTest, BeginsWithTheFirstRoundWithoutAWarmUp) {
  LoadFigures figures(1);
  figures.begin(5 * ms, 5 * ms, 105 * ms);
  EXPECT_EQ(figures.next_end(), 1005 * ms) << "the only round has no end by time";
  figures.finish(55 * ms);
  EXPECT_DOUBLE_EQ(figures.rounds()[0].seconds, 0.05) << "no message: until the end";
}

TEST_F(LoadFiguresTest, BeginsNoRoundAfterAnInterruption) {
  LoadFigures figures(3);
  figures.begin(0, 0, 300 * ms);
  EXPECT_EQ(figures.complete_rounds(), 3u);
  answer(figures, 50 * ms);
  advance(figures, 100 * ms);
  answer(figures, 150 * ms);
  figures.interrupt();
  answer(figures, 250 * ms);
  advance(figures, 350 * ms);
  figures.finish(350 * ms);
  EXPECT_EQ(figures.complete_rounds(), 1u);
  EXPECT_EQ(figures.rounds()[0].messages, 1u);
  EXPECT_EQ(figures.rounds()[1].messages, 2u) << "the late response too";
  EXPECT_DOUBLE_EQ(figures.rounds()[1].seconds, 0.15);
  EXPECT_EQ(figures.rounds()[2].messages, 0u);
}

TEST_F(LoadFiguresTest, MeasuresNothingWhenTheWarmUpIsInterrupted) {
  LoadFigures figures(2);
  figures.begin(0, 100 * ms, 300 * ms);
  answer(figures, 50 * ms);
  figures.interrupt();
  answer(figures, 150 * ms);
  advance(figures, 5000 * ms);
  figures.finish(5000 * ms);
  EXPECT_EQ(figures.complete_rounds(), 0u);
  EXPECT_EQ(figures.rounds()[0].messages, 0u);
  EXPECT_EQ(seconds_, std::vector<Second>());
}

}  // namespace
}  // namespace pawl

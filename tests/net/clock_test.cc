// The server's clock under a wall clock that is stepped.
#include "net/clock.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace pawl {
namespace {

constexpr std::int64_t second_us = 1'000'000, hour_us = 3600 * second_us;

struct Dial final : MachineClocks {
  std::int64_t wall = 1'700'000'000 * second_us, running = 12 * hour_us;

  std::int64_t wall_us() const override { return wall; }
  std::int64_t running_us() const override { return running; }
  void pass(std::int64_t us) {
    wall += us;
    running += us;
  }
};

class StepTest : public testing::TestWithParam<std::int64_t> {};

TEST_P(StepTest, TimeGoesOnAtItsPace) {
  Dial dial;
  EngineClock clock(dial);
  dial.wall += GetParam();
  const Instant begun = clock.now();
  for (std::int64_t s = 1; s <= 3600; ++s) {
    const Instant before = clock.now();
    dial.pass(second_us / 2);
    EXPECT_GE(clock.now(), before);
    dial.pass(second_us / 2);
    clock.follow();
    EXPECT_GT(clock.now(), before);
    // A timeout of any length is right to 500 ppm and a millisecond.
    EXPECT_LE(std::abs((clock.now() - begun).ms - s * 1000), s / 2 + 1) << s;
  }
}

TEST_P(StepTest, AStartTakesTheWallClocksWord) {
  Dial dial;
  dial.wall += GetParam();
  EXPECT_EQ(EngineClock(dial).now().ms, dial.wall / 1000);
}

INSTANTIATE_TEST_SUITE_P(, StepTest,
                         testing::Values(-1000 * hour_us, -hour_us, -second_us, -1000, 0, 1000,
                                         second_us, hour_us, 10'000 * hour_us));

TEST(EngineClock, ASmallStepIsMadeUpFor) {
  for (const std::int64_t step : {-100'000, 100'000}) {  // 200 seconds at 500 ppm
    Dial dial;
    EngineClock clock(dial);
    dial.wall += step;
    for (int s = 0; s < 198; ++s) clock.follow();
    EXPECT_NE(clock.now().ms, dial.wall / 1000);
    clock.follow();
    clock.follow();
    EXPECT_EQ(clock.now().ms, dial.wall / 1000);
    clock.follow();
    EXPECT_EQ(clock.now().ms, dial.wall / 1000);
  }
}

TEST(EngineClock, TimeDoesNotStartBeforeTheNewestFrame) {
  Dial dial;
  const Instant newest{dial.wall / 1000 + 5000};
  EngineClock clock(dial);
  clock.not_before(newest);
  EXPECT_EQ(clock.now(), newest);
  clock.not_before(newest - seconds(60));
  EXPECT_EQ(clock.now(), newest);
  EXPECT_EQ(clock.running_us_at(newest), dial.running);
}

TEST(EngineClock, TheKernelsClocksGoOn) {
  EngineClock clock;
  const Instant now = clock.now();
  EXPECT_LE(std::abs((EngineClock::wall() - now).ms), 1000);
  EXPECT_LE(now, clock.now());
}

}  // namespace
}  // namespace pawl

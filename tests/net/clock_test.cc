// SPDX-License-Identifier: Apache-2.0
// The server's clock while the wall clock steps, across restarts of the process and of the machine.
#include "net/engine/clock.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace pawl {
namespace {

constexpr std::int64_t second_us = 1'000'000, hour_us = 3600 * second_us, day_us = 24 * hour_us;

struct Dial final : MachineClocks {
  std::int64_t wall = 1'700'000'000 * second_us, running = 12 * hour_us;
  std::uint8_t boot = 1;
  bool synced = false;

  std::int64_t wall_us() const override { return wall; }
  std::int64_t running_us() const override { return running; }
  BootId boot_id() const override { return {boot}; }
  bool synchronised() const override { return synced; }
  void pass(std::int64_t us) {
    wall += us;
    running += us;
  }
  // Restarts the machine after `us` of being off.
  void restart(std::int64_t us) {
    wall += us;
    running = 20 * second_us;
    ++boot;
  }
};

// A clock that resumes from the anchor of an earlier clock.
struct Resumed : EngineClock {
  Resumed(const Dial& dial, const ClockAnchor& noted, Instant newest, bool trusted = false)
      : EngineClock(dial) {
    resume(noted, trusted);
    settle(newest);
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
    // A timeout of any length is accurate to 500 ppm plus a millisecond.
    EXPECT_LE(std::abs((clock.now() - begun).ms - s * 1000), s / 2 + 1) << s;
  }
}

TEST_P(StepTest, WhatIsToldIsTheWallTime) {
  Dial dial;
  EngineClock clock(dial);
  const Instant sent = clock.now();
  dial.wall += GetParam();
  clock.follow();
  const std::int64_t error = clock.shift().wall(clock.now()).ms - dial.wall / 1000;
  EXPECT_LE(std::abs(error), 1001) << "a second is followed slowly";
  EXPECT_EQ(clock.shift().engine(clock.shift().wall(sent)), sent);
}

// Regression: a machine boots five days behind, NTP sets its clock, pawl restarts, and all messages
// have expired.
TEST_P(StepTest, AStepBeforeARestartOfTheProcessAgesNothing) {
  Dial dial;
  EngineClock clock(dial);
  const Instant sent = clock.now();
  dial.pass(60 * second_us);
  clock.follow();
  const ClockAnchor noted = clock.anchor();  // before the step
  dial.wall += GetParam();
  dial.pass(5 * second_us);
  EngineClock after(dial);
  after.resume(noted, false);
  after.settle(sent);
  EXPECT_FALSE(after.waits());
  EXPECT_LE(std::abs((after.now() - sent).ms - 65'000), 1);
  EXPECT_LE(std::abs(after.shift().wall(after.now()).ms - dial.wall / 1000), 1001);
}

INSTANTIATE_TEST_SUITE_P(, StepTest,
                         testing::Values(-1000 * hour_us, -hour_us, -second_us, -1000, 0, 1000,
                                         second_us, hour_us, 10'000 * hour_us));

TEST(EngineClock, OfANewDirectoryIsTheWallTime) {
  Dial dial;
  EXPECT_EQ(EngineClock(dial).now().ms, dial.wall / 1000);
}

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

TEST(EngineClock, TheTimeOffCountsAtOnceWhenTheClockIsSynchronised) {
  for (const bool trusted : {false, true}) {
    Dial dial;
    EngineClock before(dial);
    const Instant newest = before.now();
    const ClockAnchor noted = before.anchor();
    dial.restart(6 * day_us);
    dial.synced = !trusted;
    Resumed clock(dial, noted, newest, trusted);
    EXPECT_FALSE(clock.waits());
    EXPECT_EQ(clock.now(), newest + seconds(6 * 24 * 3600));
    EXPECT_EQ(clock.shift().us(), 0);
  }
}

// The machine was really off for six days: messages kept for four days expire ten minutes late.
TEST(EngineClock, TheTimeOffCountsAfterTenMinutesWithoutAStep) {
  Dial dial;
  EngineClock before(dial);
  const Instant newest = before.now();
  const ClockAnchor noted = before.anchor();
  dial.restart(6 * day_us);
  Resumed clock(dial, noted, newest);
  EXPECT_TRUE(clock.waits());
  EXPECT_EQ(clock.now(), newest + milliseconds(1));
  EXPECT_EQ(clock.shift().wall(clock.now()).ms, dial.wall / 1000)
      << "what is told is right at once";
  EXPECT_EQ(clock.wall_before_start(newest), newest) << "no step had come before";
  std::int64_t counted_us = 0;
  int s = 0;
  for (; s < 700 && counted_us == 0; ++s) {
    dial.pass(second_us);
    counted_us = clock.follow().counted_us;
  }
  EXPECT_EQ(s, 600);
  EXPECT_LE(std::abs(counted_us - 6 * day_us), 1000);
  EXPECT_LE(std::abs((clock.now() - newest).ms - (6 * 24 * 3600 + 600) * 1000), 1000);
  EXPECT_EQ(clock.shift().us() / second_us, 0);
}

// An empty battery: after the restart the wall clock is ten years ahead; a minute later it is set.
TEST(EngineClock, AWrongClockAfterARestartAgesNothing) {
  Dial dial;
  EngineClock before(dial);
  const Instant newest = before.now();
  const ClockAnchor noted = before.anchor();
  const std::int64_t right = dial.wall;
  dial.restart(10 * 365 * day_us);
  Resumed clock(dial, noted, newest);
  for (int s = 0; s < 60; ++s) {
    dial.pass(second_us);
    clock.follow();
  }
  dial.wall = right + 3600 * second_us;  // off for an hour in total
  EXPECT_LT(clock.follow().stepped_us, -day_us);
  EXPECT_LE((clock.now() - newest).ms, 60'100);
  dial.synced = true;
  dial.pass(second_us);
  clock.follow();
  EXPECT_FALSE(clock.waits());
  EXPECT_LE(std::abs((clock.now() - newest).ms - 3601 * 1000), 200);
}

TEST(EngineClock, AClockInTheFutureIsLeftAgain) {
  Dial dial;
  const std::int64_t right = dial.wall;
  dial.wall += 10 * 365 * day_us;
  EngineClock before(dial);  // a directory created in that future
  const Instant newest = before.now();
  const ClockAnchor noted = before.anchor();
  dial.restart(0);
  dial.wall = right;
  const Resumed clock(dial, noted, newest);
  EXPECT_LE(std::abs(clock.shift().wall(newest).ms - right / 1000), 1);
}

TEST(EngineClock, ARestartWhileItWaitsLosesNoTime) {
  Dial dial;
  EngineClock before(dial);
  const Instant newest = before.now();
  const ClockAnchor noted = before.anchor();
  dial.restart(hour_us);
  Resumed waiting(dial, noted, newest);
  ASSERT_TRUE(waiting.waits());
  dial.pass(60 * second_us);
  waiting.follow();
  dial.synced = true;
  Resumed clock(dial, waiting.anchor(), waiting.now());
  EXPECT_EQ(clock.now(), newest + seconds(3660));
}

// A machine that hides its boot id shows the same zeros before and after a restart.
TEST(EngineClock, AnUnknownBootIdCountsAsARestart) {
  Dial dial;
  dial.boot = 0;
  EngineClock before(dial);
  before.settle(Instant{});
  const ClockAnchor noted = before.anchor();
  dial.pass(hour_us);
  dial.wall += 365 * day_us;  // a wrong clock at boot
  const Resumed after(dial, noted, noted.engine);
  EXPECT_TRUE(after.waits());
  EXPECT_LE((Resumed(dial, noted, noted.engine).now() - noted.engine).ms, 1000);
}

TEST(EngineClock, MemoryPutBackToAnEarlierTimeCountsAsARestart) {
  Dial dial;
  EngineClock clock(dial);
  dial.pass(hour_us);
  const ClockAnchor noted = clock.anchor();
  dial.running -= hour_us / 2;
  EngineClock after(dial);
  after.resume(noted, false);
  EXPECT_TRUE(after.waits());
  EXPECT_EQ(after.now(), noted.engine);
}

TEST(EngineClock, TimeDoesNotStartBeforeTheNewestFrame) {
  Dial dial;
  EngineClock clock(dial);
  const Instant newest = clock.now() + seconds(5);
  clock.resume(clock.anchor(), false);
  clock.settle(newest);
  EXPECT_EQ(clock.now(), newest + milliseconds(1));
  EXPECT_EQ(clock.running_us_at(clock.now()), dial.running);
}

TEST(AdvancedClock, MessagesBecomeOlderAndTheWallTimeStays) {
  Dial dial;
  EngineClock clock(dial);
  const Instant sent = clock.now(), wall = clock.shift().wall(sent);
  clock.advance(seconds(900));
  EXPECT_EQ((clock.now() - sent).ms, 900'000);
  EXPECT_EQ(clock.shift().wall(clock.now()), wall);
  EXPECT_EQ(clock.schedule_shift().wall(clock.now()), wall + seconds(900));
  EXPECT_EQ(clock.shift().wall(sent).ms, wall.ms - 900'000) << "as if it had been sent earlier";
  dial.pass(second_us);
  EXPECT_EQ(clock.follow().stepped_us, 0) << "no step of the wall clock";
  EXPECT_EQ((clock.now() - sent).ms, 901'000);
}

}  // namespace
}  // namespace pawl

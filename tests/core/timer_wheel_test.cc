// SPDX-License-Identifier: Apache-2.0
#include "core/containers/timer_wheel.h"

#include <gtest/gtest.h>

#include <set>
#include <unordered_map>
#include <vector>

#include "tests/sim/random.h"

namespace pawl {
namespace {

constexpr std::int64_t start_ms = 1'700'000'000'123;

std::vector<std::uint32_t> due(TimerWheel& wheel, std::int64_t now_ms) {
  std::vector<std::uint32_t> subjects;
  while (wheel.expire(Instant{now_ms}, 100, [&](const TimerEntry& entry) {
    EXPECT_LE(static_cast<std::int64_t>(entry.deadline), now_ms);
    subjects.push_back(entry.subject);
    return true;
  })) {
  }
  return subjects;
}

TEST(TimerWheel, WithNothingArmedIsNeverDue) {
  TimerWheel wheel(Instant{start_ms});
  EXPECT_EQ(wheel.next(), never);
  EXPECT_TRUE(due(wheel, start_ms + 1'000'000).empty());
  EXPECT_EQ(wheel.next(), never);
}

TEST(TimerWheel, VisitsAnEntryAtItsDeadlineAndNotBefore) {
  constexpr std::int64_t distances[] = {1,          63,
                                        64,         65,
                                        4095,       4096,
                                        30'000,     262'144,
                                        43'200'000, 1'209'600'000,
                                        60ll << 30, 63ll << 30,
                                        64ll << 30, (64ll << 30) + 1,
                                        200ll << 30};
  for (const std::int64_t distance : distances) {
    SCOPED_TRACE(distance);
    TimerWheel wheel(Instant{start_ms});
    wheel.arm(Instant{start_ms + distance}, 7, 42, 3);
    // The test sleeps until next(), looks for due timers and sleeps again, as a shard does.
    std::int64_t now = start_ms;
    int wakes = 0;
    while (wheel.next().ms < start_ms + distance) {
      now = wheel.next().ms;
      ASSERT_TRUE(due(wheel, now).empty());
      ASSERT_LT(++wakes, 20) << "at most a cascade for each level, and the turns of the top level";
    }
    EXPECT_EQ(wheel.next().ms, start_ms + distance);
    EXPECT_TRUE(due(wheel, start_ms + distance - 1).empty());
    EXPECT_EQ(due(wheel, start_ms + distance), std::vector<std::uint32_t>{42});
    EXPECT_EQ(wheel.size(), 0u);
  }
}

TEST(TimerWheel, IsNotBlindToNearEntriesBesideOnesBeyondItsReach) {
  // The far timer would share the top-level slot of the current time.
  TimerWheel wheel(Instant{start_ms});
  wheel.arm(Instant{start_ms + (64ll << 30)}, 1, 1, 0);
  wheel.arm(Instant{start_ms + (300ll << 30)}, 1, 2, 0);
  wheel.arm(Instant{start_ms + (20ll << 30)}, 1, 3, 0);
  EXPECT_LE(wheel.next().ms, start_ms + (20ll << 30));
  EXPECT_EQ(due(wheel, start_ms + (20ll << 30)), std::vector<std::uint32_t>{3});
}

TEST(TimerWheel, VisitsAnOverdueEntryAMillisecondLater) {
  TimerWheel wheel(Instant{start_ms});
  due(wheel, start_ms + 500);
  wheel.arm(Instant{start_ms + 100}, 1, 9, 0);
  EXPECT_EQ(wheel.next().ms, start_ms + 501);
  EXPECT_EQ(due(wheel, start_ms + 501), std::vector<std::uint32_t>{9});
}

TEST(TimerWheel, KeepsWhatTheOwnerGave) {
  TimerWheel wheel(Instant{start_ms});
  wheel.arm(Instant{start_ms + 5}, 65535, 4'000'000'000, 3'999'999'999);
  wheel.arm(Instant{start_ms}, milliseconds(5), 1, 2, 3);
  int visits = 0;
  wheel.expire(Instant{start_ms + 5}, 10, [&](const TimerEntry& entry) {
    ++visits;
    if (entry.kind == 1) {
      EXPECT_EQ(entry.subject, 2u);
      EXPECT_EQ(entry.generation, 3u);
    } else {
      EXPECT_EQ(entry.kind, 65535);
      EXPECT_EQ(entry.subject, 4'000'000'000);
      EXPECT_EQ(entry.generation, 3'999'999'999);
    }
    return true;
  });
  EXPECT_EQ(visits, 2);
}

TEST(TimerWheel, VisitsNoMoreThanTheBudgetAndSaysThatThereIsMore) {
  TimerWheel wheel(Instant{start_ms});
  for (std::uint32_t i = 0; i < 50; ++i) wheel.arm(Instant{start_ms + 100}, 1, i, 0);
  for (std::uint32_t i = 0; i < 50; ++i) wheel.arm(Instant{start_ms}, milliseconds(100), 1, i, 0);
  std::size_t visited = 0, calls = 0;
  bool more = true;
  while (more) {
    std::size_t now = 0;
    more = wheel.expire(Instant{start_ms + 100}, 7, [&](const TimerEntry&) { return ++now > 0; });
    EXPECT_LE(now, 7u);
    EXPECT_TRUE(!more || wheel.next().ms <= start_ms + 100) << "it must be called again at once";
    visited += now;
    ASSERT_LT(++calls, 100u);
  }
  EXPECT_EQ(visited, 100u);
  EXPECT_GE(calls, 100u / 7);
}

TEST(TimerWheel, TakesManyTimeoutsThoughOnlyEightHaveALane) {
  TimerWheel wheel(Instant{start_ms});
  for (std::uint32_t i = 0; i < 100; ++i)
    wheel.arm(Instant{start_ms}, milliseconds(1000 - i), 1, i, 0);
  for (std::uint32_t i = 100; i-- > 0;)
    EXPECT_EQ(due(wheel, start_ms + 1000 - i), std::vector<std::uint32_t>{i});
}

TEST(TimerWheel, KeepsTheOrderOfALaneWhenTimeGoesBack) {
  TimerWheel wheel(Instant{start_ms});
  wheel.arm(Instant{start_ms + 50}, milliseconds(100), 1, 1, 0);
  wheel.arm(Instant{start_ms}, milliseconds(100), 1, 2, 0);
  EXPECT_EQ(due(wheel, start_ms + 100), std::vector<std::uint32_t>{2});
  EXPECT_EQ(due(wheel, start_ms + 150), std::vector<std::uint32_t>{1});
}

TEST(TimerWheel, AllowsArmingFromAVisit) {
  TimerWheel wheel(Instant{start_ms});
  wheel.arm(Instant{start_ms + 1}, 1, 1, 0);
  wheel.arm(Instant{start_ms}, milliseconds(1), 1, 1, 0);
  int visits = 0;
  for (std::int64_t now = start_ms; now < start_ms + 100; ++now) {
    wheel.expire(Instant{now}, 1000, [&](const TimerEntry& entry) {
      ++visits;
      wheel.arm(Instant{now + 1}, 1, entry.subject, 0);
      return true;
    });
  }
  EXPECT_EQ(visits, 2 * 99);
  EXPECT_EQ(wheel.size(), 2u);
}

// --- against an oracle ---

class Oracle {
 public:
  // wide: timeouts of all sizes. dense: few deadlines, so that chains are long and a sweep stops
  // inside one.
  enum class Mode { wide, dense };
  Oracle(std::uint64_t seed, Mode mode)
      : mode_(mode), random_(seed), wheel_(Instant{start_ms}, mode == Mode::dense ? 20 : 1000) {}

  void run(int operations) {
    for (int i = 0; i < operations && !testing::Test::HasFailure(); ++i) {
      const std::uint64_t dice = below(100);
      if (dice < 50) {
        arm();
      } else if (dice < (mode_ == Mode::dense ? 90u : 75u)) {
        cancel();
      } else {
        expire();
      }
      ASSERT_EQ(wheel_.size(), live_.size() + wheel_.stale());
    }
    for (int i = 0; i < 10'000 && !live_.empty(); ++i) {
      now_ = std::max(now_, wheel_.next().ms);
      look(1'000'000);
    }
    EXPECT_TRUE(live_.empty());
  }
  std::size_t fired() const { return fired_; }

 private:
  static constexpr std::int64_t timeouts[] = {1,      20,     1000,    30'000,     30'000,  60'000,
                                              20'000, 45'000, 100'000, 43'200'000, 900'000, 77};

  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  std::int64_t magnitude(unsigned bits_max) {
    return static_cast<std::int64_t>(random_.next() &
                                     ((std::uint64_t{1} << below(bits_max + 1)) - 1));
  }

  void arm() {
    const std::uint32_t subject = next_subject_++;
    std::int64_t deadline = 0;
    if (below(2) == 0) {
      const std::int64_t timeout =
          mode_ == Mode::dense ? 1000 : timeouts[below(std::size(timeouts))];
      deadline = now_ + timeout;
      wheel_.arm(Instant{now_}, milliseconds(timeout), 1, subject, 0);
    } else {
      deadline = std::max<std::int64_t>(0, now_ + magnitude(38) - (below(10) == 0 ? 50 : 0));
      if (mode_ == Mode::dense) deadline = (now_ + 2000) / 512 * 512;
      wheel_.arm(Instant{deadline}, 1, subject, 0);
    }
    // A timer that is due when armed may fire 1 ms late.
    const std::int64_t latest = std::max(deadline, now_ + 1);
    live_[subject] = {deadline, latest};
    by_latest_.insert({latest, subject});
    order_.push_back(subject);
  }

  void cancel() {
    if (order_.empty()) return;
    // dense mode cancels recent timers. wide mode cancels mostly old ones, as deletes do, which
    // trims the head of a lane.
    std::size_t at = below(order_.size());
    if (mode_ == Mode::dense) at = order_.size() - 1 - below(std::min<std::size_t>(at + 1, 3000));
    if (mode_ == Mode::wide && below(4) != 0) at = below(std::min<std::size_t>(order_.size(), 8));
    const std::uint32_t subject = order_[at];
    order_[at] = order_.back();
    order_.pop_back();
    const auto it = live_.find(subject);
    if (it == live_.end()) return;  // fired
    by_latest_.erase({it->second.latest, subject});
    live_.erase(it);
    wheel_.cancelled();
  }

  void expire() {
    const std::uint64_t dice = below(100);
    if (mode_ == Mode::dense) {
      now_ += static_cast<std::int64_t>(below(100) == 0 ? below(600) : below(2));
    } else if (dice < 40) {
      if (!by_latest_.empty()) now_ = std::max(now_, wheel_.next().ms);
    } else if (dice < 98) {
      now_ += magnitude(20);
    } else {
      now_ += magnitude(37);
    }
    const std::size_t budget = 1 + static_cast<std::size_t>(magnitude(10));
    look(budget);
    if (below(3) == 0) {
      wheel_.sweep(below(64),
                   [&](const TimerEntry& entry) { return live_.contains(entry.subject); });
    }
  }

  void look(std::size_t budget) {
    std::size_t visits = 0;
    const bool more = wheel_.expire(Instant{now_}, budget, [&](const TimerEntry& entry) {
      ++visits;
      const auto it = live_.find(entry.subject);
      if (it == live_.end()) return false;
      EXPECT_EQ(static_cast<std::int64_t>(entry.deadline), it->second.deadline);
      EXPECT_LE(it->second.deadline, now_) << "visited early";
      by_latest_.erase({it->second.latest, entry.subject});
      live_.erase(it);
      ++fired_;
      return true;
    });
    ASSERT_LE(visits, budget);
    if (more) {
      ASSERT_LE(wheel_.next().ms, now_) << "more to do, but not said when";
      return;
    }
    if (by_latest_.empty()) return;
    ASSERT_GT(by_latest_.begin()->first, now_) << "due and not visited";
    ASSERT_LE(wheel_.next().ms, by_latest_.begin()->first) << "would be woken late";
  }

  struct Armed {
    std::int64_t deadline = 0;
    std::int64_t latest = 0;
  };
  Mode mode_;
  sim::Random random_;
  TimerWheel wheel_;
  std::int64_t now_ = start_ms;
  std::uint32_t next_subject_ = 1;
  std::size_t fired_ = 0;
  std::unordered_map<std::uint32_t, Armed> live_;
  std::set<std::pair<std::int64_t, std::uint32_t>> by_latest_;
  std::vector<std::uint32_t> order_;
};

TEST(TimerWheel, DoesWhatASortedListWouldDo) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Oracle oracle(seed, seed % 2 == 0 ? Oracle::Mode::wide : Oracle::Mode::dense);
    oracle.run(100'000);
    if (HasFailure()) return;
    EXPECT_GT(oracle.fired(), 5'000u);
  }
}

// --- garbage ---

class Garbage : public testing::Test {
 protected:
  // Arms and cancels `count` timers, with a sweep every `batch`; timers of kind `live` survive.
  template <typename Arm>
  void churn(std::uint32_t count, std::uint32_t batch, Arm&& arm) {
    for (std::uint32_t i = 0; i < count; ++i) {
      arm(i);
      wheel.cancelled();
      if (i % batch == 0) sweep();
      most = std::max(most, wheel.size());
    }
  }
  void sweep() {
    looked = 0;
    wheel.sweep(256, [this](const TimerEntry& entry) {
      ++looked;
      return entry.kind == live;
    });
    wheel.expire(now, 2048, [](const TimerEntry&) { return true; });
    looked_most = std::max(looked_most, looked);
    looked_all += looked;
  }

  static constexpr std::uint16_t live = 1, garbage = 2;
  Instant now{start_ms};
  TimerWheel wheel{now};
  std::size_t most = 0, looked = 0, looked_most = 0, looked_all = 0;
};

TEST_F(Garbage, BehindALiveHeadOfALaneIsSweptBeforeItIsMost) {
  for (std::uint32_t i = 0; i < 1000; ++i) wheel.arm(now, seconds(30), live, i, 0);
  churn(1'000'000, 100, [&](std::uint32_t i) { wheel.arm(now, seconds(30), garbage, i, 0); });
  EXPECT_LE(most, 2 * 1000 + TimerWheel::sweep_slack + 200);
  EXPECT_LE(looked_all, 2'100'000u) << "each cancel may cost two looks";
  EXPECT_LE(looked_most, 256u + TimerWheel::looks_a_cancel * 100 + 63) << "a little in each turn";
}

TEST_F(Garbage, AtTheHeadOfALaneGoesAtOnce) {
  churn(100'000, 100, [&](std::uint32_t i) { wheel.arm(now, seconds(30), garbage, i, 0); });
  EXPECT_LE(most, 200u);
}

TEST_F(Garbage, InTheWheelIsSweptSlotBySlot) {
  sim::Random random(1);
  const auto anywhere = [&] {
    return now + milliseconds(1 + static_cast<std::int64_t>(random.below(100'000'000)));
  };
  for (std::uint32_t i = 0; i < 1000; ++i) wheel.arm(anywhere(), live, i, 0);
  churn(1'000'000, 100, [&](std::uint32_t i) { wheel.arm(anywhere(), garbage, i, 0); });
  EXPECT_LE(most, 2 * 1000 + TimerWheel::sweep_slack + 20'000);
  EXPECT_LE(looked_all, 2'200'000u);
  EXPECT_LE(looked_most, 256u + TimerWheel::looks_a_cancel * 100 + 63);
}

TEST_F(Garbage, InTheWheelDoesNotMakeTheSweepLookAtALaneOverAndOver) {
  sim::Random random(1);
  constexpr std::uint32_t lane_entries = 50'000;
  for (std::uint32_t i = 0; i < lane_entries; ++i) wheel.arm(now, seconds(30), live, i, 0);
  const auto anywhere = [&] {
    return now + milliseconds(1 + static_cast<std::int64_t>(random.below(100'000'000)));
  };
  for (std::uint32_t i = 0; i < 1000; ++i) wheel.arm(anywhere(), live, i, 0);
  churn(500'000, 100, [&](std::uint32_t i) { wheel.arm(anywhere(), garbage, i, 0); });
  EXPECT_LE(looked_all, 1'500'000u);
}

TEST_F(Garbage, LeavesWhatIsLive) {
  for (std::uint32_t i = 0; i < 1000; ++i) {
    wheel.arm(now, seconds(30), live, i, 0);
    wheel.arm(now + seconds(i + 1), live, i, 0);
  }
  churn(500'000, 1000, [&](std::uint32_t i) {
    if (i % 2 == 0) {
      wheel.arm(now, seconds(30), garbage, i, 0);
    } else {
      wheel.arm(now + seconds(i % 1000), garbage, i, 0);
    }
  });
  std::size_t visited = 0;
  bool more = true;
  while (more) {
    more = wheel.expire(now + seconds(1000), 1000, [&](const TimerEntry& entry) {
      visited += entry.kind == live ? 1 : 0;
      return entry.kind == live;
    });
  }
  EXPECT_EQ(visited, 2000u);
  EXPECT_EQ(wheel.size(), 0u);
  EXPECT_EQ(wheel.stale(), 0u);
}

TEST(TimerWheel, EndsAVisitWhenItsWorkReachesTheBudget) {
  for (const bool in_lane : {true, false}) {
    SCOPED_TRACE(in_lane);
    TimerWheel wheel(Instant{1'000});
    for (std::uint32_t i = 1; i <= 10; ++i)
      in_lane ? wheel.arm(Instant{1'000}, seconds(1), 1, i, 0) : wheel.arm(Instant{2'000}, 1, i, 0);
    const Instant due{2'000};
    std::size_t visited = 0;
    const auto visit = [&](const TimerEntry&) -> std::size_t {
      ++visited;
      return 10;
    };
    while (visited == 0) EXPECT_TRUE(wheel.expire(due, 25, visit));
    EXPECT_LE(visited, 3u);
    while (wheel.expire(due, 25, visit)) {
    }
    EXPECT_EQ(visited, 10u);
    EXPECT_EQ(wheel.stale(), 0u);
  }
}

}  // namespace
}  // namespace pawl

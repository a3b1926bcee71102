// SPDX-License-Identifier: Apache-2.0
#include "net/server/idle_policy.h"

#include <gtest/gtest.h>

#include <random>

namespace pawl {
namespace {

using Next = IdlePolicy::Next;

constexpr std::uint64_t spin_us = 100;

class IdlePolicyTest : public testing::Test {
 protected:
  Next idle(IdlePolicy& policy, bool writing = false) {
    return policy.after({.now_us = now_us, .writing = writing, .requests = requests});
  }
  Next work(IdlePolicy& policy) {
    return policy.after({.now_us = now_us, .worked = true, .requests = requests});
  }
  // Serves requests for so long. A request takes one of these times, as the shard spins or sleeps.
  // Returns the percentage of spins.
  std::uint64_t serve(IdlePolicy& policy, std::uint64_t for_us, std::uint64_t spinning_us,
                      std::uint64_t sleeping_us) {
    std::uint64_t spun_us = 0;
    for (const std::uint64_t end = now_us + for_us; now_us < end;) {
      const std::uint64_t took = policy.spinning() ? spinning_us : sleeping_us;
      spun_us += policy.spinning() ? took : 0;
      now_us += took;
      ++requests;
      work(policy);
    }
    return spun_us * 100 / for_us;
  }
  // A policy that has found spinning worth it, just after a turn that worked.
  IdlePolicy closed_loop() {
    IdlePolicy policy(Poll::automatic, spin_us);
    serve_until_it_spins(policy);
    return policy;
  }
  void serve_until_it_spins(IdlePolicy& policy) {
    serve(policy, 1'500'000, 100, 150);
    while (!policy.spinning()) serve(policy, 150, 100, 150);
  }

  std::uint64_t now_us = 1'000'000;
  std::uint64_t requests = 0;
};

TEST_F(IdlePolicyTest, SpinsWhereClientsSendMoreThen) {
  IdlePolicy policy(Poll::automatic, spin_us);
  serve(policy, 1'500'000, 100, 150);
  EXPECT_GT(serve(policy, 5'000'000, 100, 150), 85u);
}

TEST_F(IdlePolicyTest, SleepsWhereClientsKeepTheirPace) {
  for (const std::uint64_t gap : {50u, 200u, 2'000u, 20'000u}) {
    IdlePolicy policy(Poll::automatic, spin_us);
    serve(policy, 100 * gap + 1'500'000, gap, gap);
    EXPECT_LT(serve(policy, 1000 * gap + 6'000'000, gap, gap), 10u) << gap;
  }
}

// 150, 500 and 5,000 messages a second, three requests each, at random times.
TEST_F(IdlePolicyTest, SleepsWhereRequestsArriveAtRandom) {
  std::mt19937 random(1);  // NOLINT: the same numbers in each run
  for (const double gap_us : {2200.0, 667.0, 67.0}) {
    std::exponential_distribution<double> gap(1 / gap_us);
    IdlePolicy policy(Poll::automatic, spin_us);
    double at = static_cast<double>(now_us), spun = 0, all = 0;
    for (int i = 0; i < 200'000; ++i) {
      const double took = gap(random);
      spun += policy.spinning() ? took : 0;
      all += took;
      at += took;
      now_us = static_cast<std::uint64_t>(at);
      ++requests;
      work(policy);
    }
    EXPECT_LT(spun / all, 0.12) << gap_us;
  }
}

// A slow write each half second: nothing for 40 ms, then the missing requests at once.
TEST_F(IdlePolicyTest, SleepsWhereTheDiskIsSlowAtTimes) {
  IdlePolicy policy(Poll::automatic, spin_us);
  std::uint64_t spun = 0;
  constexpr std::uint64_t gap_us = 67, seconds = 20;
  for (std::uint64_t i = 0; i < seconds * 1'000'000 / gap_us; ++i) {
    const std::uint64_t in_period = i * gap_us % 500'000;
    spun += policy.spinning() ? gap_us : 0;
    now_us = 1'000'000 + i * gap_us + (in_period < 40'000 ? 40'000 - in_period : 0);
    ++requests;
    policy.after({.now_us = now_us, .worked = true, .writing = true, .requests = requests});
  }
  EXPECT_LT(spun * 100 / (seconds * 1'000'000), 15u);
}

TEST_F(IdlePolicyTest, FollowsAChangeOfTheLoad) {
  IdlePolicy policy(Poll::automatic, spin_us);
  for (int round = 0; round < 3; ++round) {
    serve(policy, 5'000'000, 2000, 2000);
    EXPECT_LT(serve(policy, 6'000'000, 2000, 2000), 10u);
    serve(policy, 5'000'000, 100, 150);
    EXPECT_GT(serve(policy, 5'000'000, 100, 150), 80u);
  }
}

TEST_F(IdlePolicyTest, SpinsForALimitedTimeAndLongerForTheEndOfAWrite) {
  IdlePolicy policy = closed_loop();
  work(policy);
  now_us += spin_us - 1;
  EXPECT_EQ(idle(policy), Next::turn);
  now_us += 1;
  EXPECT_EQ(idle(policy), Next::sleep);
  EXPECT_EQ(idle(policy, true), Next::turn);
  now_us += IdlePolicy::yield_after_us + 1;
  EXPECT_EQ(idle(policy, true), Next::yield) << "kernel threads flush";
  now_us += IdlePolicy::write_spins * spin_us;
  EXPECT_EQ(idle(policy, true), Next::sleep) << "a slow disk";
}

TEST_F(IdlePolicyTest, OnASharedCoreASleepEndsWithTheWrite) {
  for (const Poll poll : {Poll::automatic, Poll::spin, Poll::block}) {
    IdlePolicy policy(poll, spin_us);
    work(policy);
    policy.yielded(now_us, 4000);
    policy.yielded(now_us, 4000);
    EXPECT_EQ(idle(policy, true), Next::sleep);
    now_us += 200;
    EXPECT_EQ(idle(policy, true), Next::sleep);
  }
}

TEST_F(IdlePolicyTest, ABusyShardLetsTheKernelFlush) {
  for (const Poll poll : {Poll::automatic, Poll::spin, Poll::block}) {
    IdlePolicy policy(poll, spin_us);
    const auto busy = [&] {
      return policy.after({.now_us = now_us, .worked = true, .due = true, .writing = true});
    };
    EXPECT_EQ(busy(), Next::turn);
    now_us += IdlePolicy::yield_after_us + 1;
    EXPECT_EQ(busy(), poll == Poll::block ? Next::step_aside : Next::yield);
    now_us += IdlePolicy::step_aside_every_us - 1;
    EXPECT_EQ(busy(), poll == Poll::block ? Next::turn : Next::yield);
  }
}

TEST_F(IdlePolicyTest, TwoSlowYieldsInARowMeanThatTheCoreIsShared) {
  IdlePolicy policy = closed_loop();
  work(policy);
  policy.yielded(now_us, 4000);
  EXPECT_EQ(idle(policy), Next::turn) << "one may be a kernel thread";
  policy.yielded(now_us, 4000);
  EXPECT_EQ(idle(policy), Next::sleep);
  now_us += IdlePolicy::contended_us;
  serve_until_it_spins(policy);
  work(policy);
  EXPECT_EQ(idle(policy), Next::turn);
}

TEST_F(IdlePolicyTest, AlwaysSpinsAndNeverSleeps) {
  IdlePolicy always(Poll::spin, spin_us), never(Poll::block, spin_us);
  for (int i = 0; i < 3; ++i) {
    now_us += 100'000;
    EXPECT_EQ(idle(always), Next::turn);
    EXPECT_EQ(idle(never), Next::sleep);
    EXPECT_EQ(work(never), Next::sleep);
  }
}

}  // namespace
}  // namespace pawl

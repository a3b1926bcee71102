// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/simulation.h"

#include <gtest/gtest.h>

namespace pawl::sim {
namespace {

constexpr std::uint64_t operations = 800;

Outcome run(std::uint64_t seed, std::uint32_t shards) {
  return Simulation(make_plan(seed, operations, shards), false).run();
}

TEST(Simulation, KeepsEveryPromiseOfTheBrokerInEverySeed) {
  for (std::uint32_t shards = 1; shards <= 3; ++shards) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const Outcome outcome = run(seed, shards);
      ASSERT_TRUE(outcome.ok) << outcome.invariant << ": " << outcome.what << "; pawl_sim --seed "
                              << seed << " --shards " << shards << " --operations " << operations
                              << " --trace";
    }
  }
}

TEST(Simulation, IsTheSameRunForTheSameSeedAndAnotherForAnother) {
  for (std::uint64_t seed = 100; seed < 110; ++seed) {
    const Outcome once = run(seed, 0);
    EXPECT_EQ(once.hash, run(seed, 0).hash) << seed;
    EXPECT_NE(once.hash, run(seed + 1, 0).hash) << seed;
  }
}

TEST(Simulation, MeetsTheFaultsItPromises) {
  Outcome total;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const Outcome outcome = run(seed, 0);
    total.crashes += outcome.crashes;
    total.stops += outcome.stops;
    total.faults += outcome.faults;
    total.refused += outcome.refused;
  }
  EXPECT_GT(total.crashes, 20u);
  EXPECT_GT(total.stops, 20u);
  EXPECT_GT(total.faults, 0u);
  EXPECT_GT(total.refused, 0u);
}

}  // namespace
}  // namespace pawl::sim

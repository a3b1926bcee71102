// SPDX-License-Identifier: Apache-2.0
// The cost of cancelling a request does not grow with the requests queued before it.
#include <gtest/gtest.h>

#include <cstdint>
#include <span>
#include <vector>

#include "tests/cost/instructions.h"
#include "tests/sim/shard_loop_fixture.h"

namespace pawl::sim {
namespace {

TEST_F(ShardLoopTest, ACancelCostsTheSameHoweverManyRequestsAreQueued) {
  start(1);
  std::vector<Request> receives(2'000);
  for (Request& receive : receives) receive.op = Op::receive;
  const auto cancel = [&](Request& receive) { world->cancel(receive, zero, zero); };
  world->submit(receives.front(), zero, zero);
  cancel(receives.front());  // warm-up: first calls resolve function addresses
  const std::uint64_t alone = test::instructions([&] { cancel(receives.front()); });
  for (Request& receive : std::span(receives).subspan(1)) world->submit(receive, zero, zero);
  EXPECT_LT(test::instructions([&] { cancel(receives.back()); }), alone + 100);
}

}  // namespace
}  // namespace pawl::sim

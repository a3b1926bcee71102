// SPDX-License-Identifier: Apache-2.0
// A warmed-up broker allocates no memory.
#include <gtest/gtest.h>

#include <new>

#include "tests/core/allocations.h"
#include "tests/core/cycle.h"

namespace pawl::test {
namespace {

// Allocations during `rounds` rounds, after a warm-up of twice as many.
template <typename Round>
std::uint64_t in_steady_state(int rounds, Round&& round) {
  for (int i = 0; i < 2 * rounds; ++i) round();
  const std::uint64_t before = allocations();
  for (int i = 0; i < rounds; ++i) round();
  return allocations() - before;
}

// A retention of 60 s, so that SendTimes has its full length after the warm-up.
std::vector<AttributeChange> short_retention() {
  return {
      {.attribute = Attribute::message_retention_period, .number = 60, .text = {}}
  };
}

TEST(SteadyState, CountsAllocations) {
  const std::uint64_t before = allocations();
  ::operator delete(::operator new(100));
  EXPECT_EQ(allocations() - before, 1u);
}

void receive_and_delete_ten(Cycle& cycle) {
  ASSERT_EQ(cycle.receive(10), 10u);
  cycle.use_handles(Op::delete_message);
}

TEST(SteadyState, OfAQueueThatIsMostlyEmptyAllocatesNothing) {
  Cycle cycle(short_retention());
  EXPECT_EQ(in_steady_state(15'000,
                            [&] {
                              cycle.send(10);
                              receive_and_delete_ten(cycle);
                            }),
            0u);
  EXPECT_EQ(cycle.freed(), 450'000u);
}

TEST(SteadyState, OfAQueueWithABacklogAllocatesNothing) {
  Cycle cycle(short_retention());
  for (int i = 0; i < 2000; ++i) cycle.send(10);
  EXPECT_EQ(in_steady_state(15'000,
                            [&] {
                              cycle.send(10);
                              receive_and_delete_ten(cycle);
                            }),
            0u);
}

TEST(SteadyState, OfAProducerAllocatesNothing) {
  Cycle cycle(short_retention());
  EXPECT_EQ(in_steady_state(15'000,
                            [&] {
                              cycle.send_once(10);
                              receive_and_delete_ten(cycle);
                            }),
            0u);
}

TEST(SteadyState, OfLongPollsAllocatesNothing) {
  Cycle cycle(short_retention());
  EXPECT_EQ(in_steady_state(15'000,
                            [&] {
                              ASSERT_EQ(cycle.receive(1, seconds(20)), 0u);
                              cycle.send(1);
                              cycle.turn(nullptr);  // delivers the messages that became durable
                              ASSERT_EQ(cycle.delivered(), 1u);
                              cycle.use_handles(Op::delete_message);
                            }),
            0u);
}

TEST(SteadyState, OfDelaysAndChangesOfVisibilityAllocatesNothing) {
  Cycle cycle(short_retention());
  EXPECT_EQ(in_steady_state(15'000,
                            [&] {
                              cycle.send(5, milliseconds(7));
                              cycle.send(5, milliseconds(3));
                              cycle.advance(milliseconds(10));
                              ASSERT_EQ(cycle.receive(10), 10u);
                              cycle.use_handles(Op::change_visibility, seconds(60));
                              cycle.use_handles(Op::delete_message);
                            }),
            0u);
}

TEST(SteadyState, OfMessagesThatComeBackAgainAndAgainAllocatesNothing) {
  Cycle cycle(short_retention());
  for (int i = 0; i < 500; ++i) cycle.send(10);
  EXPECT_EQ(
      in_steady_state(15'000, [&] { ASSERT_EQ(cycle.receive(10, {}, milliseconds(100)), 10u); }),
      0u);
}

// The deduplication window is 300,000 ms long; the warm-up fills it.
TEST(SteadyState, OfAFifoQueueAllocatesNothing) {
  std::vector<AttributeChange> changes = short_retention();
  changes.push_back({.attribute = Attribute::fifo_queue, .number = 1, .text = {}});
  for (const std::uint64_t groups : {std::uint64_t{1}, std::uint64_t{1'000}}) {
    SCOPED_TRACE(groups);
    Cycle cycle(changes);
    EXPECT_EQ(in_steady_state(15'000,
                              [&] {
                                cycle.advance(milliseconds(20));
                                cycle.send_in_groups(10, groups);
                                ASSERT_EQ(cycle.receive(10), 10u);
                                cycle.use_handles(Op::delete_message);
                              }),
              0u);
  }
}

TEST(SteadyState, OfTenantsAllocatesNothing) {
  Cycle cycle(short_retention());
  for (int i = 0; i < 200; ++i) cycle.send_in_groups(10, 1'000);
  EXPECT_EQ(in_steady_state(15'000,
                            [&] {
                              cycle.send_in_groups(10, 1'000);
                              ASSERT_EQ(cycle.receive(10), 10u);
                              cycle.use_handles(Op::delete_message);
                            }),
            0u);
}

}  // namespace
}  // namespace pawl::test

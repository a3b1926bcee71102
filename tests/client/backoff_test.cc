// SPDX-License-Identifier: Apache-2.0
#include "net/client/backoff.h"

#include <gtest/gtest.h>

#include <set>

namespace pawl::client {
namespace {

using std::chrono_literals::operator""ms;

TEST(Backoff, DoublesUpToItsMaximumAndKeepsAtLeastHalf) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Backoff backoff(50ms, 300ms, seed);
    for (int round = 0; round < 2; ++round) {
      for (const auto nominal : {50ms, 100ms, 200ms, 300ms, 300ms}) {
        const auto pause = backoff.next();
        EXPECT_LE(pause, nominal);
        EXPECT_GE(pause, nominal / 2);
      }
      backoff.reset();
    }
  }
}

TEST(Backoff, DiffersBetweenClients) {
  std::set<std::int64_t> pauses;
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    pauses.insert(Backoff(1000ms, 1000ms, seed).next().count());
  EXPECT_GT(pauses.size(), 10u);
}

TEST(Backoff, MayBeOneMillisecond) {
  Backoff backoff(1ms, 1ms, 1);
  EXPECT_EQ(backoff.next(), 1ms);
  EXPECT_EQ(backoff.next(), 1ms);
}

}  // namespace
}  // namespace pawl::client

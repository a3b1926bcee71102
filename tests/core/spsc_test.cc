// SPDX-License-Identifier: Apache-2.0
#include "core/containers/spsc.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace pawl {
namespace {

template <typename Ring>
std::vector<int> drain(Ring& ring, std::size_t max) {
  std::vector<int> taken;
  const std::size_t count = ring.drain(max, [&](int item) { taken.push_back(item); });
  EXPECT_EQ(count, taken.size());
  return taken;
}

TEST(SpscRing, ShowsWhatWasPushedOnlyAfterPublish) {
  SpscRing<int, 4> ring;
  EXPECT_TRUE(ring.empty());
  EXPECT_FALSE(ring.unpublished());
  EXPECT_TRUE(ring.push(1));
  EXPECT_TRUE(ring.push(2));
  EXPECT_TRUE(ring.unpublished());
  EXPECT_TRUE(ring.empty());
  EXPECT_TRUE(drain(ring, 10).empty());
  ring.publish();
  EXPECT_FALSE(ring.unpublished());
  EXPECT_FALSE(ring.empty());
  EXPECT_EQ(drain(ring, 10), (std::vector<int>{1, 2}));
  EXPECT_TRUE(ring.empty());
}

TEST(SpscRing, RefusesWhenFullAndTakesAgainAfterADrain) {
  SpscRing<int, 4> ring;
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(ring.push(i));
  EXPECT_EQ(ring.free(), 0u);
  EXPECT_FALSE(ring.push(4));
  ring.publish();
  EXPECT_FALSE(ring.push(4));
  EXPECT_EQ(drain(ring, 1), std::vector<int>{0});
  EXPECT_EQ(ring.free(), 1u);
  EXPECT_TRUE(ring.push(4));
  EXPECT_FALSE(ring.push(5));
  ring.publish();
  EXPECT_EQ(drain(ring, 10), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(drain(ring, 10), std::vector<int>{4}) << "what came while it was not looking";
}

TEST(SpscRing, DrainsNoMoreThanAskedFor) {
  SpscRing<int, 8> ring;
  for (int i = 0; i < 5; ++i) ring.push(i);
  ring.publish();
  EXPECT_TRUE(drain(ring, 0).empty());
  EXPECT_EQ(drain(ring, 2), (std::vector<int>{0, 1}));
  EXPECT_FALSE(ring.empty());
  EXPECT_EQ(drain(ring, 10), (std::vector<int>{2, 3, 4}));
}

TEST(SpscRing, GoesRoundManyTimes) {
  SpscRing<int, 4> ring;
  int next = 0;
  for (int i = 0; i < 1000; ++i) {
    ring.push(2 * i);
    ring.push(2 * i + 1);
    ring.publish();
    for (const int item : drain(ring, 10)) EXPECT_EQ(item, next++);
  }
  EXPECT_EQ(next, 2000);
}

struct Pair {
  std::uint64_t number = 0;
  std::uint64_t square = 0;  // reveals a torn copy
};

TEST(SpscRing, HandsEverythingOverInOrderBetweenTwoThreads) {
  constexpr std::uint64_t count = 400'000;
  auto ring = std::make_unique<SpscRing<Pair, 64>>();
  std::thread producer([&] {
    for (std::uint64_t i = 0; i < count;) {
      const std::uint64_t batch = 1 + i % 17;
      std::uint64_t pushed = 0;
      while (pushed < batch && i < count && ring->push({i, i * i})) ++pushed, ++i;
      if (ring->unpublished()) ring->publish();
      if (pushed == 0) std::this_thread::yield();
    }
  });
  std::uint64_t next = 0;
  bool right = true;
  while (next < count) {
    const std::size_t taken = ring->drain(1 + next % 23, [&](const Pair& pair) {
      right = right && pair.number == next && pair.square == next * next;
      ++next;
    });
    if (taken == 0) std::this_thread::yield();
  }
  producer.join();
  EXPECT_TRUE(right);
  EXPECT_TRUE(ring->empty());
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/events/shared_ring.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace pawl {
namespace {

TEST(SharedRing, KeepsTheOrderAndRefusesBeyondItsCapacity) {
  SharedRing<std::string, 4> ring;
  std::string text;
  EXPECT_FALSE(ring.pop(text));
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 4; ++i) {
      text = std::to_string(round * 4 + i);
      EXPECT_TRUE(ring.push(text));
    }
    text = "one too many";
    EXPECT_FALSE(ring.push(text));
    EXPECT_EQ(text, "one too many") << "a refused value stays";
    for (int i = 0; i < 4; ++i) {
      ASSERT_TRUE(ring.pop(text));
      EXPECT_EQ(text, std::to_string(round * 4 + i));
    }
    EXPECT_FALSE(ring.pop(text));
  }
  EXPECT_EQ(ring.pushed(), 20u);
}

TEST(SharedRing, LosesNothingBetweenThreadsAndKeepsTheOrderOfEach) {
  constexpr std::uint64_t producers = 3, entries = 20'000;
  struct Entry {
    std::uint64_t producer = 0, number = 0;
  };
  const auto ring = std::make_unique<SharedRing<Entry, 16>>();
  std::vector<std::thread> threads;
  for (std::uint64_t producer = 0; producer < producers; ++producer)
    threads.emplace_back([&ring, producer] {
      for (std::uint64_t i = 0; i < entries;) {
        Entry entry{producer, i};
        ring->push(entry) ? void(++i) : std::this_thread::yield();
      }
    });
  std::vector<std::uint64_t> next(producers);
  bool in_order = true;
  for (std::uint64_t taken = 0; taken < producers * entries;) {
    Entry entry;
    if (!ring->pop(entry)) {
      std::this_thread::yield();
      continue;
    }
    in_order = in_order && entry.number == next[entry.producer]++;
    ++taken;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(in_order);
  EXPECT_EQ(next, std::vector<std::uint64_t>(producers, entries));
}

}  // namespace
}  // namespace pawl

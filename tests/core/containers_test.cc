// SPDX-License-Identifier: Apache-2.0
// Slab, RingQueue and ChunkQueue.
#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/chunk_queue.h"
#include "core/ring_queue.h"
#include "core/slab.h"
#include "tests/sim/random.h"

namespace pawl {
namespace {

TEST(Slab, GivesEachRowOnceUntilAllAreTaken) {
  Slab<int> slab(3000);
  std::set<std::uint32_t> rows;
  for (int i = 0; i < 3000; ++i) {
    EXPECT_FALSE(slab.full());
    const std::uint32_t row = slab.take();
    EXPECT_NE(row, Slab<int>::none);
    EXPECT_TRUE(rows.insert(row).second);
    slab[row] = i;
  }
  EXPECT_TRUE(slab.full());
  EXPECT_EQ(slab.take(), Slab<int>::none);
  EXPECT_EQ(slab.taken(), 3000u);
  int expected = 0;
  for (const std::uint32_t row : rows) EXPECT_EQ(slab[row], expected++);
}

TEST(Slab, GivesBackARowAsItWasLeft) {
  Slab<int> slab(2);
  const std::uint32_t row = slab.take();
  slab[row] = 17;
  slab.give(row);
  EXPECT_EQ(slab.taken(), 0u);
  EXPECT_EQ(slab.take(), row);
  EXPECT_EQ(slab[row], 17);
}

TEST(Slab, NeverMovesARow) {
  Slab<int> slab(5000);
  int* const first = &slab[slab.take()];
  for (int i = 0; i < 4000; ++i) slab.take();
  EXPECT_EQ(first, &slab[1]);
}

TEST(Slab, OfNoRowsIsFull) {
  Slab<int> slab(0);
  EXPECT_TRUE(slab.full());
  EXPECT_EQ(slab.take(), Slab<int>::none);
}

struct Aged {
  std::uint32_t generation = 0;
};
using SmallSlab = Slab<Aged, 64>;

TEST(Slab, GivesBackTheMemoryOfWhatIsNotTaken) {
  SmallSlab slab(10'000, 2);
  std::vector<std::uint32_t> rows;
  for (int i = 0; i < 1000; ++i) rows.push_back(slab.take());
  EXPECT_EQ(slab.bytes(), 16 * SmallSlab::block_bytes());
  for (const std::uint32_t row : rows) slab.give(row);
  EXPECT_EQ(slab.taken(), 0u);
  EXPECT_EQ(slab.bytes(), 2 * SmallSlab::block_bytes());
  for (const std::uint32_t row : rows) EXPECT_EQ(slab.there(row), row <= 2 * 64) << row;
}

TEST(Slab, TakesWhereOthersAreTaken) {
  SmallSlab slab(10'000, 0);
  for (int i = 0; i < 640; ++i) slab.take();
  for (std::uint32_t row = 1; row <= 640; ++row)
    if (row % 64 != 1) slab.give(row);
  EXPECT_EQ(slab.bytes(), 10 * SmallSlab::block_bytes());
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 63; ++i) taken.insert(slab.take());
  EXPECT_EQ(*taken.rbegin(), 64u) << "the lowest first";
  for (std::uint32_t row = 65; row <= 640; row += 64) slab.give(row);
  EXPECT_EQ(slab.bytes(), SmallSlab::block_bytes());
}

// The first block is small (8 rows); the others have full size.
TEST(Slab, MayBeginWithASmallBlock) {
  using Slab64 = Slab<Aged, 64, 8>;
  Slab64 slab(10'000, 0);
  std::set<std::uint32_t> rows;
  for (int i = 0; i < 8; ++i) rows.insert(slab.take());
  EXPECT_LT(slab.bytes(), Slab64::block_bytes() / 2);
  for (int i = 0; i < 100; ++i) {
    const std::uint32_t row = slab.take();
    EXPECT_TRUE(rows.insert(row).second);
    slab[row].generation = row;
  }
  EXPECT_EQ(rows.size(), 108u);
  for (const std::uint32_t row : rows) EXPECT_TRUE(row <= 8 || slab[row].generation == row) << row;
  slab.give(*rows.begin());
  EXPECT_EQ(slab.take(), *rows.begin());
  for (const std::uint32_t row : rows) slab.give(row);
  EXPECT_LT(slab.bytes(), Slab64::block_bytes() / 2);
  EXPECT_LE(slab.take(), 8u);
}

TEST(Slab, HasNoGenerationTwice) {
  SmallSlab slab(128, 0);
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  sim::Random random(1);
  std::vector<std::uint32_t> taken;
  for (int i = 0; i < 20'000; ++i) {
    const bool fills = i / 200 % 2 == 0;
    if (taken.empty() || (fills && !slab.full())) {
      const std::uint32_t row = slab.take();
      taken.push_back(row);
      EXPECT_TRUE(seen.insert({row, ++slab[row].generation}).second);
    } else {
      const std::size_t at = random.below(taken.size());
      slab.give(taken[at]);
      taken.erase(taken.begin() + static_cast<std::ptrdiff_t>(at));
    }
    EXPECT_LE(slab.bytes(), 2 * SmallSlab::block_bytes());
  }
  EXPECT_GT(seen.size(), 5'000u);
}

TEST(RingQueue, DoesWhatADequeWouldDo) {
  sim::Random random(1);
  RingQueue<int> ring;
  std::deque<int> oracle;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t dice = random.below(i % 20'000 < 10'000 ? 5 : 8);
    if (random.below(200) == 0) {
      const std::size_t at = random.below(oracle.size() + 1);
      ring.insert(at, i);
      oracle.insert(oracle.begin() + static_cast<std::ptrdiff_t>(at), i);
    } else if (random.below(200) == 0) {
      ring.fit();
    } else if (dice < 2) {
      ring.push_back(i);
      oracle.push_back(i);
    } else if (dice == 2) {
      ring.push_front(i);
      oracle.push_front(i);
    } else if (!oracle.empty() && dice == 3) {
      ring.pop_back();
      oracle.pop_back();
    } else if (!oracle.empty()) {
      ring.pop_front();
      oracle.pop_front();
    }
    ASSERT_EQ(ring.size(), oracle.size());
    ASSERT_EQ(ring.empty(), oracle.empty());
    if (oracle.empty()) continue;
    ASSERT_EQ(ring.front(), oracle.front());
    ASSERT_EQ(ring.back(), oracle.back());
    const std::size_t at = random.below(oracle.size());
    ASSERT_EQ(ring[at], oracle[at]);
  }
  ring.clear();
  EXPECT_TRUE(ring.empty());
}

TEST(RingQueue, GivesMemoryBackWhenAskedTo) {
  RingQueue<int> ring;
  for (int i = 0; i < 1000; ++i) ring.push_back(i);
  EXPECT_EQ(ring.capacity(), 1024u);
  for (int i = 0; i < 800; ++i) ring.pop_front();
  ring.fit();
  EXPECT_EQ(ring.capacity(), 1024u);
  for (int i = 0; i < 100; ++i) ring.pop_front();
  ring.fit();
  EXPECT_EQ(ring.capacity(), 256u);
  EXPECT_EQ(ring.front(), 900);
  EXPECT_EQ(ring.back(), 999);
}

TEST(RingQueue, LetsGoOfWhatIsPopped) {
  RingQueue<std::shared_ptr<int>> ring;
  const auto item = std::make_shared<int>(1);
  for (int i = 0; i < 10; ++i) ring.push_back(item);
  EXPECT_EQ(item.use_count(), 11);
  ring.pop_front();
  ring.pop_back();
  EXPECT_EQ(item.use_count(), 9);
  ring.clear();
  EXPECT_EQ(item.use_count(), 1);
}

TEST(ChunkQueue, IsADeque) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    sim::Random random(seed);
    ChunkQueue<int, 4> queue;
    std::deque<int> model;
    for (int i = 0; i < 5000; ++i) {
      // Phases of 500 steps: the queue grows, shrinks, grows.
      if (model.empty() || random.chance(i / 500 % 3 == 1 ? 1 : 2, 3)) {
        queue.push_back(i);
        model.push_back(i);
      } else {
        queue.pop_front();
        model.pop_front();
      }
      ASSERT_EQ(queue.size(), model.size());
      ASSERT_EQ(queue.empty(), model.empty());
      if (model.empty()) continue;
      ASSERT_EQ(queue.front(), model.front());
      const std::size_t at = random.below(model.size());
      ASSERT_EQ(queue[at], model[at]);
    }
  }
}

}  // namespace
}  // namespace pawl

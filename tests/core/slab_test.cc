// SPDX-License-Identifier: Apache-2.0
#include "core/containers/slab.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

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

TEST(Slab, KeepsReservedRowsUntilTheyAreReleased) {
  Slab<int> slab(5);
  slab.take();
  slab.reserve(3);
  EXPECT_EQ(slab.free(), 1u);
  EXPECT_NE(slab.take(), Slab<int>::none);
  EXPECT_TRUE(slab.full());
  EXPECT_EQ(slab.take(), Slab<int>::none);
  EXPECT_DEATH(slab.reserve(1), "CHECK");
  slab.unreserve(1);
  EXPECT_NE(slab.take(), Slab<int>::none);
  EXPECT_EQ(slab.take(), Slab<int>::none);
  slab.unreserve(2);
  EXPECT_EQ(slab.free(), 2u);
  EXPECT_DEATH(slab.unreserve(1), "CHECK");
  slab.set_max(2);
  EXPECT_EQ(slab.free(), 0u);
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

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/memory_sums.h"

#include <gtest/gtest.h>

#include <iterator>
#include <vector>

#include "tests/sim/random.h"

namespace pawl {
namespace {

TEST(MemorySums, AreThoseOfAllRowsWhenTouchedOnesAreCounted) {
  sim::Random random(1);
  std::vector<MemorySums::Bytes> rows(50);
  MemorySums memory;
  for (int round = 0; round < 1'000; ++round) {
    for (int n = 0; n < 3; ++n) {
      const auto index = static_cast<std::uint32_t>(random.below(rows.size()));
      const std::size_t bytes = random.below(1'000);
      constexpr std::size_t MemorySums::Bytes::* kinds[] = {&MemorySums::Bytes::verified,
                                                            &MemorySums::Bytes::unverified,
                                                            &MemorySums::Bytes::closing};
      rows[index] = {};
      rows[index].*kinds[random.below(std::size(kinds))] = bytes;
      memory.touch(index);
    }
    memory.count([&](std::uint32_t index) { return rows[index]; });
    MemorySums::Bytes sums;
    for (const MemorySums::Bytes& row : rows) {
      sums.verified += row.verified;
      sums.unverified += row.unverified;
      sums.closing += row.closing;
    }
    ASSERT_EQ(memory.sums().verified, sums.verified);
    ASSERT_EQ(memory.sums().unverified, sums.unverified);
    ASSERT_EQ(memory.sums().closing, sums.closing);
  }
}

TEST(MemorySums, MeasureOnlyTouchedRowsAndEachOnce) {
  MemorySums memory;
  int measured = 0;
  const auto measure = [&](std::uint32_t) {
    ++measured;
    return MemorySums::Bytes{100, 0};
  };
  for (std::uint32_t index = 0; index < 10'000; ++index) memory.touch(index);
  memory.count(measure);
  EXPECT_EQ(measured, 10'000);
  memory.touch(7);
  memory.touch(9'000);
  memory.touch(7);
  memory.count(measure);
  EXPECT_EQ(measured, 10'002);
  memory.count(measure);
  EXPECT_EQ(measured, 10'002);
  EXPECT_EQ(memory.sums().verified, 1'000'000u);
}

}  // namespace
}  // namespace pawl

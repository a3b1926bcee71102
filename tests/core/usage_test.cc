// SPDX-License-Identifier: Apache-2.0
#include "core/base/usage.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "tests/core/allocations.h"

namespace pawl {
namespace {

TEST(UsageCounter, CountsItsPartInTheCommonTotal) {
  std::uint64_t total = 100;
  UsageCounter first(total), second(total);
  first.set(30);
  second.add(5);
  EXPECT_EQ(total, 135u);
  first.set(10);
  second.add(20);
  EXPECT_EQ(total, 135u);
  second.drop(25);
  EXPECT_EQ(total, 110u);
}

TEST(UsageCounter, IsSubtractedWhenItsStructureIsDestroyed) {
  std::uint64_t total = 0;
  auto first = std::make_unique<UsageCounter>(total);
  UsageCounter second(total);
  first->set(30);
  second.set(12);
  first.reset();
  EXPECT_EQ(total, 12u);
}

TEST(UsageCounter, IsCountedOnceWhenItIsMoved) {
  std::uint64_t total = 0;
  {
    UsageCounter first(total);
    first.set(30);
    UsageCounter second(std::move(first));
    EXPECT_EQ(total, 30u);
    second.drop(10);
    EXPECT_EQ(total, 20u);
  }
  EXPECT_EQ(total, 0u);
}

// The estimate is compared with the allocator: a text allocates exactly if it counts as memory.
TEST(MemoryOf, ATextIsNothingWhileItFitsIntoItsObject) {
  for (std::size_t length = 0; length < 64; ++length) {
    const std::uint64_t before = test::allocations();
    const std::string text(length, 'x');
    const bool allocated = test::allocations() > before;
    EXPECT_EQ(memory_of(length) > 0, allocated) << length;
    EXPECT_EQ(memory_of(text) > 0, allocated) << length;
  }
}

TEST(MemoryOf, ATextCountsItsCapacityWithTerminatorAndAllocatorOverhead) {
  EXPECT_EQ(memory_of(1000), 1001 + heap_block_bytes);
  std::string text;
  text.reserve(5000);
  text = "short";
  EXPECT_EQ(memory_of(text), text.capacity() + 1 + heap_block_bytes);
}

}  // namespace
}  // namespace pawl

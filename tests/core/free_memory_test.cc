// SPDX-License-Identifier: Apache-2.0
#include "core/base/free_memory.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/allocations.h"

namespace pawl {
namespace {

TEST(FreeMemory, FreesTheBufferOfAContainerThatCanBeFilledAgain) {
  const test::BrokerMemory scope;
  const std::uint64_t before = test::BrokerMemory::held();
  std::string text(5000, 'x');
  std::vector<int> numbers(5000, 1);
  EXPECT_GE(test::BrokerMemory::held(), before + 5000 * (1 + sizeof(int)));
  free_memory(text);
  free_memory(numbers);
  EXPECT_EQ(test::BrokerMemory::held(), before);
  EXPECT_TRUE(text.empty());
  EXPECT_TRUE(numbers.empty());
  text = "again";
  numbers.push_back(7);
  EXPECT_EQ(text, "again");
  EXPECT_EQ(numbers, std::vector<int>{7});
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/held_bytes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace pawl {
namespace {

TEST(HeldBytes, AreTakenInTheOrderTheyCame) {
  HeldBytes held;
  std::string oracle;
  for (int n = 0; n < 2'000; ++n) {
    const std::string more(static_cast<std::size_t>(n * 7 % 90), static_cast<char>('a' + n % 26));
    held.append(more);
    oracle += more;
    const std::size_t taken = std::min<std::size_t>(oracle.size(), n * 11 % 85);
    held.take(taken);
    oracle.erase(0, taken);
    ASSERT_EQ(held.view(), oracle);
    ASSERT_EQ(held.size(), oracle.size());
    ASSERT_EQ(held.empty(), oracle.empty());
  }
  held.take(oracle.size() + 1);
  EXPECT_TRUE(held.empty());
  held.append("x");
  EXPECT_EQ(held.view(), "x");
}

TEST(HeldBytes, AreMovedOnceAtMost) {
  constexpr std::size_t bytes = 256 << 10, frame = 64;
  HeldBytes held;
  held.append(std::string(bytes, 'x'));
  std::size_t moved = 0;
  while (!held.empty()) {
    const char* const next = held.view().data() + frame;
    held.take(frame);
    if (held.view().data() != next) moved += held.size();
  }
  EXPECT_LE(moved, bytes);
}

TEST(HeldBytes, TakeTwiceTheirSizeAtMost) {
  HeldBytes held;
  held.append(std::string(64 << 10, 'x'));
  for (int n = 0; n < 100'000; ++n) {
    held.append(std::string(64, 'y'));
    held.take(64);
  }
  EXPECT_LE(held.capacity(), 4u * 64 << 10);  // a string's buffer doubles
}

TEST(HeldBytes, GiveBackTheBufferOnlyWhenEmpty) {
  HeldBytes held;
  held.append(std::string(1000, 'x'));
  held.take(999);
  held.free_spare();
  EXPECT_EQ(held.view(), "x");
  held.take(1);
  held.free_spare();
  EXPECT_LT(held.capacity(), 100u);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/pages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/sim/random.h"

namespace pawl::sim {
namespace {

using Bytes = std::vector<std::byte>;
constexpr std::uint64_t page = Pages::page_bytes;

Bytes content(const Pages& pages) {
  Bytes bytes(pages.size());
  pages.read(0, bytes);
  return bytes;
}

TEST(Pages, ACopyKeepsWhatItHadWhenTheOriginalIsWritten) {
  Pages original;
  original.write(0, Bytes(2 * page, std::byte{1}));
  const Pages copy = original;
  original.write(10, Bytes(page, std::byte{2}));
  EXPECT_EQ(content(copy), Bytes(2 * page, std::byte{1}));
  EXPECT_TRUE(original.equals(10, Bytes(page, std::byte{2})));
  EXPECT_TRUE(original.equals(0, Bytes(10, std::byte{1})));
}

TEST(Pages, WhatWasCutOffIsZerosWhenItComesBack) {
  Pages pages;
  pages.write(0, Bytes(page, std::byte{1}));
  pages.resize(100);
  pages.resize(2 * page);
  Bytes expected(2 * page);
  std::fill_n(expected.begin(), 100, std::byte{1});
  EXPECT_EQ(content(pages), expected);
}

// Compares three files that copy ranges from each other with plain vectors that do the same.
TEST(Pages, AreWhatVectorsOfBytesWouldBe) {
  Random random(1);
  Pages pages[3];
  Bytes bytes[3];
  for (int round = 0; round < 3000; ++round) {
    const std::size_t a = random.below(3), b = random.below(3);
    const std::uint64_t at =
        random.below(4) * page + (random.chance(1, 2) ? random.below(page) : 0);
    const std::uint64_t length = random.chance(1, 2) ? page : random.below(2 * page);
    if (random.chance(1, 8)) {
      pages[a].resize(at);
      bytes[a].resize(at);
    } else if (random.chance(1, 2)) {
      const Bytes data(length, static_cast<std::byte>(random.below(3)));
      if (bytes[a].size() < at + length && length > 0) bytes[a].resize(at + length);
      std::ranges::copy(data, bytes[a].begin() + static_cast<std::ptrdiff_t>(
                                                     std::min<std::uint64_t>(at, bytes[a].size())));
      pages[a].write(at, data);
    } else {
      const std::uint64_t from = at % page + page * random.below(3);
      if (a == b || from + length > bytes[b].size() || length == 0) continue;
      const auto first = bytes[b].begin() + static_cast<std::ptrdiff_t>(from);
      const Bytes data(first, first + static_cast<std::ptrdiff_t>(length));
      if (bytes[a].size() < at + length) bytes[a].resize(at + length);
      std::ranges::copy(data, bytes[a].begin() + static_cast<std::ptrdiff_t>(at));
      pages[a].copy(at, pages[b], from, length);
    }
    ASSERT_EQ(content(pages[a]), bytes[a]) << "round " << round;
    ASSERT_TRUE(pages[a].equals(0, bytes[a])) << "round " << round;
  }
}

}  // namespace
}  // namespace pawl::sim

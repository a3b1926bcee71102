// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4 against the authors' vector of 16 bytes; every bit of key and input matters.
#include "core/base/siphash.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <set>

namespace pawl {
namespace {

std::array<std::uint8_t, 16> counting() {
  std::array<std::uint8_t, 16> bytes;
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
  return bytes;
}

// vectors_sip64[16] of the reference implementation: key 00 to 0f, input 00 to 0f.
TEST(SipHash, GivesTheAuthorsVector) {
  EXPECT_EQ(siphash(counting(), counting()), 0x3f2acc7f57c29bdb);
}

TEST(SipHash, ChangesWithEachBitOfKeyAndInput) {
  std::set<std::uint64_t> seen{siphash(counting(), counting())};
  for (std::size_t bit = 0; bit < 128; ++bit) {
    auto key = counting(), input = counting();
    key[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    input[bit / 8] ^= static_cast<std::uint8_t>(1u << bit % 8);
    EXPECT_TRUE(seen.insert(siphash(key, counting())).second) << bit;
    EXPECT_TRUE(seen.insert(siphash(counting(), input)).second) << bit;
  }
}

}  // namespace
}  // namespace pawl

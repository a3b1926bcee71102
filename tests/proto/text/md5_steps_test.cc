// SPDX-License-Identifier: Apache-2.0
#include "proto/text/md5_steps.h"

#include <gtest/gtest.h>

#include <bitset>
#include <cmath>

namespace pawl {
namespace {

TEST(Md5Steps, AddTheSinesOfTheirNumbers) {
  for (std::size_t i = 0; i < 64; ++i)
    EXPECT_EQ(md5_sines[i], static_cast<std::uint32_t>(
                                std::ldexp(std::abs(std::sin(static_cast<double>(i + 1))), 32)));
}

TEST(Md5Steps, AddEachWordOnceARound) {
  for (std::size_t round = 0; round < 4; ++round) {
    std::bitset<md5_block_words> words;
    for (std::size_t i = 0; i < 16; ++i) words.set(md5_word_of(16 * round + i));
    EXPECT_TRUE(words.all()) << "round " << round;
  }
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// A block in each lane of MD5: the padding of an empty text, whose digest RFC 1321 states.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "proto/text/md5_steps.h"

namespace pawl {

inline void expect_digest_of_nothing(void (*compress)(const Md5LaneBlocks&), std::size_t lanes) {
  constexpr std::array<std::uint8_t, md5_block_bytes> padding = {0x80};
  constexpr std::uint32_t before[] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  constexpr std::uint32_t after[] = {0xd98c1dd4, 0x04b2008f, 0x980980e9, 0x7e42f8ec};
  alignas(32) Md5LaneStates states;
  for (std::size_t i = 0; i < md5_state_words; ++i) std::ranges::fill(states[i], before[i]);
  std::array<const std::uint8_t*, md5_lanes_max> texts;
  texts.fill(padding.data());
  std::array<std::size_t, md5_lanes_max> strides{};
  strides.front() = 1;
  compress({states, texts.data(), strides.data(), 1, lanes});
  for (std::size_t i = 0; i < md5_state_words; ++i)
    for (std::size_t lane = 0; lane < lanes; ++lane)
      EXPECT_EQ(states[i][lane], after[i])
          << "word " << i << " of lane " << lane << " of " << lanes;
  EXPECT_EQ(texts.front(), padding.data() + 1);
  EXPECT_EQ(texts.back(), padding.data());
}

}  // namespace pawl

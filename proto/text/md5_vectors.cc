// SPDX-License-Identifier: Apache-2.0
#include "proto/text/md5_vectors.h"

#include <cstring>
#include <utility>

// Without it, a step would pass its vectors in memory.
#define PAWL_INLINE [[gnu::always_inline]] inline

namespace pawl {
namespace {

using FourWords [[gnu::vector_size(16)]] = std::uint32_t;
constexpr std::size_t vector_lanes = 4;

// The same word of the state of all lanes.
template <std::size_t vectors>
struct WordOfLanes {
  FourWords v[vectors];
};

PAWL_INLINE FourWords four_words(const void* from) {
  FourWords words;
  std::memcpy(&words, from, sizeof words);
  return words;
}

template <int bits>
PAWL_INLINE FourWords rotated(FourWords x) {
  return x << bits | x >> (32 - bits);
}

template <std::size_t round>
PAWL_INLINE FourWords round_function(FourWords b, FourWords c, FourWords d) {
  if constexpr (round == 0) return d ^ (b & (c ^ d));
  if constexpr (round == 1) return c ^ (d & (b ^ c));
  if constexpr (round == 2) return b ^ c ^ d;
  return c ^ (b | ~d);
}

// Step `i`: a = b + rotated(a + word + sine + function(b, c, d)). The four words of the state
// change their roles with each step.
template <std::size_t i, std::size_t vectors>
PAWL_INLINE void vector_step(WordOfLanes<vectors> (&s)[4],
                             const Md5LaneWords<md5_block_words>& words) {
  auto& [a] = s[(64 - i) % 4];
  const auto& [b] = s[(65 - i) % 4];
  const auto& [c] = s[(66 - i) % 4];
  const auto& [d] = s[(67 - i) % 4];
#pragma GCC unroll 4
  for (std::size_t k = 0; k < vectors; ++k) {
    const FourWords word = four_words(&words[md5_word_of(i)][k * vector_lanes]);
    const FourWords sum = a[k] + (word + md5_sines[i]) + round_function<i / 16>(b[k], c[k], d[k]);
    a[k] = b[k] + rotated<md5_shifts[i / 16][i % 4]>(sum);
  }
}

template <std::size_t vectors, std::size_t... i>
PAWL_INLINE void all_steps(WordOfLanes<vectors> (&s)[4], const Md5LaneWords<md5_block_words>& words,
                           std::index_sequence<i...>) {
  (vector_step<i>(s, words), ...);
}

// Transposes 16 bytes of each of four texts into four rows: row `w` has word `w` of each text.
PAWL_INLINE void transpose_four(const std::uint8_t* const* texts, std::size_t at,
                                std::uint32_t* rows) {
  const FourWords t0 = four_words(texts[0] + at), t1 = four_words(texts[1] + at);
  const FourWords t2 = four_words(texts[2] + at), t3 = four_words(texts[3] + at);
  const FourWords low01 = __builtin_shufflevector(t0, t1, 0, 4, 1, 5);
  const FourWords low23 = __builtin_shufflevector(t2, t3, 0, 4, 1, 5);
  const FourWords high01 = __builtin_shufflevector(t0, t1, 2, 6, 3, 7);
  const FourWords high23 = __builtin_shufflevector(t2, t3, 2, 6, 3, 7);
  const FourWords columns[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                                __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                                __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                                __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (std::size_t i = 0; i < 4; ++i)
    std::memcpy(rows + i * md5_lanes_max, &columns[i], sizeof columns[i]);
}

template <std::size_t vectors>
void compress_vectors(const Md5LaneBlocks& next) {
  constexpr std::size_t lanes = vectors * vector_lanes;
  alignas(16) Md5LaneWords<md5_block_words> words;
  WordOfLanes<vectors> s[4];
  for (std::size_t i = 0; i < 4; ++i) std::memcpy(&s[i], next.states[i], sizeof s[i]);
  for (std::size_t blocks = next.blocks; blocks > 0; --blocks) {
    for (std::size_t lane = 0; lane < lanes; lane += vector_lanes)
      for (std::size_t word = 0; word < md5_block_words; word += 4)
        transpose_four(next.texts + lane, 4 * word, &words[word][lane]);
    const WordOfLanes<vectors> before[4] = {s[0], s[1], s[2], s[3]};
    all_steps(s, words, std::make_index_sequence<64>());
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t k = 0; k < vectors; ++k) s[i].v[k] += before[i].v[k];
    for (std::size_t lane = 0; lane < lanes; ++lane) next.texts[lane] += next.strides[lane];
  }
  for (std::size_t i = 0; i < 4; ++i) std::memcpy(next.states[i], &s[i], sizeof s[i]);
}

}  // namespace

void md5_compress_vectors(const Md5LaneBlocks& next) {
  if (next.lanes > 2 * vector_lanes) return compress_vectors<4>(next);
  if (next.lanes > vector_lanes) return compress_vectors<2>(next);
  compress_vectors<1>(next);
}

}  // namespace pawl

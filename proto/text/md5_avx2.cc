// SPDX-License-Identifier: Apache-2.0
#include "proto/text/md5_avx2.h"

#ifdef __x86_64__

#include <immintrin.h>

#include <algorithm>

#include "core/base/check.h"

// Functions of AVX2 in a program for every x86-64 processor. A function with this attribute is
// inlined only into functions that have it too, so that no lambda appears below.
#define PAWL_AVX2 [[gnu::target("avx2")]]
#define PAWL_AVX2_INLINE [[gnu::target("avx2"), gnu::always_inline]] inline

namespace pawl {
namespace {

// The sines of the steps, each in all lanes of a register.
using SineLanes = std::uint32_t[64][8];
struct SineTable {
  alignas(32) SineLanes rows;
};
constexpr SineTable sine_table = [] {
  SineTable table{};
  for (std::size_t i = 0; i < 64; ++i) std::ranges::fill(table.rows[i], md5_sines[i]);
  return table;
}();

// Eight lanes: one register.
struct Lanes8 {
  static constexpr std::size_t count = 8;
  __m256i v;
};

PAWL_AVX2_INLINE void load(Lanes8& to, const std::uint32_t* from) {
  to.v = _mm256_load_si256(reinterpret_cast<const __m256i*>(from));
}
PAWL_AVX2_INLINE void store(std::uint32_t* to, const Lanes8& from) {
  _mm256_store_si256(reinterpret_cast<__m256i*>(to), from.v);
}
PAWL_AVX2_INLINE void add(Lanes8& to, const Lanes8& x) { to.v = _mm256_add_epi32(to.v, x.v); }
// Prevents the compiler from adding later terms first.
PAWL_AVX2_INLINE void keep_sum(Lanes8& x) { asm("" : "+x"(x.v)); }
template <int bits>
PAWL_AVX2_INLINE void rotate(Lanes8& x) {
  x.v = _mm256_or_si256(_mm256_slli_epi32(x.v, bits), _mm256_srli_epi32(x.v, 32 - bits));
}

// Adds the round's function of b, c and d. Two additions replace an OR where no bit is in both.
template <std::size_t round>
PAWL_AVX2_INLINE void add_function(Lanes8& to, const Lanes8& b, const Lanes8& c, const Lanes8& d) {
  if constexpr (round == 0) {
    add(to, Lanes8{_mm256_xor_si256(d.v, _mm256_and_si256(b.v, _mm256_xor_si256(c.v, d.v)))});
  } else if constexpr (round == 1) {
    add(to, Lanes8{_mm256_andnot_si256(d.v, c.v)});
    add(to, Lanes8{_mm256_and_si256(d.v, b.v)});
  } else if constexpr (round == 2) {
    add(to, Lanes8{_mm256_xor_si256(b.v, _mm256_xor_si256(c.v, d.v))});
  } else {
    const __m256i not_d = _mm256_xor_si256(d.v, _mm256_set1_epi32(-1));
    add(to, Lanes8{_mm256_xor_si256(c.v, _mm256_or_si256(b.v, not_d))});
  }
}

// Sixteen lanes: two registers, whose steps alternate.
struct Lanes16 {
  static constexpr std::size_t count = 16;
  Lanes8 low, high;
};

PAWL_AVX2_INLINE void load(Lanes16& to, const std::uint32_t* from) {
  load(to.low, from);
  load(to.high, from + 8);
}
PAWL_AVX2_INLINE void store(std::uint32_t* to, const Lanes16& from) {
  store(to, from.low);
  store(to + 8, from.high);
}
PAWL_AVX2_INLINE void add(Lanes16& to, const Lanes16& x) {
  add(to.low, x.low);
  add(to.high, x.high);
}
PAWL_AVX2_INLINE void add(Lanes16& to, const Lanes8& x) {
  add(to.low, x);
  add(to.high, x);
}
PAWL_AVX2_INLINE void keep_sum(Lanes16& x) {
  keep_sum(x.low);
  keep_sum(x.high);
}
template <int bits>
PAWL_AVX2_INLINE void rotate(Lanes16& x) {
  rotate<bits>(x.low);
  rotate<bits>(x.high);
}
template <std::size_t round>
PAWL_AVX2_INLINE void add_function(Lanes16& to, const Lanes16& b, const Lanes16& c,
                                   const Lanes16& d) {
  add_function<round>(to.low, b.low, c.low, d.low);
  add_function<round>(to.high, b.high, c.high, d.high);
}

// The addends of the steps of a block.
struct Addends {
  const Md5LaneWords<md5_block_words>& words;
  const SineLanes& sines;
};

// Step `i`: a = b + rotated(a + word + sine + function(b, c, d)). Each step waits for the b of the
// step before; the sum of the other terms does not.
template <std::size_t i, typename Lanes>
PAWL_AVX2_INLINE void step(Lanes& a, const Lanes& b, const Lanes& c, const Lanes& d,
                           const Addends& addends) {
  Lanes word;
  Lanes8 sine;
  load(word, addends.words[md5_word_of(i)]);
  load(sine, addends.sines[i]);
  add(a, word);
  add(a, sine);
  keep_sum(a);
  add_function<i / 16>(a, b, c, d);
  rotate<md5_shifts[i / 16][i % 4]>(a);
  add(a, b);
}

template <std::size_t i, typename Lanes>
PAWL_AVX2_INLINE void four_steps(Lanes (&s)[4], const Addends& addends) {
  step<i>(s[0], s[1], s[2], s[3], addends);
  step<i + 1>(s[3], s[0], s[1], s[2], addends);
  step<i + 2>(s[2], s[3], s[0], s[1], addends);
  step<i + 3>(s[1], s[2], s[3], s[0], addends);
}

template <std::size_t i, typename Lanes>
PAWL_AVX2_INLINE void sixteen_steps(Lanes (&s)[4], const Addends& addends) {
  four_steps<i>(s, addends);
  four_steps<i + 4>(s, addends);
  four_steps<i + 8>(s, addends);
  four_steps<i + 12>(s, addends);
}

// Transposes 32 bytes of each of eight texts into eight rows: row `w` has word `w` of each text.
PAWL_AVX2_INLINE void transpose(const std::uint8_t* const* texts, std::size_t at,
                                std::uint32_t* rows) {
  __m256i row[8], pair[8], quad[8];
#pragma GCC unroll 8
  for (std::size_t i = 0; i < 8; ++i) {
    row[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(texts[i] + at));
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < 8; i += 2) {
    pair[i] = _mm256_unpacklo_epi32(row[i], row[i + 1]);
    pair[i + 1] = _mm256_unpackhi_epi32(row[i], row[i + 1]);
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < 8; i += 4) {
    quad[i] = _mm256_unpacklo_epi64(pair[i], pair[i + 2]);
    quad[i + 1] = _mm256_unpackhi_epi64(pair[i], pair[i + 2]);
    quad[i + 2] = _mm256_unpacklo_epi64(pair[i + 1], pair[i + 3]);
    quad[i + 3] = _mm256_unpackhi_epi64(pair[i + 1], pair[i + 3]);
  }
#pragma GCC unroll 8
  for (std::size_t i = 0; i < 4; ++i) {
    store(rows + i * md5_lanes_max, Lanes8{_mm256_permute2x128_si256(quad[i], quad[i + 4], 0x20)});
    store(rows + (i + 4) * md5_lanes_max,
          Lanes8{_mm256_permute2x128_si256(quad[i], quad[i + 4], 0x31)});
  }
}

template <typename Lanes>
PAWL_AVX2 void compress(const Md5LaneBlocks& next) {
  alignas(32) Md5LaneWords<md5_block_words> words;
  // Hidden from the compiler, which would make the sines in registers, by three instructions each.
  const SineTable* table = &sine_table;
  asm("" : "+r"(table));
  const Addends addends{words, table->rows};
  const std::uint8_t** const texts = next.texts;
  const std::size_t* const strides = next.strides;
  Lanes s[4];
  for (std::size_t i = 0; i < 4; ++i) load(s[i], next.states[i]);
  for (std::size_t blocks = next.blocks; blocks > 0; --blocks) {
    for (std::size_t lane = 0; lane < Lanes::count; lane += 8) {
      transpose(texts + lane, 0, &words[0][lane]);
      transpose(texts + lane, 32, &words[8][lane]);
    }
    const Lanes before[4] = {s[0], s[1], s[2], s[3]};
    sixteen_steps<0>(s, addends);
    sixteen_steps<16>(s, addends);
    sixteen_steps<32>(s, addends);
    sixteen_steps<48>(s, addends);
    for (std::size_t i = 0; i < 4; ++i) add(s[i], before[i]);
#pragma GCC unroll 16
    for (std::size_t lane = 0; lane < Lanes::count; ++lane) texts[lane] += strides[lane];
  }
  for (std::size_t i = 0; i < 4; ++i) store(next.states[i], s[i]);
}

}  // namespace

bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

void md5_compress_avx2(const Md5LaneBlocks& next) {
  CHECK(has_avx2(), "this processor has no AVX2");
  next.lanes > Lanes8::count ? compress<Lanes16>(next) : compress<Lanes8>(next);
}

}  // namespace pawl

#else

namespace pawl {

bool has_avx2() { return false; }

void md5_compress_avx2(const Md5LaneBlocks&) { CHECK(false, "this processor has no AVX2"); }

}  // namespace pawl

#endif

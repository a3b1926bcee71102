// SPDX-License-Identifier: Apache-2.0
#include "proto/text/md5_lanes.h"

#include <immintrin.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <numeric>

#include "core/check.h"

// Functions of AVX2 in a program for every x86-64 processor. A function with this attribute is
// inlined only into functions that have it too, so that no lambda appears below.
#define PAWL_AVX2 [[gnu::target("avx2")]]
#define PAWL_AVX2_INLINE [[gnu::target("avx2"), gnu::always_inline]] inline

namespace pawl {
namespace {

constexpr std::size_t block_bytes = 64;
constexpr std::size_t block_words = 16;
constexpr std::size_t length_bytes = 8;

constexpr std::array<std::uint32_t, 4> start = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};

// The addends of the 64 steps: 2^32 times |sin(i + 1)|.
constexpr std::uint32_t sines[64] = {
    0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
    0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
    0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
    0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
    0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
    0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
    0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
    0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391,
};
// The same, each in all lanes of a register.
using SineLanes = std::uint32_t[64][8];
struct SineTable {
  alignas(32) SineLanes rows;
};
constexpr SineTable sine_table = [] {
  SineTable table{};
  for (std::size_t i = 0; i < 64; ++i) std::ranges::fill(table.rows[i], sines[i]);
  return table;
}();
constexpr int shifts[4][4] = {
    {7, 12, 17, 22},
    {5, 9,  14, 20},
    {4, 11, 16, 23},
    {6, 10, 15, 21}
};

// The word of the block that step `i` adds.
constexpr std::size_t word_of(std::size_t i) {
  switch (i / 16) {
    case 0:
      return i;
    case 1:
      return (5 * i + 1) % 16;
    case 2:
      return (3 * i + 5) % 16;
    default:
      return 7 * i % 16;
  }
}

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

// A register of each lane's word, for each word of a block or of a state.
template <std::size_t words>
using LaneWords = std::uint32_t[words][md5_lanes_max];

// The addends of the steps of a block.
struct Addends {
  const LaneWords<block_words>& words;
  const SineLanes& sines;
};

// Step `i`: a = b + rotated(a + word + sine + function(b, c, d)). Each step waits for the b of the
// step before; the sum of the other terms does not.
template <std::size_t i, typename Lanes>
PAWL_AVX2_INLINE void step(Lanes& a, const Lanes& b, const Lanes& c, const Lanes& d,
                           const Addends& addends) {
  Lanes word;
  Lanes8 sine;
  load(word, addends.words[word_of(i)]);
  load(sine, addends.sines[i]);
  add(a, word);
  add(a, sine);
  keep_sum(a);
  add_function<i / 16>(a, b, c, d);
  rotate<shifts[i / 16][i % 4]>(a);
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

// Adds `blocks` blocks of each text to the states.
template <typename Lanes>
PAWL_AVX2 void compress(LaneWords<4>& states, const std::uint8_t** texts,
                        const std::size_t* strides, std::size_t blocks) {
  alignas(32) LaneWords<block_words> words;
  // Hidden from the compiler, which would make the sines in registers, by three instructions each.
  const SineTable* table = &sine_table;
  asm("" : "+r"(table));
  const Addends addends{words, table->rows};
  Lanes s[4];
  for (std::size_t i = 0; i < 4; ++i) load(s[i], states[i]);
  for (; blocks > 0; --blocks) {
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
  for (std::size_t i = 0; i < 4; ++i) store(states[i], s[i]);
}

constexpr std::array<std::uint8_t, block_bytes> idle_block{};

class Hashing {
 public:
  Hashing(std::span<const std::string_view> texts, std::span<Md5> digests);
  void run();

 private:
  static constexpr std::size_t tail_bytes_max = 2 * block_bytes;

  void begin_tail(std::size_t lane);
  void end_part(std::size_t lane);
  void idle(std::size_t lane);
  std::size_t next_blocks() const;

  alignas(32) LaneWords<4> states_;
  std::span<const std::string_view> texts_;
  std::span<Md5> digests_;
  const std::uint8_t* at_[md5_lanes_max];
  std::size_t strides_[md5_lanes_max];
  std::size_t left_[md5_lanes_max] = {};  // blocks of the text or of its tail; 0: idle
  bool in_tail_[md5_lanes_max] = {};
  std::size_t busy_ = 0;  // lanes below it are busy, or idle between busy ones
  std::uint8_t tails_[md5_lanes_max][tail_bytes_max];
};

Hashing::Hashing(std::span<const std::string_view> texts, std::span<Md5> digests)
    : texts_(texts), digests_(digests), busy_(texts.size()) {
  for (std::size_t i = 0; i < start.size(); ++i) std::ranges::fill(states_[i], start[i]);
  for (std::size_t lane = 0; lane < texts.size(); ++lane) {
    at_[lane] = reinterpret_cast<const std::uint8_t*>(texts[lane].data());
    strides_[lane] = block_bytes;
    left_[lane] = texts[lane].size() / block_bytes;
    if (left_[lane] == 0) begin_tail(lane);
  }
  for (std::size_t lane = texts.size(); lane < md5_lanes_max; ++lane) idle(lane);
}

void Hashing::idle(std::size_t lane) {
  at_[lane] = idle_block.data();
  strides_[lane] = 0;
}

// The tail: the rest of the text, a byte 0x80, zeros, and the length in bits.
void Hashing::begin_tail(std::size_t lane) {
  const std::string_view text = texts_[lane];
  const std::size_t rest = text.size() % block_bytes;
  const std::size_t bytes = rest + 1 + length_bytes <= block_bytes ? block_bytes : tail_bytes_max;
  std::uint8_t* const tail = tails_[lane];
  std::ranges::copy(text.substr(text.size() - rest), tail);
  std::fill(tail + rest, tail + bytes, std::uint8_t{0});
  tail[rest] = 0x80;
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  static_assert(std::endian::native == std::endian::little && sizeof bits == length_bytes);
  std::memcpy(tail + bytes - length_bytes, &bits, length_bytes);
  at_[lane] = tail;
  left_[lane] = bytes / block_bytes;
  in_tail_[lane] = true;
}

void Hashing::end_part(std::size_t lane) {
  if (!in_tail_[lane]) return begin_tail(lane);
  for (std::size_t i = 0; i < start.size(); ++i) {
    std::memcpy(digests_[lane].data() + 4 * i, &states_[i][lane], 4);
  }
  idle(lane);
}

// The number of blocks until some lane comes to the end of its text or tail.
std::size_t Hashing::next_blocks() const {
  std::size_t blocks = SIZE_MAX;
  for (std::size_t lane = 0; lane < busy_; ++lane) {
    if (left_[lane] != 0) blocks = std::min(blocks, left_[lane]);
  }
  return blocks;
}

void Hashing::run() {
  while (busy_ > 0) {
    const std::size_t blocks = next_blocks();
    busy_ > Lanes8::count ? compress<Lanes16>(states_, at_, strides_, blocks)
                          : compress<Lanes8>(states_, at_, strides_, blocks);
    for (std::size_t lane = 0; lane < busy_; ++lane) {
      if (left_[lane] == 0) continue;
      left_[lane] -= blocks;
      if (left_[lane] == 0) end_part(lane);
    }
    while (busy_ > 0 && left_[busy_ - 1] == 0) --busy_;
  }
}

std::size_t md5_blocks(std::string_view text) { return (text.size() + 8) / 64 + 1; }

// The number of texts to hash alone, so that the others share lanes in the least time. The texts
// are sorted from long to short: lanes take as long as the first text in them, which costs 8 units
// of time a block, against 3 for a text alone.
std::size_t count_alone(std::span<const std::string_view> texts) {
  constexpr std::size_t lanes_cost = 8, alone_cost = 3;
  std::size_t alone = 0, least = SIZE_MAX, before = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t blocks = md5_blocks(texts[i]);
    const std::size_t cost = alone_cost * before + lanes_cost * blocks;
    if (cost < least) alone = i;
    least = std::min(least, cost);
    before += blocks;
  }
  return alone_cost * before <= least ? texts.size() : alone;
}

}  // namespace

bool has_md5_lanes() {
  static const bool has = __builtin_cpu_supports("avx2");
  return has;
}

void md5_in_lanes(std::span<const std::string_view> texts, std::span<Md5> digests) {
  CHECK(texts.size() <= md5_lanes_max && texts.size() == digests.size(), "{} texts, {} digests",
        texts.size(), digests.size());
  CHECK(has_md5_lanes(), "this processor has no AVX2");
  Hashing(texts, digests).run();
}

void md5_each(std::span<const std::string_view> texts, std::span<Md5> digests, Md5Method method) {
  CHECK(texts.size() <= md5_lanes_max && texts.size() == digests.size(), "{} texts, {} digests",
        texts.size(), digests.size());
  const bool lanes = method == Md5Method::fastest && texts.size() > 1 && has_md5_lanes();
  if (!lanes) {
    std::ranges::transform(texts, digests.begin(), md5);
    return;
  }
  std::array<std::size_t, md5_lanes_max> places;
  const auto order = std::span(places).first(texts.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, std::ranges::greater(), [&](std::size_t i) { return texts[i].size(); });
  std::array<std::string_view, md5_lanes_max> sorted;
  std::ranges::transform(order, sorted.begin(), [&](std::size_t i) { return texts[i]; });
  std::array<Md5, md5_lanes_max> results;
  const std::size_t alone = count_alone(std::span(sorted).first(texts.size()));
  const std::size_t shared = texts.size() - alone;
  std::ranges::transform(std::span(sorted).first(alone), results.begin(), md5);
  md5_in_lanes(std::span(sorted).subspan(alone, shared), std::span(results).subspan(alone, shared));
  for (std::size_t i = 0; i < order.size(); ++i) digests[order[i]] = results[i];
}

}  // namespace pawl

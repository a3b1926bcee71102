// SPDX-License-Identifier: Apache-2.0
// The quotes and backslashes of a block of JSON, one bit for each byte: bit 0 is the first byte.
//
// Units:  a block is json_marks_block bytes.
// Source: simdjson, "find structural characters": NEON has no instruction that gathers these bits.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__SSE2__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace pawl {

inline constexpr std::size_t json_marks_block = 64;

struct JsonMarks {
  std::uint64_t quotes = 0, backslashes = 0;
  bool operator==(const JsonMarks&) const = default;
};

// For processors without the registers below.
inline JsonMarks json_marks_one_by_one(const char* from) {
  JsonMarks marks;
  for (unsigned i = 0; i < json_marks_block; ++i) {
    marks.quotes |= std::uint64_t{from[i] == '"'} << i;
    marks.backslashes |= std::uint64_t{from[i] == '\\'} << i;
  }
  return marks;
}

#if defined(__SSE2__)
inline JsonMarks json_marks_of(const char* from) {
  JsonMarks marks;
  const __m128i quote = _mm_set1_epi8('"'), backslash = _mm_set1_epi8('\\');
  for (unsigned i = 0; i < json_marks_block; i += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i));
    const auto bits = [&](__m128i same) {
      const auto found = static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, same)));
      return std::uint64_t{found} << i;
    };
    marks.quotes |= bits(quote);
    marks.backslashes |= bits(backslash);
  }
  return marks;
}
#elif defined(__aarch64__)
inline JsonMarks json_marks_of(const char* from) {
  const auto* const bytes = reinterpret_cast<const std::uint8_t*>(from);
  const uint8x16_t v[4] = {vld1q_u8(bytes), vld1q_u8(bytes + 16), vld1q_u8(bytes + 32),
                           vld1q_u8(bytes + 48)};
  // Each byte keeps the bit of its place among eight; three additions of neighbours make 64 bits.
  const uint8x16_t places = {1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128};
  const auto bits = [&](char c) {
    const uint8x16_t same = vdupq_n_u8(static_cast<std::uint8_t>(c));
    const auto found = [&](int i) { return vandq_u8(vceqq_u8(v[i], same), places); };
    const uint8x16_t pairs =
        vpaddq_u8(vpaddq_u8(found(0), found(1)), vpaddq_u8(found(2), found(3)));
    return vgetq_lane_u64(vreinterpretq_u64_u8(vpaddq_u8(pairs, pairs)), 0);
  };
  return {.quotes = bits('"'), .backslashes = bits('\\')};
}
#else
inline JsonMarks json_marks_of(const char* from) { return json_marks_one_by_one(from); }
#endif

}  // namespace pawl

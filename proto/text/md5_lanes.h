// SPDX-License-Identifier: Apache-2.0
// MD5 of several texts at once. A SIMD lane is one of the eight 32-bit words of an AVX2 register.
// It computes the digest of one text, and its neighbours those of other texts:
//
//   register a   | a of text 0 | a of text 1 | ... | a of text 7 |     and so for b, c, d and each
//   register m0  | word 0 of 0 | word 0 of 1 | ... | word 0 of 7 |     of a block's 16 words
//
// MD5 is a chain of dependent additions, which leaves most of a processor idle. 16 texts therefore
// take two registers, whose chains run side by side.
//
//   a block, in                     instructions      time
//   OpenSSL, of one text                     626     73 ns
//   one register, of 8 texts                 840    195 ns
//   two registers, of 16 texts             1,610    205 ns
//
// A lane reads its text in place up to the last whole block, then its tail: the rest with the
// padding and the length. Then it idles on a block of zeros; once no lane of the second register
// works, the first continues alone.
//
//   text --whole blocks done--> tail --one or two blocks done--> idle
//
// Units:  texts in bytes.
// Limits: md5_lanes_max texts a call.
// Errors: none. A processor without AVX2 must not call md5_in_lanes(): has_md5_lanes() is false.
// Source: RFC 1321. Times of an EPYC at 2.6 GHz.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "proto/text/digest.h"

namespace pawl {

inline constexpr std::size_t md5_lanes_max = 16;

enum class Md5Method : std::uint8_t {
  fastest,     // lanes where the processor has them and the lengths suit
  one_by_one,  // OpenSSL, also the method without AVX2
};

// Sets each digest to that of the text with the same index.
void md5_each(std::span<const std::string_view> texts, std::span<Md5> digests,
              Md5Method method = Md5Method::fastest);

bool has_md5_lanes();

// md5_each() in lanes, whatever the lengths. The cost is that of the longest text. Texts in order
// of falling length free the second register soonest.
void md5_in_lanes(std::span<const std::string_view> texts, std::span<Md5> digests);

}  // namespace pawl

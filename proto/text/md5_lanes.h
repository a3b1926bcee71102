// SPDX-License-Identifier: Apache-2.0
// MD5 of several texts at once. A SIMD lane is one of the 32-bit words of a vector register: there
// are eight with AVX2, and four with NEON. It computes the digest of one text, and its neighbours
// those of other texts. With AVX2:
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
// In SSE2 registers, a block of 8 texts takes three times as long as one of OpenSSL, and a block of
// 16 texts four times. In NEON registers, 16 texts take 2,800 instructions.
//
// A lane reads its text in place up to the last whole block, then its tail: the rest with the
// padding and the length. Then it idles on a block of zeros; once no lane of the second register
// works, the first continues alone.
//
//   text --whole blocks done--> tail --one or two blocks done--> idle
//
// Units:  texts in bytes.
// Limits: md5_lanes_max texts a call.
// Errors: none. best_md5_registers() names AVX2 only where the processor has it.
// Source: RFC 1321. Times of an EPYC at 2.6 GHz.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "proto/text/digest.h"
#include "proto/text/md5_steps.h"

namespace pawl {

enum class Md5Method : std::uint8_t {
  fastest,     // lanes where the lengths suit
  one_by_one,  // OpenSSL
};

enum class Md5Registers : std::uint8_t {
  avx2,     // md5_avx2.h
  vectors,  // md5_vectors.h: every processor
};

// Sets each digest to that of the text with the same index.
void md5_each(std::span<const std::string_view> texts, std::span<Md5> digests,
              Md5Method method = Md5Method::fastest);

// The fastest registers of this processor.
Md5Registers best_md5_registers();

// md5_each() in lanes, whatever the lengths. The cost is that of the longest text. Texts in order
// of falling length free registers soonest.
void md5_in_lanes(std::span<const std::string_view> texts, std::span<Md5> digests,
                  Md5Registers registers);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// SipHash-2-4 of 16 bytes: a keyed hash whose key cannot be found from its results, in about 10 ns.
//
// Owner:  values.
// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", 2012.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <span>

namespace pawl {

using SipKey = std::array<std::uint8_t, 16>;

inline std::uint64_t siphash(const SipKey& key, std::span<const std::uint8_t, 16> bytes) {
  std::array<std::uint64_t, 2> k, words;
  std::memcpy(k.data(), key.data(), sizeof k);
  std::memcpy(words.data(), bytes.data(), sizeof words);
  std::uint64_t v0 = k[0] ^ 0x736f'6d65'7073'6575, v1 = k[1] ^ 0x646f'7261'6e64'6f6d;
  std::uint64_t v2 = k[0] ^ 0x6c79'6765'6e65'7261, v3 = k[1] ^ 0x7465'6462'7974'6573;
  const auto round = [&] {
    v0 += v1, v1 = std::rotl(v1, 13) ^ v0, v0 = std::rotl(v0, 32);
    v2 += v3, v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3, v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1, v1 = std::rotl(v1, 17) ^ v2, v2 = std::rotl(v2, 32);
  };
  const auto take = [&](std::uint64_t word) {
    v3 ^= word;
    round(), round();
    v0 ^= word;
  };
  take(words[0]);
  take(words[1]);
  take(std::uint64_t{16} << 56);  // the length, as the last word has it
  v2 ^= 0xff;
  round(), round(), round(), round();
  return v0 ^ v1 ^ v2 ^ v3;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Random: xoshiro256**, so that a seed gives the same run on every machine and library.
//
// Streams: split(label) returns a generator that depends on the seed and the label only, not on
//          earlier draws: a new draw in one part of a test does not disturb the others.
// Owner:  values; not thread-safe, not for secrets.
// Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators";
//         splitmix64 seeds it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/check.h"

namespace pawl::sim {

constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

class Random {
 public:
  explicit constexpr Random(std::uint64_t seed) : seed_(seed) {
    for (std::uint64_t& word : state_) word = seed = mix(seed);
  }

  constexpr std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  // Returns a number in [0, n): the high half of a 128-bit product; its bias is below n / 2^64.
  constexpr std::uint64_t below(std::uint64_t n) {
    CHECK(n > 0);
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{next()} * n) >> 64);
  }
  // Returns a number in [low, high], both ends included.
  constexpr std::uint64_t between(std::uint64_t low, std::uint64_t high) {
    CHECK(low <= high);
    return low + below(high - low + 1);
  }
  constexpr bool chance(std::uint64_t wins, std::uint64_t of) { return below(of) < wins; }

  template <typename T>
  constexpr T& pick(std::span<T> from) {
    return from[below(from.size())];
  }
  template <typename T>
  constexpr void shuffle(std::span<T> all) {
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[below(i)]);
  }

  constexpr Random split(std::uint64_t label) const { return Random(mix(seed_ ^ mix(label))); }
  constexpr Random split(std::string_view label) const {
    std::uint64_t hash = label.size();
    for (const char c : label) hash = mix(hash ^ static_cast<unsigned char>(c));
    return split(hash);
  }

 private:
  std::uint64_t seed_;
  std::array<std::uint64_t, 4> state_{};
};

}  // namespace pawl::sim

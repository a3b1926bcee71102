// SPDX-License-Identifier: Apache-2.0
// DurationCounts: a histogram of durations, of which only sums are kept.
//
// Bucket i counts durations below 64 us << i, and those that no bucket before it counts; the last
// bucket has all that are longer.
//
// Units: microseconds.
// Owner: a value; its owner's thread counts.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <numeric>

namespace pawl {

struct DurationCounts {
  static constexpr std::uint64_t first_end_us = 64;
  static constexpr std::size_t ends = 14;  // the longest: 524 ms

  std::array<std::uint64_t, ends + 1> buckets{};
  std::uint64_t sum_us = 0;

  void note(std::uint64_t us) {
    const auto octave = static_cast<std::size_t>(std::bit_width(us / first_end_us));
    ++buckets[std::min(octave, ends)];
    sum_us += us;
  }
  std::uint64_t count() const {
    return std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0});
  }
  void add(const DurationCounts& other) {
    for (std::size_t i = 0; i <= ends; ++i) buckets[i] += other.buckets[i];
    sum_us += other.sum_us;
  }
};

}  // namespace pawl

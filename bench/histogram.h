// SPDX-License-Identifier: Apache-2.0
// A histogram of durations: log-linear buckets, exact to three significant digits, mergeable.
//
// Values below 2048 have a bucket each; from there on every power of two is divided into 1024
// buckets, so that a bucket is never wider than a thousandth of its values.
//
// Units:  nanoseconds in; write_hgrm() prints in microseconds.
// Limits: value_max (about 73 minutes); a longer value counts as value_max, but max() returns it
//         exactly.
// Errors: none.
// Owner:  one thread. 264 KiB each, allocated once.
// Source: HdrHistogram's layout and its text form (.hgrm), which its plotting tools read.
#pragma once

#include <cstdint>
#include <cstdio>
#include <vector>

namespace pawl {

class Histogram {
 public:
  static constexpr std::uint64_t value_max = (std::uint64_t{1} << 42) - 1;

  Histogram();

  void record(std::uint64_t value, std::uint64_t times = 1);
  void merge(const Histogram& other);
  void clear();

  std::uint64_t count() const { return count_; }
  std::uint64_t max() const { return max_; }
  double mean() const;
  double deviation() const;
  // The value not exceeded by `fraction` (0..1) of all recorded values, within its bucket's width;
  // 0 when empty.
  std::uint64_t quantile(double fraction) const;

  void write_hgrm(std::FILE* out) const;

 private:
  static std::size_t index_of(std::uint64_t value);
  static std::uint64_t highest_in(std::size_t index);

  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
  double sum_ = 0;
};

}  // namespace pawl

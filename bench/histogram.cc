// SPDX-License-Identifier: Apache-2.0
#include "bench/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr unsigned exact_bits = 11;  // values of at most this many bits have a bucket each
constexpr std::size_t half = std::size_t{1} << (exact_bits - 1);
constexpr std::size_t powers = 42 - exact_bits;
constexpr std::size_t buckets = 2 * half + powers * half;

}  // namespace

Histogram::Histogram() : buckets_(buckets) {}

std::size_t Histogram::index_of(std::uint64_t value) {
  const auto bits = static_cast<unsigned>(std::bit_width(value));
  if (bits <= exact_bits) return static_cast<std::size_t>(value);
  const unsigned shift = bits - exact_bits;
  return shift * half + static_cast<std::size_t>(value >> shift);
}

std::uint64_t Histogram::highest_in(std::size_t index) {
  if (index < 2 * half) return index;
  const std::size_t shift = index / half - 1;
  return ((std::uint64_t{index - shift * half} + 1) << shift) - 1;
}

void Histogram::record(std::uint64_t value, std::uint64_t times) {
  const std::size_t index = index_of(std::min(value, value_max));
  CHECK(index < buckets_.size(), "bucket {} of {}", index, buckets_.size());
  buckets_[index] += times;
  count_ += times;
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value) * static_cast<double>(times);
}

void Histogram::merge(const Histogram& other) {
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ = std::max(max_, other.max_);
  sum_ += other.sum_;
}

void Histogram::clear() {
  std::ranges::fill(buckets_, 0);
  count_ = 0;
  max_ = 0;
  sum_ = 0;
}

double Histogram::mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }

double Histogram::deviation() const {
  if (count_ == 0) return 0;
  double squares = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const double distance = static_cast<double>(highest_in(i)) - mean();
    squares += static_cast<double>(buckets_[i]) * distance * distance;
  }
  return std::sqrt(squares / static_cast<double>(count_));
}

std::uint64_t Histogram::quantile(double fraction) const {
  if (count_ == 0) return 0;
  const double exact = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(count_));
  const auto rank = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(exact), 1, count_);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen >= rank) return std::min(highest_in(i), max_);
  }
  return max_;
}

// HdrHistogram's text form, with five steps per halving of the distance to 100 %.
void Histogram::write_hgrm(std::FILE* out) const {
  constexpr double steps_per_half = 5;
  constexpr double us = 1000;
  std::fprintf(out, "%12s %14s %10s %14s\n\n", "Value", "Percentile", "TotalCount",
               "1/(1-Percentile)");
  double level = 0;
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size() && seen < count_; ++i) {
    if (buckets_[i] == 0) continue;
    seen += buckets_[i];
    const double reached = static_cast<double>(seen) / static_cast<double>(count_);
    const double value = static_cast<double>(std::min(highest_in(i), max_)) / us;
    while (level <= reached && level < 1) {
      std::fprintf(out, "%12.3f %2.12f %10llu %14.2f\n", value, level,
                   static_cast<unsigned long long>(seen), 1 / (1 - level));
      const double halvings = std::floor(std::log2(1 / (1 - level))) + 1;
      level += 1 / (steps_per_half * std::exp2(halvings));
      // Levels beyond the last value are indistinguishable.
      if (1 - level < 1 / static_cast<double>(count_) / 2) level = 1;
    }
  }
  CHECK(seen == count_, "the buckets have {} of {} values", seen, count_);
  std::fprintf(out, "%12.3f %2.12f %10llu\n", static_cast<double>(max_) / us, 1.0,
               static_cast<unsigned long long>(count_));
  std::fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n", mean() / us,
               deviation() / us);
  std::fprintf(out, "#[Max     = %12.3f, Total count    = %12llu]\n",
               static_cast<double>(max_) / us, static_cast<unsigned long long>(count_));
  std::fprintf(out, "#[Buckets = %12zu, SubBuckets     = %12zu]\n", powers + 1, 2 * half);
}

}  // namespace pawl

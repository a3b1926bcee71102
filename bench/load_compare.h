// SPDX-License-Identifier: Apache-2.0
// The comparison of two results of `pawl bench --json`: ratios with confidence intervals.
//
// A sample is a round if both results have samples_min rounds, otherwise a second. The ratio of the
// means gets a percentile bootstrap interval: resamples_max times both sets are drawn anew, with
// repetition. Neighbouring seconds depend on each other, which makes their intervals too narrow:
// prefer rounds, of alternating runs where a small difference matters (bench/pairs).
//
// Units:  messages per second, microseconds.
// Limits: samples_min samples of each result; files of result_bytes_max bytes.
// Errors: readable texts.
// Source: Efron and Tibshirani, "An Introduction to the Bootstrap", chapter 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

inline constexpr std::size_t samples_min = 5;
inline constexpr std::size_t resamples_max = 10'000;
inline constexpr std::size_t result_bytes_max = 64 << 20;
inline constexpr double confidence = 0.95;

struct LoadSamples {
  std::vector<double> per_second, p50_us, p99_us;
};
// A parsed result.
struct SavedResult {
  LoadSamples rounds, seconds;
  std::string conditions;  // workload, protocol, connections, ..., as text
  std::string machine;     // JSON
};
// `json`: the output of --json; its last line counts.
std::expected<SavedResult, std::string> parse_result(std::string_view json);

// mean(b) / mean(a). The interval has this ratio with the probability `confidence`.
struct Ratio {
  double value = 0, low = 0, high = 0;

  bool includes_one() const { return low <= 1 && 1 <= high; }
};
Ratio bootstrap_ratio(std::span<const double> a, std::span<const double> b, std::uint64_t seed);

// Prints the comparison to `out`. Returns the exit code: 0, or 1 with an error text on `err`.
int compare_results(const std::string& path_a, const std::string& path_b, std::FILE* out,
                    std::FILE* err);

}  // namespace pawl

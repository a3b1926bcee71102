// SPDX-License-Identifier: Apache-2.0
#include "net/admin/family_text.h"

#include <fmt/core.h>

#include <array>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr double microsecond = 1e-6;
constexpr std::string_view total_ending = "_total";

constexpr std::array<double, DurationCounts::ends> duration_ends = [] {
  std::array<double, DurationCounts::ends> ends{};
  for (std::size_t i = 0; i < ends.size(); ++i)
    ends[i] = static_cast<double>(DurationCounts::first_end_us << i) * microsecond;
  return ends;
}();

}  // namespace

void append_head(std::string& text, std::string_view name, std::string_view type,
                 std::string_view help, MetricsFormat format) {
  if (format == MetricsFormat::open_metrics && type == "counter") {
    CHECK(name.ends_with(total_ending), "a counter has the name {}", name);
    name = without_total(name);
  }
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n", name, help, type);
}

std::string_view without_total(std::string_view name) {
  if (name.ends_with(total_ending)) name.remove_suffix(total_ending.size());
  return name;
}

void append_histogram(std::string& text, std::string_view name, std::string_view labels,
                      const Histogram& histogram) {
  CHECK(labels.empty() || labels.back() == ',', "labels {}", labels);
  CHECK(histogram.counts.size() == histogram.ends.size() + 1, "{} buckets with {} ends",
        histogram.counts.size(), histogram.ends.size());
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < histogram.ends.size(); ++i) {
    below += histogram.counts[i];
    text += fmt::format("{}_bucket{{{}le=\"{}\"}} {}\n", name, labels, histogram.ends[i], below);
  }
  below += histogram.counts.back();
  const std::string_view own = labels.substr(0, labels.empty() ? 0 : labels.size() - 1);
  const std::string braces = own.empty() ? std::string() : fmt::format("{{{}}}", own);
  text += fmt::format("{0}_bucket{{{1}le=\"+Inf\"}} {2}\n{0}_sum{3} {4}\n{0}_count{3} {2}\n", name,
                      labels, below, braces, histogram.sum);
}

void append_histogram(std::string& text, std::string_view name, std::string_view labels,
                      const DurationCounts& times) {
  append_histogram(text, name, labels,
                   Histogram{.ends = duration_ends,
                             .counts = times.buckets,
                             .sum = static_cast<double>(times.sum_us) * microsecond});
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/admin/histogram_text.h"

#include <fmt/core.h>

#include "core/base/check.h"

namespace pawl {

void append_histogram(std::string& text, std::string_view name, std::string_view labels,
                      const DurationCounts& times) {
  CHECK(labels.empty() || labels.back() == ',', "labels {}", labels);
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < DurationCounts::ends; ++i) {
    below += times.buckets[i];
    const auto end = static_cast<double>(DurationCounts::first_end_us << i) * 1e-6;
    text += fmt::format("{}_bucket{{{}le=\"{}\"}} {}\n", name, labels, end, below);
  }
  CHECK(below <= times.count(), "{} of {} durations", below, times.count());
  const std::string_view own = labels.substr(0, labels.empty() ? 0 : labels.size() - 1);
  const std::string braces = own.empty() ? std::string() : fmt::format("{{{}}}", own);
  text += fmt::format("{0}_bucket{{{1}le=\"+Inf\"}} {2}\n{0}_sum{3} {4}\n{0}_count{3} {2}\n", name,
                      labels, times.count(), braces, static_cast<double>(times.sum_us) * 1e-6);
}

}  // namespace pawl

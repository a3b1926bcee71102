// SPDX-License-Identifier: Apache-2.0
// A family of metrics as Prometheus reads it: its head, and the rows of a histogram, which are
// buckets that add up, sum and count.
//
// Units:  seconds.
// Source: Prometheus, "Text-based format", "Histograms"; OpenMetrics 1.0.0, "Counter".
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/duration_counts.h"

namespace pawl {

enum class MetricsFormat : std::uint8_t {
  prometheus,    // text 0.0.4
  open_metrics,  // 1.0.0: the name of a counter's family lacks the `_total` of its samples
};

void append_head(std::string& text, std::string_view name, std::string_view type,
                 std::string_view help, MetricsFormat format = MetricsFormat::prometheus);

std::string_view without_total(std::string_view name);

struct Histogram {
  std::span<const double> ends;           // of all buckets but the last, which has no end
  std::span<const std::uint64_t> counts;  // of each bucket alone
  double sum = 0;
};
// Appends the rows; `labels` is empty or ends with a comma.
void append_histogram(std::string& text, std::string_view name, std::string_view labels,
                      const Histogram& histogram);
void append_histogram(std::string& text, std::string_view name, std::string_view labels,
                      const DurationCounts& times);

}  // namespace pawl

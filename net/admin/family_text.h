// SPDX-License-Identifier: Apache-2.0
// A histogram as Prometheus reads it: buckets that add up, sum and count.
//
// Units:  seconds.
// Source: Prometheus, "Text-based format", "Histograms".
#pragma once

#include <string>
#include <string_view>

#include "core/base/duration_counts.h"

namespace pawl {

// Appends the rows; `labels` is empty or ends with a comma.
void append_histogram(std::string& text, std::string_view name, std::string_view labels,
                      const DurationCounts& times);

}  // namespace pawl

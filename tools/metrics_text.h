// SPDX-License-Identifier: Apache-2.0
// Reads the text of /metrics: its families and samples.
//
// Errors: lines of another form are skipped.
// Owner:  the views are of the text passed in.
// Source: Prometheus, "Text-based format", version 0.0.4.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace pawl {

struct MetricSample {
  std::string_view name;
  std::string_view labels;  // between the braces
  double value = 0;

  // The value of a label as it is written; empty: the sample has no such label.
  std::string_view label(std::string_view label_name) const;
};

struct MetricFamily {
  std::string_view name, type, help;
  std::vector<MetricSample> samples;

  std::string label_names() const;  // of its first sample: "queue, account"
};

// In the order of the text. A sample belongs to the family above it.
std::vector<MetricFamily> families_of(std::string_view text);
const MetricFamily* find_family(const std::vector<MetricFamily>& families, std::string_view name);

}  // namespace pawl

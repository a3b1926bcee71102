// SPDX-License-Identifier: Apache-2.0
#include "net/admin/family_text.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(FamilyText, NamesACounterOfOpenMetricsWithoutItsEnding) {
  std::string text;
  append_head(text, "x_total", "counter", "Sums.");
  append_head(text, "x_total", "counter", "Sums.", MetricsFormat::open_metrics);
  append_head(text, "total", "gauge", "Now.", MetricsFormat::open_metrics);
  EXPECT_EQ(text,
            "# HELP x_total Sums.\n# TYPE x_total counter\n# HELP x Sums.\n# TYPE x counter\n"
            "# HELP total Now.\n# TYPE total gauge\n");
  EXPECT_EQ(without_total("x_total_bytes"), "x_total_bytes");
}

TEST(FamilyText, AddsUpTheBuckets) {
  DurationCounts times;
  for (int i = 0; i < 3; ++i) times.note(65);
  std::string text;
  append_histogram(text, "x", {}, times);
  EXPECT_TRUE(text.starts_with("x_bucket{le=\"6.4e-05\"} 0\nx_bucket{le=\"0.000128\"} 3\n"))
      << text;
  EXPECT_TRUE(text.ends_with("x_bucket{le=\"+Inf\"} 3\nx_sum 0.000195\nx_count 3\n")) << text;
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "tools/metrics_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace pawl {
namespace {

constexpr std::string_view example =
    "# HELP a_total Help of a.\n"
    "# TYPE a_total counter\n"
    "a_total{queue=\"x\",account=\"1\"} 3\n"
    "a_total{queue=\"y } \\\" z\",account=\"2\"} 4.5\n"
    "# HELP b_seconds Times.\n"
    "# TYPE b_seconds histogram\n"
    "b_seconds_bucket{le=\"+Inf\"} 2\n"
    "b_seconds_sum 1e-3\n"
    "b_seconds_count 2\n"
    "# a comment\n"
    "broken{x=\"\n"
    "broken\n"
    "\n"
    "alone +Inf";

TEST(MetricsText, ReadsFamiliesWithTheirSamples) {
  const std::vector<MetricFamily> families = families_of(example);
  ASSERT_EQ(families.size(), 3u);
  EXPECT_EQ(families[0].name, "a_total");
  EXPECT_EQ(families[0].type, "counter");
  EXPECT_EQ(families[0].help, "Help of a.");
  EXPECT_EQ(families[0].label_names(), "queue, account");
  ASSERT_EQ(families[0].samples.size(), 2u);
  EXPECT_EQ(families[0].samples[0].value, 3);
  EXPECT_EQ(families[0].samples[0].label("account"), "1");
  EXPECT_EQ(families[0].samples[0].label("none"), "");
  EXPECT_EQ(families[0].samples[1].label("queue"), "y } \\\" z");
  EXPECT_EQ(families[0].samples[1].label("account"), "2");
  EXPECT_EQ(families[1].samples.size(), 3u);
  EXPECT_EQ(families[1].samples[1].value, 0.001);
  EXPECT_EQ(families[2].name, "alone");
  EXPECT_EQ(families[2].label_names(), "");
  EXPECT_TRUE(std::isinf(families[2].samples[0].value));
  EXPECT_EQ(find_family(families, "b_seconds"), &families[1]);
  EXPECT_EQ(find_family(families, "c"), nullptr);
  EXPECT_TRUE(families_of("").empty());
}

TEST(MetricsText, SurvivesEveryCutOfTheText) {
  for (std::size_t n = 0; n <= example.size(); ++n) {
    for (const MetricFamily& family : families_of(example.substr(0, n))) {
      family.label_names();
      for (const MetricSample& sample : family.samples) sample.label("account");
    }
  }
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/admin/chosen_families.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

constexpr std::string_view all =
    "# HELP a_total Sums of a.\n# TYPE a_total counter\na_total{x=\"# HELP\"} 1\n"
    "# HELP b The b.\n# TYPE b histogram\nb_bucket{op=\"1\",le=\"0.5\"} 1\n"
    "b_bucket{op=\"1\",le=\"60\"} 2\nb_bucket{op=\"1\",le=\"+Inf\"} 2\nb_sum{op=\"1\"} 3\n"
    "# HELP empty Nothing yet.\n# TYPE empty gauge\n";

std::string chosen(const MetricsQuery& query) {
  std::string text = "before\n";
  append_chosen(text, all, query);
  return text.substr(7);
}

TEST(ChosenFamilies, AreAllOrThoseOfTheQuery) {
  EXPECT_EQ(chosen({}), all);
  EXPECT_EQ(chosen({
                .families = {"a", "empty"}
  }),
            "# HELP a_total Sums of a.\n# TYPE a_total counter\na_total{x=\"# HELP\"} 1\n"
            "# HELP empty Nothing yet.\n# TYPE empty gauge\n");
  EXPECT_EQ(chosen({.families = {"nothing"}}), "");
}

TEST(ChosenFamilies, HaveHeadsAndBucketsOfOpenMetrics) {
  EXPECT_EQ(
      chosen({.format = MetricsFormat::open_metrics}),
      "# HELP a Sums of a.\n# TYPE a counter\na_total{x=\"# HELP\"} 1\n"
      "# HELP b The b.\n# TYPE b histogram\nb_bucket{op=\"1\",le=\"0.5\"} 1\n"
      "b_bucket{op=\"1\",le=\"60.0\"} 2\nb_bucket{op=\"1\",le=\"+Inf\"} 2\nb_sum{op=\"1\"} 3\n"
      "# HELP empty Nothing yet.\n# TYPE empty gauge\n");
}

TEST(ChosenFamilies, HaveNames) {
  EXPECT_EQ(family_names(all), (std::vector<std::string_view>{"a_total", "b", "empty"}));
  EXPECT_TRUE(family_names("").empty());
}

}  // namespace
}  // namespace pawl

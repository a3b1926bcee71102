// SPDX-License-Identifier: Apache-2.0
#include "bench/plot.h"

#include <gtest/gtest.h>

#include <cmath>

namespace pawl {
namespace {

std::string labels_of(const std::vector<PlotTick>& ticks) {
  std::string text;
  for (const PlotTick& tick : ticks) text += (text.empty() ? "" : " ") + tick.label;
  return text;
}

TEST(Plot, HasRoundNumbersAtItsAxes) {
  EXPECT_EQ(labels_of(round_ticks(0, 6, false)), "0 1 2 3 4 5 6");
  EXPECT_EQ(labels_of(round_ticks(0, 100, false)), "0 20 40 60 80 100");
  EXPECT_EQ(labels_of(round_ticks(990, 1010, false)), "990 995 1k 1.005k 1.01k");
  EXPECT_EQ(labels_of(round_ticks(8, 300, true)), "10 20 50 100 200");
  EXPECT_EQ(labels_of(round_ticks(1, 2e6, true)), "1 10 100 1k 10k 100k 1M");
}

TEST(Plot, PlacesPointsFromBottomLeftToTopRight) {
  const std::string svg = svg_of({.title = "t",
                                  .x_label = "x",
                                  .y_label = "y",
                                  .lines = {{.name = "l", .points = {{0, 0}, {5, 10}, {10, 5}}}}});
  EXPECT_NE(svg.find("<path d=\"M70.0 284.0L405.0 36.0L740.0 160.0\" fill=\"none\""), svg.npos)
      << svg;
}

TEST(Plot, LeavesOutPointsThatItsAxesCannotShow) {
  const std::string svg =
      svg_of({.title = "t",
              .x_label = "x",
              .y_label = "y",
              .log_y = true,
              .lines = {{.name = "l", .points = {{0, 0}, {1, 10}, {2, 100}, {3, INFINITY}}}}});
  EXPECT_EQ(svg.find("inf"), svg.npos) << svg;
  EXPECT_EQ(svg.find("nan"), svg.npos) << svg;
  EXPECT_NE(svg.find("L740.0 "), svg.npos) << "the x axis ends at its last finite point" << svg;
}

TEST(Plot, DrawsNothingAndOnePointToo) {
  for (const std::vector<PlotPoint>& points : {
           std::vector<PlotPoint>{},
           {{3, 3}},
           {{0, 0}},
           {{2, 7}, {4, 7}}
  }) {
    const std::string svg = svg_of(
        {.title = "t", .x_label = "", .y_label = "", .lines = {{.name = "l", .points = points}}});
    EXPECT_EQ(svg.find("nan"), svg.npos) << svg;
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
  }
}

TEST(Plot, EscapesTexts) {
  const std::string svg =
      svg_of({.title = "<script>&\"", .x_label = "a<b", .y_label = "", .lines = {}});
  EXPECT_EQ(svg.find("<script>"), svg.npos);
  EXPECT_NE(svg.find("&lt;script&gt;&amp;&quot;"), svg.npos);
  EXPECT_NE(svg.find("a&lt;b"), svg.npos);
}

TEST(Plot, WritesNumbersWithPrefixes) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(999), "999");
  EXPECT_EQ(short_number(1500), "1.5k");
  EXPECT_EQ(short_number(2e6), "2M");
  EXPECT_EQ(short_number(-3e9), "-3G");
}

}  // namespace
}  // namespace pawl

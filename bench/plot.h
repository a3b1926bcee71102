// SPDX-License-Identifier: Apache-2.0
// Line plots as inline SVG: no script, no font, no reference to another file.
//
// Texts and axes have the colour of the page (currentColor), so that a plot suits light and dark.
//
// Units:  those of the points.
// Limits: plot_lines_max lines with a colour of their own; further ones repeat the colours.
// Errors: none. Points at or below 0 are left out of a logarithmic axis, infinite ones of any.
// Owner:  the caller's values.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace pawl {

inline constexpr std::size_t plot_lines_max = 6;

struct PlotPoint {
  double x = 0, y = 0;
};
struct PlotLine {
  std::string name;
  std::vector<PlotPoint> points;  // by rising x
};
struct PlotTick {
  double at = 0;
  std::string label;
};
struct Plot {
  std::string title, x_label, y_label;
  bool log_x = false, log_y = false;
  std::vector<PlotTick> x_ticks = {};  // empty: round numbers
  std::vector<PlotLine> lines;
};

std::string svg_of(const Plot& plot);

// At most about eight round numbers from `least` to `most`; on a logarithmic axis 1, 2 and 5 times
// powers of ten, or the powers alone.
std::vector<PlotTick> round_ticks(double least, double most, bool logarithmic);

// A number with a unit prefix: 1500 is "1.5k".
std::string short_number(double value);
std::string escape_markup(const std::string& text);

}  // namespace pawl

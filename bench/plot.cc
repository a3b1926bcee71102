// SPDX-License-Identifier: Apache-2.0
#include "bench/plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr double width = 760, height = 360;
constexpr double left = 70, right = 20, top = 36, bottom = 76;
constexpr const char* colours[plot_lines_max] = {"#2563eb", "#dc2626", "#059669",
                                                 "#d97706", "#7c3aed", "#64748b"};

struct Axis {
  double least = 0, most = 1;
  bool logarithmic = false;

  bool shows(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }
  // 0 at the least value, 1 at the most.
  double share(double value) const {
    if (logarithmic) return std::log(value / least) / std::log(most / least);
    return (value - least) / (most - least);
  }
};

// The axis over all values; never of length 0.
Axis axis_of(const Plot& plot, double PlotPoint::* value, bool logarithmic) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  Axis axis{.least = infinity, .most = -infinity, .logarithmic = logarithmic};
  for (const PlotLine& line : plot.lines) {
    for (const PlotPoint& point : line.points) {
      if (!axis.shows(point.*value)) continue;
      axis.least = std::min(axis.least, point.*value);
      axis.most = std::max(axis.most, point.*value);
    }
  }
  if (axis.least > axis.most) axis.least = axis.most = 1;
  if (axis.least == axis.most) axis.most = axis.least + std::max(1.0, std::abs(axis.least));
  return axis;
}

class Canvas {
 public:
  Canvas(const Plot& plot, Axis x, Axis y) : plot_(plot), x_(x), y_(y) {}

  std::string draw() {
    out_ += fmt::format(
        "<svg viewBox=\"0 0 {} {}\" role=\"img\" font-family=\"sans-serif\" "
        "font-size=\"12\" fill=\"currentColor\"><title>{}</title>\n",
        width, height, escape_markup(plot_.title));
    text(width / 2, top / 2, "middle", plot_.title, " font-weight=\"bold\"");
    draw_axes();
    for (std::size_t i = 0; i < plot_.lines.size(); ++i)
      draw_line(plot_.lines[i], colours[i % plot_lines_max]);
    draw_legend();
    return std::move(out_) + "</svg>\n";
  }

 private:
  double place_x(double value) const { return left + x_.share(value) * (width - left - right); }
  double place_y(double value) const {
    return height - bottom - y_.share(value) * (height - top - bottom);
  }

  void text(double x, double y, const char* anchor, const std::string& content,
            const std::string& more = {}) {
    out_ += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\"{}>{}</text>\n", x, y,
                        anchor, more, escape_markup(content));
  }

  void rule(double x1, double y1, double x2, double y2) {
    out_ += fmt::format(
        "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"currentColor\" "
        "stroke-opacity=\"0.15\"/>\n",
        x1, y1, x2, y2);
  }

  void draw_axes() {
    const auto ticks_x =
        plot_.x_ticks.empty() ? round_ticks(x_.least, x_.most, x_.logarithmic) : plot_.x_ticks;
    for (const PlotTick& tick : ticks_x) {
      if (!x_.shows(tick.at) || tick.at < x_.least || tick.at > x_.most) continue;
      rule(place_x(tick.at), top, place_x(tick.at), height - bottom);
      text(place_x(tick.at), height - bottom + 16, "middle", tick.label);
    }
    for (const PlotTick& tick : round_ticks(y_.least, y_.most, y_.logarithmic)) {
      rule(left, place_y(tick.at), width - right, place_y(tick.at));
      text(left - 6, place_y(tick.at) + 4, "end", tick.label);
    }
    text(left + (width - left - right) / 2, height - bottom + 36, "middle", plot_.x_label);
    text(0, 0, "middle", plot_.y_label,
         fmt::format(" transform=\"translate(16 {:.1f}) rotate(-90)\"",
                     top + (height - top - bottom) / 2));
  }

  void draw_line(const PlotLine& line, const char* colour) {
    std::string path;
    for (const PlotPoint& point : line.points) {
      if (!x_.shows(point.x) || !y_.shows(point.y)) continue;
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? 'M' : 'L', place_x(point.x),
                          place_y(point.y));
    }
    out_ += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"/>\n", path,
                        colour);
  }

  void draw_legend() {
    double x = left;
    for (std::size_t i = 0; i < plot_.lines.size(); ++i) {
      out_ += fmt::format("<rect x=\"{:.1f}\" y=\"{}\" width=\"10\" height=\"10\" fill=\"{}\"/>\n",
                          x, height - 22, colours[i % plot_lines_max]);
      text(x + 14, height - 12, "start", plot_.lines[i].name);
      x += 34 + 7 * static_cast<double>(plot_.lines[i].name.size());
    }
  }

  const Plot& plot_;
  Axis x_, y_;
  std::string out_;
};

std::vector<PlotTick> logarithmic_ticks(double least, double most) {
  CHECK(least > 0, "a logarithmic axis from {}", least);
  const bool few = most / least < 1000;
  std::vector<PlotTick> ticks;
  for (double power = std::pow(10, std::floor(std::log10(least))); power <= most; power *= 10) {
    for (const double step : {1.0, 2.0, 5.0}) {
      const double at = power * step;
      if (at >= least && at <= most && (few || step == 1)) ticks.push_back({at, short_number(at)});
    }
  }
  return ticks;
}

}  // namespace

std::vector<PlotTick> round_ticks(double least, double most, bool logarithmic) {
  CHECK(least < most, "an axis from {} to {}", least, most);
  if (logarithmic) return logarithmic_ticks(least, most);
  const double raw = (most - least) / 6;
  const double power = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0}) {
    if (factor * power >= raw) step = factor * power;
  }
  std::vector<PlotTick> ticks;
  for (double n = std::ceil(least / step); n * step <= most; ++n)
    ticks.push_back({n * step, short_number(n * step)});
  return ticks;
}

std::string short_number(double value) {
  constexpr std::pair<double, const char*> units[] = {
      {1e9, "G"},
      {1e6, "M"},
      {1e3, "k"}
  };
  for (const auto& [unit, name] : units) {
    if (std::abs(value) >= unit) return fmt::format("{:.4g}{}", value / unit, name);
  }
  return fmt::format("{:.4g}", value);
}

std::string escape_markup(const std::string& text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string svg_of(const Plot& plot) {
  Axis y = axis_of(plot, &PlotPoint::y, plot.log_y);
  if (!plot.log_y) y.least = std::min(0.0, y.least);  // a line's height shows its size
  return Canvas(plot, axis_of(plot, &PlotPoint::x, plot.log_x), y).draw();
}

}  // namespace pawl

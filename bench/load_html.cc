// SPDX-License-Identifier: Apache-2.0
#include "bench/load_html.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/load_report.h"
#include "bench/plot.h"

namespace pawl::load {
namespace {

constexpr std::string_view style =
    ":root{color-scheme:light dark}body{font:15px/1.5 sans-serif;max-width:820px;margin:2em auto;"
    "padding:0 1em}table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em "
    ".8em;border-bottom:1px solid #8884;text-align:right}td:first-child,th:first-child{text-align:"
    "left}svg{width:100%;height:auto;margin:1em 0}.bad{color:#dc2626}";

constexpr double page_levels[] = {0.5, 0.9, 0.99, 0.999, 1};

void append_row(std::string& html, const std::string& name, const LoadRound& round) {
  html += fmt::format("<tr><td>{}</td><td>{:.0f}</td>", name, round.per_second());
  for (const double level : page_levels)
    html += fmt::format("<td>{:.0f}</td>", microseconds(round.latency.quantile(level)));
  html += fmt::format("<td>{}</td></tr>\n", round.errors);
}

void append_figures(std::string& html, const LoadResult& result) {
  html +=
      "<table><tr><th></th><th>messages/s</th><th>p50</th><th>p90</th><th>p99</th><th>p99.9</th>"
      "<th>max, us</th><th>errors</th></tr>\n";
  append_row(html, "total", result.total);
  for (std::size_t i = 0; i < result.rounds.size() && result.rounds.size() > 1; ++i)
    append_row(html, fmt::format("round {}", i + 1), result.rounds[i]);
  html += "</table>\n";
}

void append_faults(std::string& html, const LoadResult& result) {
  const auto line = [&](const std::string& text, bool bad) {
    html += (bad ? "<p class=\"bad\">" : "<p>") + escape_markup(text) + "</p>\n";
  };
  for (const auto& [reason, count] : result.reasons)
    line(fmt::format("Refused {} times: {}", count, reason), true);
  if (result.deliveries)
    line(fmt::format("Deliveries: {} lost, {} duplicate, {} out of order.", result.deliveries->lost,
                     result.deliveries->duplicates, result.deliveries->disordered),
         !result.deliveries->flawless());
  for (const std::string& note : result.notes) line(note, false);
  if (result.interrupted) line("A signal interrupted the load.", true);
  if (!result.fault.empty()) line("The load ended early: " + result.fault, true);
}

// Latencies up to each share of the messages; the axis stretches the last percents.
PlotLine percentiles_of(const std::string& name, const Histogram& latency) {
  PlotLine line{.name = name, .points = {}};
  const double most = static_cast<double>(std::max<std::uint64_t>(latency.count(), 1));
  constexpr double steps_per_decade = 20;
  for (double decade = 0; decade <= std::log10(most); decade += 1 / steps_per_decade) {
    const double rest = std::pow(10, decade);
    line.points.push_back({rest, microseconds(latency.quantile(1 - 1 / rest))});
  }
  line.points.push_back({most, microseconds(latency.max())});
  return line;
}

Plot percentile_plot(const LoadResult& result) {
  Plot plot{
      .title = "Latency by percentile",
      .x_label = "share of messages",
      .y_label = "us",
      .log_x = true,
      .log_y = true,
      .x_ticks = {{1, "0 %"},
                  {2, "50 %"},
                  {10, "90 %"},
                  {100, "99 %"},
                  {1e3, "99.9 %"},
                  {1e4, "99.99 %"},
                  {1e5, "99.999 %"},
                  {1e6, "99.9999 %"}},
      .lines = {percentiles_of("total", result.total.latency)}
  };
  for (std::size_t i = 0; i < result.rounds.size() && result.rounds.size() > 1; ++i) {
    if (plot.lines.size() == plot_lines_max) break;
    plot.lines.push_back(percentiles_of(fmt::format("round {}", i + 1), result.rounds[i].latency));
  }
  return plot;
}

template <typename Row>
PlotLine line_of(const char* name, const std::vector<Row>& rows, auto&& x, auto&& y) {
  PlotLine line{.name = name, .points = {}};
  for (std::size_t i = 0; i < rows.size(); ++i) line.points.push_back({x(rows[i], i), y(rows[i])});
  return line;
}

void append_seconds(std::string& html, const std::vector<LoadSecond>& seconds) {
  if (seconds.size() < 2) return;
  const auto second = [](const LoadSecond&, std::size_t i) { return static_cast<double>(i + 1); };
  html += svg_of({.title = "Messages in each second",
                  .x_label = "second",
                  .y_label = "messages/s",
                  .lines = {line_of("messages/s", seconds, second, [](const LoadSecond& s) {
                    return static_cast<double>(s.messages);
                  })}});
  html += svg_of({
      .title = "Latency in each second",
      .x_label = "second",
      .y_label = "us",
      .log_y = true,
      .lines = {line_of("p50", seconds, second, [](const LoadSecond& s) { return s.p50_us; }),
                line_of("p99", seconds, second, [](const LoadSecond& s) { return s.p99_us; }),
                line_of("max", seconds, second, [](const LoadSecond& s) { return s.max_us; })}
  });
}

void append_ramp(std::string& html, const LoadOptions& options, const LoadResult& result) {
  if (result.ramp.empty()) return;
  const auto rate = [](const RampStep& step, std::size_t) { return step.rate; };
  const double limit = options.p99_limit_us;
  html += "<h2>Ramp</h2>\n<p>" + escape_markup(knee_text(result, limit)) + "</p>\n";
  html += svg_of({
      .title = "Latency by rate",
      .x_label = "messages per second asked for",
      .y_label = "us",
      .log_x = true,
      .log_y = true,
      .lines = {
                line_of("p50", result.ramp, rate, [](const RampStep& s) { return s.p50_us; }),
                line_of("p99", result.ramp, rate, [](const RampStep& s) { return s.p99_us; }),
                line_of("limit of p99", result.ramp, rate, [limit](const RampStep&) { return limit; })}
  });
}

void append_facts(std::string& html, const LoadOptions& options, const MachineFacts& machine) {
  const std::pair<const char*, std::string> facts[] = {
      {"protocol", protocol_of(options)},
      {"connections, depth", fmt::format("{}, {}", options.connections, options.depth)},
      {"batch, body", fmt::format("{}, {} B", options.batch, options.body)},
      {"rate asked for", options.rate > 0 ? fmt::format("{:.0f}/s", options.rate) : "none"},
      {"generator threads", std::to_string(options.threads)},
      {"generator's CPU", machine.cpu},
      {"cores, usable", fmt::format("{}, {}", machine.cores, machine.usable)},
      {"kernel", machine.kernel},
      {"server's file system", machine.file_system},
      {"pawl", options.build},
  };
  html += "<table>";
  for (const auto& [name, value] : facts) {
    if (!value.empty())
      html += fmt::format("<tr><td>{}</td><td>{}</td></tr>\n", name, escape_markup(value));
  }
  html += "</table>\n";
}

}  // namespace

std::string result_html(const LoadOptions& options, const LoadResult& result,
                        const MachineFacts& machine) {
  const std::string title = fmt::format("pawl bench {}", name_of(options.workload));
  std::string html = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>{0}</title>\n"
      "<style>{1}</style>\n<h1>{0}</h1>\n",
      title, style);
  append_figures(html, result);
  append_faults(html, result);
  html += svg_of(percentile_plot(result));
  append_seconds(html, result.seconds);
  append_ramp(html, options, result);
  html += "<h2>Conditions</h2>\n";
  append_facts(html, options, machine);
  return html + "</html>\n";
}

}  // namespace pawl::load

// SPDX-License-Identifier: Apache-2.0
#include "bench/load_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

#include "core/base/check.h"
#include "proto/text/json.h"

namespace pawl::load {
namespace {

struct Spread {
  double least = 0, median = 0, most = 0;
};

template <typename Figure>
Spread spread_of(const std::vector<LoadRound>& rounds, Figure&& figure) {
  CHECK(!rounds.empty(), "no round");
  std::vector<double> values;
  for (const LoadRound& round : rounds) values.push_back(figure(round));
  std::ranges::sort(values);
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {values.front(), median, values.back()};
}

std::string rounds_text(const std::vector<LoadRound>& rounds) {
  const Spread rate = spread_of(rounds, [](const LoadRound& r) { return r.per_second(); });
  std::string text =
      fmt::format("{} rounds, median (least to most): {:.0f} ({:.0f} to {:.0f}) msg/s",
                  rounds.size(), rate.median, rate.least, rate.most);
  constexpr std::pair<const char*, double> levels[] = {
      {"p50",   0.5  },
      {"p99",   0.99 },
      {"p99.9", 0.999}
  };
  for (const auto& [name, level] : levels) {
    const Spread us = spread_of(
        rounds, [&](const LoadRound& r) { return microseconds(r.latency.quantile(level)); });
    text += fmt::format("   {} {:.0f} ({:.0f} to {:.0f})", name, us.median, us.least, us.most);
  }
  return text + " us\n";
}

// A JSON number; JSON has no infinity.
void append_number(std::string& json, std::string_view key, double value) {
  json += fmt::format("\"{}\":{:.1f},", key, value);
}

void append_text(std::string& json, std::string_view key, std::string_view value) {
  json += fmt::format("\"{}\":", key);
  JsonWriter(json).value(value);
  json += ',';
}

void append_latency(std::string& json, const Histogram& h) {
  append_number(json, "p50_us", microseconds(h.quantile(0.5)));
  append_number(json, "p90_us", microseconds(h.quantile(0.9)));
  append_number(json, "p99_us", microseconds(h.quantile(0.99)));
  append_number(json, "p999_us", microseconds(h.quantile(0.999)));
  append_number(json, "max_us", microseconds(h.max()));
  append_number(json, "mean_us", h.mean() / 1000);
}

// Ends an object or list whose last member left a comma.
void close(std::string& json, char end) {
  if (json.back() == ',') json.pop_back();
  json += end;
  json += ',';
}

void append_rounds(std::string& json, const LoadResult& result) {
  json += "\"rounds\":[";
  for (const LoadRound& round : result.rounds) {
    json += fmt::format("{{\"elapsed_s\":{:.3f},\"messages\":{},", round.seconds, round.messages);
    append_number(json, "messages_per_s", round.per_second());
    append_latency(json, round.latency);
    json += fmt::format("\"errors\":{}", round.errors);
    close(json, '}');
  }
  close(json, ']');
  json += "\"seconds\":[";
  for (const LoadSecond& s : result.seconds)
    json += fmt::format(
        "{{\"messages_per_s\":{},\"p50_us\":{:.1f},\"p99_us\":{:.1f},\"max_us\":{:.1f},"
        "\"errors\":{}}},",
        s.messages, s.p50_us, s.p99_us, s.max_us, s.errors);
  close(json, ']');
}

void append_ramp(std::string& json, const LoadResult& result) {
  if (result.ramp.empty()) return;
  json += "\"ramp\":[";
  for (const RampStep& step : result.ramp)
    json += fmt::format(
        "{{\"rate\":{:.1f},\"messages_per_s\":{:.1f},\"p50_us\":{:.1f},\"p99_us\":{:.1f}"
        ",\"held\":{},\"errors\":{}}},",
        step.rate, step.per_second, step.p50_us, step.p99_us, step.held, step.errors);
  close(json, ']');
}

void append_machine(std::string& json, const MachineFacts& machine, std::string_view build) {
  json += "\"machine\":{";
  append_text(json, "cpu", machine.cpu);
  json += fmt::format("\"cores\":{},\"usable_cores\":{},\"memory_bytes\":{},", machine.cores,
                      machine.usable, machine.memory_bytes);
  append_text(json, "kernel", machine.kernel);
  if (!machine.file_system.empty()) append_text(json, "file_system", machine.file_system);
  append_text(json, "build", build);
  close(json, '}');
}

void append_options(std::string& json, const LoadOptions& o) {
  append_text(json, "workload", name_of(o.workload));
  append_text(json, "protocol", protocol_of(o));
  json += fmt::format(
      "\"connections\":{},\"depth\":{},\"batch\":{},\"body\":{},\"rate\":{:.1f},"
      "\"spin\":{},\"threads\":{},\"groups\":{},\"warm_up_s\":{:.3f},\"signed\":{},"
      "\"tls\":{},",
      o.connections, o.depth, o.batch, o.body, o.rate, o.spin, o.threads, o.groups, o.warm_up,
      !o.key_id.empty(), o.tls || !o.ca_file.empty() || o.url.starts_with("https:"));
}

// The total and the rounds.
std::string figures_text(const LoadResult& result) {
  if (result.interrupted && !result.measured())
    return "interrupted before the first measured response: nothing was measured\n";
  const LoadRound& total = result.total;
  std::string text =
      "total " + figures_line(total.per_second(), total.latency, total.errors) + "\n";
  if (result.rounds.size() > 1) text += rounds_text(result.rounds);
  if (result.interrupted && !result.ramp.empty())
    text += "interrupted: the step of the signal is left out of the ramp\n";
  else if (result.interrupted)
    text += fmt::format("interrupted: the total ends at the signal; complete rounds: {}\n",
                        result.rounds.size());
  return text;
}

}  // namespace

const char* name_of(LoadOptions::Workload workload) {
  constexpr const char* names[] = {"send", "receive", "e2e"};
  const auto index = static_cast<std::size_t>(workload);
  CHECK(index < std::size(names), "workload {}", index);
  return names[index];
}

std::string protocol_of(const LoadOptions& options) {
  if (options.url.empty()) return "binary";
  const std::string scheme = options.url.substr(0, options.url.find(':'));
  return scheme == "https" ? "http" : scheme;
}

std::string figures_line(double per_second, const Histogram& h, std::uint64_t errors) {
  return fmt::format(
      "{:12.0f} msg/s   p50 {:.0f}  p90 {:.0f}  p99 {:.0f}  p99.9 {:.0f}  max {:.0f} us   errors "
      "{}",
      per_second, microseconds(h.quantile(0.5)), microseconds(h.quantile(0.9)),
      microseconds(h.quantile(0.99)), microseconds(h.quantile(0.999)), microseconds(h.max()),
      errors);
}

std::string summary_text(const LoadResult& result) {
  std::string text = figures_text(result);
  for (const auto& [reason, count] : result.reasons)
    text += fmt::format("refused {} times: {}\n", count, reason);
  if (result.deliveries)
    text +=
        fmt::format("deliveries: {} lost, {} duplicate, {} out of order\n", result.deliveries->lost,
                    result.deliveries->duplicates, result.deliveries->disordered);
  for (const std::string& note : result.notes) text += "note: " + note + "\n";
  return text;
}

std::string step_line(const RampStep& step) {
  return fmt::format("{:12.0f} asked  {:12.0f} msg/s   p50 {:.0f}  p99 {:.0f} us   errors {}   {}",
                     step.rate, step.per_second, step.p50_us, step.p99_us, step.errors,
                     step.held ? "held" : "not held");
}

std::string knee_text(const LoadResult& result, double p99_limit_us) {
  const auto last = std::ranges::find_if(result.ramp.rbegin(), result.ramp.rend(),
                                         [](const RampStep& step) { return step.held; });
  if (last == result.ramp.rend())
    return fmt::format("knee: no rate was held with p99 up to {:.0f} us\n", p99_limit_us);
  return fmt::format("knee: {:.0f} msg/s is the last rate held with p99 up to {:.0f} us\n",
                     last->rate, p99_limit_us);
}

std::string result_json(const LoadOptions& options, const LoadResult& result,
                        const MachineFacts& machine) {
  const LoadRound& total = result.total;
  std::string json = "{";
  append_options(json, options);
  json += fmt::format("\"elapsed_s\":{:.3f},\"messages\":{},", total.seconds, total.messages);
  append_number(json, "messages_per_s", total.per_second());
  append_latency(json, total.latency);
  append_rounds(json, result);
  append_ramp(json, result);
  if (result.deliveries)
    json += fmt::format("\"lost\":{},\"duplicates\":{},\"disordered\":{},", result.deliveries->lost,
                        result.deliveries->duplicates, result.deliveries->disordered);
  append_machine(json, machine, options.build);
  json += fmt::format("\"interrupted\":{},", result.interrupted);
  json += "\"reasons\":{";
  for (const auto& [reason, count] : result.reasons) {
    JsonWriter(json).value(reason);
    json += fmt::format(":{},", count);
  }
  close(json, '}');
  if (!result.fault.empty()) append_text(json, "fault", result.fault);
  json += fmt::format("\"errors\":{}}}\n", total.errors);
  return json;
}

}  // namespace pawl::load

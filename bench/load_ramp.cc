// SPDX-License-Identifier: Apache-2.0
#include "bench/load_ramp.h"

#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/load_team.h"
#include "core/base/check.h"

namespace pawl::load {
namespace {

template <typename T>
bool take(std::string_view& text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_colon(std::string_view& text) {
  if (!text.starts_with(':')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

double Ramp::rate_of(std::uint32_t step) const {
  CHECK(step < steps, "step {} of {}", step, steps);
  return from * std::pow(to / from, static_cast<double>(step) / (steps - 1));
}

std::expected<Ramp, std::string> parse_ramp(const std::string& text) {
  std::string_view rest = text;
  Ramp ramp;
  const bool whole = take(rest, ramp.from) && take_colon(rest) && take(rest, ramp.to) &&
                     take_colon(rest) && take(rest, ramp.steps) && rest.empty();
  if (whole && ramp.from > 0 && ramp.to > ramp.from && ramp.to <= 1e9 && ramp.steps >= 2 &&
      ramp.steps <= ramp_steps_max)
    return ramp;
  return std::unexpected("--ramp " + text +
                         ": give rising rates and 2 to 100 steps as FROM:TO:STEPS, for example "
                         "1000:64000:7");
}

bool is_held(const RampStep& step, double p99_limit_us) {
  return step.errors == 0 && step.p99_us <= p99_limit_us &&
         step.per_second >= held_share * step.rate;
}

std::expected<LoadResult, std::string> run_ramp(
    const LoadOptions& options, const Target& target, const StopSignals& stop, const Ramp& ramp,
    const std::function<void(const RampStep&)>& step_done) {
  std::optional<LoadResult> best;
  std::vector<RampStep> steps;
  std::string fault;
  bool created = false;
  for (std::uint32_t i = 0; i < ramp.steps && fault.empty(); ++i) {
    LoadOptions at_rate = options;
    at_rate.rate = ramp.rate_of(i);
    at_rate.create = options.create && i == 0;
    at_rate.cleanup = options.cleanup && i == 0;
    auto result = run_threads(at_rate, target, stop, [](const Interval&) {});
    if (!result && !best) return result;
    if (!result) {  // the steps before have figures, and a queue to delete
      fault = result.error();
      break;
    }
    fault = result->fault;
    created = created || result->created;
    if (result->interrupted) {
      if (!best) best = std::move(*result);
      best->interrupted = true;
      break;
    }
    RampStep step{.rate = at_rate.rate,
                  .per_second = result->total.per_second(),
                  .p50_us = microseconds(result->total.latency.quantile(0.5)),
                  .p99_us = microseconds(result->total.latency.quantile(0.99)),
                  .errors = result->total.errors};
    step.held = result->fault.empty() && is_held(step, options.p99_limit_us);
    steps.push_back(step);
    step_done(step);
    if (!best || step.held) best = std::move(*result);
    if (!step.held && i > 0 && !steps[i - 1].held) break;
  }
  best->ramp = std::move(steps);
  best->fault = fault;
  best->created = created;
  return std::move(*best);
}

}  // namespace pawl::load

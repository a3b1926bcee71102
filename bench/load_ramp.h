// SPDX-License-Identifier: Apache-2.0
// A ramp: the same load at rising rates, until the server no longer holds them.
//
//   held:  p99 is within the limit, held_share of the rate was reached, nothing was refused
//
// The ratio of neighbouring rates is constant. Two rates in a row that are not held end the ramp:
// one alone may be a disturbance.
//
// Units:  messages per second.
// Limits: 2..ramp_steps_max steps.
// Errors: readable texts.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>

#include "bench/load_codec.h"
#include "bench/load_result.h"
#include "bench/stop_signals.h"

namespace pawl::load {

inline constexpr std::uint32_t ramp_steps_max = 100;
inline constexpr double held_share = 0.98;

struct Ramp {
  double from = 0, to = 0;
  std::uint32_t steps = 0;

  double rate_of(std::uint32_t step) const;
};

// "1000:64000:7"
std::expected<Ramp, std::string> parse_ramp(const std::string& text);

bool is_held(const RampStep& step, double p99_limit_us);

// Runs the load at each rate. The result is of the last held rate, or of the first one. An
// interrupted step is left out of LoadResult::ramp: whether it holds is unknown.
std::expected<LoadResult, std::string> run_ramp(
    const LoadOptions& options, const Target& target, const StopSignals& stop, const Ramp& ramp,
    const std::function<void(const RampStep&)>& step_done);

}  // namespace pawl::load

// SPDX-License-Identifier: Apache-2.0
#include "core/queue/retry_backoff.h"

#include <algorithm>
#include <charconv>

#include "core/base/check.h"

namespace pawl {
namespace {

// The step of the `receives`th receive; the last one repeats.
std::int64_t step_of(std::string_view steps, std::uint32_t receives) {
  for (std::uint32_t i = 1; i < receives; ++i) {
    const std::size_t comma = steps.find(',');
    if (comma == std::string_view::npos) break;
    steps.remove_prefix(comma + 1);
  }
  std::int64_t ms = 0;
  const char* const end = steps.data() + steps.size();
  const auto [stop, error] = std::from_chars(steps.data(), end, ms);
  CHECK(error == std::errc() && ms >= 0 && (stop == end || *stop == ','), "steps \"{}\"", steps);
  return ms;
}

// Spreads the bits of a number, whose neighbours may follow each other.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
  x = (x ^ x >> 27) * 0x94D049BB133111EBu;
  return x ^ x >> 31;
}

}  // namespace

std::string backoff_plan(Jitter jitter, std::span<const Duration> steps) {
  CHECK(!steps.empty() && steps.size() <= backoff_steps_max, "{} steps", steps.size());
  std::string plan(jitter_words[static_cast<std::size_t>(jitter)]);
  char before = ' ';
  for (const Duration step : steps) {
    CHECK(step.ms >= 0 && step <= backoff_step_max, "a step of {} ms", step.ms);
    plan += before;
    plan += std::to_string(step.ms);
    before = ',';
  }
  return plan;
}

Duration backoff_wait(std::string_view plan, std::uint32_t receives, std::uint64_t random) {
  if (plan.empty()) return Duration{0};
  const std::size_t space = plan.find(' ');
  CHECK(space != std::string_view::npos, "plan \"{}\"", plan);
  const auto* const word = std::ranges::find(jitter_words, plan.substr(0, space));
  CHECK(word != jitter_words.end(), "plan \"{}\"", plan);
  const auto jitter = static_cast<Jitter>(word - jitter_words.begin());
  const std::int64_t step = step_of(plan.substr(space + 1), receives);
  if (jitter == Jitter::none) return Duration{step};
  const std::int64_t least = jitter == Jitter::equal ? step - step / 2 : 0;
  const auto spread = static_cast<std::uint64_t>(step - least) + 1;
  return Duration{least + static_cast<std::int64_t>(mix(random) % spread)};
}

}  // namespace pawl

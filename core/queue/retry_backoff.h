// SPDX-License-Identifier: Apache-2.0
// Back-off: how long a message waits for its next delivery after a consumer has returned it, or
// after its visibility timeout has ended.
//
//   "full 1000,2000,4000"    after the first receive 1 s, after the second 2 s, then 4 s each time
//    jitter, steps in ms
//
// Jitter spreads the messages that come back together: `none` waits the step, `equal` from half of
// it to all, `full` from 0 to all.
//
// Units:  ms.
// Limits: backoff_steps_max steps of at most backoff_step_max.
// Errors: none; proto/sqs/backoff.h checks a policy before it is a plan.
// Owner:  the text is an attribute of the queue.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace pawl {

inline constexpr std::size_t backoff_steps_max = 64;
inline constexpr Duration backoff_step_max = seconds(30 * 86'400);

enum class Jitter : std::uint8_t { none, equal, full };
inline constexpr std::array<std::string_view, 3> jitter_words = {"none", "equal", "full"};

std::string backoff_plan(Jitter jitter, std::span<const Duration> steps);

// The wait after the `receives`th receive, 1 or more. The same `random` gives the same wait. An
// empty plan: 0.
Duration backoff_wait(std::string_view plan, std::uint32_t receives, std::uint64_t random);

}  // namespace pawl

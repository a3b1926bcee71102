// SPDX-License-Identifier: Apache-2.0
// The times at which a schedule fires.
//
// A local time that occurs twice, when clocks go back, fires once: at the first of both. One that
// does not exist, when clocks go forward, is skipped or fires at the end of the gap, with the other
// times of this gap.
//
// Units:  an Instant of the wall clock.
// Limits: the local years of cron.h. One call looks at each month of them once at the most.
// Errors: none: an expression that never fires again has no next time.
// Owner:  free functions.
// Source: EventBridge Scheduler User Guide, "Daylight savings time".
#pragma once

#include <cstdint>
#include <optional>

#include "core/base/time.h"
#include "proto/schedule/expression.h"
#include "proto/schedule/zone.h"

namespace pawl {

enum class NonexistentTime : std::uint8_t { next, skip };

struct ScheduleTimes {
  ScheduleExpression expression;
  Zone zone;
  Instant start;  // the first fire of a rate
  NonexistentTime nonexistent = NonexistentTime::next;
};

// The first fire after `after`.
std::optional<Instant> next_fire(const ScheduleTimes& schedule, Instant after);

}  // namespace pawl

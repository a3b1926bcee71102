// SPDX-License-Identifier: Apache-2.0
// The schedule expressions of EventBridge Scheduler.
//
//   at(2026-12-01T09:00:00)    once, at this local time
//   rate(5 minutes)            every so many minutes, hours or days of 24 hours
//   cron(0 9 ? * MON-FRI *)    at the local times that the six fields name (cron.h)
//
// Limits: expression_max characters; the years of cron.h; rate_max.
// Errors: a text with the expression or the field, its value and the allowed values.
// Owner:  values.
// Source: EventBridge Scheduler User Guide, "Schedule types".
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <variant>

#include "core/base/time.h"
#include "proto/schedule/cron.h"

namespace pawl {

inline constexpr std::size_t expression_max = 256;
inline constexpr Duration rate_max = seconds(std::int64_t{36'500} * 86'400);  // 36,500 days

struct OneTime {
  std::chrono::local_seconds at;
};

struct FireRate {
  Duration every;  // at least a minute
};

using ScheduleExpression = std::variant<OneTime, FireRate, CronFields>;

std::expected<ScheduleExpression, std::string> parse_schedule(std::string_view text);

}  // namespace pawl

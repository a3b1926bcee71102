// SPDX-License-Identifier: Apache-2.0
// The fields of a cron expression of EventBridge Scheduler, and the local times that they name.
//
//   minute hour day-of-month month day-of-week year      0 9 ? * MON-FRI *
//
//   field         values               signs
//   minute        0-59                 , - * /
//   hour          0-23                 , - * /
//   day-of-month  1-31                 , - * / ?   L the last day, L-3 three days before it,
//                                      15W the weekday (Monday to Friday) nearest to the 15th in
//                                      its month, LW the last weekday
//   month         1-12 or JAN-DEC      , - * /
//   day-of-week   1-7 or SUN-SAT       , - * / ?   L Saturday, 6L the last Friday of the month,
//                                      6#2 its second Friday (alone in the field)
//   year          1970-2199            , - * /
//
// Exactly one of day-of-month and day-of-week is ?. A range may pass the end of a field, as
// NOV-FEB, but not that of the years. A month without the day is left out, as with 31, 31W, L-30.
//
// Units:  local minutes.
// Limits: cron_year_min to cron_year_max.
// Errors: a text with the field, its value and the allowed values.
// Owner:  values.
// Source: EventBridge Scheduler User Guide, "Schedule types"; Quartz where that guide is silent.
#pragma once

#include <bitset>
#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

inline constexpr int cron_year_min = 1970, cron_year_max = 2199;

using LocalMinutes = std::chrono::local_time<std::chrono::minutes>;

// Sets of values: bit n is the value n.
struct CronFields {
  std::uint64_t minutes = 0;
  std::uint32_t hours = 0;
  std::uint32_t months = 0;                                // 1 to 12
  std::bitset<cron_year_max - cron_year_min + 1> years{};  // bit 0 is cron_year_min

  // Named by day-of-month.
  std::uint32_t days = 0;         // 1 to 31
  std::uint32_t before_last = 0;  // n days before the last one of the month
  std::uint32_t nearest = 0;      // the weekdays nearest to these days
  bool last_weekday = false;
  // Named by day-of-week; Sunday is 1.
  std::uint32_t weekdays = 0;
  std::uint32_t last_weekdays = 0;  // the last ones of the month
  std::uint32_t nth_weekday = 0;    // one value, on its nth occurrence
  int nth = 0;

  // The first time that is not before `from`. Looks at each month once at the most.
  std::optional<LocalMinutes> next(LocalMinutes from) const;
  // The days of a month as bits 1 to 31.
  std::uint32_t days_of(std::chrono::year_month month) const;
};

std::expected<CronFields, std::string> parse_cron(std::string_view fields);

}  // namespace pawl

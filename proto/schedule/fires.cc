// SPDX-License-Identifier: Apache-2.0
#include "proto/schedule/fires.h"

#include <algorithm>
#include <chrono>
#include <variant>

#include "core/base/check.h"

namespace pawl {
namespace {

using FireTime = std::optional<Instant>;

// In UTC; rates end there.
constexpr Instant rates_end{
    std::chrono::milliseconds(
        std::chrono::sys_days(std::chrono::year(cron_year_max + 1) / 1 / 1).time_since_epoch())
        .count()};

bool leaves_out(const ScheduleTimes& schedule, const Zone::Moment& moment) {
  return !moment.exists && schedule.nonexistent == NonexistentTime::skip;
}

FireTime next_one_time(const OneTime& once, const ScheduleTimes& schedule, Instant after) {
  const Zone::Moment moment = schedule.zone.moment(once.at);
  if (leaves_out(schedule, moment) || moment.instant <= after) return std::nullopt;
  return moment.instant;
}

FireTime next_of_rate(FireRate rate, Instant start, Instant after) {
  CHECK(rate.every.ms > 0 && rate.every <= rate_max, "a rate of {} ms", rate.every.ms);
  if (start <= after) start = start + rate.every * ((after.ms - start.ms) / rate.every.ms + 1);
  return start < rates_end ? FireTime(start) : std::nullopt;
}

// Instants never decrease from one local time to the next, so no time before that of `after` is of
// interest. While clocks repeat an hour, the times behind it have passed: they fire at the first.
FireTime next_of_cron(const CronFields& cron, const ScheduleTimes& schedule, Instant after) {
  using std::chrono::minutes;
  LocalMinutes from = std::chrono::floor<minutes>(schedule.zone.local(after));
  while (const auto local = cron.next(from)) {
    CHECK(*local >= from, "a time before the {} wanted", from.time_since_epoch().count());
    const Zone::Moment moment = schedule.zone.moment(*local);
    if (leaves_out(schedule, moment)) {
      const auto gap_end = std::chrono::ceil<minutes>(schedule.zone.local(moment.instant));
      from = std::max(gap_end, *local + minutes(1));  // grows with any zone file
      continue;
    }
    if (moment.instant > after) return moment.instant;
    from = *local + minutes(1);
  }
  return std::nullopt;
}

}  // namespace

std::optional<Instant> next_fire(const ScheduleTimes& schedule, Instant after) {
  if (const auto* const once = std::get_if<OneTime>(&schedule.expression))
    return next_one_time(*once, schedule, after);
  if (const auto* const rate = std::get_if<FireRate>(&schedule.expression))
    return next_of_rate(*rate, schedule.start, after);
  return next_of_cron(std::get<CronFields>(schedule.expression), schedule, after);
}

}  // namespace pawl

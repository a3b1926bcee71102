// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/base/check.h"
#include "proto/schedule/fires.h"
#include "tools/commands.h"
#include "tools/printer.h"
#include "tools/verbs/point_in_time.h"
#include "tools/verbs/schedule_checks.h"
#include "tools/verbs/schedule_verbs.h"

namespace pawl {
namespace {

constexpr std::uint64_t fires_max = 10'000;

struct ScheduleRequest {
  std::string expression;
  std::string zone = "UTC";
  std::string from;  // empty: now
  std::string nonexistent = "next";
  std::uint64_t count = 5;
  OutputOptions output;
};

// +01:00
std::string offset_text(std::chrono::seconds offset) {
  const std::int64_t seconds = std::abs(offset.count());
  std::string text = fmt::format("{}{:02}:{:02}", offset.count() < 0 ? '-' : '+', seconds / 3600,
                                 seconds / 60 % 60);
  if (seconds % 60 != 0) text += fmt::format(":{:02}", seconds % 60);
  return text;
}

Printer::Row row_of(const Zone& zone, Instant fire) {
  constexpr const char* weekdays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  const std::chrono::local_seconds local = zone.local(fire);
  const std::chrono::weekday weekday(std::chrono::floor<std::chrono::days>(local));
  return {
      .cells = {{"local", clock_text(local) + offset_text(zone.offset(fire))},
                {"weekday", weekdays[weekday.c_encoding()]},
                {"utc", clock_text(Zone().local(fire)) + "Z"}}
  };
}

int show_next(const ScheduleRequest& asked) {
  const auto expression = parse_schedule(asked.expression);
  const auto zone = Zone::find(asked.zone);
  CHECK(expression && zone, "the checks accept \"{}\" and \"{}\"", asked.expression, asked.zone);
  const std::int64_t now = wall_clock_ms();
  const std::int64_t from = asked.from.empty() ? now : *point_in_time(asked.from, now);
  const Instant start = Instant{} + seconds(from / 1000);
  const ScheduleTimes schedule{
      *expression, *zone, start,
      asked.nonexistent == "skip" ? NonexistentTime::skip : NonexistentTime::next};
  Printer printer(stdout, asked.output.format(), {"local", "weekday", "utc"});
  std::optional<Instant> fire = start;
  std::uint64_t shown = 0;
  while (shown < asked.count && (fire = next_fire(schedule, *fire))) {
    printer.add(row_of(*zone, *fire));
    ++shown;
  }
  const int code = printer.end();
  if (code != exit_ok || shown > 0) return code;
  return fail_with(exit_not_found, fmt::format("{} does not fire after {}.", asked.expression,
                                               clock_text(Zone().local(start)) + "Z"));
}

void add_next(Verb schedule) {
  Verb next = schedule.add_verb("next", "Shows the coming fires of a schedule expression");
  const auto asked = std::make_shared<ScheduleRequest>();
  next.option("EXPRESSION,--expression", asked->expression,
              "at(2026-12-01T09:00:00), rate(5 minutes) or cron(0 9 ? * MON-FRI *), as EventBridge "
              "Scheduler has them")
      .required()
      .check(check_expression);
  next.option("--zone", asked->zone, "Time zone of the expression, such as Europe/Berlin")
      .value_name("ZONE")
      .check(check_zone)
      .show_default();
  next.option("-n,--count", asked->count, "Most fires to show")
      .value_name("N")
      .check(whole_number(1, fires_max))
      .show_default();
  next.option("--from", asked->from,
              "Only fires after this time, from which a rate counts: 2026-11-22T10:00:00Z, or an "
              "age: 90s, 15m, 2h or 3d (default: now)")
      .value_name("TIME")
      .check(check_point_in_time);
  next.option("--nonexistent", asked->nonexistent,
              "A local time that the clocks leave out fires at the end of the gap (next), or not "
              "at all (skip), as at AWS")
      .value_name("next|skip")
      .check(check_nonexistent)
      .show_default();
  add_output(next, asked->output, "{local, weekday, utc}");
  next.on_given([asked] { return show_next(*asked); });
}

}  // namespace

void add_schedule_command(CommandLine& line) {
  Verb verb = line.add_verb("schedule",
                            "Creates, lists, pauses and deletes schedules; shows when one fires");
  verb.require_verb();
  add_schedule_verbs(verb);
  add_next(verb);
}

}  // namespace pawl

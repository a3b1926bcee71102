// SPDX-License-Identifier: Apache-2.0
#include "proto/schedule/fires.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "proto/text/timestamp.h"

namespace pawl {
namespace {

std::string utc_text(Instant instant) {
  const std::chrono::sys_time<std::chrono::milliseconds> time{
      std::chrono::milliseconds(instant.ms)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time - day).count();
  char text[40];
  snprintf(text, sizeof text, "%d-%02u-%02uT%02d:%02d:%02dZ", int{date.year()},
           unsigned{date.month()}, unsigned{date.day()}, static_cast<int>(seconds / 3600),
           static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
  return text;
}

ScheduleTimes schedule_of(const char* expression, const char* zone,
                          NonexistentTime nonexistent = NonexistentTime::next, Instant start = {}) {
  const auto parsed = parse_schedule(expression);
  EXPECT_TRUE(parsed) << (parsed ? "" : parsed.error());
  const auto found = Zone::find(zone);
  EXPECT_TRUE(found) << (found ? "" : found.error());
  return {parsed.value_or(OneTime{}), found.value_or(Zone()), start, nonexistent};
}

std::vector<std::string> fires_after(const ScheduleTimes& schedule, const char* after,
                                     std::size_t count) {
  std::vector<std::string> found;
  std::optional<Instant> at = parse_timestamp(after);
  EXPECT_TRUE(at) << after;
  while (found.size() < count && (at = next_fire(schedule, *at))) found.push_back(utc_text(*at));
  return found;
}

using Fires = std::vector<std::string>;

TEST(NextFire, OfCronFollowsTheClocksOfTheZone) {
  const auto schedule = schedule_of("cron(0 9 * * ? *)", "Europe/Berlin");
  EXPECT_EQ(fires_after(schedule, "2026-03-27T12:00:00Z", 3),
            (Fires{"2026-03-28T08:00:00Z", "2026-03-29T07:00:00Z", "2026-03-30T07:00:00Z"}));
  EXPECT_EQ(fires_after(schedule, "2026-10-24T12:00:00Z", 2),
            (Fires{"2026-10-25T08:00:00Z", "2026-10-26T08:00:00Z"}));
  EXPECT_EQ(fires_after(schedule, "2099-03-28T12:00:00Z", 2),
            (Fires{"2099-03-29T07:00:00Z", "2099-03-30T07:00:00Z"}));
}

TEST(NextFire, IsStrictlyLater) {
  const auto schedule = schedule_of("cron(0 9 * * ? *)", "UTC");
  EXPECT_EQ(fires_after(schedule, "2026-01-01T08:59:59.999Z", 1), Fires{"2026-01-01T09:00:00Z"});
  EXPECT_EQ(fires_after(schedule, "2026-01-01T09:00:00Z", 1), Fires{"2026-01-02T09:00:00Z"});
  EXPECT_EQ(fires_after(schedule, "2026-01-01T09:00:00.001Z", 1), Fires{"2026-01-02T09:00:00Z"});
}

TEST(NextFire, OfALocalTimeThatOccursTwiceIsTheFirst) {
  const auto half = schedule_of("cron(30 2 * * ? *)", "Europe/Berlin");
  EXPECT_EQ(fires_after(half, "2026-10-24T12:00:00Z", 2),
            (Fires{"2026-10-25T00:30:00Z", "2026-10-26T01:30:00Z"}));
  // from within the second hour
  EXPECT_EQ(fires_after(half, "2026-10-25T01:10:00Z", 1), Fires{"2026-10-26T01:30:00Z"});
  const auto quarters = schedule_of("cron(0/20 * * * ? *)", "Europe/Berlin");
  EXPECT_EQ(fires_after(quarters, "2026-10-25T00:19:00Z", 4),
            (Fires{"2026-10-25T00:20:00Z", "2026-10-25T00:40:00Z", "2026-10-25T02:00:00Z",
                   "2026-10-25T02:20:00Z"}));
  EXPECT_EQ(fires_after(quarters, "2026-10-25T01:30:00Z", 1), Fires{"2026-10-25T02:00:00Z"});
  const auto lord_howe = schedule_of("cron(45 1 * * ? *)", "Australia/Lord_Howe");
  EXPECT_EQ(fires_after(lord_howe, "2026-04-04T00:00:00Z", 2),
            (Fires{"2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}));
}

TEST(NextFire, OfALocalTimeThatDoesNotExist) {
  const auto next = schedule_of("cron(30 2 * * ? *)", "Europe/Berlin");
  const auto skip = schedule_of("cron(30 2 * * ? *)", "Europe/Berlin", NonexistentTime::skip);
  EXPECT_EQ(fires_after(next, "2026-03-28T02:00:00Z", 2),
            (Fires{"2026-03-29T01:00:00Z", "2026-03-30T00:30:00Z"}));
  EXPECT_EQ(fires_after(skip, "2026-03-28T02:00:00Z", 1), Fires{"2026-03-30T00:30:00Z"});
  // all times of the gap, and the one at its end, are one fire
  const auto minutes = schedule_of("cron(* 2,3 29 3 ? 2026)", "Europe/Berlin");
  EXPECT_EQ(fires_after(minutes, "2026-03-28T00:00:00Z", 2),
            (Fires{"2026-03-29T01:00:00Z", "2026-03-29T01:01:00Z"}));
  const auto midnight = schedule_of("cron(0 0 * * ? *)", "America/Sao_Paulo");
  EXPECT_EQ(fires_after(midnight, "2018-11-03T12:00:00Z", 2),
            (Fires{"2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}));
  const auto cairo = schedule_of("cron(0 0 * * ? *)", "Africa/Cairo", NonexistentTime::skip);
  EXPECT_EQ(fires_after(cairo, "2026-04-22T22:30:00Z", 2),
            (Fires{"2026-04-24T21:00:00Z", "2026-04-25T21:00:00Z"}));
  const auto apia = schedule_of("cron(0 12 * * ? *)", "Pacific/Apia");
  EXPECT_EQ(fires_after(apia, "2011-12-29T20:00:00Z", 3),
            (Fires{"2011-12-29T22:00:00Z", "2011-12-30T10:00:00Z", "2011-12-30T22:00:00Z"}));
}

TEST(NextFire, OfOneTime) {
  const auto once = schedule_of("at(2026-12-01T09:00:00)", "Europe/Berlin");
  EXPECT_EQ(fires_after(once, "2026-01-01T00:00:00Z", 2), Fires{"2026-12-01T08:00:00Z"});
  EXPECT_EQ(fires_after(once, "2026-12-01T08:00:00Z", 1), Fires{});
  const char* const missing = "at(2026-03-29T02:30:00)";
  EXPECT_EQ(fires_after(schedule_of(missing, "Europe/Berlin"), "2026-01-01T00:00:00Z", 1),
            Fires{"2026-03-29T01:00:00Z"});
  const auto skipped = schedule_of(missing, "Europe/Berlin", NonexistentTime::skip);
  EXPECT_EQ(fires_after(skipped, "2026-01-01T00:00:00Z", 1), Fires{});
  const auto twice = schedule_of("at(2026-10-25T02:30:00)", "Europe/Berlin");
  EXPECT_EQ(fires_after(twice, "2026-01-01T00:00:00Z", 2), Fires{"2026-10-25T00:30:00Z"});
}

TEST(NextFire, OfARateCountsFromItsStart) {
  const Instant start = *parse_timestamp("2026-03-28T12:00:07Z");
  const auto daily = schedule_of("rate(1 day)", "Europe/Berlin", NonexistentTime::next, start);
  EXPECT_EQ(fires_after(daily, "2026-01-01T00:00:00Z", 3),
            (Fires{"2026-03-28T12:00:07Z", "2026-03-29T12:00:07Z", "2026-03-30T12:00:07Z"}));
  EXPECT_EQ(fires_after(daily, "2026-03-28T12:00:07Z", 1), Fires{"2026-03-29T12:00:07Z"});
  EXPECT_EQ(fires_after(daily, "2036-03-28T12:00:06.999Z", 1), Fires{"2036-03-28T12:00:07Z"});
  const auto minutes = schedule_of("rate(7 minutes)", "UTC", NonexistentTime::next, start);
  EXPECT_EQ(fires_after(minutes, "2026-03-28T12:07:08Z", 1), Fires{"2026-03-28T12:14:07Z"});
  const auto century = schedule_of("rate(36500 days)", "UTC", NonexistentTime::next, start);
  EXPECT_EQ(fires_after(century, "2026-03-28T12:00:00Z", 9),
            (Fires{"2026-03-28T12:00:07Z", "2126-03-04T12:00:07Z"}));
}

TEST(NextFire, EndsWithTheYear2199) {
  const auto minutes = schedule_of("cron(* * * * ? *)", "America/New_York");
  EXPECT_EQ(fires_after(minutes, "2200-01-01T04:58:00Z", 2), Fires{"2200-01-01T04:59:00Z"});
  const auto rate = schedule_of("rate(1 minute)", "America/New_York");
  EXPECT_EQ(fires_after(rate, "2199-12-31T23:58:00Z", 2), Fires{"2199-12-31T23:59:00Z"});
  const auto first = schedule_of("cron(* * * * ? *)", "Asia/Tokyo");
  EXPECT_EQ(fires_after(first, "1960-01-01T00:00:00Z", 1), Fires{"1969-12-31T15:00:00Z"});
}

// Two hundred years of times that are all left out: the search goes from gap to gap.
TEST(NextFire, OfTimesThatNeverExistIsNoneAtOnce) {
  const auto gap = schedule_of("cron(* 2 ? 3 1L *)", "Europe/Berlin", NonexistentTime::skip);
  EXPECT_EQ(fires_after(gap, "1996-12-01T00:00:00Z", 1), Fires{});
  EXPECT_EQ(
      fires_after(schedule_of("cron(* * 30 2 ? *)", "Europe/Berlin"), "1970-01-01T00:00:00Z", 1),
      Fires{});
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/point_in_time.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>

#include "proto/text/timestamp.h"

namespace pawl {
namespace {

constexpr std::int64_t second_ms = 1000, day_ms = 86'400 * second_ms;

// A time before `now`: 90s, 15m, 2h or 3d.
std::optional<std::int64_t> time_ago(std::string_view text, std::int64_t now) {
  constexpr std::size_t digits_max = 9;
  constexpr std::string_view units = "smhd";
  constexpr std::int64_t unit_ms[] = {second_ms, 60 * second_ms, 3600 * second_ms, day_ms};
  if (text.size() < 2 || text.size() > digits_max + 1) return std::nullopt;
  std::uint32_t count = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size() - 1, count);
  if (error != std::errc() || stop != text.data() + text.size() - 1) return std::nullopt;
  const std::size_t unit = units.find(text.back());
  return unit == units.npos ? std::nullopt : std::optional(now - count * unit_ms[unit]);
}

}  // namespace

std::int64_t wall_clock_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

// 0 is refused: to StartReplay it means the oldest retained message, or now.
std::optional<std::int64_t> point_in_time(std::string_view text, std::int64_t now) {
  if (!text.contains('T')) {
    const auto time = time_ago(text, now);
    return time && *time > 0 ? time : std::nullopt;
  }
  const std::optional<Instant> time = parse_timestamp(text);
  return time && time->ms > 0 ? std::optional(time->ms) : std::nullopt;
}

std::string check_point_in_time(const std::string& text) {
  if (point_in_time(text, wall_clock_ms())) return {};
  return fmt::format(
      "\"{}\" is not a time after 1970. Write it in UTC as 2026-11-22T10:00:00Z, or as an age: "
      "90s, 15m, 2h or 3d.",
      text);
}

std::string time_text(std::int64_t ms) {
  constexpr std::int64_t year_10000_ms =
      253'402'300'800 * second_ms;  // a text has four digits for the year
  ms = std::clamp<std::int64_t>(ms, 0, year_10000_ms - 1);
  const std::chrono::local_seconds time(std::chrono::seconds(ms / second_ms));
  return fmt::format("{}.{:03}Z", clock_text(time), ms % second_ms);
}

std::string clock_text(std::chrono::local_seconds time) {
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss clock(time - midnight);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

}  // namespace pawl

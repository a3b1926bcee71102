// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/point_in_time.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace pawl {
namespace {

constexpr std::int64_t second_ms = 1000, day_ms = 86'400 * second_ms;

bool take(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

// A number of exactly `digits` digits.
bool take(std::string_view& text, std::size_t digits, unsigned& number) {
  if (text.size() < digits) return false;
  const char* const end = text.data() + digits;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  text.remove_prefix(digits);
  return error == std::errc() && stop == end;
}

// The optional fraction of a second; digits after the third are ignored.
bool take_fraction(std::string_view& text, unsigned& ms) {
  if (!take(text, '.')) return true;
  std::string digits(text.substr(0, text.find_first_not_of("0123456789")));
  text.remove_prefix(digits.size());
  if (digits.empty()) return false;
  digits.resize(3, '0');
  std::string_view rest = digits;
  return take(rest, 3, ms);
}

// A time of RFC 3339, such as 2026-11-22T10:00:00Z, in UTC only.
std::optional<std::int64_t> calendar_time(std::string_view text) {
  unsigned year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0;
  const bool read = take(text, 4, year) && take(text, '-') && take(text, 2, month) &&
                    take(text, '-') && take(text, 2, day) && take(text, 'T') &&
                    take(text, 2, hour) && take(text, ':') && take(text, 2, minute) &&
                    take(text, ':') && take(text, 2, second) && take_fraction(text, ms) &&
                    text == "Z";
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(month), std::chrono::day(day)};
  if (!read || !date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return days * day_ms + (hour * 3600 + minute * 60 + second) * second_ms + ms;
}

// A time before `now`: 90s, 15m, 2h or 3d.
std::optional<std::int64_t> time_ago(std::string_view text, std::int64_t now) {
  constexpr std::size_t digits_max = 9;
  constexpr std::string_view units = "smhd";
  constexpr std::int64_t unit_ms[] = {second_ms, 60 * second_ms, 3600 * second_ms, day_ms};
  const std::size_t digits = text.empty() ? 0 : text.size() - 1;
  unsigned count = 0;
  if (digits < 1 || digits > digits_max || !take(text, digits, count)) return std::nullopt;
  const std::size_t unit = units.find(text.front());
  return unit == units.npos ? std::nullopt : std::optional(now - count * unit_ms[unit]);
}

}  // namespace

std::int64_t wall_clock_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

// 0 is refused: to StartReplay it means the oldest retained message, or now.
std::optional<std::int64_t> point_in_time(std::string_view text, std::int64_t now) {
  const auto time = text.ends_with('Z') ? calendar_time(text) : time_ago(text, now);
  return time && *time > 0 ? time : std::nullopt;
}

std::string time_text(std::int64_t ms) {
  constexpr std::int64_t year_10000_ms =
      253'402'300'800 * second_ms;  // a text has four digits for the year
  ms = std::clamp<std::int64_t>(ms, 0, year_10000_ms - 1);
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(ms)};
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(midnight);
  const std::chrono::hh_mm_ss clock(time - midnight);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count());
}

}  // namespace pawl

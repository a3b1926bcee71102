// SPDX-License-Identifier: Apache-2.0
#include "proto/text/timestamp.h"

#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <string>

#include "core/base/check.h"

namespace pawl {
namespace {

bool take_character(std::string_view& text, char wanted) {
  if (!text.starts_with(wanted)) return false;
  text.remove_prefix(1);
  return true;
}

// A number of exactly `digits` digits.
bool take_digits(std::string_view& text, std::size_t digits, unsigned& number) {
  if (text.size() < digits) return false;
  const char* const end = text.data() + digits;
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  text.remove_prefix(digits);
  return error == std::errc() && stop == end;
}

// The optional fraction of a second, in milliseconds.
bool take_fraction(std::string_view& text, unsigned& ms) {
  if (!take_character(text, '.')) return true;
  std::string digits(text.substr(0, text.find_first_not_of("0123456789")));
  text.remove_prefix(digits.size());
  if (digits.empty()) return false;
  digits.resize(3, '0');
  std::string_view rest = digits;
  return take_digits(rest, 3, ms);
}

// The offset from UTC at the end, in minutes: Z, +01:00 or -0530.
bool take_offset(std::string_view& text, int& minutes) {
  if (text == "Z") {
    text = {};
    return true;
  }
  const bool west = text.starts_with('-');
  unsigned hour = 0, minute = 0;
  if (!take_character(text, west ? '-' : '+') || !take_digits(text, 2, hour)) return false;
  take_character(text, ':');
  if (!take_digits(text, 2, minute) || !text.empty() || hour > 23 || minute > 59) return false;
  minutes = static_cast<int>(hour * 60 + minute) * (west ? -1 : 1);
  return true;
}

}  // namespace

std::optional<Instant> parse_timestamp(std::string_view text) {
  unsigned year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0, ms = 0;
  int offset = 0;
  const bool read =
      take_digits(text, 4, year) && take_character(text, '-') && take_digits(text, 2, month) &&
      take_character(text, '-') && take_digits(text, 2, day) && take_character(text, 'T') &&
      take_digits(text, 2, hour) && take_character(text, ':') && take_digits(text, 2, minute) &&
      take_character(text, ':') && take_digits(text, 2, second) && take_fraction(text, ms) &&
      take_offset(text, offset);
  if (!read) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(month), std::chrono::day(day)};
  if (!date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  CHECK(text.empty() && ms < 1000, "{} is left of a time", text);
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const std::int64_t minutes = days * 24 * 60 + std::int64_t{hour} * 60 + minute - offset;
  return Instant{(minutes * 60 + second) * 1000 + ms};
}

std::string timestamp_text(Instant time) {
  using std::chrono::floor;
  const std::chrono::sys_time<std::chrono::milliseconds> exact{std::chrono::milliseconds(time.ms)};
  const auto day = floor<std::chrono::days>(exact);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(floor<std::chrono::seconds>(exact - day));
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count());
}

std::string timestamp_ms_text(Instant time) {
  std::string text = timestamp_text(time);
  text.pop_back();  // the Z
  const std::int64_t ms = time.ms % 1000;
  return text + fmt::format(".{:03}Z", ms < 0 ? ms + 1000 : ms);
}

}  // namespace pawl

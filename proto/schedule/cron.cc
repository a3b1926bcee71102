// SPDX-License-Identifier: Apache-2.0
#include "proto/schedule/cron.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <span>
#include <utility>
#include <vector>

#include "core/base/check.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

using std::chrono::local_days;
using std::chrono::year;
using std::chrono::year_month;
using InDay = std::chrono::minutes;  // from midnight on

constexpr std::string_view month_names[] = {"JAN", "FEB", "MAR", "APR", "MAY", "JUN",
                                            "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"};
constexpr std::string_view weekday_names[] = {"SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"};
constexpr int sunday = 1, saturday = 7, occurrences_max = 5;

struct CronField {
  std::string_view name;
  int min, max;
  std::span<const std::string_view> names = {};  // of `min` and the values after it
  std::string_view takes;                        // for error texts
};

constexpr CronField minute_field{"minute", 0, 59, {}, "0-59 with , - * /"};
constexpr CronField hour_field{"hour", 0, 23, {}, "0-23 with , - * /"};
constexpr CronField day_field{"day-of-month", 1, 31, {}, "1-31 with , - * / or ?, L, L-3, 15W, LW"};
constexpr CronField month_field{"month", 1, 12, month_names, "1-12 or JAN-DEC with , - * /"};
constexpr CronField weekday_field{"day-of-week", sunday, saturday, weekday_names,
                                  "1-7 or SUN-SAT with , - * / or ?, L, 6L, 6#2"};
constexpr CronField year_field{"year", cron_year_min, cron_year_max, {}, "1970-2199 with , - * /"};

// Bit n is the value n, of the year field the value cron_year_min + n.
using CronValues = decltype(CronFields::years);

constexpr std::uint32_t bit(int n) { return std::uint32_t{1} << n; }
constexpr std::uint32_t days_mask(int last) { return (bit(last) - 1) << 1; }  // bits 1 to `last`

constexpr int span_of(const CronField& field) { return field.max - field.min + 1; }

// The reason why a field is refused; empty: it is not.
using Reason = std::string;

std::optional<int> value_of(const CronField& field, std::string_view text) {
  const auto name = std::ranges::find_if(
      field.names, [&](std::string_view known) { return equals_ignoring_case(known, text); });
  if (name != field.names.end()) return field.min + static_cast<int>(name - field.names.begin());
  const bool is_year = field.max == cron_year_max;
  if (is_year ? text.size() != 4 : text.size() > 2) return std::nullopt;
  const auto number = decimal_number(text);
  if (!number || std::cmp_less(*number, field.min) || std::cmp_greater(*number, field.max))
    return std::nullopt;
  return static_cast<int>(*number);
}

// From `first` to `last`, beyond the end of the field if `last` is smaller.
void add_values(const CronField& field, int first, int last, int step, CronValues& out) {
  const int base = field.max == cron_year_max ? cron_year_min : 0;
  CHECK(step > 0 && first >= field.min && last <= field.max, "{} {}-{}/{}", field.name, first, last,
        step);
  if (last < first) last += span_of(field);
  for (int value = first; value <= last; value += step)
    out.set(static_cast<std::size_t>((value > field.max ? value - span_of(field) : value) - base));
}

// A value, a range or *, each also with a step.
Reason add_item(const CronField& field, std::string_view item, CronValues& out) {
  const std::size_t slash = item.find('/');
  const std::string_view range = item.substr(0, slash);
  std::uint64_t step = 1;
  if (slash != item.npos) {
    const auto number = decimal_number(item.substr(slash + 1));
    if (!number || *number == 0 || std::cmp_greater(*number, span_of(field)))
      return fmt::format("the step behind / is a number from 1 to {}", span_of(field));
    step = *number;
  }
  const std::size_t dash = range.find('-');
  const auto first = range == "*" ? field.min : value_of(field, range.substr(0, dash));
  std::optional<int> last = first;
  if (dash != range.npos) last = value_of(field, range.substr(dash + 1));
  if (dash == range.npos && (range == "*" || slash != item.npos)) last = field.max;
  if (!first || !last) return fmt::format("\"{}\" is not allowed", range);
  if (*last < *first && field.max == cron_year_max)
    return fmt::format("{} comes after {}", *first, *last);
  add_values(field, *first, *last, static_cast<int>(step), out);
  return {};
}

// L, LW, L-3 or 15W; none: the item is no such word.
std::optional<Reason> add_special_day(std::string_view item, CronFields& out) {
  if (equals_ignoring_case(item, "L")) {
    out.before_last |= bit(0);
  } else if (equals_ignoring_case(item, "LW")) {
    out.last_weekday = true;
  } else if (starts_with_ignoring_case(item, "L-")) {
    const auto before = decimal_number(item.substr(2));
    if (!before || *before == 0 || *before >= 31)
      return "L- takes 1 to 30 days before the last one";
    out.before_last |= bit(static_cast<int>(*before));
  } else if (!item.empty() && lower(item.back()) == 'w') {
    const auto day = value_of(day_field, item.substr(0, item.size() - 1));
    if (!day) return "W follows a day from 1 to 31, or L";
    out.nearest |= bit(*day);
  } else {
    return std::nullopt;
  }
  return Reason();
}

// L, 6L or 6#2; none: the item is no such word.
std::optional<Reason> add_special_weekday(std::string_view item, bool alone, CronFields& out) {
  if (const std::size_t hash = item.find('#'); hash != item.npos) {
    const auto weekday = value_of(weekday_field, item.substr(0, hash));
    const auto nth = decimal_number(item.substr(hash + 1));
    if (!weekday || !nth || *nth == 0 || *nth > occurrences_max)
      return "write a day, # and its occurrence in the month from 1 to 5";
    if (!alone) return "an item with # is alone in the field";
    out.nth_weekday = bit(*weekday);
    out.nth = static_cast<int>(*nth);
    return Reason();
  }
  if (item.empty() || lower(item.back()) != 'l') return std::nullopt;
  if (item.size() == 1) {
    out.weekdays |= bit(saturday);
    return Reason();
  }
  const auto weekday = value_of(weekday_field, item.substr(0, item.size() - 1));
  if (!weekday) return "L stands alone, or follows a day";
  out.last_weekdays |= bit(*weekday);
  return Reason();
}

std::vector<std::string_view> split(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = std::min(text.find_first_of(separators), text.size());
    parts.push_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

// Reads a field; `add_special` gets each item before add_item().
template <typename AddSpecial>
bool read_cron_field(const CronField& field, std::string_view text, CronValues& values,
                     std::string& error, AddSpecial add_special) {
  const auto items = split(text, ",");
  for (const std::string_view item : items) {
    const std::optional<Reason> special = add_special(item, items.size() == 1);
    const Reason reason = special ? *special : add_item(field, item, values);
    if (reason.empty()) continue;
    error = fmt::format("the {} of cron is \"{}\": {}. It takes {}", field.name, text, reason,
                        field.takes);
    return false;
  }
  return true;
}

bool read_plain_field(const CronField& field, std::string_view text, CronValues& values,
                      std::string& error) {
  return read_cron_field(field, text, values, error,
                         [](std::string_view, bool) { return std::optional<Reason>(); });
}

bool read_days(std::string_view day, std::string_view weekday, CronFields& out,
               std::string& error) {
  if ((day == "?") == (weekday == "?")) {
    error = fmt::format(
        "the day-of-month of cron is \"{}\", the day-of-week \"{}\": write ? for one and a value "
        "or * for the other",
        day, weekday);
    return false;
  }
  CronValues values;
  if (weekday == "?") {
    const auto special = [&](std::string_view item, bool) { return add_special_day(item, out); };
    if (!read_cron_field(day_field, day, values, error, special)) return false;
    out.days = static_cast<std::uint32_t>(values.to_ulong());
    return true;
  }
  const auto special = [&](std::string_view item, bool alone) {
    return add_special_weekday(item, alone, out);
  };
  if (!read_cron_field(weekday_field, weekday, values, error, special)) return false;
  out.weekdays |= static_cast<std::uint32_t>(values.to_ulong());
  return true;
}

// The first time of a day that is not before `from`; a field's set is not empty.
std::optional<InDay> next_in_day(const CronFields& cron, InDay from) {
  const int hour = static_cast<int>(from.count() / 60);
  const std::uint64_t rest = cron.minutes >> (from.count() % 60);
  if ((cron.hours & bit(hour)) != 0 && rest != 0) return from + InDay(std::countr_zero(rest));
  const std::uint32_t later = cron.hours & ~(bit(hour + 1) - 1);
  if (later == 0) return std::nullopt;
  return InDay(std::countr_zero(later) * 60 + std::countr_zero(cron.minutes));
}

// The weekday, Monday to Friday, nearest to a day of the month.
int nearest_weekday(int day, int last, int weekday) {
  if (weekday == saturday) return day == 1 ? day + 2 : day - 1;
  if (weekday == sunday) return day == last ? day - 2 : day + 1;
  return day;
}

}  // namespace

std::uint32_t CronFields::days_of(year_month month) const {
  using std::chrono::year_month_day_last;
  CHECK(month.ok(), "month {} of {}", unsigned{month.month()}, int{month.year()});
  const std::chrono::month_day_last month_end(month.month());
  const int last = static_cast<int>(unsigned{year_month_day_last(month.year(), month_end).day()});
  const std::chrono::weekday first(local_days(month / 1));
  std::uint32_t found = days_mask(last) & this->days;
  for (int day = 1; day <= last; ++day) {
    const int weekday = static_cast<int>((first.c_encoding() + unsigned(day) - 1) % 7) + 1;
    if ((weekdays & bit(weekday)) != 0) found |= bit(day);
    if ((last_weekdays & bit(weekday)) != 0 && day + 7 > last) found |= bit(day);
    if ((nth_weekday & bit(weekday)) != 0 && (day - 1) / 7 + 1 == nth) found |= bit(day);
    if ((before_last & bit(last - day)) != 0) found |= bit(day);
    if ((nearest & bit(day)) != 0) found |= bit(nearest_weekday(day, last, weekday));
    if (last_weekday && day == last) found |= bit(nearest_weekday(day, last, weekday));
  }
  CHECK((found & ~days_mask(last)) == 0, "days {} of a month of {}", found, last);
  return found;
}

std::optional<LocalMinutes> CronFields::next(LocalMinutes from) const {
  CHECK(hours != 0 && minutes != 0 && months != 0 && years.any(), "an empty field");
  const LocalMinutes begin = local_days(year(cron_year_min) / 1 / 1);
  from = std::max(from, begin);
  const local_days first_day = std::chrono::floor<std::chrono::days>(from);
  const std::chrono::year_month_day first(first_day);
  for (year_month month(first.year(), first.month()); int{month.year()} <= cron_year_max;
       month += std::chrono::months(1)) {
    const bool wanted = years[static_cast<std::size_t>(int{month.year()} - cron_year_min)] &&
                        (months & bit(static_cast<int>(unsigned{month.month()}))) != 0;
    if (!wanted) continue;
    for (std::uint32_t left = days_of(month); left != 0; left &= left - 1) {
      const local_days day(month / std::countr_zero(left));
      if (day < first_day) continue;
      const auto begin_in_day = day == first_day ? from - LocalMinutes(day) : InDay::zero();
      const std::optional<InDay> time = next_in_day(*this, begin_in_day);
      if (time) return LocalMinutes(day) + *time;
    }
  }
  return std::nullopt;
}

std::expected<CronFields, std::string> parse_cron(std::string_view text) {
  auto fields = split(text, " \t");
  std::erase(fields, "");
  if (fields.size() != 6)
    return std::unexpected(fmt::format(
        "cron takes six fields, minute hour day-of-month month day-of-week year, as 0 9 * * ? *; "
        "\"{}\" has {}",
        text, fields.size()));
  CronFields out;
  CronValues minute, hour, month;
  std::string error;
  if (!read_plain_field(minute_field, fields[0], minute, error) ||
      !read_plain_field(hour_field, fields[1], hour, error) ||
      !read_plain_field(month_field, fields[3], month, error) ||
      !read_days(fields[2], fields[4], out, error) ||
      !read_plain_field(year_field, fields[5], out.years, error))
    return std::unexpected(error);
  out.minutes = minute.to_ullong();
  out.hours = static_cast<std::uint32_t>(hour.to_ulong());
  out.months = static_cast<std::uint32_t>(month.to_ulong());
  return out;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/schedule/expression.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/base/check.h"
#include "proto/text/text.h"
#include "proto/text/timestamp.h"

namespace pawl {
namespace {

using ParsedSchedule = std::expected<ScheduleExpression, std::string>;

constexpr std::string_view spaces = " \t";

struct RateUnit {
  std::string_view name;  // of one; an s follows for more
  Duration length;
};

constexpr RateUnit rate_units[] = {
    {"minute", seconds(60)    },
    {"hour",   seconds(3'600) },
    {"day",    seconds(86'400)},
};

// The text between `name(` and `)`; none: the expression has another form.
std::optional<std::string_view> inside(std::string_view text, std::string_view name) {
  if (!text.starts_with(name) || !text.ends_with(')') || text[name.size()] != '(')
    return std::nullopt;
  return text.substr(name.size() + 1, text.size() - name.size() - 2);
}

ParsedSchedule parse_at(std::string_view text) {
  constexpr std::string_view form = "2026-12-01T09:00:00";
  // The form of a time in UTC without its Z; an offset would make it longer.
  const auto time =
      text.size() == form.size() ? parse_timestamp(std::string(text) + "Z") : std::nullopt;
  if (!time)
    return std::unexpected(
        fmt::format("the time of at is \"{}\". Write a day and a time that exist, in the time zone "
                    "of the schedule and without an offset, as at({})",
                    text, form));
  const std::chrono::local_seconds local(std::chrono::seconds(time->ms / 1000));
  const auto day = std::chrono::floor<std::chrono::days>(local);
  const int year{std::chrono::year_month_day(day).year()};
  if (year < cron_year_min || year > cron_year_max)
    return std::unexpected(
        fmt::format("the year of at is {}. It takes {} to {}", year, cron_year_min, cron_year_max));
  CHECK(time->ms % 1000 == 0, "{} ms of {}", time->ms, text);
  return OneTime{local};
}

ParsedSchedule parse_rate(std::string_view text) {
  const std::size_t gap = std::min(text.find_first_of(spaces), text.size());
  const std::string_view number = text.substr(0, gap);
  std::string_view unit = text.substr(gap);
  unit.remove_prefix(std::min(unit.find_first_not_of(spaces), unit.size()));
  const auto value = decimal_number(number);
  if (!value || *value == 0)
    return std::unexpected(
        fmt::format("the value of rate is \"{}\". Write a whole number from 1 on and a unit, as "
                    "rate(5 minutes)",
                    number));
  for (const auto& [name, length] : rate_units) {
    const std::string several = fmt::format("{}s", name);
    if (unit != name && unit != several) continue;
    const std::string_view wanted = *value == 1 ? name : several;
    if (unit != wanted)
      return std::unexpected(
          fmt::format("the unit of rate is \"{}\". Write rate({} {})", unit, *value, wanted));
    const std::int64_t most = rate_max.ms / length.ms;
    if (std::cmp_greater(*value, most))
      return std::unexpected(fmt::format("the value of rate is {} {}. It takes up to {} {}", *value,
                                         unit, most, unit));
    return FireRate{length * static_cast<std::int64_t>(*value)};
  }
  return std::unexpected(fmt::format(
      "the unit of rate is \"{}\". It takes minute, minutes, hour, hours, day or days", unit));
}

ParsedSchedule parse_trusted(std::string_view text) {
  if (const auto time = inside(text, "at")) return parse_at(*time);
  if (const auto rate = inside(text, "rate")) return parse_rate(*rate);
  const auto fields = inside(text, "cron");
  if (!fields)
    return std::unexpected(
        fmt::format("the schedule expression is \"{}\". It takes at(2026-12-01T09:00:00), "
                    "rate(5 minutes) or cron(0 9 * * ? *)",
                    text));
  auto cron = parse_cron(*fields);
  if (!cron) return std::unexpected(std::move(cron.error()));
  return *cron;
}

}  // namespace

std::expected<ScheduleExpression, std::string> parse_schedule(std::string_view text) {
  if (text.size() > expression_max)
    return std::unexpected(
        fmt::format("the schedule expression has {} characters. It takes up to {}", text.size(),
                    expression_max));
  auto parsed = parse_trusted(text);
  if (!parsed) make_printable(parsed.error());
  return parsed;
}

}  // namespace pawl

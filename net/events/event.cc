// SPDX-License-Identifier: Apache-2.0
#include "net/events/event.h"

#include <fmt/core.h>

#include <chrono>

#include "proto/text/json.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

void add_text(JsonWriter& json, std::string_view key, std::string text) {
  make_printable(text);
  json.member(key, std::string_view(text));
}

std::string json_line(const Event& event) {
  const EventRow& row = row_of(event.code);
  std::string line;
  JsonWriter json(line);
  json.begin_object();
  json.plain_member("time", rfc3339(event.time_us));
  json.plain_member("level", name_of(row.level));
  json.plain_member("code", name_of(event.code));
  json.plain_member("msg", row.message);
  add_text(json, "text", event.text);
  for (const EventField& field : event.fields) {
    if (const auto* const text = std::get_if<std::string>(&field.value))
      add_text(json, field.key, *text);
    else if (const auto* const number = std::get_if<std::int64_t>(&field.value))
      json.member(field.key, *number);
    else
      json.member(field.key, std::get<std::uint64_t>(field.value));
  }
  if (event.suppressed != 0) json.member("suppressed", event.suppressed);
  json.end_object();
  return line + "\n";
}

std::string text_line(const Event& event) {
  std::string line = fmt::format("{}{}", row_of(event.code).prefix, event.text);
  if (event.suppressed != 0)
    line += fmt::format("{} {} more since the last such line", line.ends_with('.') ? "" : ";",
                        event.suppressed);
  return line + "\n";
}

}  // namespace

std::string rfc3339(std::int64_t us) {
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds{us / 1000}};
  const auto midnight = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(midnight);
  const auto ms = (time - midnight).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60, ms % 1000);
}

std::string line_of(const Event& event, LogFormat format) {
  return format == LogFormat::json ? json_line(event) : text_line(event);
}

}  // namespace pawl

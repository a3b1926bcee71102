// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/schedule_checks.h"

#include <fmt/core.h>

#include "proto/schedule/fires.h"
#include "proto/scheduler/members.h"
#include "proto/text/timestamp.h"

namespace pawl {

std::string check_schedule_name(const std::string& text) {
  std::string unused;
  if (check_api_text(text, "name", api_name_rule, unused)) return {};
  return fmt::format("\"{}\" is no name: write 1 to {} letters, digits, - _ and dots.", text,
                     api_name_rule.max);
}

std::string check_expression(const std::string& text) {
  const auto parsed = parse_schedule(text);
  return parsed ? "" : fmt::format("{}.", parsed.error());
}

std::string check_zone(const std::string& text) {
  const auto zone = Zone::find(text);
  return zone ? "" : zone.error();
}

std::string check_nonexistent(const std::string& text) {
  if (text == "next" || text == "skip") return {};
  return fmt::format("\"{}\" is not next or skip.", text);
}

std::string check_catch_up(const std::string& text) {
  if (text == "none" || text == "last" || text == "all") return {};
  return fmt::format("\"{}\" is not none, last or all.", text);
}

std::string check_overlap(const std::string& text) {
  if (text == "allow" || text == "skip") return {};
  return fmt::format("\"{}\" is not allow or skip.", text);
}

std::string check_schedule_time(const std::string& text) {
  if (const auto time = parse_timestamp(text); time && time->ms > 0) return {};
  return fmt::format("\"{}\" is not a time. Write it as {}, or with an offset, +01:00.", text,
                     timestamp_form);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/scheduler/members.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "core/base/check.h"
#include "proto/errors/sqs_errors.h"
#include "proto/text/text.h"
#include "proto/text/timestamp.h"

namespace pawl {
namespace {

// Dates up to the last year of cron expressions.
constexpr double date_max_s = 7'258'118'400;

bool is_name_character(char c) {
  return (lower(c) >= 'a' && lower(c) <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

bool fits_name(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_name_character(c) || c == '.'; });
}
bool fits_token(std::string_view text) { return std::ranges::all_of(text, is_name_character); }

}  // namespace

constinit const ApiTextRule api_name_rule{1, 64, fits_name, "^[0-9a-zA-Z-_.]+$"};
constinit const ApiTextRule api_token_rule{1, 64, fits_token, "^[a-zA-Z0-9-_]+$"};

std::string api_path(std::string_view parent, std::string_view name) {
  CHECK(!name.empty(), "a member without a name");
  // The first letter is small, as AWS writes it in errors.
  const bool capital = name.front() >= 'A' && name.front() <= 'Z';
  const char first = capital ? lower(name.front()) : name.front();
  return fmt::format("{}{}{}{}", parent, parent.empty() ? "" : ".", first, name.substr(1));
}

std::string api_fault(std::string_view given, std::string_view at, std::string_view must) {
  return fmt::format(
      "1 validation error detected: Value '{}' at '{}' failed to satisfy constraint: Member must "
      "{}",
      shown(given), at, must);
}

std::string missing_member(std::string_view at) {
  return fmt::format(
      "1 validation error detected: Value null at '{}' failed to satisfy constraint: Member must "
      "not be null",
      at);
}

bool check_api_text(std::string_view given, std::string_view at, const ApiTextRule& rule,
                    std::string& why) {
  std::string must;
  if (const std::size_t size = count_characters(given); size < rule.min) {
    must = fmt::format("have length greater than or equal to {}", rule.min);
  } else if (size > rule.max) {
    must = fmt::format("have length less than or equal to {}", rule.max);
  } else if (rule.fits != nullptr && !rule.fits(given)) {
    must = fmt::format("satisfy regular expression pattern: {}", rule.pattern);
  } else if (check_text(given) != TextFault::none) {
    must = fmt::format("be of the characters {}", allowed_characters);
  }
  if (must.empty()) return true;
  why = api_fault(given, at, must);
  return false;
}

bool ApiMember::fails(std::string_view given, std::string_view must) const {
  why = api_fault(given, api_path(parent, name), must);
  return false;
}

bool ApiMember::is_not(std::string_view kind) const {
  return fails(value.compact(), fmt::format("be {}", kind));
}

bool ApiMember::text(const ApiTextRule& rule, std::string& out) const {
  const auto given = value.text();
  if (!given) return is_not("a string");
  // The path is made for an error alone.
  if (given->size() <= rule.max && count_characters(*given) >= rule.min &&
      (rule.fits == nullptr || rule.fits(*given)) && check_text(*given) == TextFault::none) {
    out = *given;
    return true;
  }
  const bool good = check_api_text(*given, api_path(parent, name), rule, why);
  if (good) out = *given;
  return good;
}

bool ApiMember::number(std::int32_t min, std::int32_t max, std::int32_t& out) const {
  const auto given = value.number();
  if (!given || std::floor(*given) != *given) return is_not("an integer");
  if (*given < min)
    return fails(value.compact(), fmt::format("have value greater than or equal to {}", min));
  if (*given > max)
    return fails(value.compact(), fmt::format("have value less than or equal to {}", max));
  out = static_cast<std::int32_t>(*given);
  return true;
}

bool ApiMember::date(Instant& out) const {
  if (const auto text = value.text()) {
    const auto time = parse_timestamp(*text);
    if (!time || time->ms < 0 || static_cast<double>(time->ms) >= date_max_s * 1000)
      return fails(*text,
                   fmt::format("be a date such as {}, before the year 2200", timestamp_form));
    out = *time;
    return true;
  }
  const auto given = value.number();
  if (!given) return is_not("a number of seconds since 1970");
  if (!(*given >= 0 && *given < date_max_s))
    return fails(value.compact(), "be a number of seconds since 1970, before the year 2200");
  out = {std::llround(*given * 1000)};
  return true;
}

bool ApiMember::word(std::span<const std::string_view> words, std::size_t& out) const {
  const auto given = value.text();
  if (!given) return is_not("a string");
  const auto found = std::ranges::find(words, *given);
  if (found == words.end()) {
    std::string all;
    for (const std::string_view one : words) all += (all.empty() ? "" : ", ") + std::string(one);
    return fails(*given, fmt::format("satisfy enum value set: [{}]", all));
  }
  out = static_cast<std::size_t>(found - words.begin());
  return true;
}

}  // namespace pawl

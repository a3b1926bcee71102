// SPDX-License-Identifier: Apache-2.0
// The members of a JSON object of EventBridge Scheduler's API, read by a table of rows.
//
//   constexpr MemberRow<Window> rows[] = {{"Mode", read_mode}, ...};
//   read_members(object, "flexibleTimeWindow", rows, window, why)
//
// Members without a row are ignored, as AWS does, and those that are null count as absent.
//
// Errors: a text in AWS's words: "1 validation error detected: Value 'x' at 'target.arn' failed to
//         satisfy constraint: Member must ...".
// Owner:  values point into the document.
// Source: EventBridge Scheduler API Reference; texts as recorded from AWS.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/time.h"
#include "proto/text/json_dom.h"

namespace pawl {

// The rules for a text. `fits` checks the pattern; null: any text that JSON and XML can represent.
struct ApiTextRule {
  std::size_t min = 1, max = SIZE_MAX;  // characters
  bool (*fits)(std::string_view) = nullptr;
  std::string_view pattern = {};
};

struct ApiMember {
  std::string_view parent;  // "" for members of the request, else as "target"
  std::string_view name;    // as in JSON
  JsonValue value;
  std::string& why;

  // These return false and set `why`.
  bool fails(std::string_view given, std::string_view must) const;
  bool is_not(std::string_view kind) const;

  bool text(const ApiTextRule& rule, std::string& out) const;
  bool number(std::int32_t min, std::int32_t max, std::int32_t& out) const;
  bool date(Instant& out) const;
  // The number of the value among `words`.
  bool word(std::span<const std::string_view> words, std::size_t& out) const;
};

// True, or `why` is set: a text from a request, at a place as "groupName".
bool check_api_text(std::string_view given, std::string_view at, const ApiTextRule& rule,
                    std::string& why);
std::string api_fault(std::string_view given, std::string_view at, std::string_view must);
std::string missing_member(std::string_view at);
// "target" and "RoleArn": "target.roleArn".
std::string api_path(std::string_view parent, std::string_view name);

// Names of schedules and groups, prefixes of names.
extern const ApiTextRule api_name_rule;
extern const ApiTextRule api_token_rule;  // ClientToken

template <typename T>
struct MemberRow {
  std::string_view name;
  bool (*read)(const ApiMember& member, T& out);
};

template <typename T>
bool read_members(const JsonValue& object, std::string_view parent,
                  std::span<const MemberRow<T>> rows, T& out, std::string& why) {
  for (const auto [key, value] : object.members()) {
    for (const MemberRow<T>& row : rows) {
      if (row.name != key) continue;
      if (!value.is_null() && !row.read({parent, key, value, why}, out)) return false;
      break;
    }
  }
  return true;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Functions for JSON texts stored as text, mainly policies: compaction, comparison, reading.
//
// Limits: nesting up to 32.
// Errors: false, or no value, for text that is not JSON of the required form.
// Owner:  results own their text.
// Source: RFC 8259.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

// True: the text is a JSON object that has `member`, unless `member` is empty. `compact` is then
// the same object without white space. A member that is null counts as absent, as on AWS.
[[nodiscard]] bool compact_json_object(std::string_view text, std::string_view member,
                                       std::string& compact);

// True: two texts are the same JSON value; spaces and the order of members are ignored.
[[nodiscard]] bool same_json(std::string_view a, std::string_view b);

// A member of an object whose values are texts, numbers and lists of texts.
struct JsonMember {
  // `list`: of texts alone; `mixed`: of numbers, too.
  enum class Kind : std::uint8_t { text, number, list, mixed, other };
  std::string key;
  Kind kind = Kind::other;
  std::string text;               // a text's value; a number's JSON text
  std::vector<std::string> list;  // a list's texts, of numbers the JSON texts
};

// The members of an object that are not null, in its order; no value when the text is not an
// object, or a member appears twice.
std::optional<std::vector<JsonMember>> json_members(std::string_view text);

}  // namespace pawl

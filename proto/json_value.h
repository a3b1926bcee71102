// JSON texts that are kept as they are, policies above all: made compact, compared, looked into.
//
// Limits: nesting up to 32.
// Errors: false, or nothing, for what is not JSON of the form asked for.
// Owner:  results own their text.
// Source: RFC 8259.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

// Whether the text is a JSON object, with that member unless empty; if so `compact` is the same without
// white space.
[[nodiscard]] bool compact_json_object(std::string_view text, std::string_view member,
                                       std::string& compact);

// Whether two texts are the same JSON value: spaces and the order of members do not count.
[[nodiscard]] bool same_json(std::string_view a, std::string_view b);

// A member of an object whose values are texts, numbers and lists of texts.
struct JsonMember {
  enum class Kind : std::uint8_t { text, number, list, other };
  std::string key;
  Kind kind = Kind::other;
  std::string text;               // of a text; of a number, as JSON has it
  std::vector<std::string> list;  // of a list of texts
};

// The members of an object, in its order; nothing when the text is not an object, or names a member
// twice.
std::optional<std::vector<JsonMember>> json_members(std::string_view text);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/text/json_value.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

namespace pawl {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::size_t depth_max = 32;

// Parses with a separate parser for policies: they are rare and small. A large parser is replaced.
bool parse(std::string_view text, element& out) {
  constexpr std::size_t keep_max = 64 << 10;
  thread_local std::unique_ptr<simdjson::dom::parser> parser;
  if (text.empty()) return false;  // simdjson would copy from null
  if (!parser || parser->capacity() > keep_max) parser = std::make_unique<simdjson::dom::parser>();
  if (text.size() > parser->capacity() &&
      parser->allocate(std::max<std::size_t>(text.size(), 4096), depth_max) != simdjson::SUCCESS) {
    return false;
  }
  return parser->parse(text.data(), text.size()).get(out) == simdjson::SUCCESS;
}

// The value with the members of each object in the order of their keys.
void append_canonical(std::string& out, const element& value) {
  simdjson::dom::array array;
  simdjson::dom::object object;
  if (value.get_array().get(array) == simdjson::SUCCESS) {
    out += '[';
    for (const element item : array) {
      append_canonical(out, item);
      out += ',';
    }
    out += ']';
  } else if (value.get_object().get(object) == simdjson::SUCCESS) {
    std::vector<std::pair<std::string_view, element>> members;
    for (const auto [key, item] : object) members.emplace_back(key, item);
    std::ranges::sort(members, {}, &std::pair<std::string_view, element>::first);
    out += '{';
    for (const auto& [key, item] : members) {
      fmt::format_to(std::back_inserter(out), "{}:{}=", key.size(), key);
      append_canonical(out, item);
      out += ',';
    }
    out += '}';
  } else {
    out += simdjson::minify(value);
  }
}

bool canonical(std::string_view text, std::string& out) {
  element value;
  if (!parse(text, value)) return false;
  append_canonical(out, value);
  return true;
}

bool take_list(const element& value, std::vector<std::string>& out) {
  simdjson::dom::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return false;
  for (const element item : array) {
    std::string_view text;
    if (item.get_string().get(text) != simdjson::SUCCESS) return false;
    out.emplace_back(text);
  }
  return true;
}

JsonMember member_of(std::string_view key, const element& value) {
  using Kind = JsonMember::Kind;
  JsonMember member{.key = std::string(key)};
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    member.kind = Kind::text;
    member.text = text;
  } else if (value.is_number()) {
    member.kind = Kind::number;
    member.text = simdjson::minify(value);
  } else if (take_list(value, member.list)) {
    member.kind = Kind::list;
  }
  return member;
}

}  // namespace

bool compact_json_object(std::string_view text, std::string_view member, std::string& compact) {
  element value;
  simdjson::dom::object object;
  if (!parse(text, value)) return false;
  if (value.get_object().get(object) != simdjson::SUCCESS) return false;
  if (!member.empty() && object.at_key(member).error() != simdjson::SUCCESS) return false;
  compact = simdjson::minify(value);
  return true;
}

bool same_json(std::string_view a, std::string_view b) {
  std::string canonical_a, canonical_b;
  return canonical(a, canonical_a) && canonical(b, canonical_b) && canonical_a == canonical_b;
}

std::optional<std::vector<JsonMember>> json_members(std::string_view text) {
  element value;
  simdjson::dom::object object;
  if (!parse(text, value)) return std::nullopt;
  if (value.get_object().get(object) != simdjson::SUCCESS) return std::nullopt;
  std::vector<JsonMember> members;
  for (const auto [key, item] : object) {
    if (std::ranges::find(members, key, &JsonMember::key) != members.end()) return std::nullopt;
    members.push_back(member_of(key, item));
  }
  return members;
}

}  // namespace pawl

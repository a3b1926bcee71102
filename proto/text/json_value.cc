// SPDX-License-Identifier: Apache-2.0
#include "proto/text/json_value.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>

#include "proto/text/json.h"
#include "proto/text/json_dom.h"

namespace pawl {
namespace {

// A separate parser for policies: they are rare and small.
std::optional<JsonValue> parse(std::string_view text) {
  thread_local JsonDom dom;
  return dom.parse(text);
}

// The value with the members of each object in the order of their keys.
void append_canonical(std::string& out, const JsonValue& value) {
  if (value.is_list()) {
    out += '[';
    for (const JsonValue item : value.items()) {
      append_canonical(out, item);
      out += ',';
    }
    out += ']';
  } else if (value.is_object()) {
    std::vector<JsonField> members;
    for (const JsonField member : value.members()) members.push_back(member);
    std::ranges::sort(members, {}, &JsonField::key);
    out += '{';
    for (const auto& [key, item] : members) {
      out += fmt::format("{}:{}=", key.size(), key);
      append_canonical(out, item);
      out += ',';
    }
    out += '}';
  } else {
    out += value.compact();
  }
}

bool canonical(std::string_view text, std::string& out) {
  const auto value = parse(text);
  if (value) append_canonical(out, *value);
  return value.has_value();
}

JsonMember::Kind take_list(const JsonValue& value, std::vector<std::string>& out) {
  using Kind = JsonMember::Kind;
  if (!value.is_list()) return Kind::other;
  Kind kind = Kind::list;
  for (const JsonValue item : value.items()) {
    const auto text = item.text();
    if (!text && !item.is_number()) return Kind::other;
    if (!text) kind = Kind::mixed;
    out.push_back(text ? std::string(*text) : item.compact());
  }
  return kind;
}

JsonMember member_of(std::string_view key, const JsonValue& value) {
  using Kind = JsonMember::Kind;
  JsonMember member{.key = std::string(key)};
  if (const auto text = value.text()) {
    member.kind = Kind::text;
    member.text = *text;
  } else if (value.is_number()) {
    member.kind = Kind::number;
    member.text = value.compact();
  } else {
    member.kind = take_list(value, member.list);
  }
  return member;
}

}  // namespace

bool compact_json_object(std::string_view text, std::string_view member, std::string& compact) {
  const auto value = parse(text);
  if (!value || !value->is_object()) return false;
  compact.clear();
  JsonWriter json(compact);
  json.begin_object();
  bool found = member.empty();
  for (const auto [key, item] : value->members()) {
    if (item.is_null()) continue;
    found |= key == member;
    json.key(key);
    compact += item.compact();
  }
  json.end_object();
  return found;
}

bool same_json(std::string_view a, std::string_view b) {
  std::string canonical_a, canonical_b;
  return canonical(a, canonical_a) && canonical(b, canonical_b) && canonical_a == canonical_b;
}

std::optional<std::vector<JsonMember>> json_members(std::string_view text) {
  const auto value = parse(text);
  if (!value || !value->is_object()) return std::nullopt;
  std::vector<JsonMember> members;
  for (const auto [key, item] : value->members()) {
    if (std::ranges::find(members, key, &JsonMember::key) != members.end()) return std::nullopt;
    if (!item.is_null()) members.push_back(member_of(key, item));
  }
  return members;
}

}  // namespace pawl

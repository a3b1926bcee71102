// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/response_json.h"

#include "core/base/check.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

constexpr std::size_t body_bytes_shown = 60;

}  // namespace

std::string text_of(const JsonValue& object, std::string_view name) {
  const auto member = object.member(name);
  return std::string(member ? member->text().value_or("") : std::string_view());
}

std::optional<std::int64_t> number_of(const JsonValue& object, std::string_view name) {
  const auto member = object.member(name);
  const auto number = member ? member->number() : std::nullopt;
  return number ? std::optional(static_cast<std::int64_t>(*number)) : std::nullopt;
}

std::string attribute_of(const JsonValue& object, std::string_view name) {
  const auto attributes = object.member("Attributes");
  return attributes ? text_of(*attributes, name) : std::string();
}

std::int64_t attribute_number_of(const JsonValue& object, std::string_view name) {
  return static_cast<std::int64_t>(decimal_number(attribute_of(object, name)).value_or(0));
}

std::string short_body(const std::string& body) {
  if (body.size() <= body_bytes_shown) return body;
  std::size_t end = body_bytes_shown;
  while (end > 0 && (static_cast<unsigned char>(body[end]) & 0xC0) == 0x80) --end;
  CHECK(end <= body_bytes_shown, "{} bytes of a body", end);
  return body.substr(0, end) + "...";
}

}  // namespace pawl

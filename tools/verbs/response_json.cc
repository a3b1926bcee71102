// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/response_json.h"

#include <fmt/core.h>

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

std::string with_visible_controls(std::string_view text) {
  constexpr std::string_view named = "\n\r\t", letters = "nrt";
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = static_cast<unsigned char>(text[i]);
    const unsigned next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    const bool c1 = byte == 0xC2 && next >= 0x80 && next < 0xA0;
    if (c1) {
      byte = next;
      ++i;
    }
    const std::size_t letter = named.find(static_cast<char>(byte));
    if (!c1 && letter != named.npos) {
      shown.append("\\").append(1, letters[letter]);
    } else if (c1 || byte < 0x20 || byte == 0x7F) {
      shown += fmt::format("\\x{:02x}", byte);
    } else {
      shown += static_cast<char>(byte);
    }
  }
  CHECK(shown.size() >= text.size(), "{} of {} bytes", shown.size(), text.size());
  return shown;
}

}  // namespace pawl

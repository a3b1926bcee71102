// SPDX-License-Identifier: Apache-2.0
#include "proto/text/json.h"

#include <charconv>

#include "core/base/check.h"
#include "proto/text/append.h"
#include "proto/text/escape.h"

namespace pawl {
namespace {

constexpr EscapeTable json_escapes = [] {
  constexpr char hex[] = "0123456789abcdef";
  EscapeTable table;
  for (std::size_t c = 0; c < 0x20; ++c) {
    const char code[] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
    table.replace_control(static_cast<char>(c), {code, sizeof code});
  }
  table.replace_control('\t', R"(\t)");
  table.replace_control('\n', R"(\n)");
  table.replace_control('\r', R"(\r)");
  table.replace('"', R"(\")");
  table.replace('\\', R"(\\)");
  return table;
}();

}  // namespace

// Appends a comma unless the last byte is an opening bracket or a colon, or nothing is written yet.
// No value ends in such a byte.
void JsonWriter::comma() {
  if (out_.size() == start_) return;
  const char last = out_.back();
  if (last != '{' && last != '[' && last != ':') out_.push_back(',');
}

void JsonWriter::begin_object() {
  comma();
  out_.push_back('{');
}

void JsonWriter::end_object() {
  CHECK(out_.back() != ':', "the last member has no value");
  out_.push_back('}');
}

void JsonWriter::begin_array() {
  comma();
  out_.push_back('[');
}

void JsonWriter::end_array() {
  CHECK(out_.back() != ':', "the last member has no value");
  out_.push_back(']');
}

void JsonWriter::key(std::string_view name) {
  comma();
  quoted(name);
  out_.push_back(':');
}

void JsonWriter::plain_key(std::string_view name) {
  comma();
  append_all(out_, "\"", name, "\":");
}

void JsonWriter::plain_member(std::string_view name, std::string_view text) {
  comma();
  append_all(out_, "\"", name, "\":\"", text, "\"");
}

void JsonWriter::value(std::string_view text) {
  comma();
  quoted(text);
}

void JsonWriter::value(bool truth) {
  comma();
  out_.append(truth ? "true" : "false");
}

void JsonWriter::signed_number(std::int64_t number) {
  comma();
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out_.append(digits, end);
}

void JsonWriter::unsigned_number(std::uint64_t number) {
  comma();
  char digits[20];
  const auto end = std::to_chars(digits, digits + sizeof digits, number).ptr;
  out_.append(digits, end);
}

void JsonWriter::quoted(std::string_view text) {
  out_.push_back('"');
  json_escapes.append(out_, text);
  out_.push_back('"');
}

}  // namespace pawl

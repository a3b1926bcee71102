#include "proto/json.h"

#include <array>
#include <charconv>

namespace pawl {
namespace {

// What follows the backslash: 0 for bytes that go through as they are, 'u' for \u00XX.
constexpr std::array<char, 256> escapes = [] {
  std::array<char, 256> table{};
  for (std::size_t c = 0; c < 0x20; ++c) table[c] = 'u';
  table['\t'] = 't';
  table['\n'] = 'n';
  table['\r'] = 'r';
  table['"'] = '"';
  table['\\'] = '\\';
  return table;
}();

}  // namespace

// A value is over when another begins: only after an opening bracket, a colon or at the very start is
// no comma due, and no value ends in one of these.
void JsonWriter::comma() {
  if (out_.size() == start_) return;
  const char last = out_.back();
  if (last != '{' && last != '[' && last != ':') out_.push_back(',');
}

void JsonWriter::begin_object() {
  comma();
  out_.push_back('{');
}

void JsonWriter::end_object() { out_.push_back('}'); }

void JsonWriter::begin_array() {
  comma();
  out_.push_back('[');
}

void JsonWriter::end_array() { out_.push_back(']'); }

void JsonWriter::key(std::string_view name) {
  comma();
  quoted(name);
  out_.push_back(':');
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
  constexpr char hex[] = "0123456789abcdef";
  out_.push_back('"');
  std::size_t done = 0;  // everything before is written
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(text[i]);
    const char escape = escapes[byte];
    if (escape == 0) continue;
    out_.append(text, done, i - done);
    out_.push_back('\\');
    out_.push_back(escape);
    if (escape == 'u') {
      const char code[4] = {'0', '0', hex[byte >> 4], hex[byte & 15]};
      out_.append(code, 4);
    }
    done = i + 1;
  }
  out_.append(text, done, text.size() - done);
  out_.push_back('"');
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/message_attributes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "core/base/check.h"
#include "core/base/free_memory.h"
#include "proto/text/append.h"
#include "proto/text/json_dom.h"
#include "proto/text/text.h"

namespace pawl {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// AWS accepts some letters beyond ASCII, against its own documentation. Without a Unicode table
// this accepts all characters from the Latin-1 letters on, except signs: the two operators among
// those letters, the blocks of punctuation and symbols, the private and special blocks.
bool is_wide_letter(char32_t c) {
  if (c < 0xC0 || c == 0xD7 || c == 0xF7) return false;
  if (c >= 0x2000 && c < 0x2C00) return false;
  if (c >= 0x3000 && c < 0x3005) return false;
  if (c >= 0xD800 && c < 0xF900) return false;
  return c < 0xFE00 || c >= 0x10000;
}

// Removes the first code point from valid UTF-8 and returns it.
char32_t take_code_point(std::string_view& text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const std::size_t length = byte(0) < 0xE0 ? 2 : byte(0) < 0xF0 ? 3 : 4;
  char32_t c = byte(0) & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) c = c << 6 | (byte(i) & 0x3Fu);
  text.remove_prefix(length);
  return c;
}

bool good_name_characters(std::string_view name) {
  if (name.front() == '.' || name.back() == '.' || name.contains("..")) return false;
  if (!valid_utf8(name)) return false;
  while (!name.empty()) {
    const char c = name.front();
    if (static_cast<unsigned char>(c) >= 0x80) {
      if (!is_wide_letter(take_code_point(name))) return false;
      continue;
    }
    if (!is_letter(c) && !is_digit(c) && c != '_' && c != '-' && c != '.') return false;
    name.remove_prefix(1);
  }
  return true;
}

std::string_view base_type(std::string_view type) { return type.substr(0, type.find('.')); }

bool good_type(std::string_view type, AttributeKind kind) {
  const std::string_view base = base_type(type);
  if (check_text(type) != TextFault::none) return false;
  if (kind == AttributeKind::bytes) return base == "Binary";
  return base == "String" || base == "Number";
}

// Decimal digits with at most one dot: the significant count and the first one's power of ten.
struct Mantissa {
  int digits = 0;        // all digits
  int significant = 0;   // from the first to the last that is not 0
  char first = '0';      // the first that is not 0
  long first_power = 0;  // its power of ten
};

bool take_mantissa(std::string_view& text, Mantissa& out) {
  bool dot = false;
  int zeros = 0;  // since the last significant digit
  long before_dot = 0;
  long first_at = 0;  // position of the first significant digit
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text.front();
    if (c == '.' && !dot) {
      dot = true;
    } else if (is_digit(c)) {
      ++out.digits;
      if (!dot) ++before_dot;
      if (c == '0') {
        ++zeros;
      } else {
        if (out.significant == 0) first_at = out.digits, out.first = c;
        out.significant += out.significant == 0 ? 1 : 1 + zeros;
        zeros = 0;
      }
    } else {
      break;
    }
  }
  out.first_power = before_dot - first_at;
  return out.digits > 0;
}

bool good_number(std::string_view text) {
  constexpr int digits_max = 38;
  constexpr long power_max = 126, power_min = -128;
  if (text.size() > 1024) return false;
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  Mantissa mantissa;
  if (!take_mantissa(text, mantissa)) return false;
  long exponent = 0;
  if (!text.empty()) {
    if (text.front() != 'e' && text.front() != 'E') return false;
    text.remove_prefix(1);
    if (text.starts_with('+')) {
      text.remove_prefix(1);
      if (text.starts_with('-')) return false;
    }
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (error != std::errc() || end != text.data() + text.size()) return false;
    if (exponent > 100'000 || exponent < -100'000) return false;
  }
  if (mantissa.significant == 0) return true;  // zero
  const long power = mantissa.first_power + exponent;
  if (mantissa.significant > digits_max || power < power_min || power > power_max) return false;
  return power < power_max || (mantissa.significant == 1 && mantissa.first == '1');  // 1e126 itself
}

template <typename T>
void append_integer(std::string& out, std::size_t n) {
  static_assert(std::endian::native == std::endian::little);
  const T value = static_cast<T>(n);
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
bool take_integer(std::string_view& from, T& out) {
  if (from.size() < sizeof out) return false;
  std::memcpy(&out, from.data(), sizeof out);
  from.remove_prefix(sizeof out);
  return true;
}

bool take_bytes(std::string_view& from, std::size_t length, std::string_view& out) {
  if (from.size() < length) return false;
  out = from.substr(0, length);
  from.remove_prefix(length);
  return true;
}

void append_length_prefixed(std::string& out, std::string_view bytes) {
  const auto n = static_cast<std::uint32_t>(bytes.size());
  const std::array<char, 4> length{static_cast<char>(n >> 24), static_cast<char>(n >> 16),
                                   static_cast<char>(n >> 8), static_cast<char>(n)};
  append_all(out, std::string_view(length), bytes);
}

}  // namespace

AttributeFault check_attribute(const MessageAttribute& attribute) {
  const std::string_view name = attribute.name;
  if (name.empty()) return AttributeFault::name_empty;
  if (name.size() > attribute_name_max) return AttributeFault::name_long;
  if (starts_with_ignoring_case(name, "aws.") || starts_with_ignoring_case(name, "amazon.")) {
    return AttributeFault::name_reserved;
  }
  if (!good_name_characters(name)) return AttributeFault::name_characters;
  if (attribute.type.empty()) return AttributeFault::type_empty;
  if (attribute.type.size() > attribute_type_max) return AttributeFault::type_long;
  if (!good_type(attribute.type, attribute.kind)) return AttributeFault::type_unknown;
  if (attribute.value.empty()) return AttributeFault::value_empty;
  if (attribute.kind == AttributeKind::bytes) return AttributeFault::none;
  if (base_type(attribute.type) == "Number") {
    return good_number(attribute.value) ? AttributeFault::none : AttributeFault::not_a_number;
  }
  if (check_text(attribute.value) != TextFault::none) return AttributeFault::value_characters;
  return AttributeFault::none;
}

void append_attribute(std::string& out, const MessageAttribute& attribute) {
  CHECK(attribute.name.size() <= UINT16_MAX && attribute.type.size() <= UINT8_MAX &&
        attribute.value.size() <= UINT32_MAX);
  append_integer<std::uint16_t>(out, attribute.name.size());
  out += attribute.name;
  append_integer<std::uint8_t>(out, attribute.type.size());
  out += attribute.type;
  out += static_cast<char>(attribute.kind);
  append_integer<std::uint32_t>(out, attribute.value.size());
  out += attribute.value;
}

void append_trace_header(std::string& out, std::string_view trace) {
  if (trace.empty() || trace.size() > trace_header_max || check_text(trace) != TextFault::none)
    return;
  append_attribute(out, {trace_header_name, "String", AttributeKind::text, trace});
}

bool AttributeReader::next(MessageAttribute& out) {
  std::string_view rest = rest_;
  std::uint16_t name_length = 0;
  std::uint8_t type_length = 0;
  std::uint8_t kind = 0;
  std::uint32_t value_length = 0;
  if (!take_integer(rest, name_length) || !take_bytes(rest, name_length, out.name)) return false;
  if (!take_integer(rest, type_length) || !take_bytes(rest, type_length, out.type)) return false;
  if (!take_integer(rest, kind) || kind < 1 || kind > 2) return false;
  if (!take_integer(rest, value_length) || !take_bytes(rest, value_length, out.value)) return false;
  out.kind = static_cast<AttributeKind>(kind);
  rest_ = rest;
  return true;
}

Errc check_attributes(std::string_view encoded) {
  AttributeReader reader(encoded);
  MessageAttribute attribute;
  std::string_view last;
  std::size_t count = 0;
  while (reader.next(attribute)) {
    if (++count > message_attributes_max) return Errc::too_large;
    if (count > 1 && attribute.name <= last) return Errc::invalid;
    if (check_attribute(attribute) != AttributeFault::none) return Errc::invalid;
    last = attribute.name;
  }
  return reader.at_end() ? Errc::ok : Errc::invalid;
}

std::size_t attributes_size(std::string_view encoded) {
  std::size_t size = 0;
  AttributeReader reader(encoded);
  for (MessageAttribute a; reader.next(a);) size += a.name.size() + a.type.size() + a.value.size();
  return size;
}

AttributeFilter::AttributeFilter(std::span<const std::string_view> names) : names_(names) {
  all_ = std::ranges::any_of(
      names, [](std::string_view name) { return name == "All" || name == ".*" || name == "*"; });
}

bool AttributeFilter::wants(std::string_view name) const {
  if (all_) return true;
  return std::ranges::any_of(names_, [&](std::string_view want) {
    if (want.ends_with(".*")) return name.starts_with(want.substr(0, want.size() - 2));
    return name == want;
  });
}

// One digest of a copy: for three attributes it costs 3,930 instructions, in pieces 5,250.
bool attributes_md5(std::string_view encoded, const AttributeFilter& filter, Md5& out) {
  constexpr std::size_t keep_max = 64 << 10;
  thread_local std::string text;
  text.clear();
  AttributeReader reader(encoded);
  for (MessageAttribute a; reader.next(a);) {
    if (!filter.wants(a.name)) continue;
    append_length_prefixed(text, a.name);
    append_length_prefixed(text, a.type);
    text += static_cast<char>(a.kind);
    append_length_prefixed(text, a.value);
  }
  if (text.empty()) return false;
  out = md5(text);
  if (text.capacity() > keep_max) free_memory(text);
  return true;
}

bool attributes_md5(std::string_view encoded, Md5& out) {
  static constexpr std::string_view everything[] = {"All"};
  return attributes_md5(encoded, AttributeFilter(everything), out);
}

}  // namespace pawl

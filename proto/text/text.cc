// SPDX-License-Identifier: Apache-2.0
#include "proto/text/text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>

#include "proto/text/json_dom.h"

namespace pawl {
namespace {

bool forbidden_control(unsigned char c) { return c < 0x20 && c != '\t' && c != '\n' && c != '\r'; }

using Vector [[gnu::vector_size(16)]] = signed char;
constexpr std::size_t step_bytes = 4 * sizeof(Vector);

Vector load_vector(const char* bytes) {
  Vector v;
  std::memcpy(&v, bytes, sizeof v);
  return v;
}

// True: all bytes are ASCII from the space on. Bytes beyond ASCII are negative.
bool plain_step(const char* bytes) {
  const Vector last_control = Vector{} + 0x1F;
  const Vector plain =
      (load_vector(bytes) > last_control) & (load_vector(bytes + 16) > last_control) &
      (load_vector(bytes + 32) > last_control) & (load_vector(bytes + 48) > last_control);
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(plain);
  return (halves[0] & halves[1]) == UINT64_MAX;
}

// The number of plain bytes at the start, in whole steps.
std::size_t plain_bytes(std::string_view text) {
  std::size_t at = 0;
  while (at + step_bytes <= text.size() && plain_step(text.data() + at)) at += step_bytes;
  return at;
}

// True: one of the bytes is a forbidden control character.
bool forbidden_step(const char* bytes) {
  Vector found{};
  for (std::size_t at = 0; at < step_bytes; at += sizeof(Vector)) {
    const Vector v = load_vector(bytes + at);
    found |= (v >= 0) & (v < 0x20) & (v != '\t') & (v != '\n') & (v != '\r');
  }
  const auto halves = std::bit_cast<std::array<std::uint64_t, 2>>(found);
  return (halves[0] | halves[1]) != 0;
}

bool has_forbidden_control(std::string_view text) {
  for (; text.size() >= step_bytes; text.remove_prefix(step_bytes))
    if (forbidden_step(text.data())) return true;
  return std::ranges::any_of(
      text, [](char c) { return forbidden_control(static_cast<unsigned char>(c)); });
}

// U+FFFE and U+FFFF: EF BF BE, EF BF BF. The text is known to be UTF-8.
bool has_noncharacter(std::string_view text) {
  for (std::size_t at = text.find('\xef'); at != text.npos; at = text.find('\xef', at + 1)) {
    if (text[at + 1] == '\xbf' && (text[at + 2] == '\xbe' || text[at + 2] == '\xbf')) return true;
  }
  return false;
}

}  // namespace

TextFault check_text(std::string_view text) {
  text.remove_prefix(plain_bytes(text));
  if (text.empty()) return TextFault::none;
  if (!valid_utf8(text)) return TextFault::bad_utf8;
  if (has_forbidden_control(text) || has_noncharacter(text)) return TextFault::bad_character;
  return TextFault::none;
}

void make_printable(std::string& text) {
  if (check_text(text) == TextFault::none) return;
  for (char& c : text) {
    if (c < 0x20 || c > 0x7E) c = '?';
  }
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, lower, lower);
}

std::size_t count_characters(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count_if(
      utf8, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

bool is_plain_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

std::optional<std::uint64_t> decimal_number(std::string_view text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

bool is_account_id(std::string_view text) {
  return text.size() == 12 && text.find_first_not_of("0123456789") == text.npos;
}

}  // namespace pawl

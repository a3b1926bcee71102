#include "proto/text.h"

#include <algorithm>

#include <simdjson.h>

#include <cstring>

namespace pawl {
namespace {

bool forbidden_control(unsigned char c) { return c < 0x20 && c != '\t' && c != '\n' && c != '\r'; }

// The top bit of at least one byte is set if a byte is below 0x20. ~word clears the top bit of bytes
// from 0x80 on.
std::uint64_t controls(const char* bytes) {
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  return (word - 0x2020202020202020u) & ~word;
}

// Looks at 32 bytes at a time for a control character, then at each.
bool has_forbidden_control(std::string_view text) {
  const auto is_forbidden = [](char c) { return forbidden_control(static_cast<unsigned char>(c)); };
  constexpr std::size_t step = 32;
  std::size_t at = 0;
  for (; at + step <= text.size(); at += step) {
    const char* const p = text.data() + at;
    const std::uint64_t any = controls(p) | controls(p + 8) | controls(p + 16) | controls(p + 24);
    if ((any & 0x8080808080808080u) != 0 &&
        std::ranges::any_of(text.substr(at, step), is_forbidden))
      return true;
  }
  return std::ranges::any_of(text.substr(at), is_forbidden);
}

// U+FFFE and U+FFFF: EF BF BE, EF BF BF. The text is known to be UTF-8.
bool has_noncharacter(std::string_view text) {
  for (std::size_t at = text.find('\xef'); at != text.npos; at = text.find('\xef', at + 1)) {
    if (text[at + 1] == '\xbf' && (text[at + 2] == '\xbe' || text[at + 2] == '\xbf')) return true;
  }
  return false;
}

}  // namespace

bool valid_utf8(std::string_view text) { return simdjson::validate_utf8(text.data(), text.size()); }

TextFault check_text(std::string_view text) {
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

bool is_plain_name(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_';
  });
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Text that SQS accepts: UTF-8 of #x9 #xA #xD #x20-#xD7FF #xE000-#xFFFD #x10000-#x10FFFF.
//
// Errors: TextFault; bad_utf8 when both apply. The caller chooses the SQS error.
// Owner:  free functions; they copy nothing.
// Source: SQS API Reference, SendMessage, "MessageBody"; XML 1.0, Char.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

enum class TextFault : std::uint8_t {
  none,
  bad_utf8,       // not UTF-8: overlong, surrogate, truncated, above U+10FFFF
  bad_character,  // UTF-8, but a control character, U+FFFE or U+FFFF
};

TextFault check_text(std::string_view text);

// Makes a text safe for JSON and XML: if check_text() refuses it, all bytes outside printable ASCII
// become question marks. Error texts repeat client input, which can contain any bytes.
void make_printable(std::string& text);

// Case folding of ASCII letters only.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
bool same_letters(std::string_view a, std::string_view b);  // of equal length
inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_letters(a, b);
}
inline bool starts_with_ignoring_case(std::string_view text, std::string_view prefix) {
  return text.size() >= prefix.size() && same_letters(text.substr(0, prefix.size()), prefix);
}

std::size_t count_characters(std::string_view utf8);

// True: not empty, and only ASCII letters, digits, - and _. Names of queues and topics and ids of
// batch entries have this form.
bool is_plain_name(std::string_view text);

// The number that the whole text is, in decimal digits without a sign; nothing: it is none, or has
// more than 64 bits.
std::optional<std::uint64_t> decimal_number(std::string_view text);

// True: 12 digits, as account ids are.
bool is_account_id(std::string_view text);

// The first name, in byte order, that occurs more than once in the pairs of name and value.
template <typename Pairs>
std::optional<std::string_view> repeated_name(const Pairs& pairs) {
  std::vector<std::string_view> names;
  for (const auto& pair : pairs) names.push_back(pair.first);
  std::ranges::sort(names);
  const auto twin = std::ranges::adjacent_find(names);
  return twin == names.end() ? std::nullopt : std::optional(*twin);
}

}  // namespace pawl

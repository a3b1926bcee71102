// Text that SQS lets through: UTF-8 of #x9 #xA #xD #x20-#xD7FF #xE000-#xFFFD #x10000-#x10FFFF.
//
// Errors: TextFault; bad_utf8 wins when both apply. The caller names the SQS error.
// Owner:  nothing is kept, nothing is copied.
// Source: SQS API Reference, SendMessage, "MessageBody"; XML 1.0, Char.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

enum class TextFault : std::uint8_t {
  none,
  bad_utf8,       // not UTF-8: overlong, surrogate, cut off, beyond U+10FFFF
  bad_character,  // UTF-8, but a control character, U+FFFE or U+FFFF
};

bool valid_utf8(std::string_view text);
TextFault check_text(std::string_view text);

// The texts of errors repeat what the client gave, which can be anything: what neither JSON nor XML can carry
// becomes a question mark.
void make_printable(std::string& text);

// Upper and lower case of ASCII letters alone.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }
bool same_letters(std::string_view a, std::string_view b);  // of one length
inline bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && same_letters(a, b);
}

// Letters and digits of ASCII, - and _ alone, and not empty: names of queues and topics, ids of batch entries.
bool is_plain_name(std::string_view text);

}  // namespace pawl

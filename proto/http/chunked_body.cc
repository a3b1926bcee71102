// SPDX-License-Identifier: Apache-2.0
#include "proto/http/chunked_body.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr const char* after_size = "a chunk size with something behind it";
constexpr const char* not_ended = "a chunk that does not end in CRLF";
constexpr const char* bad_extension = "a chunk extension that is not name or name=value";

bool is_blank(char c) { return c == ' ' || c == '\t'; }
// Allowed in a trailer field's value and within quotes.
bool is_text(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 ? byte != 0x7F : c == '\t';
}
int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char low = static_cast<char>(c | 0x20);
  return low >= 'a' && low <= 'f' ? low - 'a' + 10 : -1;
}

}  // namespace

ChunkedBody::Piece ChunkedBody::read(std::string_view bytes) {
  Piece piece;
  while (piece.used < bytes.size()) {
    if (at_ == At::data) {
      piece.data = bytes.substr(piece.used, size_);
      piece.used += piece.data.size();
      CHECK(piece.data.size() <= size_, "{} bytes of a chunk of {}", piece.data.size(), size_);
      size_ -= piece.data.size();
      if (size_ == 0) at_ = At::data_cr;
      piece.event = Event::data;
      return piece;
    }
    const At before = at_;
    const char* const why = step(bytes[piece.used]);
    if (why != nullptr) {
      piece.event = Event::refused;
      piece.refusal = {400, why};
      return piece;
    }
    ++piece.used;
    if (before == At::size_lf && size_ > 0) {
      piece.event = Event::chunk;
      piece.size = size_;
      return piece;
    }
    if (before == At::last_lf) {
      piece.event = Event::end;
      return piece;
    }
  }
  return piece;
}

const char* ChunkedBody::step(char c) {
  switch (at_) {
    case At::size: {
      const int digit = digit_of(c);
      if (digit >= 0) {
        if (++digits_ > size_digits_max) return "a chunk size with too many digits";
        size_ = size_ << 4 | static_cast<std::uint64_t>(digit);
        return nullptr;
      }
      if (digits_ == 0) return "a chunk without a size";
      if (c != ';' && c != '\r' && !is_blank(c)) return after_size;
      at_ = c == ';' ? At::ext_begin : c == '\r' ? At::size_lf : At::size_blank;
      return nullptr;
    }
    case At::size_lf:
      at_ = size_ > 0 ? At::data : At::line;
      digits_ = line_ = 0;
      return c == '\n' ? nullptr : "a chunk size that does not end in CRLF";
    case At::data_cr:
      at_ = At::data_lf;
      return c == '\r' ? nullptr : not_ended;
    case At::data_lf:
      at_ = At::size;
      return c == '\n' ? nullptr : not_ended;
    case At::data:
      CHECK(false, "data is not read byte by byte");
      return nullptr;
    case At::line:
    case At::field_name:
    case At::field_value:
    case At::field_lf:
    case At::last_lf:
      return in_trailer(c);
    default:
      return in_extension(c);
  }
}

const char* ChunkedBody::in_extension(char c) {
  static_assert(line_bytes_max == 1024);
  if (++line_ > line_bytes_max) return "chunk extensions of more than 1024 bytes";
  const bool ends = c == ';' || c == '\r';
  const auto end = [&] {
    at_ = c == ';' ? At::ext_begin : At::size_lf;
    return nullptr;
  };
  const auto go = [&](At to) {
    at_ = to;
    return nullptr;
  };
  switch (at_) {
    case At::size_blank:
      if (is_blank(c)) return nullptr;
      return c == ';' ? end() : after_size;
    case At::ext_begin:
      if (is_blank(c)) return nullptr;
      return is_token_character(c) ? go(At::ext_name) : bad_extension;
    case At::ext_name:
      if (is_token_character(c)) return nullptr;
      if (is_blank(c)) return go(At::ext_named);
      if (c == '=') return go(At::ext_equals);
      return ends ? end() : bad_extension;
    case At::ext_named:
      if (is_blank(c)) return nullptr;
      if (c == '=') return go(At::ext_equals);
      return ends && c == ';' ? end() : bad_extension;
    case At::ext_equals:
      if (is_blank(c)) return nullptr;
      if (c == '"') return go(At::ext_quoted);
      return is_token_character(c) ? go(At::ext_value) : bad_extension;
    case At::ext_value:
      if (is_token_character(c)) return nullptr;
      if (is_blank(c)) return go(At::ext_end);
      return ends ? end() : bad_extension;
    case At::ext_quoted:
      if (c == '"') return go(At::ext_end);
      if (c == '\\') return go(At::ext_escaped);
      return is_text(c) ? nullptr : bad_extension;
    case At::ext_escaped:
      return is_text(c) ? go(At::ext_quoted) : bad_extension;
    case At::ext_end:
      if (is_blank(c)) return nullptr;
      return ends ? end() : bad_extension;
    default:
      CHECK(false, "no extension is read");
      return nullptr;
  }
}

const char* ChunkedBody::in_trailer(char c) {
  static_assert(trailer_bytes_max == 8192);
  if (++trailers_ > trailer_bytes_max) return "trailer fields of more than 8192 bytes";
  switch (at_) {
    case At::line:
      at_ = c == '\r' ? At::last_lf : At::field_name;
      return c == '\r' || is_token_character(c) ? nullptr : "a trailer field without a name";
    case At::field_name:
      if (c == ':') at_ = At::field_value;
      return c == ':' || is_token_character(c) ? nullptr : "a malformed name of a trailer field";
    case At::field_value:
      if (c == '\r') at_ = At::field_lf;
      return c == '\r' || is_text(c) ? nullptr : "a malformed value of a trailer field";
    case At::field_lf:
      at_ = At::line;
      return c == '\n' ? nullptr : "a trailer field that does not end in CRLF";
    case At::last_lf:
      return c == '\n' ? nullptr : "a body that does not end in CRLF";
    default:
      CHECK(false, "no trailer is read");
      return nullptr;
  }
}

}  // namespace pawl

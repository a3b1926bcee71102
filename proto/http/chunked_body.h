// SPDX-License-Identifier: Apache-2.0
// Reads a body in chunks, byte by byte as the grammar has it. Chunk extensions and trailer fields
// are read and ignored. llhttp 8.1 misreads the extension "1;a=b;c", and with leading zeros
// extensions make an empty body endless.
//
//   size --extensions--> data --> size ... --> 0 --trailer fields--> end
//
// Units:  bytes.
// Limits: size_digits_max, line_bytes_max for a chunk's size with its extensions, and
//         trailer_bytes_max for all trailer fields. The caller limits the body.
// Errors: Piece::refusal, whose status is 400; it is final.
// Owner:  part of an HttpParser; copies nothing.
// Source: RFC 9112, section 7.1; RFC 9110, section 5.6, for tokens and quoted strings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "proto/http/strictness.h"

namespace pawl {

class ChunkedBody {
 public:
  static constexpr std::size_t size_digits_max = 16;
  static constexpr std::size_t line_bytes_max = 1024;
  static constexpr std::size_t trailer_bytes_max = 8 << 10;

  enum class Event : std::uint8_t { need_more, chunk, data, end, refused };
  struct Piece {
    Event event = Event::need_more;
    std::size_t used = 0;    // bytes consumed
    std::uint64_t size = 0;  // chunk: of its data
    std::string_view data;   // data: of the body
    HttpRefusal refusal;
  };

  // Consumes bytes up to the next event.
  Piece read(std::string_view bytes);

 private:
  enum class At : std::uint8_t {
    size,        // digits
    size_blank,  // blanks behind a size, before a semicolon
    ext_begin,   // behind a semicolon
    ext_name,
    ext_named,    // blanks behind a name
    ext_equals,   // behind an equals sign
    ext_value,    // a token
    ext_quoted,   // within quotes
    ext_escaped,  // behind a backslash within quotes
    ext_end,      // behind a quoted value, or blanks behind any value
    size_lf,      // behind the CR of a size
    data,
    data_cr,  // behind the data
    data_lf,
    line,  // where a trailer field or the empty last line begins
    field_name,
    field_value,
    field_lf,
    last_lf,  // of the empty line
  };

  const char* step(char c);  // null, or why the byte is refused
  const char* in_extension(char c);
  const char* in_trailer(char c);

  At at_ = At::size;
  std::uint64_t size_ = 0;
  std::size_t digits_ = 0, line_ = 0, trailers_ = 0;
};

}  // namespace pawl

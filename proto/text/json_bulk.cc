// SPDX-License-Identifier: Apache-2.0
#include "proto/text/json_bulk.h"

#include <bit>

#include "proto/text/json_marks.h"

namespace pawl {
namespace {

constexpr std::size_t block = json_marks_block;

// Tracks texts and escapes from block to block, like simdjson's first stage.
class Walk {
 public:
  // The bits of the bytes outside of texts, including each closing quote.
  std::uint64_t outside(JsonMarks marks) {
    std::uint64_t quotes = marks.quotes & ~escaped(marks.backslashes);
    for (unsigned shift = 1; shift < block; shift *= 2) quotes ^= quotes << shift;
    const std::uint64_t inside = quotes ^ inside_before_;
    inside_before_ = inside >> 63 != 0 ? ~std::uint64_t{0} : 0;
    return ~inside;
  }

 private:
  // The bytes behind an odd number of backslashes.
  std::uint64_t escaped(std::uint64_t backslashes) {
    constexpr std::uint64_t even = 0x5555'5555'5555'5555;
    backslashes &= ~escaped_before_;
    const std::uint64_t follows = backslashes << 1 | escaped_before_;
    const std::uint64_t odd_starts = backslashes & ~even & ~follows;
    std::uint64_t from_even = 0;
    escaped_before_ = __builtin_add_overflow(odd_starts, backslashes, &from_even) ? 1 : 0;
    return (even ^ from_even << 1) & follows;
  }

  std::uint64_t inside_before_ = 0;   // all bits, or none
  std::uint64_t escaped_before_ = 0;  // lowest bit: the next block's first byte is escaped
};

}  // namespace

JsonBulk look_at_bulk(std::string_view text) {
  constexpr std::size_t escape_saves = 5;  // at most five bytes: \u0022 for one byte
  if (text.size() <= json_structure_bytes_max) return JsonBulk::fits;
  Walk walk;
  std::size_t structure = 0, saved = 0;
  for (std::size_t at = 0; at + block <= text.size(); at += block) {
    const JsonMarks marks = json_marks_of(text.data() + at);
    structure += static_cast<std::size_t>(std::popcount(walk.outside(marks)));
    if (marks.backslashes != 0)
      saved += escape_saves * static_cast<std::size_t>(std::popcount(marks.backslashes));
    if (structure > json_structure_bytes_max) return JsonBulk::too_much_structure;
    if (at + block > json_content_bytes_max + saved) return JsonBulk::too_much_content;
  }
  return JsonBulk::fits;
}

}  // namespace pawl

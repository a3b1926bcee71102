// SPDX-License-Identifier: Apache-2.0
#include "proto/text/escape.h"

#include <algorithm>
#include <cstring>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::size_t chunk = 4096;  // bytes of text for which space is reserved at once

using Bytes = EscapeTable::Bytes;

Bytes load_bytes(const void* from) {
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

bool is_zero(Bytes bytes) {
  std::uint64_t halves[2];
  static_assert(sizeof halves == sizeof bytes);
  std::memcpy(halves, &bytes, sizeof halves);
  return (halves[0] | halves[1]) == 0;
}

}  // namespace

// The bytes of the block that are replaced, each as a byte of ones. The table has at most
// `specials` specials.
template <std::size_t specials>
inline EscapeTable::Bytes EscapeTable::replaced(const char* from) const {
  static_assert(sizeof(Bytes) == block && (specials == 2 || specials == specials_max));
  const Bytes bytes = load_bytes(from);
  auto found = (bytes < load_bytes(&controls_end_)) | (bytes == load_bytes(&specials_[0])) |
               (bytes == load_bytes(&specials_[1]));
  if constexpr (specials > 2) {
    found |= (bytes == load_bytes(&specials_[2])) | (bytes == load_bytes(&specials_[3])) |
             (bytes == load_bytes(&specials_[4]));
  }
  return std::bit_cast<Bytes>(found);
}

// Writes one block and returns the end of its text.
template <std::size_t specials>
inline char* EscapeTable::write_block(char* to, const char* from) const {
  if (is_zero(replaced<specials>(from))) {
    std::memcpy(to, from, block);
    return to + block;
  }
#pragma GCC unroll 16
  for (std::size_t i = 0; i < block; ++i) to = write_byte(to, from[i]);
  return to;
}

inline char* EscapeTable::write_byte(char* to, char byte) const {
  const std::uint64_t word = words_[static_cast<std::uint8_t>(byte)];
  std::memcpy(to, &word, sizeof word);  // the next word overwrites the bytes beyond the length
  return to + (word >> 56);
}

// `to` has space for bytes_max bytes per byte of text, and one block more.
template <std::size_t specials>
char* EscapeTable::write(char* to, std::string_view text) const {
  const char* from = text.data();
  const char* const end = from + text.size();
  // With five specials, text of quotes would exceed the instructions that a turn may have.
  for (; specials == 2 && end - from >= 4 * std::ptrdiff_t{block}; from += 4 * block) {
    const Bytes found = replaced<specials>(from) | replaced<specials>(from + block) |
                        replaced<specials>(from + 2 * block) | replaced<specials>(from + 3 * block);
    if (is_zero(found)) {
      std::memcpy(to, from, 4 * block);
      to += 4 * block;
      continue;
    }
    for (std::size_t i = 0; i < 4; ++i) to = write_block<specials>(to, from + i * block);
  }
  for (; end - from >= std::ptrdiff_t{block}; from += block) to = write_block<specials>(to, from);
  for (; from < end; ++from) to = write_byte(to, *from);
  return to;
}

void EscapeTable::append(std::string& out, std::string_view text) const {
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    const std::string_view part = text.substr(at, chunk);
    const std::size_t before = out.size();
    const std::size_t most = before + part.size() * bytes_max + block;
    if (most > out.capacity()) out.reserve(std::max(most, out.capacity() * 2));
    out.resize_and_overwrite(most, [&](char* bytes, std::size_t) {
      const char* const written =
          count_ <= 2 ? write<2>(bytes + before, part) : write<specials_max>(bytes + before, part);
      const auto size = static_cast<std::size_t>(written - bytes);
      CHECK(size >= before && size <= most, "{} bytes of {}", size, most);
      return size;
    });
  }
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/text/escape.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "core/check.h"

namespace pawl {
namespace {

constexpr std::size_t chunk = 4096;  // bytes of text for which space is reserved at once

using Bytes = std::uint8_t __attribute__((vector_size(16)));

Bytes load(const void* from) {
  Bytes bytes;
  std::memcpy(&bytes, from, sizeof bytes);
  return bytes;
}

}  // namespace

// True: no byte of the block is replaced.
inline bool EscapeTable::plain_block(const char* from) const {
  static_assert(sizeof(Bytes) == block && specials_max == 5);
  const Bytes bytes = load(from);
  auto found = (bytes == load(&specials_[0])) | (bytes == load(&specials_[1])) |
               (bytes == load(&specials_[2])) | (bytes == load(&specials_[3])) |
               (bytes == load(&specials_[4]));
  if (controls_) found |= bytes < 0x20;
  std::uint64_t halves[2];
  static_assert(sizeof halves == sizeof found);
  std::memcpy(halves, &found, sizeof halves);
  return (halves[0] | halves[1]) == 0;
}

// `to` has space for bytes_max bytes per byte of text, and one block more.
char* EscapeTable::write(char* to, std::string_view text) const {
  const auto one = [this](char* at, char byte) {
    const std::uint64_t word = words_[static_cast<std::uint8_t>(byte)];
    std::memcpy(at, &word, sizeof word);  // the next word overwrites the bytes beyond the length
    return at + (word >> 56);
  };
  const char* from = text.data();
  const char* const end = from + text.size();
  for (; static_cast<std::size_t>(end - from) >= block; from += block) {
    if (plain_block(from)) {
      std::memcpy(to, from, block);
      to += block;
      continue;
    }
    [&]<std::size_t... i>(std::index_sequence<i...>) {
      ((to = one(to, from[i])), ...);
    }(std::make_index_sequence<block>());
  }
  for (; from < end; ++from) to = one(to, *from);
  return to;
}

void EscapeTable::append(std::string& out, std::string_view text) const {
  for (std::size_t at = 0; at < text.size(); at += chunk) {
    const std::string_view part = text.substr(at, chunk);
    const std::size_t before = out.size();
    const std::size_t most = before + part.size() * bytes_max + block;
    if (most > out.capacity()) out.reserve(std::max(most, out.capacity() * 2));
    out.resize_and_overwrite(most, [&](char* bytes, std::size_t) {
      const auto size = static_cast<std::size_t>(write(bytes + before, part) - bytes);
      CHECK(size >= before && size <= most, "{} bytes of {}", size, most);
      return size;
    });
  }
}

}  // namespace pawl

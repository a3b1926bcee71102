// SPDX-License-Identifier: Apache-2.0
// EscapeTable: appends text with some of its bytes replaced, for the writers of XML and JSON.
//
// A table has one word for each byte: the replacement, or the byte itself, and its length. Text
// with many replacements costs about eight instructions a byte, text without any less than one: a
// message of 1 MiB of quotes must not delay its shard.
//
// Limits: a replacement has bytes_max bytes; specials_max bytes of 0x20 and above are replaced, and
//         either all bytes below that or specials.
// Owner:  the caller's string, appended to.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl {

class EscapeTable {
 public:
  using Bytes = std::uint8_t __attribute__((vector_size(16)));

  static constexpr std::size_t bytes_max = 6;
  static constexpr std::size_t specials_max = 5;

  constexpr EscapeTable() {
    for (std::size_t byte = 0; byte < words_.size(); ++byte) {
      const char self = static_cast<char>(byte);
      put(byte, {&self, 1});
    }
  }
  constexpr void replace(char byte, std::string_view replacement) {
    put(static_cast<std::uint8_t>(byte), replacement);
    for (std::size_t i = count_++; i < specials_max; ++i)
      specials_[i].fill(static_cast<std::uint8_t>(byte));
  }
  // Replaces a byte below 0x20.
  constexpr void replace_control(char byte, std::string_view replacement) {
    put(static_cast<std::uint8_t>(byte), replacement);
    controls_end_.fill(0x20);
  }

  void append(std::string& out, std::string_view text) const;

 private:
  static constexpr std::size_t block = 16;
  static_assert(std::endian::native == std::endian::little);

  // A word holds the text from its lowest byte on, and the length in its highest byte.
  constexpr void put(std::size_t byte, std::string_view replacement) {
    std::uint64_t word = std::uint64_t{replacement.size()} << 56;
    for (std::size_t i = 0; i < replacement.size(); ++i)
      word |= std::uint64_t{static_cast<std::uint8_t>(replacement[i])} << 8 * i;
    words_[byte] = word;
  }
  template <std::size_t specials>
  Bytes replaced(const char* from) const;
  char* write_byte(char* to, char byte) const;
  template <std::size_t specials>
  char* write_block(char* to, const char* from) const;
  template <std::size_t specials>
  char* write(char* to, std::string_view text) const;

  std::array<std::uint64_t, 256> words_{};
  std::array<std::array<std::uint8_t, block>, specials_max>
      specials_{};                                  // each block repeats one byte
  std::array<std::uint8_t, block> controls_end_{};  // all bytes below it are replaced
  std::size_t count_ = 0;                           // specials
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/text/base64.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::string_view alphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::uint8_t not_base64 = 0xff;

constexpr std::array<std::uint8_t, 256> values = [] {
  std::array<std::uint8_t, 256> table;
  table.fill(not_base64);
  for (std::size_t i = 0; i < alphabet.size(); ++i) {
    table[static_cast<std::uint8_t>(alphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return table;
}();

}  // namespace

void append_base64(std::string& out, std::span<const std::uint8_t> bytes) {
  const std::size_t before = out.size();
  const std::size_t size = before + (bytes.size() + 2) / 3 * 4;
  out.resize_and_overwrite(size, [&](char* text, std::size_t) {
    char* to = text + before;
    const auto write = [&to](std::uint32_t group) {
      const char four[4] = {alphabet[group >> 18], alphabet[group >> 12 & 63],
                            alphabet[group >> 6 & 63], alphabet[group & 63]};
      std::memcpy(to, four, sizeof four);
      to += sizeof four;
    };
    std::size_t i = 0;
    for (; i + 3 <= bytes.size(); i += 3) {
      write(std::uint32_t{bytes[i]} << 16 | std::uint32_t{bytes[i + 1]} << 8 |
            std::uint32_t{bytes[i + 2]});
    }
    const std::size_t left = bytes.size() - i;
    if (left > 0) {
      write(std::uint32_t{bytes[i]} << 16 | (left == 2 ? std::uint32_t{bytes[i + 1]} << 8 : 0));
      std::fill(to - (3 - left), to, '=');
    }
    CHECK(to == text + size, "{} bytes of {}", to - text, size);
    return size;
  });
}

bool decode_base64(std::string_view in, std::string& out) {
  if (in.size() % 4 != 0) return false;
  if (in.empty()) return true;
  const std::size_t padding = in.ends_with("==") ? 2 : in.ends_with("=") ? 1 : 0;
  const std::string_view digits = in.substr(0, in.size() - padding);
  const std::size_t whole = digits.size() / 4 * 4;
  const std::size_t before = out.size();
  std::uint32_t seen = 0;  // all values; the top bit of a byte: a character is outside the alphabet
  const auto value = [&](std::size_t i) {
    const std::uint32_t v = values[static_cast<std::uint8_t>(digits[i])];
    seen |= v;
    return v;
  };
  bool good = true;
  const std::size_t size = before + digits.size() * 3 / 4;
  out.resize_and_overwrite(size, [&](char* bytes, std::size_t) {
    char* to = bytes + before;
    for (std::size_t i = 0; i < whole; i += 4) {
      const std::uint32_t group =
          value(i) << 18 | value(i + 1) << 12 | value(i + 2) << 6 | value(i + 3);
      *to++ = static_cast<char>(group >> 16);
      *to++ = static_cast<char>(group >> 8);
      *to++ = static_cast<char>(group);
    }
    if (padding > 0) {
      const std::uint32_t group =
          value(whole) << 18 | value(whole + 1) << 12 | (padding == 1 ? value(whole + 2) << 6 : 0);
      *to++ = static_cast<char>(group >> 16);
      if (padding == 1) *to++ = static_cast<char>(group >> 8);
      good = (group & (padding == 1 ? 0xffu : 0xffffu)) == 0;  // bits beyond the last byte
    }
    CHECK(to == bytes + size, "{} bytes of {}", to - bytes, size);
    good = good && (seen & 0x80) == 0;
    return good ? size : before;
  });
  return good;
}

}  // namespace pawl

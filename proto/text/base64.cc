// SPDX-License-Identifier: Apache-2.0
#include "proto/text/base64.h"

#include <array>

#include "core/check.h"

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
  const std::size_t end = out.size() + (bytes.size() + 2) / 3 * 4;
  out.reserve(end);
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3) {
    const std::uint32_t group = std::uint32_t{bytes[i]} << 16 | std::uint32_t{bytes[i + 1]} << 8 |
                                std::uint32_t{bytes[i + 2]};
    const char text[4] = {alphabet[group >> 18], alphabet[group >> 12 & 63],
                          alphabet[group >> 6 & 63], alphabet[group & 63]};
    out.append(text, 4);
  }
  const std::size_t left = bytes.size() - i;
  if (left == 0) return;
  const std::uint32_t group =
      std::uint32_t{bytes[i]} << 16 | (left == 2 ? std::uint32_t{bytes[i + 1]} << 8 : 0);
  const char text[4] = {alphabet[group >> 18], alphabet[group >> 12 & 63],
                        left == 2 ? alphabet[group >> 6 & 63] : '=', '='};
  out.append(text, 4);
  CHECK(out.size() == end, "{} bytes of {}", out.size(), end);
}

bool decode_base64(std::string_view in, std::string& out) {
  if (in.size() % 4 != 0) return false;
  if (in.empty()) return true;
  const std::size_t before = out.size();
  const std::size_t padding = in.ends_with("==") ? 2 : in.ends_with("=") ? 1 : 0;
  const std::string_view digits = in.substr(0, in.size() - padding);

  out.reserve(before + digits.size() * 3 / 4);
  std::uint32_t bits = 0;
  unsigned held = 0;         // number of low bits of `bits` not yet written
  std::uint8_t strange = 0;  // top bit set: a character is outside the alphabet
  for (const char c : digits) {
    const std::uint8_t value = values[static_cast<std::uint8_t>(c)];
    strange |= value;
    bits = bits << 6 | (value & 63u);
    held += 6;
    if (held >= 8) {
      held -= 8;
      out.push_back(static_cast<char>(bits >> held & 0xff));
    }
  }
  if ((strange & 0x80) != 0 || (bits & ((1u << held) - 1)) != 0) {
    out.resize(before);
    return false;
  }
  CHECK(out.size() - before == digits.size() * 3 / 4, "{} bytes", out.size() - before);
  return true;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Big-endian numbers, as PostgreSQL and AMQP write them.
//
// Errors: none; a text that ends early reads as zeros.
// Owner:  the caller's text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::load {

template <typename T>
void put_big(std::string& out, T value) {
  for (std::size_t shift = 8 * sizeof value; shift > 0; shift -= 8)
    out += static_cast<char>(static_cast<std::uint64_t>(value) >> (shift - 8));
}

template <typename T>
T big_at(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = at; i < at + sizeof(T); ++i)
    value = value << 8 | (i < bytes.size() ? static_cast<unsigned char>(bytes[i]) : 0u);
  return static_cast<T>(value);
}

// Writes over a number that was put earlier.
template <typename T>
void patch_big(std::string& out, std::size_t at, T value) {
  std::string bytes;
  put_big(bytes, value);
  out.replace(at, bytes.size(), bytes);
}

}  // namespace pawl::load

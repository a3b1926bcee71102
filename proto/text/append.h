// SPDX-License-Identifier: Apache-2.0
// append_all: appends several texts with one check of the capacity. Literals are copied without
// calls.
//
// Errors: none. Owner: the caller's string.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>
#include <string_view>

namespace pawl {

template <std::size_t bytes>
constexpr std::string_view text_view(const char (&literal)[bytes]) {
  return {literal, bytes - 1};
}
constexpr std::string_view text_view(std::string_view text) { return text; }

// The texts must not be in `out`. An array of characters must be a literal.
template <typename... Texts>
void append_all(std::string& out, const Texts&... texts) {
  const std::size_t before = out.size();
  const std::size_t size = (before + ... + text_view(texts).size());
  out.resize_and_overwrite(size, [&](char* to, std::size_t) {
    to += before;
    const auto write = [&to](std::string_view text) {
      if (text.empty()) return;  // memcpy takes no null pointer
      std::memcpy(to, text.data(), text.size());
      to += text.size();
    };
    (write(text_view(texts)), ...);
    return size;
  });
}

}  // namespace pawl

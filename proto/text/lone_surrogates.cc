// SPDX-License-Identifier: Apache-2.0
#include "proto/text/lone_surrogates.h"

#include <charconv>
#include <cstdint>
#include <string_view>

namespace pawl {
namespace {

constexpr std::size_t escape_bytes = 6;  // \uXXXX

// The unit of the escape \uXXXX that begins at `at`; -1: none does.
int unit_at(std::string_view json, std::size_t at) {
  if (json.size() < at + escape_bytes || json[at] != '\\' || json[at + 1] != 'u') return -1;
  int unit = 0;
  const char* const digits = json.data() + at + 2;
  const auto [end, error] = std::from_chars(digits, digits + 4, unit, 16);
  return error == std::errc() && end == digits + 4 ? unit : -1;
}
bool is_high(int unit) { return unit >= 0xd800 && unit < 0xdc00; }
bool is_low(int unit) { return unit >= 0xdc00 && unit < 0xe000; }

}  // namespace

bool replace_lone_surrogates(std::string& json) {
  bool found = false;
  for (std::size_t at = json.find('\\'); at != json.npos; at = json.find('\\', at)) {
    const int unit = unit_at(json, at);
    const bool pair = is_high(unit) && is_low(unit_at(json, at + escape_bytes));
    if (!pair && (is_high(unit) || is_low(unit))) {
      json.replace(at + 2, 4, "fffe");
      found = true;
    }
    at += unit < 0 ? 2 : pair ? 2 * escape_bytes : escape_bytes;
  }
  return found;
}

}  // namespace pawl

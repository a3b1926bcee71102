// SPDX-License-Identifier: Apache-2.0
#include "proto/text/uuid.h"

#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "proto/text/text.h"

namespace pawl {

std::optional<MessageId> parse_uuid(std::string_view text) {
  constexpr std::string_view form = "00000000-0000-0000-0000-000000000000";
  if (text.size() != form.size()) return std::nullopt;
  MessageId id;
  std::size_t digits = 0;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const char c = lower(text[i]);
    if ((form[i] == '-') != (c == '-')) return std::nullopt;
    if (c == '-') continue;
    const bool decimal = c >= '0' && c <= '9';
    if (!decimal && (c < 'a' || c > 'f')) return std::nullopt;
    std::uint64_t& half = digits++ < 16 ? id.high : id.low;
    half = half << 4 | static_cast<std::uint64_t>(decimal ? c - '0' : c - 'a' + 10);
  }
  CHECK(digits == 32, "{} digits in {}", digits, text);
  return id == MessageId{} ? std::nullopt : std::optional(id);
}

}  // namespace pawl

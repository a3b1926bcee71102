// SPDX-License-Identifier: Apache-2.0
#include "proto/text/duration.h"

#include <charconv>
#include <cstdint>

namespace pawl {

std::optional<Duration> parse_duration(std::string_view text) {
  constexpr struct {
    std::string_view name;
    std::int64_t ms;
  } units[] = {
      {"",   1'000     },
      {"ms", 1         },
      {"s",  1'000     },
      {"m",  60'000    },
      {"h",  3'600'000 },
      {"d",  86'400'000},
  };
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc()) return std::nullopt;
  const std::string_view unit(stop, end);
  for (const auto& [name, ms] : units) {
    if (unit != name) continue;
    if (number > static_cast<std::uint64_t>(duration_max.ms / ms)) return std::nullopt;
    return Duration{static_cast<std::int64_t>(number) * ms};
  }
  return std::nullopt;
}

}  // namespace pawl

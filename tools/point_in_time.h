// Points in time as people write them: 2026-11-22T10:00:00Z, or how long ago: 90s, 15m, 2h, 3d.
//
// Units:  milliseconds since 1970.
// Source: RFC 3339, UTC alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

std::int64_t wall_clock_ms();
// Empty when it is neither, or not after 1970.
std::optional<std::int64_t> point_in_time(std::string_view text, std::int64_t now);
std::string time_text(std::int64_t ms);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Points in time on the command line: 2026-11-22T10:00:00Z, or an age: 90s, 15m, 2h, 3d.
//
// Units:  milliseconds since 1970.
// Source: RFC 3339, as proto/text/timestamp.h reads it.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace pawl {

std::int64_t wall_clock_ms();
// Empty for any other text, and for a time not after 1970-01-01T00:00:00Z.
std::optional<std::int64_t> point_in_time(std::string_view text, std::int64_t now);
// The error text for a flag whose value point_in_time() refuses; empty: it is accepted.
std::string check_point_in_time(const std::string& text);
std::string time_text(std::int64_t ms);
std::string clock_text(std::chrono::local_seconds time);  // 2026-11-22T10:00:00

}  // namespace pawl

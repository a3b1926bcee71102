// SPDX-License-Identifier: Apache-2.0
// Durations as people write them: 250ms, 90s, 15m, 2h, 3d; a bare number is seconds.
//
// Units:  Duration counts milliseconds.
// Limits: duration_max.
// Errors: no value: another form, a sign, a fraction, or more than duration_max.
// Owner:  free functions.
#pragma once

#include <optional>
#include <string_view>

#include "core/base/time.h"

namespace pawl {

inline constexpr Duration duration_max = seconds(std::int64_t{100} * 366 * 86'400);  // 100 years
inline constexpr std::string_view duration_forms = "250ms, 90s, 15m, 2h or 3d";  // for error texts

std::optional<Duration> parse_duration(std::string_view text);

}  // namespace pawl

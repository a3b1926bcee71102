// SPDX-License-Identifier: Apache-2.0
// Points in time as people and programs write them: 2026-12-24T18:00:00Z.
//
//   2026-12-24T18:00:00.250Z   2026-12-24T19:00:00+01:00   2026-12-24T19:00:00+0100
//
// Units:  an Instant of the wall clock.
// Errors: no value: another form, such as a date alone, or a date that does not exist.
// Owner:  free functions.
// Source: RFC 3339; ISO 8601 for an offset without a colon.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/base/time.h"

namespace pawl {

inline constexpr std::string_view timestamp_form = "2026-12-24T18:00:00Z";  // for error texts

// Digits of a fraction after the third are ignored.
std::optional<Instant> parse_timestamp(std::string_view text);

// In UTC: 2026-12-24T18:00:00Z, or 2026-12-24T18:00:00.250Z.
std::string timestamp_text(Instant time);
std::string timestamp_ms_text(Instant time);

}  // namespace pawl

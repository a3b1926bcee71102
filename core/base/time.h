// SPDX-License-Identifier: Apache-2.0
// Time as core sees it: a number handed in, never read.
//
// Units: Instant is milliseconds since 1970 (wall time, slewed, never stepped: net/engine/clock.h);
//        Duration is milliseconds. 48 bits of them last until the year 10889.
// Owner: values; no clock is read here or anywhere in core.
#pragma once

#include <compare>
#include <cstdint>

namespace pawl {

struct Duration {
  std::int64_t ms = 0;
  auto operator<=>(const Duration&) const = default;
};

struct Instant {
  std::int64_t ms = 0;
  auto operator<=>(const Instant&) const = default;
};

constexpr Duration milliseconds(std::int64_t n) { return {n}; }
constexpr Duration seconds(std::int64_t n) { return {n * 1000}; }

constexpr Instant operator+(Instant t, Duration d) { return {t.ms + d.ms}; }
constexpr Instant operator-(Instant t, Duration d) { return {t.ms - d.ms}; }
constexpr Duration operator-(Instant a, Instant b) { return {a.ms - b.ms}; }
constexpr Duration operator+(Duration a, Duration b) { return {a.ms + b.ms}; }
constexpr Duration operator*(Duration d, std::int64_t n) { return {d.ms * n}; }

inline constexpr Instant never{INT64_MAX / 2};

// Reads the time. The server's clock is net/engine/clock.h, over the kernel's clocks of
// net/io/kernel_clocks.h; tests set the time.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual Instant now() = 0;
};

}  // namespace pawl

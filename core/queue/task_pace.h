// SPDX-License-Identifier: Apache-2.0
// TaskPace: the earliest time of the next message of a task with a rate.
//
// After a pause a task catches up on at most catch_up of it.
//
// Units:  rate in messages a second, 0: no limit; Instant ms, kept in microseconds.
// Owner:  a task.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "core/base/time.h"

namespace pawl {

class TaskPace {
 public:
  static constexpr Duration catch_up = milliseconds(100);

  void from(Instant time) { next_us_ = us(time); }
  bool allows(Instant now) const { return next_us_ <= us(now); }
  Instant next() const { return {(next_us_ + 999) / 1000}; }
  // Number of the `wanted` messages that may leave now.
  std::size_t allowed(Instant now, std::uint32_t rate, std::size_t wanted) const {
    if (!allows(now)) return 0;
    if (rate == 0) return wanted;
    const std::int64_t due = (us(now) - since(now)) * rate / second_us + 1;
    CHECK(due > 0, "{} messages are due", due);
    return std::min(wanted, static_cast<std::size_t>(due));
  }
  // `count` messages leave.
  void took(std::size_t count, Instant now, std::uint32_t rate) {
    if (rate > 0) next_us_ = since(now) + static_cast<std::int64_t>(count) * second_us / rate;
  }

 private:
  static constexpr std::int64_t second_us = 1'000'000;
  static std::int64_t us(Instant t) { return t.ms * 1000; }
  std::int64_t since(Instant now) const { return std::max(next_us_, us(now - catch_up)); }

  std::int64_t next_us_ = 0;
};

}  // namespace pawl

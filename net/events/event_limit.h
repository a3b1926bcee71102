// SPDX-License-Identifier: Apache-2.0
// EventLimit: how many lines of one code are written, and how many were left out.
//
// The allowance of a minute may be used at once; it then returns evenly over the next minute.
//
// Units:  us of a clock that the caller reads; it may differ a little between threads.
// Limits: `lines_a_minute` at once, and as many a minute in the long run.
// Owner:  all threads; without locks.
// Source: the generic cell rate algorithm, ITU-T I.371, annex A.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/base/check.h"

namespace pawl {

class EventLimit {
 public:
  static constexpr std::int64_t minute_us = 60'000'000;

  // Uses a line of the allowance. False: there is none left, and the line is counted as suppressed.
  bool admit(std::uint32_t lines_a_minute, std::int64_t now_us) {
    CHECK(lines_a_minute > 0, "a code without lines");
    const std::int64_t share_us = minute_us / lines_a_minute;
    std::int64_t used_until = used_until_us_.load(std::memory_order_relaxed);
    for (;;) {
      const std::int64_t next = std::max(used_until, now_us) + share_us;
      if (next > now_us + minute_us) {
        suppress(1);
        return false;
      }
      if (used_until_us_.compare_exchange_weak(used_until, next, std::memory_order_relaxed))
        return true;
    }
  }

  void suppress(std::uint64_t lines) { suppressed_.fetch_add(lines, std::memory_order_relaxed); }
  // The suppressed lines since the last call.
  std::uint64_t take_suppressed() { return suppressed_.exchange(0, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> used_until_us_{0};  // when the whole allowance is back
  std::atomic<std::uint64_t> suppressed_{0};
};

}  // namespace pawl

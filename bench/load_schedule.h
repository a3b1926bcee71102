// SPDX-License-Identifier: Apache-2.0
// LoadSchedule: the due times of requests.
//
// Open loop: request n falls due at start + n / rate, computed from n, so that due times do not
// drift.
// Closed loop: always now.
//
// Units:  nanoseconds of one monotonic clock.
// Owner:  one load run.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/base/check.h"

namespace pawl::load {

class LoadSchedule {
 public:
  // `rate` requests per second; 0: closed loop.
  LoadSchedule(double rate, std::uint64_t start) : rate_(rate), start_(start) {
    CHECK(rate >= 0, "a rate of {}", rate);
  }

  bool open() const { return rate_ > 0; }
  // Due time of the next request.
  std::uint64_t next(std::uint64_t now) const {
    if (!open()) return now;
    return start_ + static_cast<std::uint64_t>(static_cast<double>(issued_) * 1e9 / rate_);
  }
  void issue() { ++issued_; }
  // Number of requests that fall due before `end` and are not issued. An interrupted load may end
  // before its start.
  std::uint64_t left(std::uint64_t end) const {
    if (!open() || end <= start_) return 0;
    const double due = std::ceil(static_cast<double>(end - start_) / 1e9 * rate_);
    return due > static_cast<double>(issued_) ? static_cast<std::uint64_t>(due) - issued_ : 0;
  }

 private:
  double rate_;
  std::uint64_t start_;
  std::uint64_t issued_ = 0;
};

}  // namespace pawl::load

// SPDX-License-Identifier: Apache-2.0
// TimeShift: the lead of the wall clock over engine time. Steps of the wall clock do not move
// engine time.
//
// Messages keep engine time; requests and responses use wall time.
//
// Owner: the server's clock (net/engine/clock.h), read by all.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/time.h"

namespace pawl {

class TimeShift {
 public:
  std::int64_t us() const { return us_.load(std::memory_order_relaxed); }
  void set_us(std::int64_t us) { us_.store(us, std::memory_order_relaxed); }

  // In both clocks 0 means no time.
  Instant wall(Instant engine) const {
    return engine.ms == 0 ? engine : Instant{engine.ms + us() / 1000};
  }
  Instant engine(Instant wall) const {
    return wall.ms == 0 ? wall : Instant{wall.ms - us() / 1000};
  }

 private:
  std::atomic<std::int64_t> us_{0};  // relaxed: one number, which orders nothing else
};

inline const TimeShift no_shift;

}  // namespace pawl

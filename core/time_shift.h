// TimeShift: by how much the wall clock is ahead of the engine's time, which no step of the wall clock moves.
//
// Messages keep engine time; what users are told and what they say is wall time.
//
// Owner: the server's clock (net/engine/clock.h), read by all.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/time.h"

namespace pawl {

class TimeShift {
 public:
  std::int64_t us() const { return us_.load(std::memory_order_relaxed); }
  void set_us(std::int64_t us) { us_.store(us, std::memory_order_relaxed); }

  // 0 says that there is no time, in both.
  Instant wall(Instant engine) const {
    return engine.ms == 0 ? engine : Instant{engine.ms + us() / 1000};
  }
  Instant engine(Instant wall) const {
    return wall.ms == 0 ? wall : Instant{wall.ms - us() / 1000};
  }

 private:
  std::atomic<std::int64_t> us_{0};
};

inline const TimeShift no_shift;

}  // namespace pawl

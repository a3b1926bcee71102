// The server's clock: wall time that is never stepped.
//
// CLOCK_BOOTTIME plus an offset, fixed at start from the wall clock, or from the newest frame of the log
// when that is later; while running it follows the wall clock by at most 500 ppm. A stepped wall clock thus
// neither fires timers nor holds them back, and deadlines, being wall time, hold across a restart.
//
// Units:  Instant ms since 1970; now_us() microseconds of an arbitrary start.
// Owner:  one for the server, read by every shard; follow() by shard 0 alone, once a second.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/time.h"

namespace pawl {

class EngineClock final : public Clock {
 public:
  EngineClock();
  // Time does not start before this.
  void not_before(Instant newest);
  void follow();
  Instant now() override;
  static std::uint64_t now_us();

 private:
  std::atomic<std::int64_t> offset_us_;
};

}  // namespace pawl

// The server's clock: wall time that is never stepped.
//
// Time since the machine was started (which goes on while it sleeps) plus an offset, fixed at a start from the wall
// clock, or from the newest frame of the log when that is later; while running it follows the wall clock by at most
// 500 ppm. A stepped wall clock thus neither fires timers nor holds them back, and deadlines, being wall time, hold
// across a restart. An hour is made up for in 83 days, or at the next start: what has to agree with other machines
// meanwhile, such as the time of a signature, is compared with wall().
//
// Units:  Instant ms since 1970; now_us() microseconds of an arbitrary start.
// Owner:  one for the server, read by every shard; follow() by shard 0 alone, once a second.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/time.h"

namespace pawl {

// What the machine has for clocks, in microseconds.
class MachineClocks {
 public:
  virtual ~MachineClocks() = default;
  virtual std::int64_t wall_us() const = 0;  // since 1970; it may be stepped, by somebody or by NTP
  virtual std::int64_t running_us() const = 0;  // since its start; even
};
const MachineClocks& kernel_clocks();

class EngineClock final : public Clock {
 public:
  static constexpr std::int64_t slew_us_a_call = 500;  // 500 ppm at one call a second

  explicit EngineClock(const MachineClocks& clocks = kernel_clocks());
  // Time does not start before this.
  void not_before(Instant newest);
  void follow();
  Instant now() override { return Instant{(clocks_->running_us() + offset_us()) / 1000}; }
  // When now() will be `instant`, as running_us() has it.
  std::int64_t running_us_at(Instant instant) const { return instant.ms * 1000 - offset_us(); }
  // What others call the time.
  static Instant wall() { return Instant{kernel_clocks().wall_us() / 1000}; }
  static std::uint64_t now_us();

 private:
  std::int64_t offset_us() const { return offset_us_.load(std::memory_order_relaxed); }

  const MachineClocks* clocks_;
  std::atomic<std::int64_t> offset_us_;
};

}  // namespace pawl

// The server's clock: the time that messages age by. It runs evenly, and no step of the wall clock moves it.
//
// Engine time is the time since the machine was started (which goes on while it sleeps) plus an offset; the wall time is
// engine time plus a shift. A wall clock that drifts is followed by at most 500 ppm; one that is set by more than a second
// changes the shift alone. Both are noted in PAWL (ClockAnchor), so that time goes on across starts:
//
//   the machine runs on     the offset still holds
//   it was restarted        the wall clock says how long it was off, and that counts when it can be believed: when the kernel
//                           calls it synchronised, when it was not set for ten minutes, or when the operator says so.
//                           Until then the time that it was off has not passed
//
// Time never goes back: not before the newest frame of the logs, nor before what PAWL noted.
//
// Units:  Instant ms since 1970 as of the directory's first start; running_us() microseconds since
//         the machine was started.
// Limits: a step that nobody has noted yet, because the machine lost its power within the second, counts as time off.
// Owner:  one for the server, read by every shard; follow() and what changes it by the main thread alone.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "core/time.h"
#include "core/time_shift.h"
#include "wal/data_identity.h"

namespace pawl {

// What the machine has for clocks, in microseconds.
class MachineClocks {
 public:
  virtual ~MachineClocks() = default;
  virtual std::int64_t wall_us() const = 0;  // since 1970; it may be stepped, by somebody or by NTP
  virtual std::int64_t running_us() const = 0;               // since its start; even
  virtual std::array<std::uint8_t, 16> boot_id() const = 0;  // differs from start to start
  virtual bool synchronised() const = 0;                     // somebody keeps the wall clock right
};

class EngineClock : public Clock {
 public:
  static constexpr std::int64_t slew_us_a_call = 500;  // 500 ppm at one call a second
  static constexpr std::int64_t step_us = 1'000'000;   // a larger difference is a step
  static constexpr std::int64_t steady_us =
      600'000'000;  // without a step: the wall clock is believed

  // Of a new directory: engine time is the wall time.
  explicit EngineClock(const MachineClocks& clocks);
  // Of a directory that is there, before its logs are read. `trusted`: an operator vouches for the wall clock.
  void resume(const ClockAnchor& anchor, bool trusted);
  // The logs are read, and this is the time of their newest frame: it is over.
  void settle(Instant newest);

  struct Followed {
    bool changed = false;         // anchor() is to be written
    std::int64_t stepped_us = 0;  // by so much the wall clock was set
    std::int64_t counted_us = 0;  // so much of the time that the machine was off has passed now
  };
  Followed follow();  // once a second
  // For the next start. noted() when it is durable.
  ClockAnchor anchor() const;
  void noted() { noted_offset_us_ = offset_us(); }

  // The machine was restarted, and the wall clock is not believed yet; it says that so much time has passed.
  bool waits() const { return waits_; }
  std::int64_t uncounted_us() const { return shift_.us() - shift_before_us_; }

  Instant now() override { return Instant{(clocks_->running_us() + offset_us()) / 1000}; }
  // When now() will be `instant`, as running_us() has it.
  std::int64_t running_us_at(Instant instant) const { return instant.ms * 1000 - offset_us(); }
  const TimeShift& shift() const { return shift_; }

 private:
  std::int64_t offset_us() const { return offset_us_.load(std::memory_order_relaxed); }
  void set_engine_us(std::int64_t us);
  std::int64_t count_time_off();

  const MachineClocks* clocks_;
  std::atomic<std::int64_t> offset_us_;
  TimeShift shift_;
  std::int64_t noted_offset_us_ = 0;
  std::int64_t shift_before_us_ = 0;  // when the machine went off
  std::int64_t steady_since_us_ = 0;  // of running_us()
  bool waits_ = false;
  bool trusted_ = false;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The server's clock: the time that messages age by. It runs evenly, and no step of the wall clock
// moves it.
//
// Engine time is the time since the machine was started (which continues while it sleeps) plus an
// offset; the wall time is engine time plus a shift. The offset follows a drifting wall clock by at
// most 500 ppm. A step of the wall clock by more than a second changes the shift alone. Both are
// noted in PAWL (ClockAnchor), so that time continues across restarts of the server:
//
//   the machine runs on     the offset is still valid
//   it was restarted        the wall clock gives the time the machine was off. That time counts
//                           when the wall clock can be trusted: the kernel calls it synchronised,
//                           it was not set for ten minutes, or the operator vouches for it. Until
//                           then the time off has not passed.
//
// Time never goes back: neither before the newest frame of the logs, nor before the time noted in
// PAWL.
//
// Units:  Instant ms since 1970 as of the directory's first startup; running_us() microseconds
//         since the machine was started.
// Limits: a step counts as time off if the machine lost power within a second, before it was noted.
// Owner:  one for the server, read by every shard; its caller makes one change at a time.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/time.h"
#include "core/base/time_shift.h"
#include "wal/data_identity.h"

namespace pawl {

// The clocks of the machine, in microseconds.
class MachineClocks {
 public:
  virtual ~MachineClocks() = default;
  virtual std::int64_t wall_us() const = 0;     // since 1970; a user or NTP may step it
  virtual std::int64_t running_us() const = 0;  // since the machine's start; even
  virtual BootId boot_id() const = 0;
  // True: the kernel says that the wall clock is kept right. False: it says no, or nothing.
  virtual bool synchronised() const = 0;
};

class EngineClock : public Clock {
 public:
  static constexpr std::int64_t slew_us_a_call = 500;  // 500 ppm at one call a second
  static constexpr std::int64_t step_us = 1'000'000;   // a larger difference is a step
  // After this time without a step the wall clock is trusted.
  static constexpr std::int64_t steady_us = 600'000'000;

  // For a new directory: engine time is the wall time.
  explicit EngineClock(const MachineClocks& clocks);
  // For an existing directory, before its logs are read. `trusted`: the operator vouches for the
  // wall clock.
  void resume(const ClockAnchor& anchor, bool trusted);
  // Call it after the logs are read, with the time of their newest frame: now() begins after it.
  void settle(Instant newest);

  struct Followed {
    bool changed = false;         // anchor() must be written
    std::int64_t stepped_us = 0;  // size of the wall clock's step
    std::int64_t counted_us = 0;  // time off that has been counted in this call
  };
  Followed follow();  // once a second
  // For tests of programs: so much time passes at once. Messages become older by it, and schedules
  // fire; the wall time of requests stays.
  void advance(Duration by);
  // The anchor for the next startup. Call noted() when it is durable.
  ClockAnchor anchor() const;
  void noted() { noted_offset_us_ = offset_us(); }

  // True: the machine was restarted, and the wall clock is not trusted yet. uncounted_us() is the
  // time off by the wall clock.
  bool waits() const { return waits_; }
  std::int64_t uncounted_us() const { return shift_.us() - shift_before_us_; }

  Instant now() override { return Instant{(clocks_->running_us() + offset_us()) / 1000}; }
  // The value of running_us() at which now() reaches `instant`.
  std::int64_t running_us_at(Instant instant) const { return instant.ms * 1000 - offset_us(); }
  const TimeShift& shift() const { return shift_; }
  // The clock of schedules: wall time, and the time that advance() has let pass.
  const TimeShift& schedule_shift() const { return schedule_shift_; }
  // The wall time of an instant before the start.
  Instant wall_before_start(Instant engine) const {
    return Instant{engine.ms + shift_before_us_ / 1000};
  }

 private:
  std::int64_t offset_us() const { return offset_us_.load(std::memory_order_relaxed); }
  void set_engine_us(std::int64_t us);
  void set_shift_us(std::int64_t us);
  std::int64_t count_time_off();

  const MachineClocks* clocks_;
  // Relaxed: one number, which orders nothing else.
  std::atomic<std::int64_t> offset_us_;
  TimeShift shift_, schedule_shift_;
  std::int64_t advanced_us_ = 0;
  std::int64_t noted_offset_us_ = 0;
  std::int64_t shift_before_us_ = 0;  // the shift noted before the start
  std::int64_t steady_since_us_ = 0;  // running_us() at settle() or the last step
  bool waits_ = false;
  bool trusted_ = false;
};

}  // namespace pawl

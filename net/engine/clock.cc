// SPDX-License-Identifier: Apache-2.0
#include "net/engine/clock.h"

#include <algorithm>
#include <cstdlib>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

constexpr std::int64_t noted_within_us = 250'000;  // maximum change of the offset without a note

}  // namespace

EngineClock::EngineClock(const MachineClocks& clocks) : clocks_(&clocks), offset_us_(0) {
  set_engine_us(clocks.wall_us());
}

void EngineClock::set_engine_us(std::int64_t us) {
  offset_us_.store(us - clocks_->running_us(), std::memory_order_relaxed);
}

// A machine whose memory was restored to an earlier time has the same boot id; it is treated as
// restarted.
void EngineClock::resume(const ClockAnchor& anchor, bool trusted) {
  if (MUTANT(believe_wall)) return;
  trusted_ = trusted;
  const bool runs_on = anchor.known() && is_same_boot(anchor.boot_id, clocks_->boot_id()) &&
                       clocks_->running_us() + anchor.offset_us >= anchor.engine.ms * 1000;
  if (runs_on) {
    offset_us_.store(anchor.offset_us, std::memory_order_relaxed);
  } else {
    set_engine_us(anchor.engine.ms * 1000);
    waits_ = true;
  }
  set_shift_us(anchor.shift_us);
  shift_before_us_ = anchor.shift_us;
}

void EngineClock::settle(Instant newest) {
  if (now() <= newest) set_engine_us((newest.ms + 1) * 1000);
  CHECK(now() > newest, "{} is not after {}", now().ms, newest.ms);
  if (waits_) set_shift_us(clocks_->wall_us() - clocks_->running_us() - offset_us());
  steady_since_us_ = clocks_->running_us();
  noted_offset_us_ = offset_us();
  if (waits_ && uncounted_us() <= step_us) count_time_off();
  follow();
}

EngineClock::Followed EngineClock::follow() {
  Followed followed;
  const std::int64_t running = clocks_->running_us();
  std::int64_t ahead = clocks_->wall_us() - running - offset_us() - shift_.us();
  if (std::abs(ahead) > step_us) {
    set_shift_us(shift_.us() + ahead);
    followed.stepped_us = ahead;
    followed.changed = !waits_;
    steady_since_us_ = running;
    ahead = 0;
  }
  const bool believed =
      trusted_ || clocks_->synchronised() || running - steady_since_us_ >= steady_us;
  if (waits_ && believed) {
    followed.counted_us = count_time_off();
    followed.changed = true;
  }
  const std::int64_t slew = std::clamp(ahead, -slew_us_a_call, slew_us_a_call);
  offset_us_.fetch_add(slew, std::memory_order_relaxed);
  followed.changed |= !waits_ && std::abs(offset_us() - noted_offset_us_) > noted_within_us;
  return followed;
}

void EngineClock::set_shift_us(std::int64_t us) {
  shift_.set_us(us);
  schedule_shift_.set_us(us + advanced_us_);
}

void EngineClock::advance(Duration by) {
  CHECK(by.ms >= 0, "{} ms: time does not go back", by.ms);
  advanced_us_ += by.ms * 1000;
  set_shift_us(shift_.us() - by.ms * 1000);
  offset_us_.fetch_add(by.ms * 1000, std::memory_order_relaxed);
}

// Counts the wall clock's advance since the machine went off; 0 if it went back.
std::int64_t EngineClock::count_time_off() {
  CHECK(waits_, "the time off is counted twice");
  const std::int64_t counted = std::max<std::int64_t>(0, uncounted_us());
  offset_us_.fetch_add(counted, std::memory_order_relaxed);
  set_shift_us(shift_.us() - counted);
  waits_ = false;
  return counted;
}

// While the time off is not counted, the anchor keeps the shift from before the machine went off:
// the next startup counts from there.
ClockAnchor EngineClock::anchor() const {
  const Instant engine{(clocks_->running_us() + offset_us()) / 1000};
  if (waits_) return {{}, 0, shift_before_us_, engine};
  return {clocks_->boot_id(), offset_us(), shift_.us(), engine};
}

}  // namespace pawl

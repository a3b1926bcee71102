#include "net/clock.h"

#include <algorithm>
#include <ctime>

namespace pawl {
namespace {

std::int64_t read_us(clockid_t id) {
  std::timespec time{};
  clock_gettime(id, &time);
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

class KernelClocks final : public MachineClocks {
 public:
  std::int64_t wall_us() const override { return read_us(CLOCK_REALTIME); }
  std::int64_t running_us() const override { return read_us(CLOCK_BOOTTIME); }
};

}  // namespace

const MachineClocks& kernel_clocks() {
  static const KernelClocks clocks;
  return clocks;
}

EngineClock::EngineClock(const MachineClocks& clocks)
    : clocks_(&clocks), offset_us_(clocks.wall_us() - clocks.running_us()) {}

void EngineClock::not_before(Instant newest) {
  const std::int64_t behind_ms = newest.ms - now().ms;
  if (behind_ms > 0) offset_us_.fetch_add(behind_ms * 1000, std::memory_order_relaxed);
}

void EngineClock::follow() {
  const std::int64_t wanted = clocks_->wall_us() - clocks_->running_us();
  const std::int64_t step = std::clamp(wanted - offset_us(), -slew_us_a_call, slew_us_a_call);
  offset_us_.fetch_add(step, std::memory_order_relaxed);
}

std::uint64_t EngineClock::now_us() { return static_cast<std::uint64_t>(read_us(CLOCK_MONOTONIC)); }

}  // namespace pawl

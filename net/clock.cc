#include "net/clock.h"

#include <algorithm>
#include <ctime>

namespace pawl {
namespace {

constexpr std::int64_t slew_us_a_call = 500;  // 500 ppm at one call a second

std::int64_t read_us(clockid_t id) {
  std::timespec time{};
  clock_gettime(id, &time);
  return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_nsec / 1000;
}

}  // namespace

EngineClock::EngineClock() : offset_us_(read_us(CLOCK_REALTIME) - read_us(CLOCK_BOOTTIME)) {}

void EngineClock::not_before(Instant newest) {
  const std::int64_t behind_ms = newest.ms - now().ms;
  if (behind_ms > 0) offset_us_.fetch_add(behind_ms * 1000, std::memory_order_relaxed);
}

void EngineClock::follow() {
  const std::int64_t wanted = read_us(CLOCK_REALTIME) - read_us(CLOCK_BOOTTIME);
  const std::int64_t step = std::clamp(wanted - offset_us_.load(std::memory_order_relaxed),
                                       -slew_us_a_call, slew_us_a_call);
  offset_us_.fetch_add(step, std::memory_order_relaxed);
}

Instant EngineClock::now() {
  return Instant{(read_us(CLOCK_BOOTTIME) + offset_us_.load(std::memory_order_relaxed)) / 1000};
}

std::uint64_t EngineClock::now_us() { return static_cast<std::uint64_t>(read_us(CLOCK_MONOTONIC)); }

}  // namespace pawl

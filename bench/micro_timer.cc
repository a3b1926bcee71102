// SPDX-License-Identifier: Apache-2.0
// Timers: the cost of arming and expiring through a lane and through the wheel.
#include <cstdint>

#include "bench/micro.h"
#include "core/containers/timer_wheel.h"
#include "tests/sim/random.h"

namespace pawl::bench {
namespace {

constexpr Instant start{1'700'000'000'000};

// `range(0)` timers are always armed; each step arms one and expires due timers.
void lane_arm_expire(benchmark::State& state) {
  TimerWheel wheel(start);
  Instant now = start;
  std::uint32_t subject = 0;
  const auto step = [&] {
    now = now + milliseconds(1);
    wheel.arm(now, milliseconds(state.range(0)), 1, ++subject, 0);
    wheel.expire(now, 1000, [](const TimerEntry&) { return true; });
  };
  for (std::int64_t i = 0; i < 2 * state.range(0); ++i) step();
  Allocations allocations(state);
  for (auto _ : state) step();
  allocations.done(state.iterations());
}
BENCHMARK(lane_arm_expire)->Arg(1000)->Arg(1'000'000);

void wheel_arm_expire(benchmark::State& state) {
  TimerWheel wheel(start);
  sim::Random random(1);
  Instant now = start;
  std::uint32_t subject = 0;
  const auto step = [&] {
    now = now + milliseconds(1);
    const auto distance = 1 + random.below(2 * static_cast<std::uint64_t>(state.range(0)));
    wheel.arm(now + milliseconds(static_cast<std::int64_t>(distance)), 1, ++subject, 0);
    wheel.expire(now, 1000, [](const TimerEntry&) { return true; });
  };
  for (std::int64_t i = 0; i < 4 * state.range(0); ++i) step();
  Allocations allocations(state);
  for (auto _ : state) step();
  allocations.done(state.iterations());
}
BENCHMARK(wheel_arm_expire)->Arg(1000)->Arg(1'000'000);

// Cancels a timer, like most timers. It is behind a live head, so that only a sweep finds it.
void lane_arm_cancel(benchmark::State& state) {
  TimerWheel wheel(start);
  for (std::int64_t i = 0; i < state.range(0); ++i) wheel.arm(start, seconds(30), 1, 0, 0);
  const auto live = [](const TimerEntry& entry) { return entry.kind == 1; };
  const auto step = [&] {
    wheel.arm(start, seconds(30), 2, 0, 0);
    wheel.cancelled();
    wheel.sweep(256, live);
  };
  for (int i = 0; i < 200'000; ++i) step();
  Allocations allocations(state);
  for (auto _ : state) step();
  allocations.done(state.iterations());
}
BENCHMARK(lane_arm_cancel)->Arg(1)->Arg(100'000);

void wheel_next(benchmark::State& state) {
  TimerWheel wheel(start);
  sim::Random random(1);
  for (int i = 0; i < 1000; ++i)
    wheel.arm(start + milliseconds(static_cast<std::int64_t>(random.below(100'000'000))), 1, 0, 0);
  Allocations allocations(state);
  for (auto _ : state) benchmark::DoNotOptimize(wheel.next());
  allocations.done(state.iterations());
}
BENCHMARK(wheel_next);

}  // namespace
}  // namespace pawl::bench

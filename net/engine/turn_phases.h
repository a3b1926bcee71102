// SPDX-License-Identifier: Apache-2.0
// TurnPhases: where the time of a shard's turns goes. A turn is a sequence of spans, and each span
// belongs to a phase:
//
//   arrive: connections -> end_writes: log -> decide: engine -> append: log -> leave: connections
//           -> submit: kernel
//
// In each turn one span is measured, by rotation: two readings of the clock. A measured span stands
// for as many as there are spans, so that the sums approach the time of all turns. Turns of a loop
// that looks for work count as well; its sleep and its yields do not.
//
// Units:  microseconds. A reading is rounded down, which evens out over many turns.
// Owner:  one for each shard; its worker and its loop mark the spans.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/base/check.h"
#include "net/engine/clock.h"

namespace pawl {

enum class TurnPhase : std::uint8_t { connections, engine, log, kernel };
inline constexpr std::size_t turn_phases = 4;

enum class TurnSpan : std::uint8_t { arrive, end_writes, decide, append, leave, submit };
inline constexpr std::size_t turn_spans = 6;

constexpr TurnPhase phase_of(TurnSpan span) {
  constexpr std::array<TurnPhase, turn_spans> phases{TurnPhase::connections, TurnPhase::log,
                                                     TurnPhase::engine,      TurnPhase::log,
                                                     TurnPhase::connections, TurnPhase::kernel};
  return phases[static_cast<std::size_t>(span)];
}

class TurnPhases {
 public:
  explicit TurnPhases(const MachineClocks& clocks) : clocks_(&clocks) {}

  void begin_turn() { measured_ = measured_ + 1 == turn_spans ? 0 : measured_ + 1; }
  void begin(TurnSpan span) {
    if (static_cast<std::size_t>(span) == measured_) begun_us_ = clocks_->running_us();
  }
  void end(TurnSpan span) {
    if (static_cast<std::size_t>(span) != measured_ || begun_us_ == none) return;
    const std::int64_t passed = clocks_->running_us() - begun_us_;
    begun_us_ = none;
    CHECK(passed >= 0, "a span of {} us", passed);
    sums_[static_cast<std::size_t>(phase_of(span))] +=
        turn_spans * static_cast<std::uint64_t>(passed);
  }
  // The estimated time of a phase in all turns.
  std::uint64_t sum(TurnPhase phase) const { return sums_[static_cast<std::size_t>(phase)]; }

 private:
  static constexpr std::int64_t none = -1;

  const MachineClocks* clocks_;
  std::size_t measured_ = 0;      // the span of this turn
  std::int64_t begun_us_ = none;  // when it began
  std::array<std::uint64_t, turn_phases> sums_{};
};

}  // namespace pawl

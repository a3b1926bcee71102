// SPDX-License-Identifier: Apache-2.0
#include "net/server/idle_policy.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"

namespace pawl {

IdlePolicy::Next IdlePolicy::after(const Turn& turn) {
  if (poll_ == Poll::automatic) note_window(turn);
  if (turn.worked) worked_us_ = turn.now_us;
  if (!turn.writing) {
    writing_since_us_ = 0;
  } else if (writing_since_us_ == 0) {
    writing_since_us_ = std::max<std::uint64_t>(turn.now_us, 1);
  }
  const bool alone = is_alone(turn.now_us);
  const bool spin = spins_on(turn);
  const bool stays = turn.worked || turn.due || spin;
  if (turn.writing && stays && turn.now_us - writing_since_us_ > yield_after_us) {
    if (alone) return Next::yield;
    if (turn.due && turn.now_us - stepped_aside_us_ >= step_aside_every_us) {
      stepped_aside_us_ = turn.now_us;
      return Next::step_aside;
    }
  }
  return turn.due || spin ? Next::turn : Next::sleep;
}

bool IdlePolicy::spins_on(const Turn& turn) const {
  if (!is_alone(turn.now_us)) return poll_ == Poll::spin && !turn.writing;
  if (poll_ == Poll::spin) return true;
  const std::uint64_t most_us = turn.writing ? write_spins * spin_us_ : spin_us_;
  return kind_ == spins && turn.now_us - worked_us_ < most_us;
}

void IdlePolicy::note_window(const Turn& turn) {
  CHECK(turn.requests >= window_since_requests_, "{} requests after {}", turn.requests,
        window_since_requests_);
  const bool rested = writing_since_us_ == 0 && turn.now_us - worked_us_ > rest_us;
  const std::uint64_t requests = turn.requests - window_since_requests_;
  const std::uint64_t took_us = turn.now_us - window_since_us_;
  const bool full =
      requests >= window_requests ? took_us >= window_us_min : took_us >= window_us_max;
  if (!rested && !full) return;
  window_since_us_ = turn.now_us;
  window_since_requests_ = turn.requests;
  if (rested || requests < window_requests_min) {
    forget();
  } else {
    compare(std::max<std::uint64_t>(requests * 1'000'000 / took_us, 1));
  }
}

// The kind of the next window, after one of kind_ with this rate. Windows of unequal kind follow
// each other in pairs, and around a probe.
void IdlePolicy::compare(std::uint64_t rate) {
  const std::uint64_t before = std::exchange(rate_, rate);
  const Kind other = kind_ == spins ? sleeps : spins;
  if (pairs_ < pairs_to_decide) {
    if (kind_ == spins && before != 0) {
      ++pairs_;
      wins_ += is_gain(before, rate) ? 1 : 0;
    }
    kind_ = pairs_ < pairs_to_decide ? other : better_kind();
  } else if (kind_ == better_kind()) {
    if (++windows_ == windows_a_probe) kind_ = other;
  } else {
    windows_ = 0;
    const bool spins_win = kind_ == spins ? is_gain(before, rate) : is_gain(rate, before);
    if (spins_win != (better_kind() == spins)) return forget();
    kind_ = other;
  }
}

void IdlePolicy::forget() {
  kind_ = sleeps;
  rate_ = pairs_ = wins_ = windows_ = 0;
}

void IdlePolicy::yielded(std::uint64_t now_us, std::uint64_t took_us) {
  if (took_us <= slow_yield_us) return;
  if (now_us - slow_yield_us_ < slow_yields_within_us) contended_until_us_ = now_us + contended_us;
  slow_yield_us_ = now_us;
}

}  // namespace pawl

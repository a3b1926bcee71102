// SPDX-License-Identifier: Apache-2.0
#include "net/server/idle_policy.h"

#include <algorithm>

#include "core/check.h"

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
  const bool rested = turn.now_us - worked_us_ > rest_us;
  const std::uint64_t requests = turn.requests - window_since_requests_;
  const std::uint64_t took_us = turn.now_us - window_since_us_;
  const bool full =
      requests >= window_requests ? took_us >= window_us_min : took_us >= window_us_max;
  if (!rested && !full) return;
  window_since_us_ = turn.now_us;
  window_since_requests_ = turn.requests;
  if (rested) {
    rates_ = {};
    kind_ = sleeps;
    return;
  }
  note_rate(requests * 1'000'000 / took_us);
  const Kind better = better_kind();
  const bool probe = better == kind_ && ++windows_ % windows_a_probe == 0;
  kind_ = probe ? (better == spins ? sleeps : spins) : better;
}

// A rate far from the average means another load: the averages say nothing about it.
void IdlePolicy::note_rate(std::uint64_t rate) {
  std::uint64_t& average = rates_[kind_];
  if (average == 0) {
    average = std::max<std::uint64_t>(rate, 1);
  } else if (rate > average + average / 2 || rate < average / 2) {
    rates_ = {};
    average = std::max<std::uint64_t>(rate, 1);
  } else {
    average = (7 * average + rate) / 8;
  }
}

// An unknown kind comes first.
IdlePolicy::Kind IdlePolicy::better_kind() const {
  if (rates_[sleeps] == 0) return sleeps;
  return rates_[spins] == 0 || rates_[spins] * 100 > rates_[sleeps] * (100 + gain_percent) ? spins
                                                                                           : sleeps;
}

void IdlePolicy::yielded(std::uint64_t now_us, std::uint64_t took_us) {
  if (took_us <= slow_yield_us) return;
  if (now_us - slow_yield_us_ < slow_yields_within_us) contended_until_us_ = now_us + contended_us;
  slow_yield_us_ = now_us;
}

}  // namespace pawl

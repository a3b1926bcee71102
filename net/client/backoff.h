// SPDX-License-Identifier: Apache-2.0
// Pauses between attempts to connect: they double up to a maximum.
//
// Jitter: each pause is a random part, from one half to all, of its nominal length. Clients that
// lost the same server do not return in step.
//
// Owner: one Link.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace pawl::client {

class Backoff {
 public:
  using Pause = std::chrono::milliseconds;

  // 1 ms <= min <= max.
  Backoff(Pause min, Pause max, std::uint64_t seed) : min_(min), max_(max), random_(seed) {}

  Pause next() {
    const Pause nominal = next_ == Pause(0) ? min_ : next_;
    next_ = std::min(max_, nominal * 2);
    const auto half = static_cast<std::uint64_t>(nominal.count()) / 2;
    return nominal - Pause(static_cast<Pause::rep>(random() % (half + 1)));
  }
  // The next pause is the shortest one.
  void reset() { next_ = Pause(0); }

 private:
  std::uint64_t random() {  // splitmix64
    std::uint64_t z = random_ += 0x9E37'79B9'7F4A'7C15;
    z = (z ^ (z >> 30)) * 0xBF58'476D'1CE4'E5B9;
    z = (z ^ (z >> 27)) * 0x94D0'49BB'1331'11EB;
    return z ^ (z >> 31);
  }

  Pause min_, max_;
  Pause next_{0};  // 0: after a reset
  std::uint64_t random_;
};

}  // namespace pawl::client

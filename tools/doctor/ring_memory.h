// SPDX-License-Identifier: Apache-2.0
// Waits for the locked memory of closed rings.
//
// The kernel frees a ring some time after its close, also after the end of its process, and counts
// its memory until then: 30 ms, on a busy machine 300 ms (Linux 6.18). Under a small RLIMIT_MEMLOCK
// the next ring fails with ENOMEM.
//
// Limits: 1 s, then the ENOMEM is the caller's.
// Owner:  blocks the calling thread.
#pragma once

#include <cerrno>
#include <chrono>
#include <thread>

namespace pawl {

// Repeats a call that makes a ring and returns a Result, while it fails with ENOMEM.
template <typename Make>
auto after_closed_rings(Make&& make) {
  constexpr std::chrono::milliseconds time_max{1000}, pause{2};
  const auto end = std::chrono::steady_clock::now() + time_max;
  auto made = make();
  while (!made && made.error().sys == ENOMEM && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(pause);
    made = make();
  }
  return made;
}

}  // namespace pawl

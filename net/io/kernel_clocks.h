// SPDX-License-Identifier: Apache-2.0
// The clocks of the machine, read from the kernel. A sandbox may hide parts of it: a refused or
// unreadable answer is never taken for a good one.
//
// Owner: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/base/time.h"
#include "net/engine/clock.h"

namespace pawl {

const MachineClocks& kernel_clocks();
Instant wall_now();             // the wall clock, which may be stepped
std::uint64_t steady_now_us();  // microseconds since an arbitrary moment; never stepped

// Something about the clocks that the sandbox of this process hides, its effect and its remedy.
struct ClockFault {
  std::string what;
  std::string remedy;
};
// `root`: prefix of /proc, for simulated machines in tests.
std::vector<ClockFault> clock_faults(const std::string& root = {});

}  // namespace pawl

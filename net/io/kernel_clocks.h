// SPDX-License-Identifier: Apache-2.0
// The clocks of the machine, read from the kernel.
//
// Owner: any thread.
#pragma once

#include <cstdint>

#include "core/time.h"
#include "net/engine/clock.h"

namespace pawl {

const MachineClocks& kernel_clocks();
Instant wall_now();             // the wall clock, which may be stepped
std::uint64_t steady_now_us();  // microseconds since an arbitrary moment; never stepped

}  // namespace pawl

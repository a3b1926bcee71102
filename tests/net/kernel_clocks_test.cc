// SPDX-License-Identifier: Apache-2.0
#include "net/io/kernel_clocks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace pawl {
namespace {

TEST(KernelClocks, GoOn) {
  EngineClock clock(kernel_clocks());
  const Instant now = clock.now();
  EXPECT_LE(std::abs((wall_now() - now).ms), 1000);
  EXPECT_LE(now, clock.now());
  EXPECT_NE(kernel_clocks().boot_id(), (std::array<std::uint8_t, 16>{}));
}

TEST(KernelClocks, AgreeWithTheSystem) {
  EXPECT_LE(std::abs(wall_now().ms / 1000 - std::time(nullptr)), 1);
  EXPECT_EQ(kernel_clocks().boot_id(), kernel_clocks().boot_id());
  const std::uint64_t before = steady_now_us();
  const std::int64_t running = kernel_clocks().running_us();
  EXPECT_LE(before, steady_now_us());
  EXPECT_LE(running, kernel_clocks().running_us());
  EXPECT_GE(running, static_cast<std::int64_t>(before)) << "it counts the machine's sleep, too";
}

}  // namespace
}  // namespace pawl

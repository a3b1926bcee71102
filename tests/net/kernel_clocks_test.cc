// SPDX-License-Identifier: Apache-2.0
#include "net/io/kernel_clocks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>
#include <string>

#include "tests/net/fake_root.h"

namespace pawl {
namespace {

TEST(KernelClocks, GoOn) {
  EngineClock clock(kernel_clocks());
  const Instant now = clock.now();
  EXPECT_LE(std::abs((wall_now() - now).ms), 1000);
  EXPECT_LE(now, clock.now());
  EXPECT_NE(kernel_clocks().boot_id(), (std::array<std::uint8_t, 16>{}));
}

TEST(KernelClocks, AnUnreadableBootIdIsUnknownAndReported) {
  constexpr const char* path = "/proc/sys/kernel/random/boot_id";
  const auto faults = [](const FakeRoot& root) {
    std::string all;
    for (const ClockFault& fault : clock_faults(root.path())) all += fault.what + fault.remedy;
    return all;
  };
  const auto reported = [&](const FakeRoot& root) { return faults(root).contains("boot_id"); };
  EXPECT_TRUE(reported(FakeRoot()));
  EXPECT_TRUE(reported(FakeRoot().with(path, "\n")));
  EXPECT_TRUE(reported(FakeRoot().with(path, "0d3c1b3e-7a5f\n")));
  EXPECT_TRUE(reported(FakeRoot().with(path, "zd3c1b3e-7a5f-4d7e-9f3b-0a1b2c3d4e5f\n")));
  EXPECT_FALSE(reported(FakeRoot().with(path, "0d3c1b3e-7a5f-4d7e-9f3b-0a1b2c3d4e5f\n")));
  EXPECT_TRUE(faults(FakeRoot()).contains("ProcSubset")) << "the remedy";
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

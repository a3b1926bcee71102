// SPDX-License-Identifier: Apache-2.0
// The watchdog over shards that answer, hang or have ended.
#include "net/server/watchdog.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "tests/net/manager_socket.h"

namespace pawl {
namespace {

constexpr int period_ms = 120;
constexpr const char* feed = "WATCHDOG=1\n";

class WatchdogTest : public testing::Test {
 protected:
  // A shard that answers at once while it does not hang.
  Watchdog::Shard shard(std::size_t i) {
    return {&pulses_[i], [this, i] {
              ++wakes_;
              if (!hangs_[i]) pulses_[i].beat();
            }};
  }
  std::vector<Watchdog::Shard> both() { return {shard(0), shard(1)}; }

  ManagerSocket socket_{"@pawl-feeds-" + std::to_string(::getpid())};
  ServiceManager manager_{
      {.socket = socket_.name(), .watchdog_usec = "120000"},
      0
  };
  Pulse pulses_[2];
  std::atomic<bool> hangs_[2]{};
  std::atomic<int> wakes_{0};
};

TEST_F(WatchdogTest, FeedsWhileAllShardsAnswer) {
  const auto begun = std::chrono::steady_clock::now();
  const Watchdog watchdog(manager_, both());
  for (int i = 0; i < 3; ++i) EXPECT_EQ(socket_.next(), feed);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(period_ms))
      << "a third of the period lies between two feeds";
  EXPECT_GE(wakes_, 6);
}

TEST_F(WatchdogTest, AHungShardStopsTheFeed) {
  hangs_[1] = true;
  const Watchdog watchdog(manager_, both());
  EXPECT_EQ(socket_.next(3 * period_ms), "") << "although the other shard answers";
  EXPECT_EQ(wakes_, 2) << "a shard that hangs is not woken again and again";
  hangs_[1] = false;
  pulses_[1].beat();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(socket_.next(), feed);
  hangs_[0] = true;
  while (!socket_.next(period_ms).empty()) continue;
  EXPECT_EQ(socket_.next(2 * period_ms), "");
}

TEST_F(WatchdogTest, AShardThatHasEndedDoesNotHang) {
  hangs_[0] = true;
  pulses_[0].end();
  const Watchdog watchdog(manager_, both());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(socket_.next(), feed);
}

TEST_F(WatchdogTest, WithoutAPeriodNobodyIsWoken) {
  const ServiceManager nobody({.socket = socket_.name()}, 0);
  const Watchdog watchdog(nobody, both());
  EXPECT_EQ(socket_.next(period_ms), "");
  EXPECT_EQ(wakes_, 0);
}

}  // namespace
}  // namespace pawl

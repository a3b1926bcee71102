// SPDX-License-Identifier: Apache-2.0
// Watchdog: feeds the service manager's watchdog while every shard works. A manager that is not fed
// in time ends the process and starts another one.
//
//   wake every shard ─▶ wait a third of the period ─▶ all have answered? ─yes─▶ feed ─▶ wake ...
//          no: look again after a 24th of the period ◀──────┘
//
// An answer is a turn: the shard reads the wake-up from its ring. A shard that sleeps is woken once
// in a third of the period for this and works on nothing else. A shard that hangs answers no more,
// and the feed stops.
//
// Units:  the period is WATCHDOG_USEC, as in net/server/service_manager.h.
// Owner:  Server::run(). It has a thread of its own, which the destructor ends. A shard's Pulse
//         belongs to its worker and outlives the watchdog.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "net/server/service_manager.h"

namespace pawl {

// The answers of a shard to wake-ups. Relaxed: a count that orders nothing.
class Pulse {
 public:
  static constexpr std::uint64_t ended = UINT64_MAX;

  // By the shard's thread.
  void beat() { count_.store(count() + 1, std::memory_order_relaxed); }
  void end() { count_.store(ended, std::memory_order_relaxed); }  // its log is closed
  // By any thread.
  std::uint64_t count() const { return count_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> count_{0};
};

class Watchdog {
 public:
  static constexpr int feeds_a_period = 3;
  static constexpr int looks_a_period = 24;  // for a late answer

  struct Shard {
    const Pulse* pulse = nullptr;
    std::function<void()> wake;
  };
  // Without a period nothing is started.
  Watchdog(const ServiceManager& manager, std::vector<Shard> shards);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  void run();
  void wake_all();
  bool all_answered() const;

  const ServiceManager& manager_;
  std::vector<Shard> shards_;
  std::vector<std::uint64_t> counts_;  // at the latest wake_all()
  std::mutex mutex_;                   // guards over_
  std::condition_variable end_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace pawl

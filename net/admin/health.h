// SPDX-License-Identifier: Apache-2.0
// The checks of the server's health, a row each: ok, or the code of an event that is so now.
//
//   once a second: HealthMonitor::observe() -> since, and events of changes
//   /healthz?verbose: health_lines(), with the monitor's since
//
// A text is written only where it is shown.
//
// Units:  microseconds since 1970.
// Limits: 4 rows a shard and 4 of the server.
// Owner:  the server observes, from one thread; any thread reads.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "net/admin/admin_page.h"
#include "net/events/event_code.h"

namespace pawl {

enum class HealthCheck : std::uint8_t { disk, log, memory, flush, space, clock, io, certificate };

struct HealthRow {
  HealthCheck check{};
  int shard = -1;                 // -1: of the server
  std::optional<EventCode> code;  // nothing: ok

  bool operator==(const HealthRow&) const = default;
  // "ok", or the level of the code.
  std::string_view level() const;
};

// `now_us`: for the certificate.
std::vector<HealthRow> health_rows(const AdminFacts& facts, std::int64_t now_us);
// The state of the row with its numbers, as a phrase.
std::string text_of(const HealthRow& row, const AdminFacts& facts, std::int64_t now_us);

class HealthMonitor {
 public:
  void note_clock(bool waits, bool synchronised) {
    clock_waits_.store(waits, std::memory_order_relaxed);
    clock_synchronised_.store(synchronised, std::memory_order_relaxed);
  }
  bool clock_waits() const { return clock_waits_.load(std::memory_order_relaxed); }
  bool clock_synchronised() const { return clock_synchronised_.load(std::memory_order_relaxed); }

  // Reports changes that no one else reports as events.
  void observe(const AdminFacts& facts, std::int64_t now_us);
  // When the row's state was first observed; `now_us` if it has not been yet.
  std::int64_t since(const HealthRow& row, std::int64_t now_us) const;

 private:
  struct State {
    std::optional<EventCode> code;
    std::int64_t since_us = 0;
  };
  using Key = std::pair<HealthCheck, int>;

  // Relaxed: each is a fact of its own.
  std::atomic<bool> clock_waits_{false}, clock_synchronised_{true};
  mutable std::mutex mutex_;
  std::vector<HealthRow> observed_;  // by the last observe()
  std::map<Key, State> states_;
};

// The rows as objects of JSON, one a line.
std::string health_lines(const AdminFacts& facts, std::int64_t now_us);

}  // namespace pawl

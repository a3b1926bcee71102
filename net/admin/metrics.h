// SPDX-License-Identifier: Apache-2.0
// Metrics of the shards, and their text for Prometheus.
//
// Units:  in the names. A counter never decreases while the server runs.
// Owner:  a shard's worker writes its ShardNumbers about once a second; any thread reads.
// Source: Prometheus, "Text-based format".
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/duration_counts.h"
#include "core/shard/shard.h"
#include "net/engine/shard_loop.h"
#include "net/engine/turn_phases.h"
#include "proto/auth/sigv4.h"
#include "wal/log.h"

namespace pawl {

class Connections;

struct ShardNumbers {
  // Relaxed: each number stands alone, and a reader may combine some of different turns.
  using Number = std::atomic<std::uint64_t>;

  Number sent{0}, received{0}, deleted{0}, refused{0}, requests{0};
  Number early_async{0}, early_memory{0}, late_async{0}, async_behind{0};
  Number turns{0}, sleeps{0}, yield_us_max{0};
  std::array<Number, turn_phases> phase_us{};  // by TurnPhase
  Number messages{0}, waiting{0}, set_aside{0};
  Number frames{0}, log_bytes{0}, padding_bytes{0}, flush_us{0};
  Number segments{0}, disk_bytes{0}, manifests{0}, end{0}, span{0}, replay_bytes{0}, disk_full{0},
      memory_full{0}, gap_us_max{0}, files_set_aside{0}, checkpoint_bytes{0}, relocated_bytes{0};
  Number unreadable_segments{0};
  std::array<Number, DurationCounts::ends + 1> flush_times{};  // buckets
  Number flush_us_sum{0};
  Number bodies{0}, index{0}, slots{0}, timers{0}, dedup{0}, held{0}, transfers{0}, queues{0},
      waiters{0};  // bytes in memory
  Number connections{0}, connections_evicted{0};
  std::array<Number, auth_faults> auth_failures{};  // by reason
  Number bodies_read{0}, evicted{0}, damaged{0};
  Number schedules{0}, fires_sent{0}, fires_failed{0}, fires_missed{0}, fires_overlapped{0},
      fires_late_ms{0};

  void take(const LoopStats& loop);
  void take(const ScheduleStats& schedules);
  void take(const LogStats& log);
  void take(const Shard& shard);
  void take(const TurnPhases& phases);
  void take(const Connections& all);
};

inline constexpr std::string_view health_ok = "ok\n";
// The faults, one line for each fault and shard, or health_ok.
std::string health_text(std::span<const ShardNumbers* const> shards);
// `backend`: name_of(IoBackend).
std::string metrics_text(std::span<const ShardNumbers* const> shards, std::string_view backend,
                         bool draining);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Repair: turns a log that recovery refuses into one that it accepts, and keeps all whole data.
//
//   scan (whole frames) -> walk (chain, gaps) -> read (as recovery) -> append (missing records)
//
// Whole frames keep their place, because messages are known by their positions. A gap that was
// durable gets frames with its readable records (tools/wal/salvage.h), which close the chain. A gap
// that nothing proves durable is the torn end and is left alone. Frames of a new epoch follow the
// end: deletes of unreadable messages, and numbers that must not be assigned again. Lost manifests
// are rebuilt from the segments.
//
// If a delete record is lost, its message reappears: duplicates are preferred to loss.
//
// plan_repair() does not write; apply_repair() (tools/wal/apply.h) writes the plan.
//
// Limits: all planned writes are in memory; about 60 bytes per message.
// Errors: Errc::io, Errc::version. If a log cannot be repaired, `refused` has the reason.
// Owner:  values.
// Source: wal/FORMAT.md.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/result.h"
#include "tools/wal/content.h"
#include "wal/format.h"
#include "wal/manifest.h"

namespace pawl {

struct RepairRequest {
  std::string directory;  // of the log
  ShardId shard{};
  std::uint64_t stream = 0;
  std::uint64_t segment_bytes = 0;
  // Above all queue ids in the other logs; for the control log, which lists all queues.
  std::uint32_t queue_ids_end = 1;
  std::optional<std::set<QueueId>> queues = {};  // all live queues; no value: this log lists them
  bool settings_lost = false;                    // settings of some queues may be lost
  LogMembership membership;
  std::set<ShardId> lost_logs = {};  // their queues are deleted from the control log
};

struct RepairPlan {
  explicit RepairPlan(LogContent c) : content(std::move(c)) {}

  std::vector<std::string> said;  // the report: damage, losses, salvaged records
  std::string refused;
  LogContent content;                // with the planned writes
  Lsn appended = UINT64_MAX;         // changes from here on are written first
  std::optional<Manifest> manifest;  // the next content of both manifests
  std::uint64_t lost = 0;            // messages plus bytes, to compare plans
  std::uint32_t queue_ids_end = 1;
  std::set<QueueId> queues;   // live queues according to this log
  bool records_lost = false;  // records that recovery reads were lost
  bool log_lost = false;      // no file of the log is left; the next startup creates it

  bool needed() const {
    return log_lost || manifest || !content.changes().empty() || !content.made_whole().empty();
  }
};

Result<RepairPlan> plan_repair(const RepairRequest& request);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// RepairPlan: the planned writes of a repair, and its report. RepairRequest: the input of planning.
//
// Owner:  values.
// Source: wal/repair/repair.h.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"
#include "wal/manifest.h"
#include "wal/repair/content.h"

namespace pawl {

struct RepairRequest {
  BlockingDisk& disk;  // the directory of the log
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

}  // namespace pawl

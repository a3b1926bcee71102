// Repair: how a log that a start refuses becomes one that it takes, with everything in it that is whole.
//
//   scan (whole frames) -> walk (what follows what; gaps) -> read (what a start will know) -> append (what it must know besides)
//
// Whole frames stay where they are, for messages are known by their positions. A gap that something vouches for gets
// frames of what its records still say (tools/wal/salvage.h), so that one leads to the next again; one that nothing vouches
// for is the torn end and is left alone. Behind the end a frame of a new epoch is appended: deletes of messages that
// cannot be read, and numbers that are not to be given out again. Manifests that are both gone are made out of the segments.
//
// What was deleted and whose DEL is lost comes back: a message is rather delivered again than lost.
//
// Nothing here writes: plan_repair() says what is to be written, apply_repair() (tools/wal/apply.h) does it.
//
// Limits: what is written is in memory; some 60 bytes a message.
// Errors: Errc::io, Errc::version. What cannot be repaired is `refused`, with the reason.
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
  // Of the other logs, which are read before that of the control shard; it knows all queues.
  std::uint32_t queue_ids_end = 1;
  std::optional<std::set<QueueId>> queues = {};  // that there are; nothing: this log says it
  bool settings_lost = false;                    // maybe, of some of its queues
  LogMembership membership;
  std::set<ShardId> lost_logs = {};  // whose queues go from the directory
};

struct RepairPlan {
  explicit RepairPlan(LogContent c) : content(std::move(c)) {}

  std::vector<std::string> said;  // what is damaged, what is lost, what is kept
  std::string refused;
  LogContent content;                // with what is to be written
  Lsn appended = UINT64_MAX;         // what is put from here on is written first
  std::optional<Manifest> manifest;  // both are to be so
  std::uint64_t lost = 0;            // messages, records and bytes: to compare plans by
  std::uint32_t queue_ids_end = 1;
  std::set<QueueId> queues;   // that this log says there are
  bool records_lost = false;  // of what a start reads
  bool log_lost = false;      // there is nothing of it: the next start makes it

  bool needed() const {
    return log_lost || manifest || !content.changes().empty() || !content.made_whole().empty();
  }
};

Result<RepairPlan> plan_repair(const RepairRequest& request);

}  // namespace pawl

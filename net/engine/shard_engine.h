// SPDX-License-Identifier: Apache-2.0
// ShardEngine: one shard with its log and its turn, and the single order of its startup.
//
//   open() on every shard -> share_directory() -> adopt() on every shard -> share_transfers()
//                                                                        -> begin(): loop()
//
// open() recovers the shard from the log. The control shard has the directory of queues; the others
// adopt() it. A message that reached another queue before the crash may still be in its source:
// share_transfers() reports it to its source, and begin() deletes it there before the first turn.
//
// Server, simulator and tests start a shard with this class alone; they differ in Disk, clock and
// sockets. It makes no kernel call.
//
// Units:  Instant ms.
// Limits: those of ShardLimits and LogOptions.
// Errors: Result; some errors of the log add a sentence for the operator in `complaint`.
// Owner:  one shard's thread, or the thread that starts all shards; share_*() runs while no shard
//         does. The disk, the port and the owner outlive it. The disk has no operation of it under
//         way when it is destroyed.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/shard/shard.h"
#include "net/engine/shard_loop.h"
#include "wal/log.h"
#include "wal/recovery/recovery.h"

namespace pawl {

struct ShardEngineOptions {
  ShardIdentity identity;
  ShardLimits limits;
  LogOptions log;
  std::uint64_t memory_max = 0;      // as in ShardLoop
  std::uint32_t queue_ids_from = 0;  // DataIdentity::queue_ids_from
};

class ShardEngine {
 public:
  ShardEngine(const ShardEngineOptions& options, Instant start)
      : options_(options),
        shard_(options.identity, options.limits, start - ShardLoop::timers_late) {}

  // Reads the log into the shard; `sink` is a ShardRecovery of shard().
  Result<void> open(Disk& disk, RecoverySink& sink, std::string& complaint);
  const RecoveryReport& report() const { return report_; }

  // After share_directory(): drops queues that are not in the directory; arms timers from `now` on.
  Result<void> adopt(Instant now, std::string& complaint);
  // After share_transfers(): returns the loop, ready for its first turn.
  ShardLoop& begin(MeshPort& port, RequestOwner& request_owner);

  bool opened() const { return log_ != nullptr; }
  // After share_directory(): the time of the newest frame in any log, by engine time.
  Instant alive_until() const { return alive_until_; }
  Shard& shard() { return shard_; }
  const Shard& shard() const { return shard_; }
  Log& log() { return *log_; }
  ShardLoop& loop() { return *loop_; }

 private:
  friend void share_directory(std::span<ShardEngine* const> engines);
  friend void share_transfers(std::span<ShardEngine* const> engines);

  ShardEngineOptions options_;
  RecoveryReport report_;
  Shard shard_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<ShardLoop> loop_;
  std::vector<ConfigPtr> directory_;  // of the control shard, until adopt()
  Instant alive_until_;
  std::uint32_t queue_ids_end_ = 0;  // of the control shard: ids from here on were never used
  std::vector<ResumedTransfer> unsettled_;  // until begin()
};

// Gives every shard the directory of the control shard, which is the first. All shards are open.
void share_directory(std::span<ShardEngine* const> engines);
// Reports to every shard its messages that have reached another queue. All shards have adopted the
// directory.
void share_transfers(std::span<ShardEngine* const> engines);
// The wall time of the newest frame in any log: the clock does not start before it.
Instant newest_frame(std::span<ShardEngine* const> engines);

}  // namespace pawl

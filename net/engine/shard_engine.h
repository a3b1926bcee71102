// ShardEngine: one shard with its log and its turn, and the one order in which a start goes.
//
//   open() on every shard -> share_directory() -> adopt() on every shard -> share_transfers() -> begin(): loop()
//
// open() reads the log back. The control shard has the directory of queues, so the others adopt() what it found. A
// message that reached another queue before the crash may still be in its source: share_transfers() tells each source,
// and begin() takes those messages out before the first turn.
//
// Server, simulator and tests start a shard with this class alone; they differ in Disk, clock and sockets. There is no
// kernel in here.
//
// Units:  Instant ms.
// Limits: those of ShardLimits and LogOptions.
// Errors: Result, with a sentence for the operator in `complaint` where the log has one to say.
// Owner:  one shard's thread, or whoever starts all of them; share_*() runs while no shard does. The disk, the port and
//         the asker outlive it, and the disk has nothing of it under way when it goes.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/shard.h"
#include "net/engine/shard_loop.h"
#include "wal/log.h"

namespace pawl {

struct ShardEngineOptions {
  ShardIdentity identity;
  ShardLimits limits;
  LogOptions log;
  std::uint64_t memory_max = 0;      // as ShardLoop has it
  std::uint32_t queue_ids_from = 0;  // DataIdentity::queue_ids_from
};

class ShardEngine {
 public:
  ShardEngine(const ShardEngineOptions& options, Instant start)
      : options_(options),
        shard_(options.identity, options.limits, start - ShardLoop::timers_late) {}

  // Reads the log into the shard; `replay` is a ShardReplay of shard().
  Result<void> open(Disk& disk, Replay& replay, std::string& complaint);
  const RecoveryReport& report() const { return report_; }

  // After share_directory(): queues that are in no directory go, timers are armed from `now` on.
  Result<void> adopt(Instant now, std::string& complaint);
  // After share_transfers(): the loop, ready for its first turn.
  ShardLoop& begin(MeshPort& port, Asker& asker);

  bool opened() const { return log_ != nullptr; }
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
  std::uint32_t queue_ids_end_ = 0;   // of the control shard: ids from here on were never given out
  std::vector<Moved> moved_;          // until begin()
};

// Gives every shard the directory of the control shard, which is the first. All are open.
void share_directory(std::span<ShardEngine* const> engines);
// Tells every shard which of its messages have reached another queue. All have adopted the directory.
void share_transfers(std::span<ShardEngine* const> engines);
// The wall time of the newest frame that any of them read: the clock does not start before it.
Instant newest_frame(std::span<ShardEngine* const> engines);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// MultiShardBroker: the shards of one data directory, on the disks and the clock of the caller.
//
//   start() -> up: submit(), turn()... -> failed(): the process must end
//
// Errors: start() reports why it failed; failed() reports a failed log.
// Owner:  one thread. Its destruction simulates a crash of the process.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/engine/shard_engine.h"
#include "tests/exhaustive/scene.h"
#include "wal/format/disk.h"

namespace pawl::exhaustive {

class MultiShardBroker {
 public:
  MultiShardBroker(const Scene& scene, const std::vector<Disk*>& disks,
                   RequestOwner& request_owner);

  Result<void> start(Instant now, std::string& complaint);
  void submit(Request& request, ShardId target);
  // Runs a turn of every shard. False: none had work, or a log failed.
  bool turn(Instant now, std::uint64_t now_us);
  Instant next_deadline();
  bool failed() const;
  Instant not_before() const { return newest_; }
  // Closes the logs of drained shards. False: some are still open.
  bool close();
  void begin_drain();

  const Directory& directory() const { return machines_[0].engine->shard().directory(); }
  std::uint32_t shards() const { return scene_.shards; }
  ShardLoop& loop(std::uint32_t shard) { return machines_[shard].engine->loop(); }
  std::uint64_t damaged() const;

 private:
  struct Machine {
    Disk* disk = nullptr;
    std::unique_ptr<MeshPort> port;
    std::unique_ptr<ShardEngine> engine;
    bool closed = false;
  };
  Result<void> open(std::uint32_t shard, Instant now, std::string& complaint);

  Scene scene_;
  RequestOwner* request_owner_;
  std::unique_ptr<Mesh> mesh_;
  std::vector<Machine> machines_;
  Instant newest_;
};

}  // namespace pawl::exhaustive

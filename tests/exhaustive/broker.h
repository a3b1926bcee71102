// Broker: the shards of one data directory, each on a disk that is the caller's, and their turns on a clock that the
// caller turns.
//
//   start() -> up: submit(), turn()... -> failed(): the process has to die
//
// Errors: start() says why it is not up; a log that failed, failed().
// Owner:  one thread. Destroying it is what a crash of the process is.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/engine/shard_engine.h"
#include "tests/exhaustive/scene.h"
#include "wal/disk.h"

namespace pawl::exhaustive {

class Broker {
 public:
  Broker(const Scene& scene, const std::vector<Disk*>& disks, Asker& asker);

  Result<void> start(Instant now, std::string& complaint);
  void submit(Request& request, ShardId target);
  // Of every shard. False: none had anything to do.
  bool turn(Instant now, std::uint64_t now_us);
  Instant next_deadline();
  bool failed() const;
  Instant not_before() const { return newest_; }
  // In order; false: not yet.
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
  Asker* asker_;
  std::unique_ptr<Mesh> mesh_;
  std::vector<Machine> machines_;
  Instant newest_;
};

}  // namespace pawl::exhaustive

// SPDX-License-Identifier: Apache-2.0
#include "tests/exhaustive/multi_shard_broker.h"

#include <algorithm>
#include <utility>

#include "net/engine/shard_recovery.h"
#include "tests/core/secret.h"
#include "tests/exhaustive/allocations.h"

namespace pawl::exhaustive {

MultiShardBroker::MultiShardBroker(const Scene& scene, const std::vector<Disk*>& disks,
                                   RequestOwner& request_owner)
    : scene_(scene), request_owner_(&request_owner), mesh_(std::make_unique<Mesh>(scene.shards)) {
  machines_.resize(scene.shards);
  for (std::size_t i = 0; i < machines_.size(); ++i) machines_[i].disk = disks[i];
}

Result<void> MultiShardBroker::start(Instant now, std::string& complaint) {
  const Counted counted;
  std::vector<ShardEngine*> engines;
  for (std::uint32_t i = 0; i < scene_.shards; ++i) {
    if (auto opened = open(i, now, complaint); !opened) return opened;
    engines.push_back(machines_[i].engine.get());
  }
  newest_ = newest_frame(engines);
  share_directory(engines);
  for (ShardEngine* const engine : engines) {
    if (auto adopted = engine->adopt(std::max(now, newest_), complaint); !adopted) return adopted;
  }
  share_transfers(engines);
  for (Machine& machine : machines_) {
    machine.port = std::make_unique<MeshPort>(*mesh_, machine.engine->shard().identity().id);
    machine.engine->begin(*machine.port, *request_owner_);
  }
  return {};
}

Result<void> MultiShardBroker::open(std::uint32_t shard, Instant now, std::string& complaint) {
  Machine& machine = machines_[shard];
  const ShardId id{static_cast<std::uint8_t>(shard)};
  machine.engine = std::make_unique<ShardEngine>(
      ShardEngineOptions{
          .identity = {id, scene_.shards, test::test_secret(), static_cast<std::uint32_t>(now.ms),
                       test::test_receipt_key()},
          .limits = {},
          .log = scene_.log(shard)
  },
      now);
  ShardRecovery recovery(machine.engine->shard());
  return machine.engine->open(*machine.disk, recovery, complaint);
}

void MultiShardBroker::submit(Request& request, ShardId target) {
  const Counted counted;
  machines_[0].engine->loop().submit(request, target);
}

bool MultiShardBroker::turn(Instant now, std::uint64_t now_us) {
  const Counted counted;
  bool worked = false;
  for (Machine& machine : machines_) {
    worked |= machine.engine->loop().turn(now, now_us);
    machine.engine->loop().take_wakes();
    if (machine.engine->loop().log().failure()) return false;
  }
  return worked;
}

Instant MultiShardBroker::next_deadline() {
  Instant next = never;
  for (Machine& machine : machines_) next = std::min(next, machine.engine->loop().next_deadline());
  return next;
}

bool MultiShardBroker::failed() const {
  return std::ranges::any_of(
      machines_, [](const Machine& m) { return m.engine->loop().log().failure().has_value(); });
}

void MultiShardBroker::begin_drain() {
  for (Machine& machine : machines_) machine.engine->loop().begin_drain();
}

bool MultiShardBroker::close() {
  bool all = true;
  for (Machine& machine : machines_) {
    if (!machine.closed && machine.engine->loop().drained())
      machine.closed = machine.engine->log().close_clean().has_value();
    all &= machine.closed;
  }
  return all;
}

std::uint64_t MultiShardBroker::damaged() const {
  std::uint64_t damaged = 0;
  for (const Machine& machine : machines_) damaged += machine.engine->log().stats().damaged;
  return damaged;
}

}  // namespace pawl::exhaustive

#include "tests/exhaustive/broker.h"

#include <algorithm>
#include <utility>

#include "net/shard_replay.h"
#include "tests/core/secret.h"
#include "tests/exhaustive/allocations.h"

namespace pawl::exhaustive {

Broker::Broker(const Scene& scene, const std::vector<Disk*>& disks, Asker& asker)
    : scene_(scene), asker_(&asker), mesh_(std::make_unique<Mesh>(scene.shards)) {
  machines_.resize(scene.shards);
  for (std::size_t i = 0; i < machines_.size(); ++i) machines_[i].disk = disks[i];
}

Broker::~Broker() {
  for (Machine& machine : machines_) {
    machine.loop.reset();
    machine.log.reset();
  }
}

Result<void> Broker::start(Instant now, std::string& complaint) {
  const Counted counted;
  for (std::uint32_t i = 0; i < scene_.shards; ++i) {
    if (auto opened = open(i, now, complaint); !opened) return opened;
  }
  return finish(std::max(now, newest_), complaint);
}

Result<void> Broker::open(std::uint32_t shard, Instant now, std::string& complaint) {
  Machine& machine = machines_[shard];
  const ShardId id{static_cast<std::uint8_t>(shard)};
  machine.shard = std::make_unique<Shard>(
      ShardIdentity{id, scene_.shards, test::test_secret(), static_cast<std::uint32_t>(now.ms)},
      ShardLimits{}, now);
  ShardReplay replay(*machine.shard);
  RecoveryReport report;
  auto log = Log::open(*machine.disk, scene_.log(shard), replay, report, complaint);
  if (!log) return std::unexpected(log.error());
  machine.log = std::move(*log);
  newest_ = std::max(newest_, report.newest);
  return {};
}

Result<void> Broker::finish(Instant now, std::string& complaint) {
  std::vector<ConfigPtr> configs;
  directory().for_each([&](const ConfigPtr& config) { configs.push_back(config); });
  std::vector<const Shard*> shards;
  for (std::uint32_t i = 0; i < scene_.shards; ++i) {
    Machine& machine = machines_[i];
    if (i != raw(control_shard)) {
      for (const ConfigPtr& config : configs) machine.shard->restore(ConfigRecord{config, false});
    }
    std::vector<LogPos> freed;
    machine.shard->finish_recovery(now, freed);
    for (const LogPos position : freed) machine.log->release(position);
    if (auto there = machine.log->check_segments(complaint); !there) return there;
    machine.port = std::make_unique<MeshPort>(*mesh_, ShardId{static_cast<std::uint8_t>(i)});
    machine.loop =
        std::make_unique<ShardLoop>(*machine.shard, *machine.log, *machine.port, *asker_);
    shards.push_back(machine.shard.get());
  }
  const auto moved = moved_from(shards);
  for (std::uint32_t i = 0; i < scene_.shards; ++i) machines_[i].loop->settle(moved[i]);
  return {};
}

void Broker::submit(Request& request, ShardId target) {
  const Counted counted;
  machines_[0].loop->submit(request, target);
}

bool Broker::turn(Instant now, std::uint64_t now_us) {
  const Counted counted;
  bool worked = false;
  for (Machine& machine : machines_) {
    worked |= machine.loop->turn(now, now_us);
    machine.loop->take_wakes();
    if (machine.loop->failure()) return false;
  }
  return worked;
}

Instant Broker::next_deadline() {
  Instant next = never;
  for (Machine& machine : machines_) next = std::min(next, machine.loop->next_deadline());
  return next;
}

bool Broker::failed() const {
  return std::ranges::any_of(machines_,
                             [](const Machine& m) { return m.loop->failure().has_value(); });
}

void Broker::begin_drain() {
  for (Machine& machine : machines_) machine.loop->begin_drain();
}

bool Broker::close() {
  bool all = true;
  for (Machine& machine : machines_) {
    if (!machine.closed && machine.loop->drained())
      machine.closed = machine.log->close_clean().has_value();
    all &= machine.closed;
  }
  return all;
}

std::uint64_t Broker::damaged() const {
  std::uint64_t damaged = 0;
  for (const Machine& machine : machines_) damaged += machine.log->stats().damaged;
  return damaged;
}

}  // namespace pawl::exhaustive

// SPDX-License-Identifier: Apache-2.0
#include "net/engine/shard_engine.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

Result<void> ShardEngine::open(Disk& disk, RecoverySink& sink, std::string& complaint) {
  CHECK(!opened());
  if (options_.queue_ids_from != 0)
    shard_.restore(HeadRecord{QueueId::none, options_.queue_ids_from});
  auto log = open_log(disk, options_.log, sink, report_, complaint);
  if (!log) return std::unexpected(log.error());
  log_ = std::move(*log);
  return {};
}

Result<void> ShardEngine::adopt(Instant now, std::string& complaint) {
  CHECK(opened());
  const std::uint32_t newest = shard_.newest_queue_id();
  if (newest >= queue_ids_end_) {
    complaint = fmt::format(
        "it has messages of queue {}, and the control log (s00) gave out ids below {} only: one of "
        "the two is a copy from another time. Restore both from the same copy",
        newest, queue_ids_end_);
    return fail(Errc::corrupt, "queue id");
  }
  for (const ConfigPtr& config : std::exchange(directory_, {})) {
    shard_.restore(ConfigRecord{config, false});
    if (config->owner == options_.identity.id || !shard_.has_queue(config->id)) continue;
    complaint = fmt::format(
        "it has messages of queue {}, which belongs to shard {}: one of the two logs is a copy "
        "from "
        "another time. Restore both from the same copy",
        raw(config->id), raw(config->owner));
    return fail(Errc::corrupt, "queue of another shard");
  }
  std::vector<LogPos> freed;
  shard_.finish_recovery(now - ShardLoop::timers_late, now, freed);
  for (const LogPos position : freed) log_->release(position);
  return log_->check_segments(complaint);
}

ShardLoop& ShardEngine::begin(MeshPort& port, RequestOwner& request_owner) {
  CHECK(!loop_ && opened());
  loop_ = std::make_unique<ShardLoop>(shard_, *log_, port, request_owner, options_.memory_max);
  loop_->resume_transfers(std::exchange(unsettled_, {}));
  return *loop_;
}

void share_directory(std::span<ShardEngine* const> engines) {
  std::vector<ConfigPtr> directory;
  CHECK(!engines.empty());
  CHECK(engines.front()->options_.identity.id == control_shard);
  engines.front()->shard_.directory().for_each(
      [&](const ConfigPtr& config) { directory.push_back(config); });
  for (ShardEngine* const engine : engines.subspan(1)) engine->directory_ = directory;
  for (ShardEngine* const engine : engines) {
    engine->queue_ids_end_ = engines.front()->shard_.queue_ids_end();
    engine->alive_until_ = newest_frame(engines);
  }
}

namespace {

// The transfers that another queue has accepted, by source shard. These messages must be deleted
// from their sources before any request is served.
std::vector<std::vector<ResumedTransfer>> unsettled_transfers(
    std::span<const Shard* const> shards) {
  std::vector<std::vector<ResumedTransfer>> resumed(shards.size());
  for (const Shard* const target : shards) {
    if (MUTANT(forget_unsettled)) break;
    for (const UnsettledTransfer& unsettled : target->unsettled_transfers()) {
      CHECK(raw(unsettled.from.shard) < shards.size(), "shard {}", raw(unsettled.from.shard));
      resumed[raw(unsettled.from.shard)].push_back({unsettled, target->identity().id});
    }
  }
  return resumed;
}

}  // namespace

void share_transfers(std::span<ShardEngine* const> engines) {
  std::vector<const Shard*> shards;
  for (const ShardEngine* const engine : engines) shards.push_back(&engine->shard_);
  std::vector<std::vector<ResumedTransfer>> unsettled = unsettled_transfers(shards);
  CHECK(unsettled.size() == engines.size(), "{} of {} shards", unsettled.size(), engines.size());
  for (std::size_t i = 0; i < engines.size(); ++i) engines[i]->unsettled_ = std::move(unsettled[i]);
}

Instant newest_frame(std::span<ShardEngine* const> engines) {
  Instant newest;
  for (const ShardEngine* const engine : engines)
    newest = std::max(newest, engine->report().newest);
  return newest;
}

}  // namespace pawl

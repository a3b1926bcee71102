// SPDX-License-Identifier: Apache-2.0
#include "tools/verbs/wal_repair_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <expected>
#include <filesystem>
#include <set>
#include <vector>

#include "net/server/absent_log.h"
#include "net/server/data_dir.h"
#include "tools/commands.h"
#include "wal/repair/apply.h"
#include "wal/repair/directory_disk.h"
#include "wal/repair/repair.h"
#include "wal/repair/repair_copy.h"

namespace pawl {
namespace {

int complain(const std::string& text) {
  fmt::print(stderr, "error: {}\n", text);
  return exit_failure;
}

// The number of queue ids that a lost control log may have assigned and that no other log shows.
constexpr std::uint32_t queue_ids_guessed = 1'000'000;

struct Known {
  const RepairPlan* control = nullptr;  // plan of the control log; null: this is the control log
  std::uint32_t queue_ids_end = 1;
  std::set<ShardId> lost;
};

// The directories of all logs, for reading; they outlive the plans.
using Disks = std::deque<DirectoryDisk>;

std::expected<RepairPlan, std::string> plan_of(const DataDir& data, Disks& disks,
                                               std::uint32_t shard, const Known& known) {
  RepairRequest request{.disk = disks[shard],
                        .shard = ShardId{static_cast<std::uint8_t>(shard)},
                        .stream = data.identity().stream_of(shard),
                        .segment_bytes = data.identity().segment_bytes,
                        .queue_ids_end = known.queue_ids_end,
                        .membership = data.identity().membership_of(shard),
                        .lost_logs = known.lost};
  if (known.control != nullptr) {
    request.queues = known.control->queues;
    request.settings_lost = known.control->records_lost;
  }
  auto plan = plan_repair(request);
  if (plan) return std::move(*plan);
  const Error& error = plan.error();
  return std::unexpected(fmt::format(
      "{}: {}{}", data.shard_path(shard),
      error.code == Errc::version ? "written by a newer version: " : "",
      error.sys != 0 ? fmt::format("{}: {}", error.what, std::strerror(error.sys)) : error.what));
}

// Plans the control log first, because it lists all queues. If it needs a repair or a log is lost,
// it is planned again with the lost logs and all queue ids.
std::expected<std::vector<RepairPlan>, std::string> plan_all(const DataDir& data, Disks& disks) {
  std::vector<RepairPlan> plans;
  Known known;
  for (std::uint32_t shard = 0; shard < data.identity().shards; ++shard) {
    auto plan = plan_of(data, disks, shard, {.control = shard > 0 ? &plans[0] : nullptr});
    if (!plan) return std::unexpected(plan.error());
    known.queue_ids_end = std::max(known.queue_ids_end, plan->queue_ids_end);
    if (plan->log_lost) {
      plan->said.push_back(
          shard == 0 ? "lost: there is nothing of the control log. The names and settings of all "
                       "queues go, and with them all messages; the next start makes it anew"
                     : "lost: there is nothing of this log. Its queues go from the directory, with "
                       "their messages; the next start makes it anew");
      known.lost.insert(ShardId{static_cast<std::uint8_t>(shard)});
    }
    plans.push_back(std::move(*plan));
  }
  if (!plans[0].log_lost && (plans[0].needed() || !known.lost.empty())) {
    auto plan = plan_of(data, disks, 0, known);
    if (!plan) return std::unexpected(plan.error());
    plans[0] = std::move(*plan);
  }
  return plans;
}

// Updates PAWL for lost logs: it marks them as not made, and for a lost control log it notes which
// queue ids may be in use.
std::expected<void, std::string> give_up_lost(DataDir& data, const std::vector<RepairPlan>& plans) {
  DataIdentity next = data.identity();
  for (std::uint32_t shard = 0; shard < plans.size(); ++shard) {
    if (!plans[shard].log_lost) continue;
    next.made &= ~(std::uint64_t{1} << shard);
    if (shard != raw(control_shard)) continue;
    for (const RepairPlan& plan : plans)
      next.queue_ids_from = std::max(next.queue_ids_from, plan.queue_ids_end + queue_ids_guessed);
  }
  return next.made == data.identity().made ? std::expected<void, std::string>() : data.write(next);
}

std::expected<std::string, std::string> apply_all(DataDir& data, const std::string& data_dir,
                                                  const std::vector<RepairPlan>& plans) {
  RepairCopy copy(data_dir);
  if (auto done = copy.begin(); !done) return std::unexpected(done.error());
  if (auto done = copy.add_identity(); !done) return std::unexpected(done.error());
  for (std::uint32_t i = 0; i < plans.size(); ++i) {
    if (!plans[i].needed()) continue;
    if (auto done = copy.add(log_name(i), plans[i]); !done) return std::unexpected(done.error());
  }
  auto copied = copy.finish();
  if (!copied) return copied;
  for (std::uint32_t i = 0; i < plans.size(); ++i) {
    if (!plans[i].needed()) continue;
    const std::string directory = data.shard_path(i);
    DirectoryDisk disk(directory, DirectoryDisk::Access::write);
    if (auto done = apply_repair(plans[i], disk, directory); !done)
      return std::unexpected(done.error());
  }
  if (auto done = give_up_lost(data, plans); !done) return std::unexpected(done.error());
  return copied;
}

}  // namespace

int repair_logs(const std::string& data_dir, bool apply) {
  if (!std::filesystem::exists(data_dir + "/PAWL")) {
    fmt::print(stderr,
               "error: {}: not a data directory of pawl serve, because it has no file PAWL. Name "
               "the value of --data\n",
               data_dir);
    return exit_not_found;
  }
  const auto data = DataDir::open(data_dir, 0, 0);
  if (!data) return complain(data.error().text);
  Disks disks;
  for (std::uint32_t shard = 0; shard < (*data)->identity().shards; ++shard)
    disks.emplace_back((*data)->shard_path(shard));
  const auto plans = plan_all(**data, disks);
  if (!plans) return complain(plans.error());
  bool needed = false, refused = false;
  for (std::size_t i = 0; i < plans->size(); ++i) {
    const RepairPlan& plan = (*plans)[i];
    const std::string name = log_name(static_cast<std::uint32_t>(i));
    for (const std::string& line : plan.said) fmt::print("{}: {}\n", name, line);
    if (!plan.refused.empty()) {
      fmt::print(stderr, "error: {}: cannot be repaired: {}\n", name, plan.refused);
      refused = true;
    }
    needed |= plan.needed();
  }
  if (refused) return exit_failure;
  if (!needed) {
    fmt::print("{}: nothing to repair\n", data_dir);
    return exit_ok;
  }
  if (!apply) {
    fmt::print("{}: nothing was changed; repair it with --apply\n", data_dir);
    return exit_check_failed;
  }
  const auto copied = apply_all(**data, data_dir, *plans);
  if (!copied) return complain(copied.error());
  fmt::print("{}: repaired; overwritten data was copied to {}\n", data_dir, *copied);
  return exit_ok;
}

}  // namespace pawl

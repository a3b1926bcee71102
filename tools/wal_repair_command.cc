#include "tools/wal_repair_command.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <expected>
#include <filesystem>
#include <vector>

#include "net/data_dir.h"
#include "tools/commands.h"
#include "tools/wal/apply.h"
#include "tools/wal/repair.h"
#include "tools/wal/walk.h"

namespace pawl {
namespace {

int complain(const std::string& text) {
  fmt::print(stderr, "error: {}\n", text);
  return exit_failure;
}

std::string log_name(std::size_t shard) { return fmt::format("s{:02}", shard); }

std::expected<RepairPlan, std::string> plan_of(const DataDir& data, std::uint32_t shard,
                                               const RepairPlan* control,
                                               std::uint32_t queue_ids_end) {
  RepairRequest request{.directory = data.shard_path(shard),
                        .shard = ShardId{static_cast<std::uint8_t>(shard)},
                        .stream = data.stream_of(shard),
                        .segment_bytes = data.identity().segment_bytes,
                        .queue_ids_end = queue_ids_end};
  if (control != nullptr) {
    request.queues = control->queues;
    request.settings_lost = control->records_lost;
  }
  auto plan = plan_repair(request);
  if (plan) return std::move(*plan);
  const Error& error = plan.error();
  return std::unexpected(fmt::format(
      "{}: {}{}", request.directory,
      error.code == Errc::version ? "written by a newer version: " : "",
      error.sys != 0 ? fmt::format("{}: {}", error.what, std::strerror(error.sys)) : error.what));
}

// The control shard's first, for it knows what queues there are; and again, for it is to know the ids that others know.
std::expected<std::vector<RepairPlan>, std::string> plan_all(const DataDir& data) {
  std::vector<RepairPlan> plans;
  std::uint32_t queue_ids_end = 1;
  for (std::uint32_t shard = 0; shard < data.identity().shards; ++shard) {
    auto plan = plan_of(data, shard, shard > 0 ? &plans[0] : nullptr, 1);
    if (!plan) return std::unexpected(plan.error());
    queue_ids_end = std::max(queue_ids_end, plan->queue_ids_end);
    plans.push_back(std::move(*plan));
  }
  if (plans[0].needed()) {
    auto plan = plan_of(data, 0, nullptr, queue_ids_end);
    if (!plan) return std::unexpected(plan.error());
    plans[0] = std::move(*plan);
  }
  return plans;
}

std::expected<std::string, std::string> apply_all(const std::string& data_dir,
                                                  const std::vector<RepairPlan>& plans) {
  RepairCopy copy(data_dir);
  if (auto done = copy.begin(); !done) return std::unexpected(done.error());
  for (std::size_t i = 0; i < plans.size(); ++i) {
    if (!plans[i].needed()) continue;
    if (auto done = copy.add(log_name(i), plans[i]); !done) return std::unexpected(done.error());
  }
  auto copied = copy.finish();
  if (!copied) return copied;
  for (const RepairPlan& plan : plans) {
    if (!plan.needed()) continue;
    if (auto done = apply_repair(plan); !done) return std::unexpected(done.error());
  }
  return copied;
}

}  // namespace

int repair_logs(const std::string& data_dir, bool apply) {
  if (!std::filesystem::exists(data_dir + "/PAWL")) {
    fmt::print(stderr, "error: {}: no data directory of pawl serve (it has no file PAWL)\n",
               data_dir);
    return exit_not_found;
  }
  const auto data = DataDir::open(data_dir, 0, 0);
  if (!data) return complain(data.error());
  const auto plans = plan_all(**data);
  if (!plans) return complain(plans.error());
  bool needed = false, refused = false;
  for (std::size_t i = 0; i < plans->size(); ++i) {
    const RepairPlan& plan = (*plans)[i];
    for (const std::string& line : plan.said) fmt::print("{}: {}\n", log_name(i), line);
    if (!plan.refused.empty()) {
      fmt::print(stderr, "error: {}: cannot be repaired: {}\n", log_name(i), plan.refused);
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
    fmt::print("{}: nothing was changed; --apply does it\n", data_dir);
    return exit_check_failed;
  }
  const auto copied = apply_all(data_dir, *plans);
  if (!copied) return complain(copied.error());
  fmt::print("{}: repaired; what was overwritten is in {}\n", data_dir, *copied);
  return exit_ok;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/server/absent_log.h"

#include <fmt/core.h>

#include <algorithm>
#include <vector>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::size_t names_shown = 5;

// The control log has the queue names; the other logs know queues by id only.
std::string contents_of(std::uint32_t shard, std::span<const Shard* const> shards) {
  std::vector<std::string> names;
  if (shard != raw(control_shard)) {
    if (shards[raw(control_shard)] == nullptr)
      return "Its queues are listed in the control log, s00, which cannot be read either.";
    shards[raw(control_shard)]->directory().for_each([&](const ConfigPtr& config) {
      if (raw(config->owner) == shard) names.push_back(config->name);
    });
    if (names.empty()) return "No queue is in it.";
    return fmt::format("In it are {} queue{} and their messages: {}.", names.size(),
                       names.size() == 1 ? "" : "s", list_of(names));
  }
  for (const Shard* const other : shards) {
    if (other == nullptr) continue;
    for (const auto& [id, messages] : other->queues_with_messages())
      names.push_back(
          fmt::format("{} ({} message{})", raw(id), messages, messages == 1 ? "" : "s"));
  }
  return fmt::format(
      "It is the control log, with the names and settings of all queues and the messages of its "
      "own queues. The other logs have, by id, {}.",
      names.empty() ? "no queues with messages" : "queues " + list_of(names));
}

}  // namespace

std::string log_name(std::uint32_t shard) { return fmt::format("s{:02}", shard); }

std::string list_of(std::span<const std::string> names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), names_shown); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > names_shown) text += fmt::format(" and {} more", names.size() - names_shown);
  return text;
}

std::string describe_absent_log(const std::string& data, const DataIdentity& identity,
                                std::uint32_t shard, const RecoveryReport& report,
                                std::span<const Shard* const> shards) {
  CHECK(report.absence != LogAbsence::none, "the log of shard {} is not absent", shard);
  CHECK(shards.size() == identity.shards, "{} of {} shards", shards.size(), identity.shards);
  const std::string directory = fmt::format("{}/{}", data, log_name(shard));
  const std::string ways = fmt::format(
      "Restore {0} from the same copy as the rest of {1}. Or continue without it: `pawl wal repair "
      "{1}` shows the loss, and accepts it with --apply",
      directory, data);
  switch (report.absence) {
    case LogAbsence::another_log:
      for (std::uint32_t other = 0; other < identity.shards; ++other) {
        if (identity.stream_of(other) == report.found_stream)
          return fmt::format(
              "{} has the log of shard {}: directories were swapped. Rename them back; `pawl wal "
              "verify {}` shows the owner of each log",
              directory, other, data);
      }
      return fmt::format("{} has a log of another data directory. {}", directory, ways);
    case LogAbsence::another_time:
      return fmt::format(
          "{} is a copy from another time: its last start was number {}, that of {} number {}. "
          "Restore all of {} from one copy. Or continue with this copy: `pawl wal repair {}` shows "
          "the consequences, and accepts them with --apply",
          directory, report.found_start, data, identity.starts, data, data);
    default:
      return fmt::format(
          "{} is lost: the log existed at the last start, and none of its files is left. "
          "{} {}",
          directory, contents_of(shard, shards), ways);
  }
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/server/absent_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace pawl {
namespace {

constexpr std::size_t names_shown = 5;

// The control log has the queue names; the other logs know queues by id only.
std::string contents_of(std::uint32_t shard, std::span<const Shard* const> shards) {
  std::vector<std::string> names;
  if (shard != raw(control_shard)) {
    if (shards[raw(control_shard)] == nullptr)
      return "Which queues it has is in the control log, s00, which cannot be read either.";
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
      "It is the control log: in it are the names and settings of all queues, and the messages of "
      "its own. In the other logs are, by id, {}.",
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
  const std::string directory = fmt::format("{}/{}", data, log_name(shard));
  const std::string ways = fmt::format(
      "Restore {0} from the copy that the rest of {1} is from. Or go on without it: `pawl wal "
      "repair "
      "{1}` shows what goes with it, and does it with --apply",
      directory, data);
  switch (report.absence) {
    case LogAbsence::another_log:
      for (std::uint32_t other = 0; other < identity.shards; ++other) {
        if (identity.stream_of(other) == report.found_stream)
          return fmt::format(
              "{} has the log of shard {}: directories were swapped. Give each its name "
              "back; `pawl wal verify {}` says which is which",
              directory, other, data);
      }
      return fmt::format("{} has a log of another data directory. {}", directory, ways);
    case LogAbsence::another_time:
      return fmt::format(
          "{} is a copy from another time: its last start was number {}, that of {} number {}. "
          "Restore all of {} from one copy. Or go on with it as it is: `pawl wal repair {}` says "
          "what "
          "that means, and does it with --apply",
          directory, report.found_start, data, identity.starts, data, data);
    default:
      return fmt::format(
          "{} is lost: the log was there at the last start, and there is no file of it. "
          "{} {}",
          directory, contents_of(shard, shards), ways);
  }
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/server/recovery_events.h"

#include <fmt/core.h>

#include "core/base/check.h"

namespace pawl {

std::vector<Event> recovery_events(const RecoveryReport& report, std::uint32_t shard,
                                   const std::string& data) {
  CHECK(!data.empty(), "shard {} without a data directory", shard);
  std::vector<Event> events;
  for (const std::uint64_t segment : report.unreadable_segments) {
    events.push_back(
        Event{EventCode::segment_header_damaged,
              fmt::format("shard {}: the header of segment {} is damaged: its messages may be "
                          "unreadable. Stop the server: `pawl wal verify {}` names them, `pawl wal "
                          "repair` sets them aside.",
                          shard, segment_name(segment), data)}
            .with("shard", shard)
            .with("segment", segment_name(segment))
            .with("path", data));
  }
  if (report.passed_over != 0) {
    events.push_back(Event{
        EventCode::newer_parts_skipped,
        fmt::format("shard {}: skips {} optional parts of records that a newer version wrote; "
                    "the latest is {} {}",
                    shard, report.passed_over, name_of(report.passed_over_latest.kind),
                    report.passed_over_latest.value)}
                         .with("shard", shard)
                         .with("parts", report.passed_over));
  }
  if (report.torn_at != 0) {
    events.push_back(Event{
        EventCode::torn_write_cut_off,
        fmt::format("shard {}: the last write, at lsn {}, is incomplete and was cut off: the "
                    "process or the power ended during this write or within {} ms after it. In "
                    "the second case it may have been acknowledged",
                    shard, report.torn_at, LogOptions{}.vouch_after.ms)}
                         .with("shard", shard)
                         .with("lsn", report.torn_at));
  }
  return events;
}

}  // namespace pawl

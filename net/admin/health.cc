// SPDX-License-Identifier: Apache-2.0
#include "net/admin/health.h"

#include <fmt/core.h>

#include "core/base/check.h"
#include "core/base/enum_name.h"
#include "net/events/event_log.h"
#include "net/io/process_usage.h"
#include "proto/text/json.h"

namespace pawl {
namespace {

constexpr std::uint64_t slow_flush_us = 100'000;
constexpr std::uint64_t little_space_share = 20;  // of the disk
constexpr std::int64_t certificate_warning_s = 14 * 86'400;
constexpr auto check_names = enum_names<HealthCheck, 8>();

std::uint64_t value(const ShardNumbers::Number& number) {
  return number.load(std::memory_order_relaxed);
}

void add_shard(std::vector<HealthRow>& rows, const ShardNumbers& shard, int id) {
  using enum HealthCheck;
  CHECK(id >= 0 && id < static_cast<int>(shards_max), "shard {}", id);
  const bool no_space = value(shard.disk_full) != 0;
  rows.push_back({disk, id, no_space ? std::optional(EventCode::disk_full) : std::nullopt,
                  no_space ? "sends are refused: no space for another segment" : "has space"});

  HealthRow& whole = rows.emplace_back(log, id);
  if (const std::uint64_t messages = value(shard.set_aside); messages > 0) {
    whole.code = EventCode::message_unreadable;
    whole.text = fmt::format("{} messages are set aside, their bodies cannot be read", messages);
  } else if (const std::uint64_t segments = value(shard.unreadable_segments); segments > 0) {
    whole.code = EventCode::segment_header_damaged;
    whole.text = fmt::format("{} segments cannot be read", segments);
  } else if (const std::uint64_t files = value(shard.files_set_aside); files > 0) {
    whole.code = EventCode::new_file_set_aside;
    whole.text = fmt::format("{} new files could not be written", files);
  } else {
    whole.text = "can be read and written";
  }

  const bool full = value(shard.memory_full) != 0;
  rows.push_back({memory, id, full ? std::optional(EventCode::memory_full) : std::nullopt,
                  full ? "sends are refused: the memory of this shard is used up" : "has space"});

  const std::uint64_t flush_us = value(shard.flush_us);
  const bool slow = flush_us > slow_flush_us;
  rows.push_back({flush, id, slow ? std::optional(EventCode::flush_slow) : std::nullopt,
                  fmt::format("a durable write takes {} us on average", flush_us)});
}

HealthRow space_row(const AdminFacts& facts) {
  HealthRow row{.check = HealthCheck::space};
  const DiskSpace disk = disk_space(facts.directory);
  if (disk.free_bytes < disk.size_bytes / little_space_share)
    row.code = EventCode::disk_nearly_full;
  row.text = fmt::format("{} of {} bytes of the data directory's file system are free",
                         disk.free_bytes, disk.size_bytes);
  return row;
}

HealthRow clock_row(const HealthMonitor& monitor) {
  HealthRow row{.check = HealthCheck::clock, .text = "is kept right"};
  if (monitor.clock_waits()) {
    row.code = EventCode::clock_waits;
    row.text = "the time that the machine was off is not counted yet";
  } else if (!monitor.clock_synchronised()) {
    row.code = EventCode::clock_unsynchronised;
    row.text = "no one steers the wall clock; messages age by another one";
  }
  return row;
}

HealthRow certificate_row(const TlsContext& tls, std::int64_t now_us) {
  HealthRow row{.check = HealthCheck::certificate};
  const std::int64_t left_s = tls.not_after_s() - now_us / 1'000'000;
  if (left_s < certificate_warning_s) row.code = EventCode::certificate_near_end;
  row.text = left_s < 0 ? fmt::format("ended {} hours ago", -left_s / 3600)
                        : fmt::format("ends in {} hours", left_s / 3600);
  return row;
}

// The events of other codes have better texts where they happen.
bool is_reported_here(EventCode code) {
  return code == EventCode::disk_nearly_full || code == EventCode::memory_full ||
         code == EventCode::flush_slow || code == EventCode::certificate_near_end ||
         code == EventCode::clock_unsynchronised;
}

std::string subject_of(const HealthRow& row) {
  const std::string_view name = check_names[static_cast<std::size_t>(row.check)];
  return row.shard < 0 ? std::string(name) : fmt::format("shard {}: {}", row.shard, name);
}

}  // namespace

std::string_view HealthRow::level() const { return code ? name_of(row_of(*code).level) : "ok"; }

std::vector<HealthRow> health_rows(const AdminFacts& facts, std::int64_t now_us) {
  CHECK(now_us > 0, "the time {}", now_us);
  std::vector<HealthRow> rows;
  for (std::size_t i = 0; i < facts.numbers.size(); ++i)
    add_shard(rows, *facts.numbers[i], static_cast<int>(i));
  if (facts.directory >= 0) rows.push_back(space_row(facts));
  if (facts.health != nullptr) rows.push_back(clock_row(*facts.health));
  const bool refused = !facts.fallback.empty();
  rows.push_back({HealthCheck::io, -1,
                  refused ? std::optional(EventCode::io_uring_refused) : std::nullopt,
                  refused ? fmt::format("{}; {}", facts.backend, facts.fallback) : facts.backend});
  if (const auto tls = facts.settings == nullptr ? nullptr : facts.settings->current().tls)
    rows.push_back(certificate_row(*tls, now_us));
  return rows;
}

void HealthMonitor::observe(std::span<const HealthRow> rows, std::int64_t now_us) {
  const std::scoped_lock alone(mutex_);
  for (const HealthRow& row : rows) {
    const auto [at, first] = states_.try_emplace({row.check, row.shard}, row.code, now_us);
    State& state = at->second;
    if (!first && state.code == row.code) continue;
    const std::optional<EventCode> before = first ? std::nullopt : state.code;
    state = {row.code, now_us};
    // Machines without NTP would have a line at every start.
    const bool known = first && row.code == EventCode::clock_unsynchronised;
    if (row.code && is_reported_here(*row.code) && !known) {
      emit(Event{*row.code, fmt::format("{} {}. What to do: {}", subject_of(row), row.text,
                                        row_of(*row.code).remedy)}
               .with("check", std::string(check_names[static_cast<std::size_t>(row.check)]))
               .with("shard", std::int64_t{row.shard}));
    } else if (!row.code && before && is_reported_here(*before)) {
      emit(Event{EventCode::check_ok, fmt::format("{} is ok again: {}", subject_of(row), row.text)}
               .with("check", std::string(check_names[static_cast<std::size_t>(row.check)]))
               .with("shard", std::int64_t{row.shard}));
    }
  }
}

std::int64_t HealthMonitor::since(const HealthRow& row, std::int64_t now_us) const {
  const std::scoped_lock alone(mutex_);
  const auto at = states_.find({row.check, row.shard});
  return at != states_.end() && at->second.code == row.code ? at->second.since_us : now_us;
}

std::string health_lines(std::span<const HealthRow> rows, const HealthMonitor* monitor,
                         std::int64_t now_us) {
  std::string lines;
  for (const HealthRow& row : rows) {
    CHECK(static_cast<std::size_t>(row.check) < check_names.size());
    JsonWriter json(lines);
    json.begin_object();
    json.plain_member("check", check_names[static_cast<std::size_t>(row.check)]);
    if (row.shard >= 0) json.member("shard", std::int64_t{row.shard});
    json.plain_member("level", row.level());
    if (row.code) json.plain_member("code", name_of(*row.code));
    json.plain_member("since", rfc3339(monitor == nullptr ? now_us : monitor->since(row, now_us)));
    json.member("text", std::string_view(row.text));
    if (row.code) json.member("remedy", row_of(*row.code).remedy);
    json.end_object();
    lines += '\n';
  }
  return lines;
}

}  // namespace pawl

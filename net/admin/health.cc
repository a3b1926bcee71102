// SPDX-License-Identifier: Apache-2.0
#include "net/admin/health.h"

#include <fmt/core.h>

#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/base/enum_name.h"
#include "net/events/event_log.h"
#include "net/io/process_usage.h"
#include "proto/text/json.h"

namespace pawl {
namespace {

constexpr std::uint64_t slow_flush_us = 100'000;
constexpr double gib = 1 << 30;
constexpr std::uint64_t little_space_share = 20;  // of the disk
constexpr std::int64_t certificate_warning_s = 14 * 86'400;
constexpr auto check_names = enum_names<HealthCheck, 8>();

std::uint64_t value(const ShardNumbers::Number& number) {
  return number.load(std::memory_order_relaxed);
}

using Code = std::optional<EventCode>;

Code code_if(bool is_so, EventCode code) { return is_so ? Code(code) : std::nullopt; }

Code log_code(const ShardNumbers& shard) {
  if (value(shard.set_aside) > 0) return EventCode::message_unreadable;
  if (value(shard.unreadable_segments) > 0) return EventCode::segment_header_damaged;
  return code_if(value(shard.files_set_aside) > 0, EventCode::new_file_set_aside);
}

void add_shard(std::vector<HealthRow>& rows, const ShardNumbers& shard, int id) {
  using enum HealthCheck;
  CHECK(id >= 0 && id < static_cast<int>(shards_max), "shard {}", id);
  rows.push_back({disk, id, code_if(value(shard.disk_full) != 0, EventCode::disk_full)});
  rows.push_back({log, id, log_code(shard)});
  rows.push_back({memory, id, code_if(value(shard.memory_full) != 0, EventCode::memory_full)});
  rows.push_back(
      {flush, id, code_if(value(shard.flush_us) > slow_flush_us, EventCode::flush_slow)});
}

Code space_code(const DiskSpace& disk) {
  return code_if(disk.free_bytes < disk.size_bytes / little_space_share,
                 EventCode::disk_nearly_full);
}

Code clock_code(const HealthMonitor& monitor) {
  if (monitor.clock_waits()) return EventCode::clock_waits;
  return code_if(!monitor.clock_synchronised(), EventCode::clock_unsynchronised);
}

std::shared_ptr<const TlsContext> tls_of(const AdminFacts& facts) {
  return facts.settings == nullptr ? nullptr : facts.settings->current().tls;
}

std::int64_t seconds_left(const TlsContext& tls, std::int64_t now_us) {
  return tls.not_after_s() - now_us / 1'000'000;
}

std::string log_text(const ShardNumbers& shard, const Code& code) {
  if (code == EventCode::message_unreadable)
    return fmt::format("{} messages are set aside, their bodies cannot be read",
                       value(shard.set_aside));
  if (code == EventCode::segment_header_damaged)
    return fmt::format("{} segments cannot be read", value(shard.unreadable_segments));
  if (code == EventCode::new_file_set_aside)
    return fmt::format("{} new files could not be written", value(shard.files_set_aside));
  return "can be read and written";
}

std::string clock_text(const Code& code) {
  if (code == EventCode::clock_waits) return "the time that the machine was off is not counted yet";
  return code ? "no one steers the wall clock; messages age by another one" : "is kept right";
}

std::string certificate_text(const AdminFacts& facts, std::int64_t now_us) {
  const auto tls = tls_of(facts);
  if (tls == nullptr) return "was given up";
  const std::int64_t left_s = seconds_left(*tls, now_us);
  return left_s < 0 ? fmt::format("ended {} hours ago", -left_s / 3600)
                    : fmt::format("ends in {} hours", left_s / 3600);
}

std::string shard_text_of(const HealthRow& row, const ShardNumbers& shard) {
  switch (row.check) {
    case HealthCheck::disk:
      return row.code ? "sends are refused: no space for another segment" : "has space";
    case HealthCheck::log:
      return log_text(shard, row.code);
    case HealthCheck::memory:
      return row.code ? "sends are refused: the memory of this shard is used up" : "has space";
    default:
      CHECK(row.check == HealthCheck::flush, "check {}", static_cast<int>(row.check));
      if (value(shard.flush_us) == 0) return "no durable write was timed yet";
      return fmt::format("a durable write takes {} us on average", value(shard.flush_us));
  }
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

Event event_of(const HealthRow& row, EventCode code, std::string text) {
  return Event{code, std::move(text)}
      .with("check", std::string(check_names[static_cast<std::size_t>(row.check)]))
      .with("shard", std::int64_t{row.shard});
}

}  // namespace

std::string_view HealthRow::level() const { return code ? name_of(row_of(*code).level) : "ok"; }

std::vector<HealthRow> health_rows(const AdminFacts& facts, std::int64_t now_us) {
  using enum HealthCheck;
  CHECK(now_us > 0, "the time {}", now_us);
  std::vector<HealthRow> rows;
  for (std::size_t i = 0; i < facts.numbers.size(); ++i)
    add_shard(rows, *facts.numbers[i], static_cast<int>(i));
  if (facts.directory >= 0) rows.push_back({space, -1, space_code(disk_space(facts.directory))});
  if (facts.health != nullptr) rows.push_back({clock, -1, clock_code(*facts.health)});
  rows.push_back({io, -1, code_if(!facts.fallback.empty(), EventCode::io_uring_refused)});
  if (const auto tls = tls_of(facts))
    rows.push_back({certificate, -1,
                    code_if(seconds_left(*tls, now_us) < certificate_warning_s,
                            EventCode::certificate_near_end)});
  return rows;
}

std::string text_of(const HealthRow& row, const AdminFacts& facts, std::int64_t now_us) {
  if (row.shard >= 0)
    return shard_text_of(row, *facts.numbers[static_cast<std::size_t>(row.shard)]);
  switch (row.check) {
    case HealthCheck::space: {
      const DiskSpace disk = disk_space(facts.directory);
      return fmt::format("{:.1f} of {:.1f} GiB of the data directory's file system are free",
                         static_cast<double>(disk.free_bytes) / gib,
                         static_cast<double>(disk.size_bytes) / gib);
    }
    case HealthCheck::clock:
      return clock_text(row.code);
    case HealthCheck::io:
      return row.code ? fmt::format("{}; {}", facts.backend, facts.fallback) : facts.backend;
    default:
      CHECK(row.check == HealthCheck::certificate, "check {}", static_cast<int>(row.check));
      return certificate_text(facts, now_us);
  }
}

void HealthMonitor::observe(const AdminFacts& facts, std::int64_t now_us) {
  std::vector<HealthRow> rows = health_rows(facts, now_us);
  const std::scoped_lock alone(mutex_);
  if (rows == observed_) return;
  for (const HealthRow& row : rows) {
    const auto [at, first] = states_.try_emplace({row.check, row.shard}, row.code, now_us);
    State& state = at->second;
    if (!first && state.code == row.code) continue;
    const bool was_reported = !first && state.code && is_reported_here(*state.code);
    state = {row.code, now_us};
    // Machines without NTP would have a line at every start.
    const bool known = first && row.code == EventCode::clock_unsynchronised;
    if (row.code && is_reported_here(*row.code) && !known)
      emit(event_of(row, *row.code,
                    fmt::format("{} {}. What to do: {}", subject_of(row),
                                text_of(row, facts, now_us), row_of(*row.code).remedy)));
    if (!row.code && was_reported)
      emit(event_of(
          row, EventCode::check_ok,
          fmt::format("{} is ok again: {}", subject_of(row), text_of(row, facts, now_us))));
  }
  observed_ = std::move(rows);
}

std::int64_t HealthMonitor::since(const HealthRow& row, std::int64_t now_us) const {
  const std::scoped_lock alone(mutex_);
  const auto at = states_.find({row.check, row.shard});
  return at != states_.end() && at->second.code == row.code ? at->second.since_us : now_us;
}

std::string health_lines(const AdminFacts& facts, std::int64_t now_us) {
  const HealthMonitor* const monitor = facts.health;
  std::string lines;
  for (const HealthRow& row : health_rows(facts, now_us)) {
    CHECK(static_cast<std::size_t>(row.check) < check_names.size());
    JsonWriter json(lines);
    json.begin_object();
    json.plain_member("check", check_names[static_cast<std::size_t>(row.check)]);
    if (row.shard >= 0) json.member("shard", std::int64_t{row.shard});
    json.plain_member("level", row.level());
    if (row.code) json.plain_member("code", name_of(*row.code));
    json.plain_member("since", rfc3339(monitor == nullptr ? now_us : monitor->since(row, now_us)));
    json.member("text", std::string_view(text_of(row, facts, now_us)));
    if (row.code) json.member("remedy", row_of(*row.code).remedy);
    json.end_object();
    lines += '\n';
  }
  return lines;
}

}  // namespace pawl

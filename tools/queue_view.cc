// SPDX-License-Identifier: Apache-2.0
#include "tools/queue_view.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <utility>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::uint64_t in_flight_limit = 120'000;  // SQS's

// In the order of QueueState.
constexpr std::string_view state_texts[] = {
    "in flight full",
    "no consumer",
    "groups blocked",
    "not deleted",
    "near expiry",
    "late",
    "deletes late",
    "falling behind",
    "no receives",
    "all in flight",
    "all delayed",
    "no figures",
    "ok",
    "empty",
};
static_assert(std::size(state_texts) == static_cast<std::size_t>(QueueState::empty) + 1);

struct Growth {
  double seconds = 0;
  std::uint64_t sent = 0, received = 0, deleted = 0, deleted_late = 0, delivered_late = 0;
  std::uint64_t leases_expired = 0;
};

// None without two readings of the same run of the server and the same queue.
std::optional<Growth> growth_of(const QueueReading& now, const QueueReading* before) {
  if (before == nullptr || !now.counted || !before->counted) return std::nullopt;
  const QueueCounted& to = *now.counted;
  const QueueCounted& from = *before->counted;
  const bool same = to.at_ms > from.at_ms && to.sent >= from.sent && to.received >= from.received &&
                    to.deleted >= from.deleted && to.deleted_late >= from.deleted_late &&
                    to.delivered_late >= from.delivered_late &&
                    to.leases_expired >= from.leases_expired;
  if (!same) return std::nullopt;
  return Growth{.seconds = static_cast<double>(to.at_ms - from.at_ms) / 1000.0,
                .sent = to.sent - from.sent,
                .received = to.received - from.received,
                .deleted = to.deleted - from.deleted,
                .deleted_late = to.deleted_late - from.deleted_late,
                .delivered_late = to.delivered_late - from.delivered_late,
                .leases_expired = to.leases_expired - from.leases_expired};
}

using Said = std::pair<QueueState, std::string>;

// The states that the depths alone show.
std::optional<Said> by_depth(const QueueReading& now) {
  using enum QueueState;
  const std::uint64_t all = now.visible + now.in_flight + now.delayed;
  if (all == 0) return Said{empty, ""};
  if (now.visible > 0 && now.in_flight >= in_flight_limit)
    return Said{in_flight_full,
                fmt::format("{} in flight, the most that a queue allows", now.in_flight)};
  return std::nullopt;
}

std::optional<Said> near_end(const QueueReading& now) {
  CHECK(now.counted.has_value(), "{} has no figures", now.name);
  const double age = now.counted->oldest_s;
  if (now.retention_s == 0 || age * 2 <= static_cast<double>(now.retention_s)) return std::nullopt;
  return Said{
      QueueState::near_expiry,
      fmt::format("the oldest message is {:.0f} s old, and deleted at {} s", age, now.retention_s)};
}

// The states of a queue whose messages wait while nothing is received.
Said not_received(const QueueReading& now, const Growth& growth, bool blocked) {
  using enum QueueState;
  CHECK(now.visible > 0 && growth.received == 0, "{} visible, {} received", now.visible,
        growth.received);
  const std::string nothing = fmt::format("nothing received in {:.1f} s", growth.seconds);
  if (now.in_flight == 0) return {no_consumer, nothing};
  if (blocked && now.fifo)
    return {groups_blocked, fmt::format("{}; {} in flight hold the groups of all visible messages",
                                        nothing, now.in_flight)};
  return {no_receives, fmt::format("{}; {} in flight", nothing, now.in_flight)};
}

std::optional<Said> by_growth(const QueueReading& now, const QueueReading& before,
                              const Growth& growth) {
  using enum QueueState;
  const auto times = [&growth](std::uint64_t count, std::string_view events) {
    return fmt::format("{} {} in {:.1f} s", count, events, growth.seconds);
  };
  if (growth.leases_expired > 0 && growth.deleted == 0)
    return Said{not_deleted,
                times(growth.leases_expired, "visibility timeouts ended, none deleted")};
  if (auto said = near_end(now)) return said;
  if (growth.delivered_late > 0)
    return Said{late, times(growth.delivered_late, "delivered later than x-lag-target")};
  if (growth.deleted_late > 0)
    return Said{deletes_late, times(growth.deleted_late, "deleted after their visibility timeout")};
  if (now.visible > before.visible && growth.sent > growth.deleted)
    return Said{falling_behind, fmt::format("{} more visible in {:.1f} s",
                                            now.visible - before.visible, growth.seconds)};
  return std::nullopt;
}

Said state_of(const QueueReading& now, const QueueReading* before,
              const std::optional<Growth>& growth, bool blocked) {
  using enum QueueState;
  if (auto said = by_depth(now)) return *said;
  if (growth) {
    if (now.visible > 0 && growth->received == 0) {
      Said said = not_received(now, *growth, blocked);
      if (said.first != no_receives) return said;
      return by_growth(now, *before, *growth).value_or(std::move(said));
    }
    if (auto said = by_growth(now, *before, *growth)) return *said;
  } else if (now.counted) {
    if (auto said = near_end(now)) return *said;
  }
  if (now.visible == 0 && now.in_flight > 0)
    return {all_in_flight, fmt::format("{} in flight, none visible", now.in_flight)};
  if (now.visible == 0) return {all_delayed, fmt::format("{} delayed, none visible", now.delayed)};
  if (!now.counted) return {depths_only, "the server keeps no figures of this queue"};
  return {ok, ""};
}

std::string rate_text(const std::optional<double>& rate) {
  if (!rate) return "-";
  return *rate >= 100 || *rate == 0 ? fmt::format("{:.0f}", *rate) : fmt::format("{:.1f}", *rate);
}

std::string seconds_text(double seconds) {
  if (seconds < 100) return fmt::format("{:.1f}s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f}m", seconds / 60);
  if (seconds < 100.0 * 3600) return fmt::format("{:.0f}h", seconds / 3600);
  return fmt::format("{:.0f}d", seconds / 86400);
}

std::string oldest_text(const QueueRow& row) {
  return row.reading.counted ? seconds_text(row.reading.counted->oldest_s) : "-";
}

std::string lease_text(const QueueRow& row) {
  const auto& counted = row.reading.counted;
  return counted && counted->leases > 0 ? seconds_text(counted->lease_p99_s) : "-";
}

double oldest_of(const QueueRow& row) {
  return row.reading.counted ? row.reading.counted->oldest_s : 0;
}

double count_of(std::uint64_t count) { return static_cast<double>(count); }

struct ShownColumn {
  std::string_view header;
  int importance;  // the lowest goes first
  std::string (*text)(const QueueRow&);
};

// In the order on the screen.
const ShownColumn shown_columns[] = {
    {"STATE",     9, [](const QueueRow& row) { return std::string(text_of(row.state)); }         },
    {"VISIBLE",   8, [](const QueueRow& row) { return fmt::format("{}", row.reading.visible); }  },
    {"IN FLIGHT", 6, [](const QueueRow& row) { return fmt::format("{}", row.reading.in_flight); }},
    {"DELAYED",   2, [](const QueueRow& row) { return fmt::format("{}", row.reading.delayed); }  },
    {"OLDEST",    7, oldest_text                                                                 },
    {"SENT/S",    5, [](const QueueRow& row) { return rate_text(row.sent); }                     },
    {"RECV/S",    3, [](const QueueRow& row) { return rate_text(row.received); }                 },
    {"DEL/S",     4, [](const QueueRow& row) { return rate_text(row.deleted); }                  },
    {"P99",       1, lease_text                                                                  },
    {"WHY",       0, [](const QueueRow& row) { return row.why; }                                 },
};
constexpr std::size_t shown_count = std::size(shown_columns);
constexpr std::size_t name_width_least = 8, gap = 2;
constexpr std::string_view why_header = "WHY";

// Which columns fit beside the names.
std::array<bool, shown_count> fitting(const std::array<std::size_t, shown_count>& widths,
                                      std::size_t width) {
  std::array<bool, shown_count> fits{};
  std::size_t used = name_width_least;
  for (int importance = 9; importance >= 0; --importance) {
    const auto* const column =
        std::ranges::find(shown_columns, importance, &ShownColumn::importance);
    const auto i = static_cast<std::size_t>(column - std::begin(shown_columns));
    CHECK(i < shown_count, "no column has the importance {}", importance);
    if (used + gap + widths[i] > width) break;
    used += gap + widths[i];
    fits[i] = true;
  }
  return fits;
}

std::string padded(std::string_view text, std::size_t width, bool left) {
  CHECK(text.size() <= width, "{} in {} characters", text, width);
  const std::string spaces(width - text.size(), ' ');
  return left ? std::string(text) + spaces : spaces + std::string(text);
}

std::string shortened(const std::string& name, std::size_t width) {
  return name.size() <= width ? name : name.substr(0, width - 1) + "~";
}

}  // namespace

std::string_view text_of(QueueState state) {
  const auto i = static_cast<std::size_t>(state);
  CHECK(i < std::size(state_texts), "state {}", i);
  return state_texts[i];
}

QueueRow row_of(QueueReading reading, const QueueReading* before, bool blocked) {
  CHECK(before == nullptr || before->name == reading.name, "{} after {}", reading.name,
        before->name);
  QueueRow row;
  const std::optional<Growth> growth = growth_of(reading, before);
  if (growth) {
    row.sent = count_of(growth->sent) / growth->seconds;
    row.received = count_of(growth->received) / growth->seconds;
    row.deleted = count_of(growth->deleted) / growth->seconds;
  }
  std::tie(row.state, row.why) = state_of(reading, before, growth, blocked);
  row.reading = std::move(reading);
  return row;
}

bool may_be_blocked(const QueueRow& row) {
  const QueueReading& reading = row.reading;
  return reading.fifo && reading.visible > 0 && reading.in_flight > 0 && row.received == 0.0;
}

const std::vector<std::string>& sort_columns() {
  static const std::vector<std::string> names = {"state",   "queue",  "visible", "in_flight",
                                                 "delayed", "oldest", "sent",    "received",
                                                 "deleted", "p99"};
  return names;
}

void sort_rows(std::vector<const QueueRow*>& rows, std::string_view column) {
  CHECK(std::ranges::find(sort_columns(), column) != sort_columns().end(), "column {}", column);
  const auto value = [column](const QueueRow& row) -> double {
    const QueueReading& reading = row.reading;
    if (column == "visible") return count_of(reading.visible);
    if (column == "in_flight") return count_of(reading.in_flight);
    if (column == "delayed") return count_of(reading.delayed);
    if (column == "oldest") return oldest_of(row);
    if (column == "sent") return row.sent.value_or(-1);
    if (column == "received") return row.received.value_or(-1);
    if (column == "deleted") return row.deleted.value_or(-1);
    if (column == "p99") return reading.counted ? reading.counted->lease_p99_s : -1;
    return column == "state" ? -static_cast<double>(row.state) : 0;
  };
  struct Ranked {
    double value, oldest;
    const QueueRow* row;
  };
  const bool by_state = column == "state";
  std::vector<Ranked> ranked;
  ranked.reserve(rows.size());
  for (const QueueRow* const row : rows)
    ranked.push_back({value(*row), by_state ? oldest_of(*row) : 0, row});
  std::ranges::sort(ranked, [by_state](const Ranked& a, const Ranked& b) {
    const QueueReading& left = a.row->reading;
    const QueueReading& right = b.row->reading;
    if (a.value != b.value) return a.value > b.value;
    if (a.oldest != b.oldest) return a.oldest > b.oldest;
    if (by_state && left.visible != right.visible) return left.visible > right.visible;
    return left.name < right.name;
  });
  CHECK(ranked.size() == rows.size(), "{} of {} rows are sorted", ranked.size(), rows.size());
  std::ranges::transform(ranked, rows.begin(), &Ranked::row);
}

const std::vector<std::string>& printed_columns() {
  static const std::vector<std::string> names = {
      "queue",     "state",        "visible",     "in_flight", "delayed", "oldest",
      "sent_rate", "receive_rate", "delete_rate", "lease_p99", "why"};
  return names;
}

Printer::Row printed(const QueueRow& row) {
  const QueueReading& reading = row.reading;
  const QueueCounted counted = reading.counted.value_or(QueueCounted());
  Printer::Row out;
  out.cells = {
      {"queue", reading.name},
      {"state", std::string(text_of(row.state))},
      {"visible", reading.visible},
      {"in_flight", reading.in_flight},
      {"delayed", reading.delayed},
      {"oldest", counted.oldest_s, oldest_text(row)},
      {"sent_rate", row.sent.value_or(0), rate_text(row.sent)},
      {"receive_rate", row.received.value_or(0), rate_text(row.received)},
      {"delete_rate", row.deleted.value_or(0), rate_text(row.deleted)},
      {"lease_p50", counted.lease_p50_s},
      {"lease_p99", counted.lease_p99_s, lease_text(row)},
      {"workers_wanted", counted.workers},
      {"sent", counted.sent},
      {"received", counted.received},
      {"deleted", counted.deleted},
      {"leases_expired", counted.leases_expired},
      {"dead_lettered", counted.dead_lettered},
      {"expired", counted.expired},
      {"has_figures", reading.counted.has_value()},
      {"why", row.why},
  };
  return out;
}

std::vector<std::string> lines_of(std::span<const QueueRow* const> rows, std::size_t width) {
  std::array<std::size_t, shown_count> widths{};
  std::size_t name_width = std::string_view("QUEUE").size();
  for (std::size_t i = 0; i < shown_count; ++i) widths[i] = shown_columns[i].header.size();
  for (const QueueRow* const row : rows) {
    name_width = std::max(name_width, row->reading.name.size());
    for (std::size_t i = 0; i < shown_count; ++i)
      widths[i] = std::max(widths[i], shown_columns[i].text(*row).size());
  }
  const std::array<bool, shown_count> fits = fitting(widths, width);
  std::size_t used = 0;
  for (std::size_t i = 0; i < shown_count; ++i)
    if (fits[i]) used += gap + widths[i];
  const std::size_t most = std::max(width, used + name_width_least) - used;
  name_width = std::min(name_width, most);
  std::vector<std::string> lines;
  const auto add = [&](const std::string& name, auto&& text) {
    std::string line = padded(shortened(name, name_width), name_width, true);
    for (std::size_t i = 0; i < shown_count; ++i) {
      const bool left = i == 0 || shown_columns[i].header == why_header;
      if (fits[i]) line += std::string(gap, ' ') + padded(text(shown_columns[i]), widths[i], left);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    lines.push_back(line.substr(0, width));
  };
  add("QUEUE", [](const ShownColumn& column) { return std::string(column.header); });
  for (const QueueRow* const row : rows)
    add(row->reading.name, [row](const ShownColumn& column) { return column.text(*row); });
  return lines;
}

}  // namespace pawl

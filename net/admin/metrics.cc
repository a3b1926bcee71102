// SPDX-License-Identifier: Apache-2.0
#include "net/admin/metrics.h"

#include <fmt/core.h>

#include <string_view>

#include "core/base/enum_name.h"
#include "net/admin/family_text.h"
#include "net/connection/connections.h"

namespace pawl {
namespace {

using Numbers = ShardNumbers;

struct Metric {
  std::string_view name, type, help;
  Numbers::Number Numbers::* number;
  std::string_view kind = {};  // label, if several rows share a name
  double unit = 1;             // of the number, in the name's unit
};

constexpr std::string_view repair_hint =
    "; stop the server, and see `pawl wal repair DIR` for what is lost";
constexpr std::string_view counter = "counter", gauge = "gauge";
constexpr double from_ms = 1e-3, from_us = 1e-6;

// Rows of one name must be adjacent.
constexpr Metric metrics[] = {
    {"pawl_shard_messages_sent_total", counter, "Messages accepted.", &Numbers::sent},
    {"pawl_shard_messages_received_total", counter, "Messages received.", &Numbers::received},
    {"pawl_shard_messages_deleted_total", counter, "Messages deleted.", &Numbers::deleted},
    {"pawl_sends_refused_total", counter, "Sends refused because disk or memory was full.",
     &Numbers::refused},
    {"pawl_answers_before_flush_total", counter,
     "Sends and deletes answered before they were durable, by durability of the queue.", &Numbers::early_async, "async"},
    {"pawl_answers_before_flush_total", counter, "", &Numbers::early_memory, "memory"},
    {"pawl_answers_async_waited_total", counter,
     "Sends and deletes of async queues that waited because the log was 100 ms behind. A crash may "
     "lose the others of 100 ms and one flush.", &Numbers::late_async},
    {"pawl_async_behind_seconds_max",
     gauge, "Longest delay of the log when an async queue was answered before the flush.",
     &Numbers::async_behind,
     {},
     from_ms},
    {"pawl_shard_requests_total", counter, "Requests decided.", &Numbers::requests},
    {"pawl_turns_total", counter, "Turns of the shard's loop.", &Numbers::turns},
    {"pawl_sleeps_total", counter, "Times the loop went to sleep.", &Numbers::sleeps},
    {"pawl_yield_seconds_max",
     gauge, "Longest yield of the loop.",
     &Numbers::yield_us_max,
     {},
     from_us},
    {"pawl_messages", gauge, "Messages stored: visible, delayed and in flight.",
     &Numbers::messages},
    {"pawl_long_polls_waiting", gauge, "Long polls waiting.", &Numbers::waiting},
    {"pawl_schedules", gauge, "Schedules that the shard follows; every shard follows all.",
     &Numbers::schedules},
    {"pawl_schedule_messages_sent_total", counter, "Messages that schedules sent to queues.",
     &Numbers::fires_sent},
    {"pawl_schedule_messages_failed_total", counter,
     "Messages of schedules that no queue can take.", &Numbers::fires_failed},
    {"pawl_schedule_fires_missed_total", counter,
     "Fires left out because the server was down or its clock was set.", &Numbers::fires_missed},
    {"pawl_schedule_fires_overlapped_total", counter,
     "Fires left out because the message before was still in its queue.", &Numbers::fires_overlapped},
    {"pawl_schedule_late_seconds_max",
     gauge, "Longest time since startup from a fire to its message; missed fires do not count.",
     &Numbers::fires_late_ms,
     {},
     from_ms},
    {"pawl_wal_frames_total", counter, "Frames written to the log.", &Numbers::frames},
    {"pawl_wal_bytes_total", counter, "Bytes written to the log.", &Numbers::log_bytes},
    {"pawl_wal_padding_bytes_total", counter,
     "Bytes written to the log as padding to whole blocks.", &Numbers::padding_bytes},
    {"pawl_wal_flush_seconds",
     gauge, "Moving average of a durable write.",
     &Numbers::flush_us,
     {},
     from_us},
    {"pawl_wal_write_gap_seconds_max",
     gauge, "Longest time since startup in which responses waited and no write began or ended.",
     &Numbers::gap_us_max,
     {},
     from_us},
    {"pawl_wal_files_set_aside", gauge,
     "New files of the log that the disk could not write; they are kept and not used.", &Numbers::files_set_aside},
    {"pawl_wal_segments", gauge, "Segments that recovery would read or that hold messages.",
     &Numbers::segments},
    {"pawl_wal_manifests_total", counter,
     "Manifests written: one with each checkpoint, and one when the log becomes idle.", &Numbers::manifests},
    {"pawl_wal_position_bytes", gauge, "Position of the log's end: bytes of log ever written.",
     &Numbers::end},
    {"pawl_wal_span_bytes", gauge,
     "Bytes from the oldest segment to the log's end; sends are refused from 2^48 - 2^40 on.", &Numbers::span},
    {"pawl_wal_disk_bytes", gauge, "Disk space of the log, spare segments included.",
     &Numbers::disk_bytes},
    {"pawl_wal_replay_bytes", gauge,
     "Disk space of segments that are retained for x-replay-retention alone.", &Numbers::replay_bytes},
    {"pawl_wal_disk_full", gauge,
     "1 while the disk has no space for another segment and sends are refused.", &Numbers::disk_full},
    {"pawl_memory_full", gauge, "1 while sends are refused for lack of memory.",
     &Numbers::memory_full},
    {"pawl_wal_checkpoint_bytes", gauge, "Size of the latest checkpoint.",
     &Numbers::checkpoint_bytes},
    {"pawl_wal_relocated_bytes_total", counter,
     "Bytes relocated so that their segments could be reused.", &Numbers::relocated_bytes},
    {"pawl_memory_bytes", gauge, "Memory by kind.", &Numbers::bodies, "bodies"},
    {"pawl_memory_bytes", gauge, "", &Numbers::index, "index"},
    {"pawl_memory_bytes", gauge, "", &Numbers::slots, "slots"},
    {"pawl_memory_bytes", gauge, "", &Numbers::timers, "timers"},
    {"pawl_memory_bytes", gauge, "", &Numbers::dedup, "dedup"},
    {"pawl_memory_bytes", gauge, "", &Numbers::transfers, "transfers"},
    {"pawl_memory_bytes", gauge, "", &Numbers::queues, "queues"},
    {"pawl_memory_bytes", gauge, "", &Numbers::waiters, "waiting"},
    {"pawl_memory_bytes", gauge, "", &Numbers::held, "connections"},
    {"pawl_connections", gauge, "Connections open.", &Numbers::connections},
    {"pawl_connections_evicted_total", counter,
     "Connections closed because all together used too much memory.", &Numbers::connections_evicted},
    {"pawl_bodies_read_bytes_total", counter, "Bytes of bodies read back from the disk.",
     &Numbers::bodies_read},
    {"pawl_extents_evicted_total", counter, "Extents of bodies evicted from memory.",
     &Numbers::evicted},
    {"pawl_bodies_damaged_total", counter, "Bodies that could not be read or were damaged.",
     &Numbers::damaged},
    {"pawl_shard_messages_set_aside_total", counter,
     "Messages set aside because their bodies cannot be read.", &Numbers::set_aside},
    {"pawl_wal_unreadable_segments", gauge,
     "Segments with messages whose headers were damaged at startup.", &Numbers::unreadable_segments},
};

constexpr auto phase_names = enum_names<TurnPhase, turn_phases>();

// The number in the unit of its metric's name; a count stays a whole number.
std::string text_of(const Numbers::Number& number, double unit) {
  const std::uint64_t value = number.load(std::memory_order_relaxed);
  return unit == 1 ? fmt::format("{}", value)
                   : fmt::format("{}", static_cast<double>(value) * unit);
}

// Appends a counter with a second label, a row for each shard and each value of the label from
// `first` on. `name_of_value(i)` is the text of a value.
template <std::size_t count, typename NameOfValue>
void append_labelled(std::string& text, std::span<const ShardNumbers* const> shards,
                     std::string_view name, std::string_view help, std::string_view label,
                     std::array<Numbers::Number, count> Numbers::* numbers, std::size_t first,
                     double unit, NameOfValue name_of_value) {
  append_head(text, name, counter, help);
  for (std::size_t shard = 0; shard < shards.size(); ++shard) {
    for (std::size_t i = first; i < count; ++i) {
      text += fmt::format("{}{{shard=\"{}\",{}=\"{}\"}} {}\n", name, shard, label, name_of_value(i),
                          text_of((shards[shard]->*numbers)[i], unit));
    }
  }
}

DurationCounts flush_times_of(const ShardNumbers& shard) {
  DurationCounts times;
  for (std::size_t i = 0; i < times.buckets.size(); ++i)
    times.buckets[i] = shard.flush_times[i].load(std::memory_order_relaxed);
  times.sum_us = shard.flush_us_sum.load(std::memory_order_relaxed);
  return times;
}

void put(Numbers::Number& to, std::uint64_t value) { to.store(value, std::memory_order_relaxed); }

}  // namespace

void ShardNumbers::take(const LoopStats& loop) {
  put(sent, loop.sent);
  put(received, loop.received);
  put(deleted, loop.deleted);
  put(refused, loop.refused);
  put(memory_full, loop.memory_full ? 1 : 0);
  put(early_async, loop.early_async);
  put(early_memory, loop.early_memory);
  put(late_async, loop.late_async);
  put(async_behind, static_cast<std::uint64_t>(loop.async_behind_max));
  put(requests, loop.requests);
  put(turns, loop.turns);
}

void ShardNumbers::take(const ScheduleStats& stats) {
  put(schedules, stats.schedules);
  put(fires_sent, stats.sent);
  put(fires_failed, stats.failed);
  put(fires_missed, stats.missed);
  put(fires_overlapped, stats.overlapped);
  put(fires_late_ms, static_cast<std::uint64_t>(stats.late_ms_max));
}

void ShardNumbers::take(const LogStats& log) {
  put(frames, log.frames);
  put(log_bytes, log.bytes_written);
  put(padding_bytes, log.padding_bytes);
  put(flush_us, log.flush_us_ewma);
  put(gap_us_max, log.gap_us_max);
  for (std::size_t i = 0; i < flush_times.size(); ++i)
    put(flush_times[i], log.flush_times.buckets[i]);
  put(flush_us_sum, log.flush_times.sum_us);
  put(files_set_aside, log.files_set_aside);
  put(segments, log.segments);
  put(disk_bytes, log.disk_bytes);
  put(manifests, log.manifests);
  put(end, log.end);
  put(span, log.span);
  put(replay_bytes, log.replay_bytes);
  put(checkpoint_bytes, log.checkpoint_bytes);
  put(relocated_bytes, log.relocated_bytes);
  put(bodies, log.image_bytes + log.image_spare_bytes);
  put(bodies_read, log.bodies_read);
  put(evicted, log.extents_evicted);
  put(damaged, log.damaged);
}

void ShardNumbers::take(const Shard& shard) {
  const ShardMemory memory = shard.memory();
  put(messages, shard.messages());
  put(waiting, shard.waiting());
  put(set_aside, shard.set_aside());
  put(index, memory.index);
  put(slots, memory.slots);
  put(timers, memory.timers);
  put(dedup, memory.dedup);
  put(transfers, memory.transfers);
  put(queues, memory.queues);
  put(waiters, memory.waiting);
}

void ShardNumbers::take(const TurnPhases& phases) {
  for (std::size_t i = 0; i < turn_phases; ++i)
    put(phase_us[i], phases.sum(static_cast<TurnPhase>(i)));
}

void ShardNumbers::take(const Connections& all) {
  put(held, all.memory());
  put(connections, all.open_connections());
  put(connections_evicted, all.evicted());
  const AuthFailures::Counts& failures = all.auth_failures().counts();
  for (std::size_t i = 0; i < failures.size(); ++i) put(auth_failures[i], failures[i]);
}

std::string health_text(std::span<const ShardNumbers* const> shards) {
  std::string text;
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const auto number = [&](Numbers::Number Numbers::* which) {
      return (shards[i]->*which).load(std::memory_order_relaxed);
    };
    if (number(&Numbers::disk_full) != 0)
      text += fmt::format(
          "shard {}: no space on the disk for another segment: sends are refused, receives and "
          "deletes go on; free space on that disk\n",
          i);
    if (const std::uint64_t messages = number(&Numbers::set_aside); messages > 0)
      text += fmt::format("shard {}: {} messages are set aside, their bodies cannot be read{}\n", i,
                          messages, repair_hint);
    if (const std::uint64_t segments = number(&Numbers::unreadable_segments); segments > 0)
      text += fmt::format("shard {}: {} segments of the log cannot be read{}\n", i, segments,
                          repair_hint);
  }
  return text.empty() ? std::string(health_ok) : text;
}

std::string metrics_text(std::span<const ShardNumbers* const> shards, std::string_view backend,
                         bool draining) {
  std::string text = fmt::format(
      "# HELP {0} 1 for the backend of sockets and disk, see --io.\n# TYPE {0} gauge\n"
      "{0}{{backend=\"{1}\"}} 1\n",
      "pawl_io_backend_info", backend);
  text += fmt::format(
      "# HELP {0} 1 after SIGUSR2 or SIGTERM: new connections are refused.\n# TYPE {0} gauge\n"
      "{0} {1}\n",
      "pawl_draining", draining ? 1 : 0);
  std::string_view last;
  for (const Metric& metric : metrics) {
    if (metric.name != last) append_head(text, metric.name, metric.type, metric.help);
    last = metric.name;
    const std::string kind = metric.kind.empty() ? "" : fmt::format(",kind=\"{}\"", metric.kind);
    for (std::size_t i = 0; i < shards.size(); ++i) {
      text += fmt::format("{}{{shard=\"{}\"{}}} {}\n", metric.name, i, kind,
                          text_of(shards[i]->*metric.number, metric.unit));
    }
  }
  append_labelled(
      text, shards, "pawl_turn_phase_seconds_total",
      "Time of the loop's turns by phase, from samples; its sleeps and yields are left out.",
      "phase", &Numbers::phase_us, 0, from_us, [](std::size_t i) { return phase_names[i]; });
  constexpr std::string_view flush = "pawl_flush_seconds";
  append_head(text, flush, "histogram", "Time of the log's durable writes.");
  for (std::size_t i = 0; i < shards.size(); ++i)
    append_histogram(text, flush, fmt::format("shard=\"{}\",", i), flush_times_of(*shards[i]));
  append_labelled(text, shards, "pawl_auth_failures_total", "Failed authentications by reason.",
                  "reason", &Numbers::auth_failures, 1, 1,
                  [](std::size_t i) { return name_of(static_cast<AuthFault>(i)); });
  return text;
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/record_appender.h"

#include <algorithm>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "wal/format/checkpoint_records.h"
#include "wal/format/fan_out_record.h"
#include "wal/format/records.h"

namespace pawl {
namespace {

// Calls encode(run) with runs of records that are alike, at most batch_max.
template <typename Record, typename Alike, typename Encode>
void in_runs_alike(std::span<const Record> all, Alike&& alike, Encode&& encode) {
  while (!all.empty()) {
    std::size_t n = 1;
    while (n < all.size() && n < batch_max && alike(all[n]) == alike(all[0])) ++n;
    encode(all.first(n));
    all = all.subspan(n);
  }
}

// Calls encode(run) with runs of at most `max` elements.
template <typename T, typename Encode>
void in_runs(std::span<T> all, std::size_t max, Encode&& encode) {
  while (!all.empty()) {
    const auto run = all.first(std::min(all.size(), max));
    encode(run);
    all = all.subspan(run.size());
  }
}

}  // namespace

Lsn RecordAppender::append(Effects& effects, Instant now) {
  if (!effects.has_records()) return frames_.appended();
  frames_.set_time(now);
  // Rows come first: a topic's text with its subscriptions may be replaced only once the rows
  // exist.
  for (const ConfigRecord& record : effects.configs) {
    append_rows(record);
    frames_.commit(
        encode_config(frames_.reserve(config_bytes(*record.config)), record, geometry_.stream));
  }
  append_heads(effects.heads);
  append_sends(effects);
  for (const NumberRecord& record : effects.numbers) {
    frames_.commit(encode_number(frames_.reserve(number_bytes), record, geometry_.stream));
  }
  append_receives(effects);
  for (const ForgetTransferRecord& record : effects.forgotten_transfers) {
    frames_.commit(
        encode_forget_transfer(frames_.reserve(forget_transfer_bytes), record, geometry_.stream));
  }
  append_replays(effects.replays);
  const Lsn before_deletes = frames_.appended();
  append_deletes(effects);
  for (const PurgeRecord& record : effects.purges) {
    frames_.commit(encode_purge(frames_.reserve(purge_bytes), record, geometry_.stream));
  }
  for (const TaskRecord& record : effects.tasks) append_task(record);
  const bool lazy = frames_.appended() == before_deletes && effects.sends.empty() &&
                    effects.configs.empty() && effects.numbers.empty();
  if (lazy) {
    frames_.note_lazy();
  } else {
    frames_.urge();
  }
  return frames_.appended();
}

void RecordAppender::append(const CheckpointSlice& slice, Instant now) {
  frames_.set_time(now);
  for (const ConfigRecord& record : slice.configs) {
    frames_.commit(
        encode_config(frames_.reserve(config_bytes(*record.config)), record, geometry_.stream));
    append_rows(record);
  }
  append_heads(slice.heads);
  for (const PurgeRecord& record : slice.purges) {
    frames_.commit(encode_purge(frames_.reserve(purge_bytes), record, geometry_.stream));
  }
  for (const TaskRecord& record : slice.tasks) append_task(record);
  append_replays(slice.replays);
  for (const CheckpointRecord& record : slice.records) {
    std::visit([this](const auto& part) { append_part(part); }, record);
  }
  frames_.note_lazy();
}

void RecordAppender::append_rows(const ConfigRecord& record) {
  const auto& rows = record.config->rows;
  for (const std::uint64_t number : record.rows) {
    const auto it =
        std::ranges::lower_bound(rows, number, {}, [](const auto& row) { return row->number; });
    const bool there = it != rows.end() && (*it)->number == number;
    const std::string_view text = there ? std::string_view((*it)->text) : std::string_view();
    frames_.commit(encode_row(frames_.reserve(row_bytes(text)), record.config->id, number, text,
                              geometry_.stream));
  }
}

void RecordAppender::append_part(const IndexEntriesRecord& record) {
  in_runs(std::span(record.entries), index_entries_max, [&](auto run) {
    frames_.commit(encode_index_entries(frames_.reserve(index_entries_bytes_max(run.size())),
                                        record.queue, run, geometry_.stream));
  });
}

void RecordAppender::append_part(const TrackedMessagesRecord& record) {
  in_runs(std::span(record.entries), tracked_messages_max, [&](auto run) {
    frames_.commit(encode_tracked_messages(frames_.reserve(tracked_messages_bytes_max(run.size())),
                                           record.queue, record.fifo, run, geometry_.stream));
  });
}

void RecordAppender::append_part(const TimesRecord& record) {
  std::span buckets(record.buckets);
  std::span aged(record.aged);
  bool first = record.first;
  do {
    TimesRecord piece{.queue = record.queue,
                      .first = std::exchange(first, false),
                      .end = record.end,
                      .buckets = {},
                      .aged = {},
                      .ends = record.ends};
    const auto some = buckets.first(std::min(buckets.size(), times_max));
    const auto more = aged.first(std::min(aged.size(), times_max - some.size()));
    piece.buckets.assign(some.begin(), some.end());
    piece.aged.assign(more.begin(), more.end());
    frames_.commit(encode_times(frames_.reserve(times_bytes_max(some.size() + more.size())), piece,
                                geometry_.stream));
    buckets = buckets.subspan(some.size());
    aged = aged.subspan(more.size());
  } while (!buckets.empty() || !aged.empty());
}

void RecordAppender::append_part(const DedupRecord& record) {
  in_runs(std::span(record.entries), dedup_max, [&](auto run) {
    frames_.commit(encode_dedup(frames_.reserve(dedup_bytes_max(run.size())), record.queue, run,
                                geometry_.stream));
  });
}

void RecordAppender::append_part(const UnsettledTransferRecord& record) {
  frames_.commit(encode_unsettled(frames_.reserve(unsettled_bytes), record, geometry_.stream));
}

void RecordAppender::append_part(const ProducersRecord& record) {
  in_runs(std::span(record.entries), producers_max, [&](auto run) {
    frames_.commit(encode_producers(frames_.reserve(producers_bytes_max(run.size())), record.queue,
                                    run, geometry_.stream));
  });
}

void RecordAppender::append_part(const FiresRecord& record) {
  in_runs(std::span(record.entries), fires_max, [&](auto run) {
    frames_.commit(encode_fires(frames_.reserve(fires_bytes_max(run.size())), record.queue, run,
                                geometry_.stream));
  });
}

void RecordAppender::append_heads(std::span<const HeadRecord> heads) {
  const auto reserved = [](const HeadRecord& record) { return record.reserved; };
  in_runs_alike(heads, reserved, [this](auto run) {
    frames_.commit(
        encode_heads(frames_.reserve(heads_bytes_max(run.size())), run, geometry_.stream));
  });
}

void RecordAppender::append_sends(Effects& effects) {
  const std::size_t bytes_max = std::min(record_bytes_max, geometry_.record_space());
  for (std::span<SendRecord> left = effects.sends; !left.empty();) {
    const bool alone = left.size() == 1 || left[1].content != left[0].content;
    const std::span<SendRecord> run = left.first(alone ? 1 : sharing(left, bytes_max));
    const bool shared = run.size() > 1;
    std::byte* const out = frames_.reserve(shared ? fan_out_bytes(run) : send_bytes(run.front()));
    for (SendRecord& record : run) record.position = frames_.appended();
    commit_send(shared ? encode_fan_out(out, run, geometry_.stream)
                       : encode_send(out, run.front(), geometry_.stream),
                run.size(), false);
    left = left.subspan(run.size());
  }
}

// Each message of a record keeps the record: it goes with the last one.
void RecordAppender::commit_send(std::size_t bytes, std::size_t messages, bool relocated) {
  if (MUTANT(free_shared_body)) messages = 1;
  if (MUTANT(count_shared_body_twice) && messages > 1) messages *= 2;
  const std::uint64_t segment = geometry_.segment_of(frames_.appended());
  image_.add_live(frames_.appended());
  pool_.add_send(segment, bytes, relocated);
  while (--messages > 0) {
    image_.add_live(frames_.appended());
    pool_.add_send(segment, 0, relocated);
  }
  frames_.commit(bytes);
}

LogPos RecordAppender::append_relocated(const FoundSend& found,
                                        std::span<const std::size_t> existing, Instant now) {
  CHECK(!existing.empty() && existing.size() <= found.messages(), "{} of {} messages",
        existing.size(), found.messages());
  frames_.set_time(now);
  std::byte* const out = frames_.reserve(align_record(found.record.size()));
  const LogPos position = frames_.appended();
  commit_send(found.shared
                  ? found.shared->encode_relocated(out, found.record, existing, geometry_.stream)
                  : encode_relocated(out, found.record, geometry_.stream),
              existing.size(), true);
  frames_.note_lazy();
  return position;
}

void RecordAppender::append(std::span<const SegmentRecord> segments, Instant now) {
  frames_.set_time(now);
  in_runs(segments, segments_max, [&](auto run) {
    frames_.commit(
        encode_segments(frames_.reserve(segments_bytes_max(run.size())), run, geometry_.stream));
  });
}

void RecordAppender::append_receives(const Effects& effects) {
  const auto kind = [](const ReceiveRecord& record) {
    return std::tuple(record.queue, record.waits, record.final_deadline, record.cancelled,
                      record.aged_apart, record.expired);
  };
  in_runs_alike(std::span<const ReceiveRecord>(effects.receives), kind, [this](auto run) {
    frames_.commit(
        encode_receives(frames_.reserve(receives_bytes_max(run.size())), run, geometry_.stream));
  });
}

void RecordAppender::append_deletes(const Effects& effects) {
  const auto queue = [](const DeleteRecord& record) { return record.queue; };
  in_runs_alike(std::span<const DeleteRecord>(effects.deletes), queue, [this](auto run) {
    frames_.commit(
        encode_deletes(frames_.reserve(deletes_bytes_max(run.size())), run, geometry_.stream));
  });
}

// The count rises record by record with the deleted messages: each record alone is correct.
void RecordAppender::append_task(const TaskRecord& record) {
  MoveTask task = record.task;
  std::span<const Seq> rest(record.deleted);
  CHECK(task.moved >= rest.size(), "{} moved, {} deleted", task.moved, rest.size());
  task.moved -= rest.size();
  do {
    const auto run = rest.first(std::min(rest.size(), batch_max));
    task.moved += run.size();
    frames_.commit(encode_task(frames_.reserve(task_bytes_max(task, run.size())), task, run,
                               geometry_.stream));
    rest = rest.subspan(run.size());
  } while (!rest.empty());
}

void RecordAppender::append_replays(std::span<const ReplayRecord> records) {
  for (const ReplayRecord& record : records)
    frames_.commit(encode_replay(frames_.reserve(replay_bytes(record)), record, geometry_.stream));
}

}  // namespace pawl

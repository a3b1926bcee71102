// SPDX-License-Identifier: Apache-2.0
#include "wal/format/checkpoint_records.h"

#include <utility>

#include "core/base/mutant.h"
#include "wal/format/record_codec.h"

namespace pawl {
namespace {

constexpr std::size_t run_bytes = head_bytes + 4 + 4;  // queue, count
constexpr std::size_t dedup_key_bytes = 16;

bool read_flag(Decoder& in) {
  const auto flag = in.fixed<std::uint8_t>();
  if (flag > 1) in.fail();
  return flag == 1;
}

// Message numbers and positions lie close together, so each is stored as its distance from the one
// before. Consecutive messages have similar position distances, so only the change is stored.
struct PositionDeltas {
  Seq seq = 0;
  LogPos position = 0;
  std::uint64_t step = 0;

  void write(Encoder& to, Seq next_seq, LogPos next_position) {
    to.varint(next_seq - std::exchange(seq, next_seq));
    const std::uint64_t next_step = next_position - std::exchange(position, next_position);
    to.delta(next_step, std::exchange(step, next_step));
  }
  bool read(Decoder& in) {
    const std::uint64_t distance = in.varint();
    if (distance == 0 || distance > seq_max) return false;
    seq += distance;
    step = in.delta(step);
    position += step;
    return in.ok() && seq <= seq_max;
  }
};

void read_index_entries(Decoder& in, RecordSink& sink) {
  IndexEntriesRecord record;
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  const auto count = in.fixed<std::uint32_t>();
  PositionDeltas at;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!at.read(in)) return in.fail();
    record.entries.push_back({at.seq, at.position});
  }
  if (in.done()) sink.checkpoint(record);
}

void read_tracked_messages(Decoder& in, RecordSink& sink) {
  TrackedMessagesRecord record;
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  const auto count = in.fixed<std::uint32_t>();
  record.fifo = read_flag(in);
  PositionDeltas at;
  std::uint64_t since = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!at.read(in)) return in.fail();
    TrackedMessagesRecord::Entry entry{.seq = at.seq, .position = at.position};
    since = in.delta(since);
    entry.since = instant(since);
    entry.deadline = instant(in.delta(since));
    entry.first_before = in.varint_u32();
    entry.receive_count = in.varint_u32();
    entry.nonce = in.fixed<std::uint32_t>();
    const auto flags = in.fixed<std::uint8_t>();
    if ((flags & ~tracked_flags) != 0) in.fail();
    if ((flags & tracked_grouped) != 0) entry.group = read_key(in);
    entry.waits = (flags & tracked_waits) != 0;
    entry.final_deadline = (flags & tracked_final) != 0;
    entry.cancelled = (flags & tracked_cancelled) != 0;
    entry.aged_apart = (flags & tracked_apart) != 0;
    entry.expired = (flags & tracked_expired) != 0;
    if (!in.ok()) return;
    record.entries.push_back(entry);
  }
  if (in.done()) sink.checkpoint(record);
}

void read_times(Decoder& in, std::uint16_t fields, RecordSink& sink) {
  TimesRecord record{.ends = (fields & times_ends) != 0};
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  const auto buckets = in.fixed<std::uint32_t>(), aged = in.fixed<std::uint32_t>();
  record.first = read_flag(in);
  record.end = in.u48();
  Seq seq = 0;
  std::uint64_t time = 0;
  for (std::uint32_t i = 0; i < buckets && in.ok(); ++i) {
    SendTimes::Bucket bucket;
    bucket.first = seq = in.delta(seq) & seq_max;
    bucket.opened = instant(time = in.delta(time));
    bucket.last = instant(in.delta(time));
    if (in.ok()) record.buckets.push_back(bucket);
  }
  for (std::uint32_t i = 0; i < aged && in.ok(); ++i) {
    AgedArrivals::Entry entry;
    entry.first = static_cast<std::int64_t>(time = in.delta(time));
    entry.second = seq = in.delta(seq) & seq_max;
    if (in.ok()) record.aged.push_back(entry);
  }
  if (in.done()) sink.checkpoint(record);
}

void read_dedup(Decoder& in, RecordSink& sink) {
  DedupRecord record;
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  const auto count = in.fixed<std::uint32_t>();
  Seq seq = 0;
  std::uint64_t sent = 0;
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    Dedup::Entry entry;
    entry.key = read_key(in);
    entry.seq = seq = in.delta(seq) & seq_max;
    entry.sent = instant(sent = in.delta(sent));
    if (in.ok()) record.entries.push_back(entry);
  }
  if (in.done()) sink.checkpoint(record);
}

void read_unsettled(Decoder& in, RecordSink& sink) {
  UnsettledTransferRecord record;
  record.from.shard = ShardId{in.fixed<std::uint8_t>()};
  record.from.queue = QueueId{in.fixed<std::uint32_t>()};
  record.from.seq = in.u48();
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  record.task = in.fixed<std::uint32_t>();
  if (in.done()) sink.checkpoint(record);
}

void read_segments(Decoder& in, RecordSink& sink) {
  const auto count = in.fixed<std::uint32_t>();
  std::vector<SegmentRecord> segments;
  SegmentRecord record;
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    const std::uint64_t step = in.varint();
    if (i > 0 && step == 0) in.fail();
    record.number += step;
    record.sends = in.varint();
    record.bytes = in.varint();
    segments.push_back(record);
  }
  if (!in.done()) return;
  for (const SegmentRecord& segment : segments) sink.segment(segment);
}

// The empty run of a producer without runs has no number.
bool is_good(const Producers::Entry& entry) {
  const AcceptedRuns::Run& run = entry.run;
  return entry.id != 0 && run.first >= entry.floor && run.end >= run.first && run.seq <= seq_max &&
         run.end - run.first <= seq_max - run.seq && (run.end > run.first || run.seq == 0);
}

void read_producers(Decoder& in, RecordSink& sink) {
  ProducersRecord record;
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  const auto count = in.fixed<std::uint32_t>();
  std::uint64_t sent = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    Producers::Entry entry;
    entry.id = in.fixed<std::uint64_t>();
    entry.floor = in.varint();
    entry.sent = instant(sent = in.delta(sent));
    entry.run.first = entry.floor + in.varint();
    entry.run.end = entry.run.first + in.varint();
    entry.run.seq = in.varint();
    if (!in.ok() || !is_good(entry)) return in.fail();
    record.entries.push_back(entry);
  }
  if (in.done()) sink.checkpoint(record);
}

void read_fires(Decoder& in, RecordSink& sink) {
  FiresRecord record;
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  const auto count = in.fixed<std::uint32_t>();
  std::uint64_t schedule = 0, at = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint64_t step = in.varint();
    schedule += step;
    if (step == 0 || !std::in_range<std::uint32_t>(schedule)) return in.fail();
    Fires::Entry entry;
    entry.fire.schedule = QueueId{static_cast<std::uint32_t>(schedule)};
    entry.fire.at = instant(at = in.delta(at));
    entry.seq = in.varint();
    if (!in.ok() || entry.fire.at.ms <= 0 || entry.seq == 0 || entry.seq > seq_max)
      return in.fail();
    record.entries.push_back(entry);
  }
  if (in.done()) sink.checkpoint(record);
}

}  // namespace

std::size_t index_entries_bytes_max(std::size_t entries) {
  return align_record(run_bytes + entries * 2 * varint_bytes_max);
}

std::size_t encode_index_entries(std::byte* out, QueueId queue,
                                 std::span<const IndexEntriesRecord::Entry> entries,
                                 std::uint64_t stream) {
  CHECK(entries.size() <= index_entries_max, "{}", entries.size());
  Encoder to(out);
  to.fixed(raw(queue));
  to.fixed(static_cast<std::uint32_t>(entries.size()));
  PositionDeltas at;
  for (const IndexEntriesRecord::Entry& entry : entries) at.write(to, entry.seq, entry.position);
  return to.finish(RecordType::index_entries, 0, stream);
}

std::size_t tracked_messages_bytes_max(std::size_t entries) {
  return align_record(run_bytes + 1 + entries * (6 * varint_bytes_max + 4 + 1 + dedup_key_bytes));
}

std::size_t encode_tracked_messages(std::byte* out, QueueId queue, bool fifo,
                                    std::span<const TrackedMessagesRecord::Entry> entries,
                                    std::uint64_t stream) {
  CHECK(entries.size() <= tracked_messages_max, "{}", entries.size());
  Encoder to(out);
  to.fixed(raw(queue));
  to.fixed(static_cast<std::uint32_t>(entries.size()));
  to.fixed(static_cast<std::uint8_t>(fifo));
  PositionDeltas at;
  std::uint64_t since = 0;
  for (const TrackedMessagesRecord::Entry& entry : entries) {
    at.write(to, entry.seq, entry.position);
    to.delta(bits(entry.since), std::exchange(since, bits(entry.since)));
    to.delta(bits(entry.deadline), since);
    to.varint(entry.first_before);
    to.varint(entry.receive_count);
    to.fixed(entry.nonce);
    const bool grouped = entry.group != TextKey{};
    const bool final = entry.final_deadline && !MUTANT(forget_final_deadline);
    const bool cancelled = entry.cancelled && !MUTANT(forget_cancel_mark);
    const bool expired = entry.expired && !MUTANT(forget_expired_mark);
    const unsigned flags = (grouped ? tracked_grouped : 0u) | (entry.waits ? tracked_waits : 0u) |
                           (final ? tracked_final : 0u) | (cancelled ? tracked_cancelled : 0u) |
                           (entry.aged_apart ? tracked_apart : 0u) |
                           (expired ? tracked_expired : 0u);
    to.fixed(static_cast<std::uint8_t>(flags));
    if (grouped) write_key(to, entry.group);
  }
  return to.finish(RecordType::tracked_messages, 0, stream);
}

std::size_t times_bytes_max(std::size_t entries) {
  return align_record(run_bytes + 4 + 1 + 6 + entries * 3 * varint_bytes_max);
}

std::size_t encode_times(std::byte* out, const TimesRecord& record, std::uint64_t stream) {
  CHECK(record.buckets.size() + record.aged.size() <= times_max, "{} and {}", record.buckets.size(),
        record.aged.size());
  Encoder to(out);
  to.fixed(raw(record.queue));
  to.fixed(static_cast<std::uint32_t>(record.buckets.size()));
  to.fixed(static_cast<std::uint32_t>(record.aged.size()));
  to.fixed(static_cast<std::uint8_t>(record.first));
  to.u48(record.end);
  Seq seq = 0;
  std::uint64_t time = 0;
  for (const SendTimes::Bucket& bucket : record.buckets) {
    to.delta(bucket.first, std::exchange(seq, bucket.first));
    to.delta(bits(bucket.opened), std::exchange(time, bits(bucket.opened)));
    to.delta(bits(bucket.last), time);
  }
  for (const auto& [sent, aged_seq] : record.aged) {
    const auto ms = static_cast<std::uint64_t>(sent);
    to.delta(ms, std::exchange(time, ms));
    to.delta(aged_seq, std::exchange(seq, aged_seq));
  }
  return to.finish(RecordType::times, record.ends ? times_ends : 0, stream);
}

std::size_t dedup_bytes_max(std::size_t entries) {
  return align_record(run_bytes + entries * (dedup_key_bytes + 2 * varint_bytes_max));
}

std::size_t encode_dedup(std::byte* out, QueueId queue, std::span<const Dedup::Entry> entries,
                         std::uint64_t stream) {
  CHECK(entries.size() <= dedup_max, "{}", entries.size());
  Encoder to(out);
  to.fixed(raw(queue));
  to.fixed(static_cast<std::uint32_t>(entries.size()));
  Seq seq = 0;
  std::uint64_t sent = 0;
  for (const Dedup::Entry& entry : entries) {
    write_key(to, entry.key);
    to.delta(entry.seq, std::exchange(seq, entry.seq));
    to.delta(bits(entry.sent), std::exchange(sent, bits(entry.sent)));
  }
  return to.finish(RecordType::dedup, 0, stream);
}

std::size_t producers_bytes_max(std::size_t entries) {
  return align_record(run_bytes + entries * (8 + 5 * varint_bytes_max));
}

std::size_t encode_producers(std::byte* out, QueueId queue,
                             std::span<const Producers::Entry> entries, std::uint64_t stream) {
  CHECK(entries.size() <= producers_max, "{}", entries.size());
  Encoder to(out);
  to.fixed(raw(queue));
  to.fixed(static_cast<std::uint32_t>(entries.size()));
  std::uint64_t sent = 0;
  for (const Producers::Entry& entry : entries) {
    CHECK(is_good(entry), "run {} to {} of producer {}", entry.run.first, entry.run.end, entry.id);
    to.fixed(entry.id);
    to.varint(entry.floor);
    to.delta(bits(entry.sent), std::exchange(sent, bits(entry.sent)));
    to.varint(entry.run.first - entry.floor);
    to.varint(entry.run.end - entry.run.first);
    to.varint(entry.run.seq);
  }
  return to.finish(RecordType::producers, 0, stream);
}

std::size_t fires_bytes_max(std::size_t entries) {
  return align_record(run_bytes + entries * 3 * varint_bytes_max);
}

std::size_t encode_fires(std::byte* out, QueueId queue, std::span<const Fires::Entry> entries,
                         std::uint64_t stream) {
  CHECK(entries.size() <= fires_max, "{}", entries.size());
  Encoder to(out);
  to.fixed(raw(queue));
  to.fixed(static_cast<std::uint32_t>(entries.size()));
  std::uint32_t schedule = 0;
  std::uint64_t at = 0;
  for (const Fires::Entry& entry : entries) {
    CHECK(raw(entry.fire.schedule) > schedule, "schedule {} after {}", raw(entry.fire.schedule),
          schedule);
    to.varint(raw(entry.fire.schedule) - std::exchange(schedule, raw(entry.fire.schedule)));
    to.delta(bits(entry.fire.at), std::exchange(at, bits(entry.fire.at)));
    to.varint(entry.seq);
  }
  return to.finish(RecordType::fires, 0, stream);
}

std::size_t encode_unsettled(std::byte* out, const UnsettledTransferRecord& record,
                             std::uint64_t stream) {
  Encoder to(out);
  to.fixed(static_cast<std::uint8_t>(raw(record.from.shard)));
  to.fixed(raw(record.from.queue));
  to.u48(record.from.seq);
  to.fixed(raw(record.queue));
  to.fixed(record.task);
  return to.finish(RecordType::unsettled_transfer, 0, stream);
}

std::size_t segments_bytes_max(std::size_t entries) {
  return align_record(run_bytes + entries * 3 * varint_bytes_max);
}

std::size_t encode_segments(std::byte* out, std::span<const SegmentRecord> run,
                            std::uint64_t stream) {
  CHECK(run.size() <= segments_max, "{}", run.size());
  Encoder to(out);
  to.fixed(static_cast<std::uint32_t>(run.size()));
  std::uint64_t number = 0;
  for (const SegmentRecord& segment : run) {
    CHECK(segment.number > number || &segment == run.data(), "segment {} after {}", segment.number,
          number);
    to.varint(segment.number - std::exchange(number, segment.number));
    to.varint(segment.sends);
    to.varint(segment.bytes);
  }
  return to.finish(RecordType::segments, 0, stream);
}

Result<void> read_checkpoint_record(RecordType type, std::uint16_t fields, Decoder& in,
                                    RecordSink& sink) {
  switch (type) {
    case RecordType::index_entries:
      read_index_entries(in, sink);
      return {};
    case RecordType::tracked_messages:
      read_tracked_messages(in, sink);
      return {};
    case RecordType::times:
      read_times(in, fields, sink);
      return {};
    case RecordType::dedup:
      read_dedup(in, sink);
      return {};
    case RecordType::unsettled_transfer:
      read_unsettled(in, sink);
      return {};
    case RecordType::segments:
      read_segments(in, sink);
      return {};
    case RecordType::producers:
      read_producers(in, sink);
      return {};
    case RecordType::fires:
      read_fires(in, sink);
      return {};
    default:
      return fail(Errc::version, "record type");
  }
}

}  // namespace pawl

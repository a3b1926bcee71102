// SPDX-License-Identifier: Apache-2.0
#include "wal/format/message_records.h"

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "wal/format/record_codec.h"

namespace pawl {

void read_deletes(Decoder& in, RecordSink& sink) {
  DeleteRecord record;
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  const auto count = in.fixed<std::uint32_t>();
  record.seq = in.u48();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    if (i > 0) record.seq = in.delta(record.seq) & seq_max;
    if (in.ok()) sink.delete_message(record);
  }
}

void read_receives(Decoder& in, std::uint16_t fields, RecordSink& sink) {
  ReceiveRecord record;
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  const auto count = in.fixed<std::uint32_t>();
  record.seq = in.u48();
  auto base = in.fixed<std::uint64_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    if (i > 0) record.seq = in.delta(record.seq) & seq_max;
    record.nonce = in.fixed<std::uint32_t>();
    record.receive_count = in.varint_u32();
    base = in.delta(base);
    record.last_received = instant(base);
    record.first_received = instant(in.delta(base));
    record.deadline = instant(in.delta(base));
    record.waits = (fields & receive_waits) != 0;
    record.final_deadline = (fields & receive_final) != 0;
    record.cancelled = (fields & receive_cancelled) != 0;
    record.aged_apart = (fields & receive_apart) != 0;
    record.expired = (fields & receive_expired) != 0;
    if (in.ok()) sink.receive(record);
  }
}

void read_heads(Decoder& in, std::uint16_t fields, RecordSink& sink) {
  const auto count = in.fixed<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && in.ok(); ++i) {
    HeadRecord record{.reserved = (fields & heads_reserved) != 0};
    record.queue = QueueId{in.fixed<std::uint32_t>()};
    record.next_seq = in.u48();
    if (in.ok()) sink.head(record);
  }
}

void read_purge(Decoder& in, RecordSink& sink) {
  PurgeRecord record;
  record.queue = QueueId{in.fixed<std::uint32_t>()};
  record.below = in.u48();
  record.at = Instant{in.fixed<std::int64_t>()};
  if (in.done()) sink.purge(record);
}

void read_forget_transfer(Decoder& in, RecordSink& sink) {
  const ForgetTransferRecord record{read_transfer_key(in)};
  if (in.done()) sink.forget_transfer(record);
}

void read_number(Decoder& in, RecordSink& sink) {
  NumberRecord record;
  record.topic = QueueId{in.fixed<std::uint32_t>()};
  record.seq = in.u48();
  record.sent = instant(in.u48());
  record.dedup = read_key(in);
  if (in.ok() && (record.seq == 0 || record.dedup == TextKey{})) in.fail();
  if (in.done()) sink.number(record);
}

std::size_t encode_purge(std::byte* out, const PurgeRecord& record, std::uint64_t stream) {
  Encoder to(out);
  to.fixed(raw(record.queue));
  to.u48(record.below);
  to.fixed(record.at.ms);
  return to.finish(RecordType::purge, 0, stream);
}

std::size_t encode_forget_transfer(std::byte* out, const ForgetTransferRecord& record,
                                   std::uint64_t stream) {
  Encoder to(out);
  write_transfer_key(to, record.from);
  return to.finish(RecordType::forget_transfer, 0, stream);
}

std::size_t encode_number(std::byte* out, const NumberRecord& record, std::uint64_t stream) {
  Encoder to(out);
  to.fixed(raw(record.topic));
  to.u48(record.seq);
  to.u48(bits(record.sent));
  write_key(to, record.dedup);
  return to.finish(RecordType::number, 0, stream);
}

std::size_t deletes_bytes_max(std::size_t entries) {
  return align_record(head_bytes + 4 + 4 + 6 + entries * varint_bytes_max);
}

std::size_t encode_deletes(std::byte* out, std::span<const DeleteRecord> run,
                           std::uint64_t stream) {
  CHECK(!run.empty() && run.size() <= batch_max, "{}", run.size());
  Encoder to(out);
  to.fixed(raw(run.front().queue));
  to.fixed(static_cast<std::uint32_t>(run.size()));
  to.u48(run.front().seq);
  for (std::size_t i = 1; i < run.size(); ++i) to.delta(run[i].seq, run[i - 1].seq);
  return to.finish(RecordType::delete_message, 0, stream);
}

std::size_t receives_bytes_max(std::size_t entries) {
  return align_record(head_bytes + 4 + 4 + 6 + 8 + entries * (4 + 5 * varint_bytes_max));
}

std::size_t encode_receives(std::byte* out, std::span<const ReceiveRecord> run,
                            std::uint64_t stream) {
  CHECK(!run.empty() && run.size() <= batch_max, "{}", run.size());
  CHECK(run.back().waits == run.front().waits, "a run of records that differ");
  const bool final = run.front().final_deadline && !MUTANT(forget_final_deadline);
  const bool cancelled = run.front().cancelled && !MUTANT(forget_cancel_mark);
  const bool expired = run.front().expired && !MUTANT(forget_expired_mark);
  const int fields = (run.front().waits ? receive_waits : 0) | (final ? receive_final : 0) |
                     (cancelled ? receive_cancelled : 0) |
                     (run.front().aged_apart ? receive_apart : 0) | (expired ? receive_expired : 0);
  // The times of a batch lie close together, so each is stored as its distance from the last
  // receive.
  std::uint64_t base = bits(run.front().last_received);
  Encoder to(out);
  to.fixed(raw(run.front().queue));
  to.fixed(static_cast<std::uint32_t>(run.size()));
  to.u48(run.front().seq);
  to.fixed(base);
  for (std::size_t i = 0; i < run.size(); ++i) {
    const ReceiveRecord& record = run[i];
    if (i > 0) to.delta(record.seq, run[i - 1].seq);
    to.fixed(record.nonce);
    to.varint(record.receive_count);
    to.delta(bits(record.last_received), base);
    base = bits(record.last_received);
    to.delta(bits(record.first_received), base);
    to.delta(bits(record.deadline), base);
  }
  return to.finish(RecordType::receive, static_cast<std::uint16_t>(fields), stream);
}

std::size_t heads_bytes_max(std::size_t entries) {
  return align_record(head_bytes + 4 + entries * (4 + 6));
}

std::size_t encode_heads(std::byte* out, std::span<const HeadRecord> run, std::uint64_t stream) {
  CHECK(!run.empty() && run.size() <= batch_max, "{}", run.size());
  const bool reserved = run.front().reserved;
  Encoder to(out);
  to.fixed(static_cast<std::uint32_t>(run.size()));
  for (const HeadRecord& record : run) {
    CHECK(record.reserved == reserved);
    to.fixed(raw(record.queue));
    to.u48(record.next_seq);
  }
  return to.finish(RecordType::heads, reserved ? heads_reserved : std::uint16_t{0}, stream);
}

}  // namespace pawl

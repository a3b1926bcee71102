// SPDX-License-Identifier: Apache-2.0
// The log's decoders, with any bytes as a frame, a segment header, a manifest or records. They read
// nothing outside the input, their views lie inside it, and a second reading gives the same.
//
// Input: one byte for the kind, then the bytes. Hashes of records are corrected first, so that the
// fuzzer reaches the code behind them.
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <variant>
#include <vector>

#include "core/base/check.h"
#include "wal/format/checkpoint_records.h"
#include "wal/format/format.h"
#include "wal/format/message_records.h"
#include "wal/format/records.h"
#include "wal/repair/sink.h"

namespace pawl {
namespace {

constexpr std::uint64_t stream = 0x1122'3344'5566'7788;
constexpr std::size_t head_bytes = 12;

// Sums up the records, and checks that their views point into the input.
class Sum final : public RecordSink {
 public:
  explicit Sum(std::span<const std::byte> input) : input_(input) {}
  void send(const StoredMessage& message, std::size_t offset) override {
    CHECK(offset < input_.size());
    inside(message.content.body);
    inside(message.content.attributes);
    inside(message.content.system);
    inside(message.content.sender);
    inside(message.content.group);
    inside(message.content.dedup_id);
    inside(message.content.origin);
    add(message.seq + message.content.body.size());
  }
  void receive(const ReceiveRecord& record) override { add(record.seq ^ record.nonce); }
  void delete_message(const DeleteRecord& record) override { add(record.seq); }
  void purge(const PurgeRecord& record) override { add(record.below); }
  void row(const RowRecord& record) override {
    std::vector<std::byte> again(row_bytes(record.text));
    CHECK(encode_row(again.data(), record.topic, record.number, record.text, stream) ==
          again.size());
    add(record.number + record.text.size());
  }
  void config(const ConfigRecord& record) override {
    std::vector<std::byte> again(config_bytes(*record.config));
    CHECK(encode_config(again.data(), record, stream) <= again.size());
    add(raw(record.config->id) + record.config->name.size());
  }
  void head(const HeadRecord& record) override { add(record.next_seq); }
  void task(const TaskRecord& record) override {
    if (record.deleted.size() <= batch_max) {
      std::vector<std::byte> again(task_bytes_max(record.task, record.deleted.size()));
      CHECK(encode_task(again.data(), record.task, record.deleted, stream) <= again.size());
    }
    add(record.task.moved);
  }
  void replay(const ReplayRecord& record) override {
    std::vector<std::byte> again(replay_bytes(record));
    CHECK(encode_replay(again.data(), record, stream) == again.size());
    add(record.task.sent);
  }
  void forget_transfer(const ForgetTransferRecord& record) override { add(record.from.seq); }
  void number(const NumberRecord& record) override {
    add(record.seq);
    std::array<std::byte, number_bytes> out{};
    CHECK(encode_number(out.data(), record, 0) == number_bytes);
  }
  void checkpoint(const CheckpointRecord& record) override {
    add(record.index());
    std::visit([this](const auto& part) { again(part); }, record);
  }

  void segment(const SegmentRecord& record) override {
    std::vector<std::byte> again(segments_bytes_max(1));
    CHECK(encode_segments(again.data(), {&record, 1}, stream) <= again.size());
    add(record.number ^ record.sends ^ record.bytes);
  }

  std::uint64_t sum = 0;
  std::uint32_t records = 0;

 private:
  void inside(std::string_view text) {
    if (text.empty()) return;
    const auto* const begin = reinterpret_cast<const char*>(input_.data());
    CHECK(text.data() >= begin && text.data() + text.size() <= begin + input_.size());
  }
  // A part of a checkpoint fits into its maximum size when written, and reads back as the same.
  // Parts larger than pawl's own records are not checked.
  void again(const IndexEntriesRecord& part) {
    const auto& entries = part.entries;
    for (const auto& entry : entries) CHECK(entry.seq <= seq_max);
    if (entries.size() > index_entries_max) return;
    const auto read = written<IndexEntriesRecord>(
        index_entries_bytes_max(entries.size()),
        [&](std::byte* out) { return encode_index_entries(out, part.queue, entries, stream); });
    CHECK(read.queue == part.queue && read.entries == entries);
  }
  void again(const TrackedMessagesRecord& part) {
    const auto& entries = part.entries;
    for (const auto& entry : entries) CHECK(entry.seq <= seq_max);
    if (entries.size() > tracked_messages_max) return;
    const auto read = written<TrackedMessagesRecord>(
        tracked_messages_bytes_max(entries.size()), [&](std::byte* out) {
          return encode_tracked_messages(out, part.queue, part.fifo, entries, stream);
        });
    CHECK(read.queue == part.queue && read.fifo == part.fifo && read.entries == entries);
  }
  void again(const TimesRecord& part) {
    const std::size_t entries = part.buckets.size() + part.aged.size();
    if (entries > times_max) return;
    CHECK(written<TimesRecord>(times_bytes_max(entries), [&](std::byte* out) {
            return encode_times(out, part, stream);
          }) == part);
  }
  void again(const DedupRecord& part) {
    const auto& entries = part.entries;
    if (entries.size() > dedup_max) return;
    const auto read = written<DedupRecord>(dedup_bytes_max(entries.size()), [&](std::byte* out) {
      return encode_dedup(out, part.queue, entries, stream);
    });
    CHECK(read.queue == part.queue && read.entries == entries);
  }
  void again(const ProducersRecord& part) {
    const auto& entries = part.entries;
    if (entries.size() > producers_max) return;
    const auto read = written<ProducersRecord>(
        producers_bytes_max(entries.size()),
        [&](std::byte* out) { return encode_producers(out, part.queue, entries, stream); });
    CHECK(read.queue == part.queue && read.entries == entries);
  }
  void again(const FiresRecord& part) {
    const auto& entries = part.entries;
    if (entries.size() > fires_max) return;
    const auto read = written<FiresRecord>(fires_bytes_max(entries.size()), [&](std::byte* out) {
      return encode_fires(out, part.queue, entries, stream);
    });
    CHECK(read.queue == part.queue && read.entries == entries);
  }
  void again(const UnsettledTransferRecord& part) {
    CHECK(written<UnsettledTransferRecord>(unsettled_bytes, [&](std::byte* out) {
            return encode_unsettled(out, part, stream);
          }) == part);
  }
  template <typename Part, typename Encode>
  static Part written(std::size_t room, Encode&& encode);

  void add(std::uint64_t n) {
    sum = sum * 31 + n;
    ++records;
  }
  std::span<const std::byte> input_;
};

// Keeps the only part of a checkpoint.
template <typename Part>
class Kept final : public QuietSink {
 public:
  void checkpoint(const CheckpointRecord& record) override { part = std::get<Part>(record); }
  Part part;
};

template <typename Part, typename Encode>
Part Sum::written(std::size_t room, Encode&& encode) {
  std::vector<std::byte> bytes(room);
  const std::size_t used = encode(bytes.data());
  CHECK(used <= room, "{} of {}", used, room);
  bytes.resize(used);
  Kept<Part> kept;
  CHECK(decode_records(bytes, 1, stream, kept).has_value());
  return kept.part;
}

// Corrects the hashes. The first 8 bytes and the stream seed the hash of the bytes after the head
// (FORMAT.md, "Records").
std::uint32_t seal_records(std::span<std::byte> bytes) {
  std::uint32_t count = 0;
  while (bytes.size() >= head_bytes) {
    std::uint64_t first = 0;
    std::memcpy(&first, bytes.data(), sizeof first);
    const auto length = static_cast<std::uint32_t>(first >> 32);
    if (length < head_bytes || length > bytes.size()) break;
    const auto hash = static_cast<std::uint32_t>(
        hash_bytes(bytes.subspan(head_bytes, length - head_bytes), stream ^ first));
    std::memcpy(bytes.data() + 8, &hash, sizeof hash);
    ++count;
    bytes = bytes.subspan(std::min(bytes.size(), align_record(length)));
  }
  return count;
}

void records(std::vector<std::byte> bytes) {
  const std::uint32_t count = seal_records(bytes);
  Sum once(bytes), twice(bytes);
  const bool first = decode_records(bytes, count, stream, once).has_value();
  const bool second = decode_records(bytes, count, stream, twice).has_value();
  CHECK(first == second && once.sum == twice.sum && once.records == twice.records);
  if (const auto message = decode_send(bytes, stream)) {
    const StoredMessage trusted = trusted_send(bytes.data());
    CHECK(trusted.seq == message->seq && trusted.content.body == message->content.body);
  }
}

void frame(std::vector<std::byte> bytes) {
  (void)check_frame(bytes, stream, 4096);
  if (bytes.size() < log_frame_header_bytes) return;
  // Checks the bytes again with a valid header and hash: only the records may be wrong.
  LogFrameHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  header.magic = frame_magic;
  header.stream = stream;
  header.lsn = 4096;
  header.version = frame_version;
  header.length = static_cast<std::uint32_t>(bytes.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  seal_frame(bytes);
  const std::size_t whole = align_up(bytes.size(), block_bytes);
  bytes.resize(whole);
  const FrameCheck check = check_frame(bytes, stream, 4096);
  CHECK(check.fault == LogFault::none || check.fault == LogFault::length ||
            check.fault == LogFault::version || check.fault == LogFault::hash,
        "{}", describe(check.fault));
}

void block(std::vector<std::byte> bytes) {
  bytes.resize(block_bytes);
  (void)read_segment_header(ConstBlock(bytes.data(), block_bytes));
  if (const auto manifest = read_manifest(ConstBlock(bytes.data(), block_bytes))) {
    std::vector<std::byte> again(block_bytes);
    write_manifest(Block(again.data(), block_bytes), *manifest);
    CHECK(read_manifest(ConstBlock(again.data(), block_bytes)).has_value());
  }
}

}  // namespace
}  // namespace pawl

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const auto* const begin = reinterpret_cast<const std::byte*>(data + 1);
  std::vector<std::byte> bytes(begin, begin + size - 1);
  switch (data[0] % 4) {
    case 0:
    case 1:
      pawl::records(std::move(bytes));
      break;
    case 2:
      pawl::frame(std::move(bytes));
      break;
    case 3:
      pawl::block(std::move(bytes));
      break;
  }
  return 0;
}

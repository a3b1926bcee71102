// SPDX-License-Identifier: Apache-2.0
// For tests of records: a sink that keeps all records, a buffer of encoded records, random values.
#pragma once

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "wal/format/format.h"
#include "wal/format/records.h"

namespace pawl::records_test {

inline constexpr std::uint64_t stream = 0xabcdef0123456789;

// Keeps copies of all records and strings, so that the source may be freed.
struct Seen final : RecordSink {
  struct Send {
    StoredMessage head;
    std::string body, attributes, system, sender, group, dedup_id, origin;
    std::size_t offset = 0;
  };
  std::vector<Send> sends;
  std::vector<ReceiveRecord> receives;
  std::vector<DeleteRecord> deletes;
  std::vector<PurgeRecord> purges;
  std::vector<ConfigRecord> configs;
  std::vector<RowRecord> rows;
  std::vector<HeadRecord> heads;
  std::vector<TaskRecord> tasks;
  std::vector<TransferKey> forgotten_transfers;
  std::vector<NumberRecord> numbers;
  std::vector<ReplayRecord> replays;
  std::vector<CheckpointRecord> parts;
  std::vector<SegmentRecord> segments;
  std::vector<UnknownPart> unknowns;

  void send(const StoredMessage& m, std::size_t offset) override {
    sends.push_back({m, std::string(m.content.body), std::string(m.content.attributes),
                     std::string(m.content.system), std::string(m.content.sender),
                     std::string(m.content.group), std::string(m.content.dedup_id),
                     std::string(m.content.origin), offset});
  }
  void receive(const ReceiveRecord& record) override { receives.push_back(record); }
  void delete_message(const DeleteRecord& record) override { deletes.push_back(record); }
  void purge(const PurgeRecord& record) override { purges.push_back(record); }
  void config(const ConfigRecord& record) override { configs.push_back(record); }
  void row(const RowRecord& record) override { rows.push_back(record); }
  void head(const HeadRecord& record) override { heads.push_back(record); }
  void task(const TaskRecord& record) override { tasks.push_back(record); }
  void forget_transfer(const ForgetTransferRecord& record) override {
    forgotten_transfers.push_back(record.from);
  }
  void number(const NumberRecord& record) override { numbers.push_back(record); }
  void replay(const ReplayRecord& record) override { replays.push_back(record); }
  void checkpoint(const CheckpointRecord& record) override { parts.push_back(record); }
  void segment(const SegmentRecord& record) override { segments.push_back(record); }
  void unknown(const UnknownPart& part) override { unknowns.push_back(part); }
};

struct Bytes {
  std::vector<std::byte> memory = std::vector<std::byte>(64 << 10, std::byte{0xee});
  std::size_t used = 0;
  std::uint32_t count = 0;

  std::byte* at() { return memory.data() + used; }
  void add(std::size_t bytes) {
    used += bytes;
    ++count;
  }
  std::span<const std::byte> span() const { return {memory.data(), used}; }
  Result<void> decode(RecordSink& sink) const {
    return decode_records(span(), count, stream, sink);
  }
};

inline Bytes one_send(std::string_view body = "hello") {
  Content content;
  content.body = body;
  Bytes bytes;
  bytes.add(
      encode_send(bytes.at(), {QueueId{3}, 9, Instant{1000}, Instant{1000}, &content}, stream));
  return bytes;
}

class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint64_t below(std::uint64_t n) { return engine_() % n; }
  std::uint64_t any() { return engine_() >> below(64); }
  bool chance() { return below(2) == 0; }
  std::string text(std::size_t max) {
    std::string s(below(max + 1), ' ');
    for (char& c : s) c = static_cast<char>(below(256));
    return s;
  }
  Instant instant() { return {static_cast<std::int64_t>(any())}; }

 private:
  std::mt19937_64 engine_;
};

// Corrects the hash in the head of the first record, which has `length` bytes.
inline void rehash(Bytes& bytes, std::size_t length) {
  std::uint64_t first;
  std::memcpy(&first, bytes.memory.data(), sizeof first);
  const auto hash = static_cast<std::uint32_t>(
      hash_bytes({bytes.memory.data() + 12, length - 12}, stream ^ first));
  std::memcpy(bytes.memory.data() + 8, &hash, sizeof hash);
}

}  // namespace pawl::records_test

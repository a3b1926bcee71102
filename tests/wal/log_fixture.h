// SPDX-License-Identifier: Apache-2.0
// A fixture for tests of the log: send, delete, settle, reopen. Its segments are small (64 KiB,
// extents of 16 KiB).
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/wal/memory_disk.h"
#include "wal/log.h"
#include "wal/recovery/recovery.h"

namespace pawl {

inline constexpr QueueId test_queue{7};

// The recovered state of a shard: messages by queue and number.
struct Recovered final : RecoverySink {
  struct RecoveredMessage {
    std::string body;
    LogPos position = 0;
    bool operator==(const RecoveredMessage&) const = default;
  };
  using Key = std::pair<std::uint32_t, Seq>;

  std::map<Key, RecoveredMessage> messages;
  std::map<Key, ReceiveRecord> received;
  std::map<std::uint32_t, Seq> heads;
  std::vector<ConfigRecord> configs;
  std::vector<RowRecord> rows;

  void config(const ConfigRecord& record) override { configs.push_back(record); }
  void row(const RowRecord& record) override { rows.push_back(record); }
  void head(const HeadRecord& record) override { heads[raw(record.queue)] = record.next_seq; }
  void send(const SendRecord& record, std::vector<LogPos>& freed) override {
    if (record.relocated) return relocated(record, freed);
    const auto [it, added] = messages.insert({
        {raw(record.queue),                 record.seq     },
        {std::string(record.content->body), record.position}
    });
    if (!added) freed.push_back(record.position);
  }
  void checkpoint(const CheckpointRecord& record) override {
    if (const auto* index_entries = std::get_if<IndexEntriesRecord>(&record)) {
      for (const auto& [seq, position] : index_entries->entries)
        messages[{raw(index_entries->queue), seq}] = {"", position};
    }
  }
  void receive(const ReceiveRecord& record) override {
    received[{raw(record.queue), record.seq}] = record;
  }
  void delete_message(const DeleteRecord& record, std::vector<LogPos>& freed) override {
    const auto it = messages.find({raw(record.queue), record.seq});
    if (it == messages.end()) return;
    freed.push_back(it->second.position);
    messages.erase(it);
  }
  void purge(const PurgeRecord& record, std::vector<LogPos>& freed) override {
    std::erase_if(messages, [&](const auto& entry) {
      if (entry.first.first != raw(record.queue) || entry.first.second >= record.below)
        return false;
      freed.push_back(entry.second.position);
      return true;
    });
  }
  void task(const TaskRecord& record, std::vector<LogPos>& freed) override {
    tasks.push_back(record);
    for (const Seq seq : record.deleted) delete_message({record.task.source, seq}, freed);
  }
  void forget_transfer(const ForgetTransferRecord& record) override {
    forgotten_transfers.push_back(record.from);
  }
  void number(const NumberRecord& record) override { numbers.push_back(record); }
  void replay(const ReplayRecord& record) override { replays.push_back(record); }

  void relocated(const SendRecord& record, std::vector<LogPos>& freed) {
    const auto it = messages.find({raw(record.queue), record.seq});
    freed.push_back(it == messages.end() ? record.position
                                         : std::exchange(it->second.position, record.position));
  }

  std::vector<TaskRecord> tasks;
  std::vector<ReplayRecord> replays;
  std::vector<TransferKey> forgotten_transfers;
  std::vector<NumberRecord> numbers;
};

inline LogOptions small_options() {
  LogOptions options;
  options.stream = 0x5eed;
  options.segment_bytes = 64 << 10;
  options.small_segments = false;
  options.fill_every = Duration{};
  options.extent_bytes = 16 << 10;
  options.memory_max = 1 << 20;
  options.spare_segments = 2;
  return options;
}

// The body of a message, from memory or from the disk while turns run. Empty: it cannot be read.
template <typename Turn>
std::optional<std::string> read_body(Log& log, LogPos position, Turn&& turn) {
  const auto body = [](const std::byte* record) {
    return std::string(trusted_send(record).content.body);
  };
  if (log.in_memory(position)) {
    const std::byte* const record = log.record(position);
    return record == nullptr ? std::nullopt : std::optional(body(record));
  }
  log.want({.position = position});
  WantedBody wanted;
  std::span<const std::byte> record;
  bool come = false;
  for (int i = 0; i < 100 && !(come = log.next_body(wanted, record)); ++i) turn();
  if (!come || record.empty()) return std::nullopt;
  const std::string read = body(record.data());
  log.next_body(wanted, record);  // frees the body
  return read;
}

class LogTest : public testing::Test {
 protected:
  LogTest() : disk(std::make_unique<MemoryDisk>()) {}
  ~LogTest() override { log.reset(); }

  Errc try_open() {
    log.reset();
    found = {};
    report = {};
    complaint.clear();
    auto opened = open_log(*disk, options, found, report, complaint);
    if (!opened) return opened.error().code;
    log = std::move(*opened);
    if (const auto all = log->check_segments(complaint); !all) return all.error().code;
    alive.clear();
    for (auto& [key, message] : found.messages) {
      message.body = body_at(message.position).value_or("not to be read");
      if (key.first == raw(test_queue)) alive[key.second] = message.position;
    }
    return Errc::ok;
  }
  void open() { ASSERT_EQ(try_open(), Errc::ok) << complaint; }

  // A copy of the directory, to restore it after damage.
  using Files = std::map<std::string, std::vector<std::byte>>;
  Files keep() const {
    Files files;
    for (const auto& [name, bytes] : disk->files) files[name] = *bytes;
    return files;
  }
  void put_back(const Files& files) {
    log.reset();
    disk->files.clear();
    for (const auto& [name, bytes] : files)
      disk->files[name] = std::make_shared<std::vector<std::byte>>(bytes);
  }

  // One turn with one send, without a pump.
  LogPos append_send(Seq seq, std::string_view body, QueueId queue = test_queue) {
    Content content;
    content.body = body;
    effects.clear();
    effects.sends.push_back({queue, seq, now, now, &content});
    appended = log->append(effects, now);
    if (queue == test_queue) alive[seq] = effects.sends[0].position;
    return effects.sends[0].position;
  }
  void append_delete(Seq seq, QueueId queue = test_queue) {
    effects.clear();
    effects.deletes.push_back({queue, seq});
    appended = log->append(effects, now);
    if (queue == test_queue) alive.erase(seq);
  }
  // Deletes as the shard loop does: the message's record is released.
  void delete_message(Seq seq) {
    const LogPos position = alive.at(seq);
    append_delete(seq);
    log->release(position);
  }
  void append_receive(Seq seq, QueueId queue = test_queue) {
    effects.clear();
    effects.receives.push_back({queue, seq, 1, 1, now + seconds(30), now, now});
    appended = log->append(effects, now);
  }
  // Writes a checkpoint of test_queue in one slice.
  void checkpoint() {
    auto config = std::make_shared<QueueConfig>();
    config->id = test_queue;
    config->name = "q";
    CheckpointSlice slice;
    slice.configs.push_back({config, false});
    slice.heads.push_back({test_queue, 1000});
    IndexEntriesRecord index_entries{.queue = test_queue, .entries = {}};
    for (const auto& [seq, position] : alive) index_entries.entries.push_back({seq, position});
    slice.records.emplace_back(std::move(index_entries));
    log->begin_checkpoint();
    log->append(slice, now);
    log->end_checkpoint();
    appended = log->appended();
  }

  std::optional<std::string> body_at(LogPos position) {
    return read_body(*log, position, [this] { pump(true); });
  }
  // A message that is in memory.
  StoredMessage message(LogPos position) { return trusted_send(log->record(position)); }
  void pump(bool idle = false) { log->pump(now, now_us, idle); }
  // Pumps until no operation is in progress and nothing changes.
  void settle() {
    log->flush_all();
    for (int i = 0; i < 1000; ++i) {
      pump(true);
      disk->finish_all();
    }
  }
  // Sends a message in a frame of its own and waits until it is durable.
  LogPos send(Seq seq, std::string_view body) {
    const LogPos position = append_send(seq, body);
    settle();
    return position;
  }
  static std::string body_of(Seq seq, std::size_t bytes) {
    std::string body = "body " + std::to_string(seq) + " ";
    while (body.size() < bytes) body += static_cast<char>('a' + (body.size() * 7 + seq) % 26);
    body.resize(bytes);
    return body;
  }

  std::unique_ptr<MemoryDisk> disk;
  LogOptions options = small_options();
  std::unique_ptr<Log> log;
  Recovered found;
  RecoveryReport report;
  std::string complaint;
  Effects effects;
  Lsn appended = 0;
  std::map<Seq, LogPos> alive;  // messages of test_queue that are not deleted
  Instant now{1'700'000'000'000};
  std::uint64_t now_us = 1'000'000;
};

}  // namespace pawl

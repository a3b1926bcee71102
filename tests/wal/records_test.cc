// SPDX-License-Identifier: Apache-2.0
#include "wal/records.h"
#include "wal/checkpoint_records.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "wal/format.h"

namespace pawl {
namespace {

constexpr std::uint64_t stream = 0xabcdef0123456789;

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

Bytes one_send(std::string_view body = "hello") {
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

TEST(Records, ASendComesBackWithEveryPart) {
  for (std::uint32_t seed = 0; seed < 2000; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::string body = random.text(400), attributes = random.text(100),
                      system = random.text(50), sender = random.text(255), group = random.text(128),
                      dedup_id = random.text(128), origin = random.text(255);
    std::array<std::uint8_t, 16> md5;
    for (auto& byte : md5) byte = static_cast<std::uint8_t>(random.below(256));
    Content content{.body = body,
                    .attributes = attributes,
                    .system = system,
                    .sender = sender,
                    .group = group,
                    .dedup_id = dedup_id,
                    .origin = origin};
    if (random.chance()) content.body_md5 = &md5;
    content.replayed = random.chance();
    SendRecord record{QueueId{static_cast<std::uint32_t>(random.any())},
                      random.any() & seq_max,
                      {static_cast<std::int64_t>(random.any() & seq_max)},
                      {},
                      &content};
    record.deliver_at = random.chance() ? record.sent : random.instant();
    if (random.chance()) record.dedup = {random.any(), random.any()};
    if (random.chance()) {
      record.carried.from = {ShardId{static_cast<std::uint8_t>(random.any())},
                             QueueId{static_cast<std::uint32_t>(random.any())},
                             (random.any() & seq_max) | 1};
      record.carried.arrived = random.instant();
      record.carried.task = static_cast<std::uint32_t>(random.any());
    }
    if (random.chance()) record.carried.id = {random.any(), random.any()};
    if (random.chance()) {
      record.carried.receive_count = static_cast<std::uint32_t>(random.any()) | 1;
      record.carried.first_received = random.instant();
      record.carried.last_received = random.instant();
    }

    Bytes bytes;
    const std::size_t asked = send_bytes(record);
    bytes.add(encode_send(bytes.at(), record, stream));
    EXPECT_EQ(bytes.used, asked);
    Seen seen;
    ASSERT_TRUE(bytes.decode(seen));
    ASSERT_EQ(seen.sends.size(), 1u);
    const Seen::Send& got = seen.sends[0];
    EXPECT_EQ(got.body, body);
    EXPECT_EQ(got.attributes, attributes);
    EXPECT_EQ(got.system, system);
    EXPECT_EQ(got.sender, sender);
    EXPECT_EQ(got.group, group);
    EXPECT_EQ(got.dedup_id, dedup_id);
    EXPECT_EQ(got.origin, origin);
    EXPECT_EQ(got.head.content.replayed, content.replayed);
    EXPECT_EQ(got.head.dedup, record.dedup);
    EXPECT_EQ(got.head.carried, record.carried);
    EXPECT_EQ(got.head.queue, record.queue);
    EXPECT_EQ(got.head.seq, record.seq);
    EXPECT_EQ(got.head.sent, record.sent);
    EXPECT_EQ(got.head.deliver_at, record.deliver_at);
    EXPECT_EQ(got.head.has_body_md5, content.body_md5 != nullptr);
    if (content.body_md5) {
      EXPECT_EQ(got.head.body_md5, md5);
      EXPECT_EQ(*trusted_send(bytes.memory.data()).content.body_md5, md5);
    }
    EXPECT_EQ(trusted_send(bytes.memory.data()).content.body, body);
    EXPECT_EQ(decode_send(bytes.span(), stream)->content.body, body);
  }
}

TEST(Records, ATaskAndWhatItMovedComeBack) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    TaskRecord record;
    record.task = {.source = QueueId{static_cast<std::uint32_t>(random.any())},
                   .number = static_cast<std::uint32_t>(random.any()),
                   .status = static_cast<MoveTask::Status>(random.below(4)),
                   .failure = Errc::source_unknown,
                   .rate = static_cast<std::uint32_t>(random.any()),
                   .moved = random.any(),
                   .to_move = random.any(),
                   .started = random.instant(),
                   .destination = random.text(255)};
    for (std::size_t n = random.below(batch_max + 1); n > 0; --n)
      record.deleted.push_back(random.any() & seq_max);
    const TransferKey from{ShardId{static_cast<std::uint8_t>(random.any())},
                           QueueId{static_cast<std::uint32_t>(random.any())},
                           random.any() & seq_max};
    Bytes bytes;
    bytes.add(encode_task(bytes.at(), record.task, record.deleted, stream));
    EXPECT_LE(bytes.used, task_bytes_max(record.task, record.deleted.size()));
    bytes.add(encode_forget_transfer(bytes.at(), {from}, stream));
    EXPECT_LE(bytes.used,
              task_bytes_max(record.task, record.deleted.size()) + forget_transfer_bytes);
    Seen seen;
    ASSERT_TRUE(bytes.decode(seen));
    ASSERT_EQ(seen.tasks.size(), 1u);
    EXPECT_EQ(seen.tasks[0].task, record.task);
    EXPECT_EQ(seen.tasks[0].deleted, record.deleted);
    ASSERT_EQ(seen.forgotten_transfers.size(), 1u);
    EXPECT_EQ(seen.forgotten_transfers[0], from);
  }
}

TEST(Records, AReplayTaskAndHowFarItIsComeBack) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    ReplayRecord record;
    record.task = {.source = QueueId{static_cast<std::uint32_t>(random.any())},
                   .number = static_cast<std::uint32_t>(random.any()),
                   .status = static_cast<ReplayTask::Status>(random.below(4)),
                   .failure = Errc::no_such_queue,
                   .rate = static_cast<std::uint32_t>(random.any()),
                   .from = random.instant(),
                   .to = random.instant(),
                   .started = random.instant(),
                   .sent = random.any(),
                   .unreadable = random.any(),
                   .position = random.any() & log_pos_max,
                   .end = random.any() & log_pos_max,
                   .destination = random.text(255),
                   .filter = random.text(replay_filter_bytes_max),
                   .copies = random.chance()};
    ReplayRecord progress = record;
    progress.progress = true;
    Bytes bytes;
    bytes.add(encode_replay(bytes.at(), record, stream));
    EXPECT_EQ(bytes.used, replay_bytes(record));
    bytes.add(encode_replay(bytes.at(), progress, stream));
    EXPECT_EQ(bytes.used, replay_bytes(record) + replay_bytes(progress));
    Seen seen;
    ASSERT_TRUE(bytes.decode(seen));
    ASSERT_EQ(seen.replays.size(), 2u);
    EXPECT_EQ(seen.replays[0].task, record.task);
    EXPECT_FALSE(seen.replays[0].progress);
    const ReplayTask& task = seen.replays[1].task;
    EXPECT_TRUE(seen.replays[1].progress);
    EXPECT_EQ(std::tuple(task.source, task.number, task.sent, task.unreadable, task.position),
              std::tuple(record.task.source, record.task.number, record.task.sent,
                         record.task.unreadable, record.task.position));
  }
}

TEST(Records, PartsOfACheckpointComeBackAsTheyWere) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const QueueId queue{static_cast<std::uint32_t>(random.any())};
    Seq seq = random.below(1000);
    IndexEntriesRecord index_entries{.queue = queue, .entries = {}};
    for (std::size_t n = random.below(index_entries_max + 1); n > 0; --n) {
      seq += 1 + random.below(5);
      index_entries.entries.push_back({seq, random.any() & log_pos_max});
    }
    TrackedMessagesRecord tracked{.queue = queue, .fifo = random.below(2) == 1, .entries = {}};
    for (std::size_t n = random.below(tracked_messages_max + 1); n > 0; --n) {
      seq += 1 + random.below(5);
      tracked.entries.push_back({
          .seq = seq,
          .position = random.any() & log_pos_max,
          .deadline = random.instant(),
          .since = random.instant(),
          .first_ms_before = static_cast<std::uint32_t>(random.any()),
          .receive_count = static_cast<std::uint32_t>(random.any()),
          .nonce = static_cast<std::uint32_t>(random.any()),
          .group = random.below(2) == 1 ? TextKey{random.any() | 1, random.any()}
                : TextKey{}
      });
    }
    TimesRecord times{
        .queue = queue, .first = random.below(2) == 1, .end = seq, .buckets = {}, .aged = {}};
    const std::size_t buckets = random.below(times_max + 1);
    for (std::size_t n = 0; n < buckets; ++n)
      times.buckets.push_back({random.any() & seq_max, random.instant(), random.instant()});
    for (std::size_t n = random.below(times_max - buckets + 1); n > 0; --n)
      times.aged.emplace_back(random.instant().ms, random.any() & seq_max);
    DedupRecord dedup{.queue = queue, .entries = {}};
    for (std::size_t n = random.below(dedup_max + 1); n > 0; --n)
      dedup.entries.push_back({
          {random.any(), random.any()},
          random.any() & seq_max, random.instant()
      });
    const UnsettledTransferRecord unsettled{
        .from = {ShardId{7}, queue, random.any() & seq_max},
        .queue = QueueId{static_cast<std::uint32_t>(random.any())},
        .task = static_cast<std::uint32_t>(random.any())
    };
    Bytes bytes;
    const auto add = [&](std::size_t used, std::size_t most) {
      EXPECT_LE(used, most);
      bytes.add(used);
    };
    add(encode_index_entries(bytes.at(), queue, index_entries.entries, stream),
        index_entries_bytes_max(index_entries.entries.size()));
    add(encode_tracked_messages(bytes.at(), queue, tracked.fifo, tracked.entries, stream),
        tracked_messages_bytes_max(tracked.entries.size()));
    add(encode_times(bytes.at(), times, stream),
        times_bytes_max(times.buckets.size() + times.aged.size()));
    add(encode_dedup(bytes.at(), queue, dedup.entries, stream),
        dedup_bytes_max(dedup.entries.size()));
    add(encode_unsettled(bytes.at(), unsettled, stream), unsettled_bytes);
    Seen seen;
    ASSERT_TRUE(bytes.decode(seen));
    ASSERT_EQ(seen.parts.size(), 5u);
    EXPECT_EQ(std::get<IndexEntriesRecord>(seen.parts[0]).entries, index_entries.entries);
    EXPECT_EQ(std::get<TrackedMessagesRecord>(seen.parts[1]).entries, tracked.entries);
    EXPECT_EQ(std::get<TrackedMessagesRecord>(seen.parts[1]).fifo, tracked.fifo);
    EXPECT_EQ(std::get<TimesRecord>(seen.parts[2]), times);
    EXPECT_EQ(std::get<DedupRecord>(seen.parts[3]).entries, dedup.entries);
    EXPECT_EQ(std::get<UnsettledTransferRecord>(seen.parts[4]), unsettled);
  }
}

TEST(Records, WhatWasSentInSegmentsComesBack) {
  std::vector<SegmentRecord> all;
  for (std::uint64_t i = 0; i < segments_max; ++i)
    all.push_back({3 + i * i, 1 + 100 * i, 70'000 * i});
  Bytes bytes;
  const std::size_t used = encode_segments(bytes.at(), all, stream);
  EXPECT_LE(used, segments_bytes_max(all.size()));
  bytes.add(used);
  Seen seen;
  ASSERT_TRUE(bytes.decode(seen));
  EXPECT_EQ(seen.segments, all);
}

TEST(Records, ARelocatedSendIsTheSameButSaysSo) {
  const Bytes first = one_send("somewhere else");
  Bytes again;
  const std::size_t length = record_length(first.span().data());
  again.add(encode_relocated(again.at(), first.span().first(length), stream));
  EXPECT_EQ(again.used, first.used);
  Seen before, after;
  ASSERT_TRUE(first.decode(before));
  ASSERT_TRUE(again.decode(after));
  ASSERT_EQ(after.sends.size(), 1u);
  EXPECT_FALSE(before.sends[0].head.relocated);
  EXPECT_TRUE(after.sends[0].head.relocated);
  EXPECT_EQ(after.sends[0].body, "somewhere else");
  EXPECT_EQ(after.sends[0].head.queue, before.sends[0].head.queue);
  EXPECT_EQ(after.sends[0].head.seq, before.sends[0].head.seq);
  EXPECT_EQ(after.sends[0].head.sent, before.sends[0].head.sent);
}

TEST(Records, APlaceOfACheckpointTakesTwoBytes) {
  std::vector<IndexEntriesRecord::Entry> entries;
  for (Seq seq = 1'000'000; entries.size() < index_entries_max; ++seq)
    entries.push_back({seq, 1'000'000'000 + seq * 176});
  Bytes bytes;
  EXPECT_LE(encode_index_entries(bytes.at(), QueueId{1}, entries, stream),
            2 * index_entries_max + 48);
}

TEST(Records, BatchesComeBackInOrderWhateverTheirNumbers) {
  for (std::uint32_t seed = 0; seed < 500; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t n = 1 + random.below(batch_max);
    const QueueId queue{static_cast<std::uint32_t>(random.any())};
    std::vector<DeleteRecord> deletes(n);
    std::vector<ReceiveRecord> receives(n);
    std::vector<HeadRecord> heads(n);
    const bool reserved = random.below(2) == 0;
    for (std::size_t i = 0; i < n; ++i) {
      deletes[i] = {queue, random.any() & seq_max};
      receives[i] = {queue,
                     random.any() & seq_max,
                     static_cast<std::uint32_t>(random.any()),
                     static_cast<std::uint32_t>(random.any()),
                     random.instant(),
                     random.instant(),
                     random.instant()};
      heads[i] = {QueueId{static_cast<std::uint32_t>(random.any())}, random.any() & seq_max,
                  reserved};
    }
    const PurgeRecord purge{queue, random.any() & seq_max, random.instant()};

    Bytes bytes;
    bytes.add(encode_heads(bytes.at(), heads, stream));
    EXPECT_LE(bytes.used, heads_bytes_max(n));
    std::size_t before = bytes.used;
    bytes.add(encode_receives(bytes.at(), receives, stream));
    EXPECT_LE(bytes.used - before, receives_bytes_max(n));
    before = bytes.used;
    bytes.add(encode_deletes(bytes.at(), deletes, stream));
    EXPECT_LE(bytes.used - before, deletes_bytes_max(n));
    before = bytes.used;
    bytes.add(encode_purge(bytes.at(), purge, stream));
    EXPECT_LE(bytes.used - before, purge_bytes);

    Seen seen;
    ASSERT_TRUE(bytes.decode(seen));
    ASSERT_EQ(seen.deletes.size(), n);
    ASSERT_EQ(seen.receives.size(), n);
    ASSERT_EQ(seen.heads.size(), n);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(seen.deletes[i].queue, queue);
      EXPECT_EQ(seen.deletes[i].seq, deletes[i].seq);
      EXPECT_EQ(seen.heads[i].queue, heads[i].queue);
      EXPECT_EQ(seen.heads[i].next_seq, heads[i].next_seq);
      EXPECT_EQ(seen.heads[i].reserved, reserved);
      const ReceiveRecord &got = seen.receives[i], &want = receives[i];
      EXPECT_EQ(got.queue, queue);
      EXPECT_EQ(got.seq, want.seq);
      EXPECT_EQ(got.nonce, want.nonce);
      EXPECT_EQ(got.receive_count, want.receive_count);
      EXPECT_EQ(got.deadline, want.deadline);
      EXPECT_EQ(got.first_received, want.first_received);
      EXPECT_EQ(got.last_received, want.last_received);
    }
    ASSERT_EQ(seen.purges.size(), 1u);
    EXPECT_EQ(seen.purges[0].below, purge.below);
    EXPECT_EQ(seen.purges[0].at, purge.at);
  }
}

TEST(Records, ABatchOfNeighboursTakesAFewBytesEach) {
  std::vector<DeleteRecord> deletes;
  std::vector<ReceiveRecord> receives;
  for (Seq seq = 0; seq < batch_max; ++seq) {
    const Instant now{1'700'000'000'000};
    deletes.push_back({QueueId{1}, 1'000'000 + seq});
    receives.push_back({QueueId{1}, 1'000'000 + seq, 0xdeadbeef, 1, now + seconds(30), now, now});
  }
  Bytes bytes;
  EXPECT_LE(encode_deletes(bytes.at(), deletes, stream), 26 + batch_max + 8);
  EXPECT_LE(encode_receives(bytes.at(), receives, stream), 34 + batch_max * 11 + 8);
}

TEST(Records, AConfigComesBackWhole) {
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{77};
  config->owner = ShardId{5};
  config->account = "000000000000";
  config->name = "orders.fifo";
  config->created = Instant{123456};
  config->modified = Instant{-1};
  config->numbers = {1, -2, 3, 4, 5, 6, 7};
  config->texts = {
      {Attribute::policy, "{}"},
      {Attribute::redrive_policy, std::string(3000, 'x')}
  };
  config->tags = {
      {"a", "" },
      {"b", "c"}
  };
  for (const bool gone : {false, true}) {
    Bytes bytes;
    const std::size_t asked = config_bytes(*config);
    bytes.add(encode_config(bytes.at(), {config, gone}, stream));
    EXPECT_EQ(bytes.used, asked);
    Seen seen;
    ASSERT_TRUE(bytes.decode(seen));
    ASSERT_EQ(seen.configs.size(), 1u);
    const QueueConfig& got = *seen.configs[0].config;
    EXPECT_EQ(seen.configs[0].gone, gone);
    EXPECT_EQ(got.id, config->id);
    EXPECT_EQ(raw(got.owner), 5u);
    EXPECT_EQ(got.account, config->account);
    EXPECT_EQ(got.name, config->name);
    EXPECT_EQ(got.created, config->created);
    EXPECT_EQ(got.modified, config->modified);
    EXPECT_EQ(got.numbers, config->numbers);
    EXPECT_EQ(got.texts, config->texts);
    EXPECT_EQ(got.tags, config->tags);
  }
}

TEST(Records, ARowOfATopicComesBack) {
  Bytes bytes;
  for (const std::string& text : {std::string(), std::string("{}"), std::string(30'000, 'x')}) {
    const std::size_t asked = bytes.used + row_bytes(text);
    bytes.add(encode_row(bytes.at(), QueueId{9}, 1ull << 40, text, stream));
    EXPECT_EQ(bytes.used, asked);
  }
  Seen seen;
  ASSERT_TRUE(bytes.decode(seen));
  ASSERT_EQ(seen.rows.size(), 3u);
  EXPECT_EQ(seen.rows[1].topic, QueueId{9});
  EXPECT_EQ(seen.rows[1].number, 1ull << 40);
  EXPECT_EQ(seen.rows[0].text, "");
  EXPECT_EQ(seen.rows[1].text, "{}");
  EXPECT_EQ(seen.rows[2].text.size(), 30'000u);
}

TEST(Records, OffsetsPointAtTheRecord) {
  Bytes bytes = one_send("first");
  const std::size_t second = bytes.used;
  Content content;
  content.body = "second";
  bytes.add(
      encode_send(bytes.at(), {QueueId{3}, 10, Instant{1000}, Instant{1000}, &content}, stream));
  Seen seen;
  ASSERT_TRUE(bytes.decode(seen));
  ASSERT_EQ(seen.sends.size(), 2u);
  EXPECT_EQ(seen.sends[0].offset, 0u);
  EXPECT_EQ(seen.sends[1].offset, second);
  EXPECT_EQ(trusted_send(bytes.memory.data() + second).content.body, "second");
}

TEST(Records, EveryFlippedBitIsNoticed) {
  const Bytes good = one_send("a body of some length");
  const std::size_t length = 28 + 21;  // without the padding, which the frame's hash covers
  for (std::size_t i = 0; i < length * 8; ++i) {
    Bytes bad = good;
    bad.memory[i / 8] ^= static_cast<std::byte>(1 << (i % 8));
    Seen seen;
    EXPECT_FALSE(bad.decode(seen)) << "bit " << i;
    EXPECT_TRUE(seen.sends.empty());
  }
}

TEST(Records, EveryTruncationIsNoticed) {
  const Bytes good = one_send("a body of some length");
  for (std::size_t n = 0; n < 28 + 21; ++n) {
    Seen seen;
    const auto read = decode_records(good.span().first(n), 1, stream, seen);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::corrupt);
  }
}

TEST(Records, AnotherLogsRecordIsNotOurs) {
  Seen seen;
  const Bytes bytes = one_send();
  EXPECT_FALSE(decode_records(bytes.span(), 1, stream + 1, seen));
}

// A record with a changed head and a matching hash.
Bytes forged(std::size_t offset, std::uint8_t value) {
  Bytes bytes = one_send();
  bytes.memory[offset] = std::byte{value};
  std::uint64_t first;
  std::memcpy(&first, bytes.memory.data(), sizeof first);
  const auto hash = static_cast<std::uint32_t>(
      hash_bytes({bytes.memory.data() + 12, 28 + 5 - 12}, stream ^ first));
  std::memcpy(bytes.memory.data() + 8, &hash, sizeof hash);
  return bytes;
}

TEST(Records, WhatANewerVersionWroteIsCalledThat) {
  struct Case {
    const char* name;
    std::size_t offset;
    std::uint8_t value;
    Errc want;
  };
  constexpr Case cases[] = {
      {"unchanged",                0, 1,   Errc::ok     },
      {"a type of the future",     0, 99,  Errc::version},
      {"a flag of the future",     1, 2,   Errc::version},
      {"it may be ignored",        1, 1,   Errc::ok     },
      {"an expiry",                3, 8,   Errc::version},
      {"extensions that are none", 3, 128, Errc::corrupt},
      {"the body of another type", 0, 4,   Errc::corrupt},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    Seen seen;
    const auto read = forged(c.offset, c.value).decode(seen);
    EXPECT_EQ(read ? Errc::ok : read.error().code, c.want);
  }
}

// A SEND with these extensions, as a newer version may write them.
Bytes with_extensions(std::initializer_list<std::pair<std::uint16_t, std::string_view>> all) {
  std::string extensions;
  const auto put = [&](std::uint16_t n) { extensions.append(reinterpret_cast<char*>(&n), 2); };
  for (const auto& [number, bytes] : all) {
    put(number);
    put(static_cast<std::uint16_t>(bytes.size()));
    extensions += bytes;
  }
  const std::string text = std::string("  ") + extensions + "hello";
  Bytes bytes = one_send(text);
  const auto length = static_cast<std::uint16_t>(extensions.size());
  std::memcpy(bytes.memory.data() + 28, &length, sizeof length);
  bytes.memory[3] |= std::byte{field_extensions >> 8};
  std::uint64_t first;
  std::memcpy(&first, bytes.memory.data(), sizeof first);
  const auto hash = static_cast<std::uint32_t>(
      hash_bytes({bytes.memory.data() + 12, 28 + text.size() - 12}, stream ^ first));
  std::memcpy(bytes.memory.data() + 8, &hash, sizeof hash);
  return bytes;
}

TEST(Records, AnIgnorableExtensionIsPassedOverAndStays) {
  const Bytes bytes = with_extensions({
      {ignorable | 77, "future"},
      {1,              ""      }
  });
  Seen seen;
  ASSERT_TRUE(bytes.decode(seen));
  EXPECT_EQ(seen.sends[0].body, "hello");
  EXPECT_TRUE(seen.sends[0].head.content.replayed) << "those that are known are read";
  ASSERT_EQ(seen.unknowns.size(), 1u);
  EXPECT_FALSE(seen.unknowns[0].critical);
  // Relocation keeps the extension: a newer version finds it again.
  const std::size_t length = record_length(bytes.memory.data());
  Bytes moved;
  moved.add(encode_relocated(moved.at(), bytes.span().first(length), stream));
  Seen again;
  ASSERT_TRUE(moved.decode(again));
  EXPECT_TRUE(again.sends[0].head.relocated);
  EXPECT_EQ(again.sends[0].head.passed_over, 1u);
  EXPECT_EQ(std::memcmp(moved.memory.data() + 12, bytes.memory.data() + 12, length - 12), 0);
}

TEST(Records, ACriticalExtensionStopsTheReadingAndIsNamed) {
  const Bytes bytes = with_extensions({
      {77, "future"}
  });
  Seen seen;
  const auto read = bytes.decode(seen);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::version);
  ASSERT_EQ(seen.unknowns.size(), 1u);
  EXPECT_TRUE(seen.unknowns[0].critical);
  EXPECT_EQ(seen.unknowns[0].value, 77u);
  EXPECT_EQ(name_of(seen.unknowns[0].kind), "extension");
  EXPECT_EQ(decode_send(bytes.span(), stream).error().code, Errc::version);
}

TEST(Records, OfATypeNobodyKnowsTheFlagDecides) {
  for (const bool may_be_ignored : {false, true}) {
    Bytes bytes = forged(0, 200);
    bytes.memory[1] = std::byte{may_be_ignored};
    std::uint64_t first;
    std::memcpy(&first, bytes.memory.data(), sizeof first);
    const auto hash = static_cast<std::uint32_t>(
        hash_bytes({bytes.memory.data() + 12, 28 + 5 - 12}, stream ^ first));
    std::memcpy(bytes.memory.data() + 8, &hash, sizeof hash);
    Seen seen;
    EXPECT_EQ(bytes.decode(seen).has_value(), may_be_ignored);
    ASSERT_EQ(seen.unknowns.size(), 1u);
    EXPECT_EQ(seen.unknowns[0].critical, !may_be_ignored);
    EXPECT_EQ(seen.unknowns[0].value, 200u);
    EXPECT_EQ(name_of(seen.unknowns[0].kind), "record type");
  }
}

TEST(Records, MoreOrFewerRecordsThanTheFrameSaysIsDamage) {
  Bytes bytes = one_send();
  Seen seen;
  for (const std::uint32_t count : {0u, 2u}) {
    const auto read = decode_records(bytes.span(), count, stream, seen);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, Errc::corrupt);
  }
}

// Random bodies behind a valid head and hash: the decoders of types 1 to 6 must not read outside.
TEST(Records, NonsenseNeverReadsOutside) {
  Random random(1);
  for (int round = 0; round < 50'000; ++round) {
    const std::size_t length = 12 + random.below(80);
    std::vector<std::byte> bytes(length);
    for (std::byte& b : bytes)
      b = static_cast<std::byte>(random.chance() ? random.below(4) : random.below(256));
    bytes[0] = static_cast<std::byte>(1 + random.below(6));
    bytes[1] = std::byte{0};
    const std::uint16_t fields =
        bytes[0] == std::byte{1} ? static_cast<std::uint16_t>(random.any() & known_fields) : 0;
    std::memcpy(bytes.data() + 2, &fields, 2);
    const auto told = static_cast<std::uint32_t>(length);
    std::memcpy(bytes.data() + 4, &told, 4);
    std::uint64_t first;
    std::memcpy(&first, bytes.data(), 8);
    const auto hash =
        static_cast<std::uint32_t>(hash_bytes({bytes.data() + 12, length - 12}, stream ^ first));
    std::memcpy(bytes.data() + 8, &hash, 4);
    Seen seen;
    const auto read = decode_records(bytes, 1, stream, seen);
    if (read) {
      EXPECT_LE(seen.deletes.size() + seen.receives.size() + seen.heads.size(), length);
    }
  }
}

TEST(RecordsDeathTest, ATrustedPositionThatIsNoSendIsOurMistake) {
  Bytes bytes;
  bytes.add(encode_purge(bytes.at(), {QueueId{1}, 2, Instant{3}}, stream));
  EXPECT_DEATH(trusted_send(bytes.memory.data()), "type");
}

}  // namespace
}  // namespace pawl

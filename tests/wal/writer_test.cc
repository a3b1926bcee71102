// SPDX-License-Identifier: Apache-2.0
// Frames as the writer builds and submits them. The rule of group commit: log_test.cc.
#include "wal/writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/wal/memory_disk.h"
#include "wal/format/records.h"

namespace pawl {
namespace {

constexpr Geometry geometry{0x5eed, 64 << 10, 16 << 10};
constexpr QueueId queue{7};
constexpr Duration lazy_max{10};

// The types and contents of the records of a frame.
struct Seen final : RecordSink {
  void send(const StoredMessage& message, std::size_t) override {
    types += 's';
    seqs.push_back(message.seq);
    relocated += message.relocated ? 1 : 0;
  }
  void receive(const ReceiveRecord&) override { types += 'r'; }
  void delete_message(const DeleteRecord&) override { types += 'd'; }
  void purge(const PurgeRecord&) override { types += 'p'; }
  void config(const ConfigRecord&) override { types += 'c'; }
  void row(const RowRecord&) override { types += 'o'; }
  void head(const HeadRecord&) override { types += 'h'; }
  void task(const TaskRecord& record) override {
    types += 't';
    tasks.push_back(record);
  }
  void forget_transfer(const ForgetTransferRecord&) override { types += 'x'; }
  void number(const NumberRecord&) override { types += 'n'; }
  void replay(const ReplayRecord&) override { types += 'y'; }
  void checkpoint(const CheckpointRecord&) override { types += 'k'; }
  void segment(const SegmentRecord&) override { types += 'g'; }

  std::string types;
  std::vector<Seq> seqs;
  std::vector<TaskRecord> tasks;
  int relocated = 0;
};

class WriterTest : public testing::Test {
 protected:
  void SetUp() override {
    image.start(0);
    pool.start(0);
    for (int i = 0; i < 3; ++i) ASSERT_TRUE(pool.create_now());
    pool.enter(0, now);
    writer.start({.tail = block_bytes, .last_frame = 0, .epoch = 5, .segment = 0});
    disk.hold = true;
  }
  // Appends one message and returns its position.
  LogPos send(Seq seq, std::size_t body_bytes) {
    const std::string body(body_bytes, 'x');
    const Content content{.body = body};
    effects.clear();
    effects.sends.push_back({queue, seq, now, now, &content});
    writer.append(effects, now);
    return effects.sends[0].position;
  }
  void delete_message(Seq seq) {
    effects.clear();
    effects.deletes.push_back({queue, seq});
    writer.append(effects, now);
  }
  void receive(Seq seq) {
    effects.clear();
    effects.receives.push_back({.queue = queue, .seq = seq});
    writer.append(effects, now);
  }
  void submit(bool idle = false) { writer.submit(now, now_us, idle); }
  void finish_all_writes() {
    writer.flush_all();
    for (int i = 0; i < 100 && writer.durable() < writer.appended(); ++i) {
      submit();
      disk.finish_all();
      ASSERT_FALSE(writer.reap(now_us));
    }
    ASSERT_EQ(writer.durable(), writer.appended());
  }
  // The headers of all frames on the disk, checked whole.
  std::vector<LogFrameHeader> frames() {
    std::vector<LogFrameHeader> all;
    seen = {};
    for (Lsn at = block_bytes; at < writer.durable();) {
      at = geometry.frame_position(at);
      const auto& file = disk.content(segment_name(geometry.segment_of(at)));
      const std::span<const std::byte> rest(
          file.data() + geometry.offset_of(at),
          std::min<std::size_t>(geometry.extent_end(at) - at,
                                file.size() - geometry.offset_of(at)));
      const FrameCheck check = check_frame(rest, geometry.stream, at);
      if (check.fault != LogFault::none) {  // the rest of an extent
        at += block_bytes;
        continue;
      }
      all.push_back(check.header);
      EXPECT_TRUE(decode_records(rest.first(check.header.length).subspan(log_frame_header_bytes),
                                 check.header.records, geometry.stream, seen));
      at += align_up(check.header.length, block_bytes);
    }
    return all;
  }

  MemoryDisk disk;
  Image image{geometry.extent_bytes, 1 << 20};
  SegmentPool pool{disk, geometry, 2, false, Duration{}};
  Writer writer{disk, geometry, image, pool, lazy_max};
  Effects effects;
  Seen seen;  // by frames()
  Instant now{1'700'000'000'000};
  std::uint64_t now_us = 1'000'000;
};

TEST_F(WriterTest, WritesTheRecordsOfATurnInTheOrderOfEffects) {
  auto config = std::make_shared<QueueConfig>();
  config->id = queue;
  config->rows.push_back(std::make_shared<const TopicRow>(TopicRow{3, "row"}));
  const Content content{.body = "x"};
  effects.tasks.push_back({});
  effects.purges.push_back({queue, 5, now});
  effects.deletes.push_back({queue, 1});
  effects.replays.push_back({});
  effects.forgotten_transfers.push_back({});
  effects.receives.push_back({.queue = queue, .seq = 1});
  effects.sends.push_back({queue, 2, now, now, &content});
  effects.heads.push_back({queue, 9});
  effects.configs.push_back({.config = config, .rows = {3}});
  writer.append(effects, now);
  finish_all_writes();
  ASSERT_EQ(frames().size(), 1u);
  EXPECT_EQ(seen.types, "ochsrxydpt") << "a topic's rows come before it";
  EXPECT_EQ(writer.records(), 10u);
}

TEST_F(WriterTest, ATurnWithoutRecordsAppendsNothing) {
  effects.freed.push_back(64);
  EXPECT_EQ(writer.append(effects, now), block_bytes);
  submit(true);
  EXPECT_EQ(disk.under_way(), 0u);
}

TEST_F(WriterTest, AFrameStatesItsEpochItsPredecessorAndHowFarTheLogWasDurable) {
  for (Seq seq = 1; seq <= 3; ++seq) {
    send(seq, 100);
    finish_all_writes();
  }
  const auto all = frames();
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].lsn, (i + 1) * block_bytes);
    EXPECT_EQ(all[i].epoch, 5u);
    EXPECT_EQ(all[i].wall_ms, now.ms);
    EXPECT_EQ(all[i].records, 1u);
    EXPECT_EQ(all[i].durable, all[i].lsn) << "all before it";
    EXPECT_EQ(all[i].prev, i == 0 ? 0 : block_bytes) << "the distance to the frame before";
  }
}

TEST_F(WriterTest, NoFrameCrossesAnExtentAndNoneBeginsInASegmentsHeader) {
  for (Seq seq = 1; seq <= 60; ++seq) send(seq, 500 * (seq % 7) + 1);
  for (Seq seq = 61; seq <= 64; ++seq) {
    send(seq, 11'000);
    finish_all_writes();
  }
  const auto all = frames();
  EXPECT_GT(all.back().lsn, geometry.segment_bytes) << "in the second segment";
  for (const LogFrameHeader& header : all) {
    EXPECT_LE(header.lsn + header.length, geometry.extent_end(header.lsn));
    EXPECT_GE(geometry.offset_of(header.lsn), block_bytes);
    EXPECT_EQ(header.lsn % block_bytes, 0u);
  }
  std::vector<Seq> expected;
  for (Seq seq = 1; seq <= 64; ++seq) expected.push_back(seq);
  EXPECT_EQ(seen.seqs, expected);
  EXPECT_EQ(writer.frames(), all.size());
}

TEST_F(WriterTest, HasTwoWritesUnderWayAtMost) {
  for (Seq seq = 1; seq <= 5; ++seq) send(seq, 10'000);
  writer.flush_all();
  for (int i = 0; i < 3; ++i) submit(true);
  EXPECT_EQ(disk.under_way(), Writer::writes_max);
  disk.finish(0);
  ASSERT_FALSE(writer.reap(now_us));
  submit(true);
  EXPECT_EQ(disk.under_way(), Writer::writes_max);
}

TEST_F(WriterTest, CountsTheBytesItWritesAndTheirPadding) {
  std::uint64_t records = 0;
  for (Seq seq = 1; seq <= 8; ++seq) {
    const std::string body(3000, 'x');
    const Content content{.body = body};
    records += send_bytes({queue, seq, now, now, &content});
    send(seq, body.size());
    finish_all_writes();
  }
  const std::uint64_t headers = writer.frames() * log_frame_header_bytes;
  EXPECT_EQ(writer.appended() - block_bytes, headers + records + writer.padding_bytes());
  EXPECT_EQ(writer.bytes_written(), 8 * block_bytes) << "a block each";
}

TEST_F(WriterTest, AWriteThatFailsOrIsShortIsReportedWithItsPosition) {
  for (const auto& [result, sys] : {
           std::pair{-ENOSPC, ENOSPC},
           {512,     EIO   }
  }) {
    SCOPED_TRACE(sys);
    MemoryDisk other_disk;
    SegmentPool other_pool(other_disk, geometry, 2, false, Duration{});
    Image other_image(geometry.extent_bytes, 1 << 20);
    other_pool.start(0);
    ASSERT_TRUE(other_pool.create_now());
    other_pool.enter(0, now);
    Writer other(other_disk, geometry, other_image, other_pool, lazy_max);
    other.start({.tail = block_bytes, .epoch = 1});
    other_disk.hold = true;
    const Content content{.body = "x"};
    effects.clear();
    effects.sends.push_back({queue, 1, now, now, &content});
    other.append(effects, now);
    other.submit(now, now_us, false);
    ASSERT_FALSE(other.reap(now_us)) << "not done yet";
    other_disk.finish(0, result);
    const auto failure = other.reap(now_us);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->sys, sys);
    EXPECT_EQ(failure->lsn, block_bytes);
    EXPECT_EQ(other.durable(), block_bytes);
  }
}

TEST_F(WriterTest, ReceivesAndRelocatedMessagesAreLazyAndOthersAreNot) {
  struct Case {
    const char* name;
    std::function<void()> append;
    bool lazy;
  };
  std::vector<std::byte> record(256);
  const Content content{.body = "moved"};
  const SendRecord moved{queue, 9, now, now, &content};
  encode_send(record.data(), moved, geometry.stream);
  record.resize(record_length(record.data()));
  const std::array<std::size_t, 1> places{0};
  const FoundSend found{.stored = trusted_send(record.data()), .record = record};
  const Case cases[] = {
      {"a receive",           [&] { receive(1); },                                                 true },
      {"a relocated message", [&] { writer.append_relocated(found, places, now); },                true },
      {"a checkpoint's",      [&] { writer.append(CheckpointSlice{.heads = {{queue, 9}}}, now); }, true },
      {"a send",              [&] { send(1, 10); },                                                false},
      {"a delete",            [&] { delete_message(1); },                                          false},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    c.append();
    const Instant due = writer.next_due();
    submit();
    EXPECT_EQ(disk.under_way(), c.lazy ? 0u : 1u);
    if (c.lazy) {
      EXPECT_EQ(due, now + lazy_max);
      now = due - milliseconds(1);
      submit();
      EXPECT_EQ(disk.under_way(), 0u);
      now = due;
      submit();
      EXPECT_EQ(disk.under_way(), 1u);
    }
    finish_all_writes();
    EXPECT_EQ(writer.next_due(), never);
  }
  frames();
  EXPECT_EQ(seen.types, "rshsd");
  EXPECT_EQ(seen.relocated, 1);
}

TEST_F(WriterTest, ASecondWriteIsDueAtOnceIfOnlyAnIdleTurnIsMissing) {
  send(1, 10);
  submit();
  ASSERT_EQ(disk.under_way(), 1u);
  send(2, 10);
  submit();
  EXPECT_EQ(writer.next_due(), never) << "few bytes that have not waited";
  for (Seq seq = 3; seq < 7; ++seq) send(seq, 10 << 10);
  submit();
  ASSERT_EQ(disk.under_way(), 1u) << "the turn was not idle";
  EXPECT_EQ(writer.next_due(), Instant{0});
  writer.submit(now, 0, true);
  EXPECT_EQ(disk.under_way(), 2u);
  EXPECT_EQ(writer.next_due(), never);
  finish_all_writes();
}

TEST_F(WriterTest, ATasksCountRisesRecordByRecordWithItsDeletes) {
  TaskRecord record{
      .task = {.source = queue, .number = 1, .moved = 1000},
        .deleted = {}
  };
  for (Seq seq = 1; seq <= 2 * batch_max + 10; ++seq) record.deleted.push_back(seq);
  effects.tasks.push_back(record);
  writer.append(effects, now);
  finish_all_writes();
  frames();
  ASSERT_EQ(seen.tasks.size(), 3u);
  const std::uint64_t before = 1000 - record.deleted.size();
  EXPECT_EQ(seen.tasks[0].task.moved, before + batch_max);
  EXPECT_EQ(seen.tasks[1].task.moved, before + 2 * batch_max);
  EXPECT_EQ(seen.tasks[2].task.moved, 1000u);
  EXPECT_EQ(seen.tasks[2].deleted.size(), 10u);
}

TEST_F(WriterTest, KnowsWhenItsOldestRecordThatIsNotDurableWasAppended) {
  EXPECT_EQ(writer.unflushed_since(), never);
  send(1, 10);
  const Instant first = now;
  submit();
  now = now + seconds(1);
  send(2, 10);
  EXPECT_EQ(writer.unflushed_since(), first) << "its write is under way";
  disk.finish_all();
  ASSERT_FALSE(writer.reap(now_us));
  EXPECT_EQ(writer.unflushed_since(), now);
  finish_all_writes();
  EXPECT_EQ(writer.unflushed_since(), never);
}

TEST_F(WriterTest, FindsTheFirstFrameNotYetSubmittedFromAPosition) {
  send(1, 10'000);  // the whole of the first extent
  send(2, 10'000);
  send(3, 10'000);
  EXPECT_EQ(writer.first_frame_from(0), block_bytes);
  EXPECT_EQ(writer.first_frame_from(block_bytes), block_bytes);
  EXPECT_EQ(writer.first_frame_from(block_bytes + 1), geometry.extent_bytes);
  EXPECT_EQ(writer.first_frame_from(geometry.extent_bytes + 1), 2 * geometry.extent_bytes)
      << "the open frame";
  EXPECT_EQ(writer.frame_start(), 2 * geometry.extent_bytes);
  submit();
  EXPECT_EQ(writer.first_frame_from(0), geometry.extent_bytes) << "the first one is submitted";
}

TEST_F(WriterTest, WaitsForASegmentThatIsNotReady) {
  for (Seq seq = 1; writer.segment() < 3; ++seq) send(seq, 10'000);
  writer.flush_all();
  for (int i = 0; i < 100; ++i) {
    submit();
    disk.finish_all();
    ASSERT_FALSE(writer.reap(now_us));
  }
  EXPECT_LT(writer.durable(), writer.appended());
  EXPECT_EQ(geometry.segment_of(writer.durable() - 1), 2u);
  disk.hold = false;
  ASSERT_TRUE(pool.create_now());
  disk.hold = true;
  finish_all_writes();
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The records of effects, checkpoints and relocated messages. Their bytes: records_test.cc.
#include "wal/record_appender.h"

#include <array>
#include <cstddef>
#include <functional>
#include <memory>
#include <vector>

#include "tests/wal/frames_fixture.h"

namespace pawl {
namespace {

using namespace frames_test;

class RecordAppenderTest : public FramesTest {};

TEST_F(RecordAppenderTest, WritesTheRecordsOfATurnInTheOrderOfEffects) {
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
  appender.append(effects, now);
  finish_all_writes();
  ASSERT_EQ(frames().size(), 1u);
  EXPECT_EQ(seen.types, "ochsrxydpt") << "a topic's rows come before it";
  EXPECT_EQ(writer.records(), 10u);
}

TEST_F(RecordAppenderTest, ATurnWithoutRecordsAppendsNothing) {
  effects.freed.push_back(64);
  EXPECT_EQ(appender.append(effects, now), block_bytes);
  submit(true);
  EXPECT_EQ(disk.under_way(), 0u);
}

TEST_F(RecordAppenderTest, ReceivesAndRelocatedMessagesAreLazyAndOthersAreNot) {
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
  const auto relocate = [&] { appender.append_relocated(found, places, now); };
  const auto write_slice = [&] { appender.append(CheckpointSlice{.heads = {{queue, 9}}}, now); };
  const Case cases[] = {
      {"a receive",           [&] { receive(1); },     true },
      {"a relocated message", relocate,    true },
      {"a checkpoint's",      write_slice, true },
      {"a send",              [&] { send(1, 10); },     false},
      {"a delete",            [&] { delete_message(1); },     false},
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

TEST_F(RecordAppenderTest, ATasksCountRisesRecordByRecordWithItsDeletes) {
  TaskRecord record{
      .task = {.source = queue, .number = 1, .moved = 1000},
        .deleted = {}
  };
  for (Seq seq = 1; seq <= 2 * batch_max + 10; ++seq) record.deleted.push_back(seq);
  effects.tasks.push_back(record);
  appender.append(effects, now);
  finish_all_writes();
  frames();
  ASSERT_EQ(seen.tasks.size(), 3u);
  const std::uint64_t before = 1000 - record.deleted.size();
  EXPECT_EQ(seen.tasks[0].task.moved, before + batch_max);
  EXPECT_EQ(seen.tasks[1].task.moved, before + 2 * batch_max);
  EXPECT_EQ(seen.tasks[2].task.moved, 1000u);
  EXPECT_EQ(seen.tasks[2].deleted.size(), 10u);
}

}  // namespace
}  // namespace pawl

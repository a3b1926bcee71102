// SPDX-License-Identifier: Apache-2.0
#include "wal/format/task_records.h"

#include <gtest/gtest.h>

#include <tuple>

#include "tests/wal/records_fixture.h"

namespace pawl {
namespace {

using namespace records_test;

TEST(TaskRecords, ATaskAndWhatItMovedComeBack) {
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

TEST(TaskRecords, AReplayTaskAndHowFarItIsComeBack) {
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

}  // namespace
}  // namespace pawl

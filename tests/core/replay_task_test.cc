// SPDX-License-Identifier: Apache-2.0
#include "core/queue/replay_task.h"

#include <gtest/gtest.h>

#include "core/containers/task_list.h"
#include "tests/core/script.h"

namespace pawl::test {
namespace {

TEST(ReplayTask, IsFollowedByTheNextNumber) {
  std::vector<ReplayTask> tasks;
  for (std::uint32_t i = 1; i <= replays_kept + 1; ++i) {
    EXPECT_EQ(next_number(tasks), i);
    ReplayTask task;
    task.number = i;
    keep_task(tasks, task, replays_kept);
    EXPECT_NE(running_task(tasks), nullptr);
    tasks.back().status = ReplayTask::Status::completed;
    EXPECT_EQ(running_task(tasks), nullptr);
  }
  EXPECT_EQ(tasks.size(), replays_kept);
  EXPECT_EQ(tasks.front().number, 2u);
}

TEST(ReplayTask, IsEqualToItselfAfterItsRecordIsRead) {
  Script script;
  script.run("queue q");
  ReplayTask task;
  task.source = script.queue("q");
  task.number = 1;
  task.destination = "0/q";
  task.sent = 7;
  Shard& shard = script.world().shard();
  shard.restore(ReplayRecord{task, false});
  ReplayTask progress = task;
  progress.sent = 9;
  progress.position = 5'000;
  progress.destination = "ignored";
  shard.restore(ReplayRecord{progress, true});
  ReplayParams params;
  Request list{.op = Op::list_replays, .queue = task.source};
  list.replay = &params;
  Effects effects;
  shard.apply(list, script.world().now(), effects);
  ASSERT_EQ(params.tasks.size(), 1u);
  task.sent = 9;
  task.position = 5'000;
  EXPECT_EQ(params.tasks.front(), task);
}

}  // namespace
}  // namespace pawl::test

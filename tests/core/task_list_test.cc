// SPDX-License-Identifier: Apache-2.0
#include "core/containers/task_list.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "core/queue/move_task.h"

namespace pawl {
namespace {

using Status = MoveTask::Status;

MoveTask task(std::uint32_t number, Status status = Status::completed) {
  return {.number = number, .status = status};
}
std::vector<std::uint32_t> numbers(const std::vector<MoveTask>& tasks) {
  std::vector<std::uint32_t> all;
  for (const MoveTask& one : tasks) all.push_back(one.number);
  return all;
}
using Numbers = std::vector<std::uint32_t>;

TEST(KeepTask, SortsByNumberInWhateverOrderTasksCome) {
  std::vector<MoveTask> tasks;
  for (const std::uint32_t number : {3u, 1u, 2u}) keep_task(tasks, task(number), 10);
  EXPECT_EQ(numbers(tasks), (Numbers{1, 2, 3}));
}

TEST(KeepTask, ReplacesTheTaskOfTheSameNumber) {
  std::vector<MoveTask> tasks{task(1), task(2, Status::running), task(3)};
  MoveTask changed = task(2);
  changed.moved = 17;
  keep_task(tasks, changed, 3);
  EXPECT_EQ(numbers(tasks), (Numbers{1, 2, 3}));
  EXPECT_EQ(tasks[1], changed);
}

TEST(KeepTask, DropsTheOldestBeyondTheLimit) {
  std::vector<MoveTask> tasks;
  for (std::uint32_t number = 1; number <= 5; ++number) keep_task(tasks, task(number), 3);
  EXPECT_EQ(numbers(tasks), (Numbers{3, 4, 5}));
  keep_task(tasks, task(2), 3);
  EXPECT_EQ(numbers(tasks), (Numbers{3, 4, 5})) << "older than all of them";
}

TEST(RunningTask, IsTheLastOneIfItRuns) {
  std::vector<MoveTask> tasks;
  EXPECT_EQ(running_task(tasks), nullptr);
  tasks = {task(1), task(2, Status::running)};
  ASSERT_EQ(running_task(tasks), &tasks[1]);
  for (const Status ended : {Status::completed, Status::cancelled, Status::failed}) {
    tasks[1].status = ended;
    EXPECT_EQ(running_task(tasks), nullptr);
  }
}

TEST(NextNumber, FollowsTheLastTaskAndBeginsWithOne) {
  EXPECT_EQ(next_number(std::vector<MoveTask>{}), 1u);
  EXPECT_EQ(next_number(std::vector<MoveTask>{task(7), task(12)}), 13u);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The last tasks of a queue, in order of number: those of move_task.h and of replay_task.h.
//
// Limits: `most` tasks.
// Owner:  core/queue/queue.h.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/check.h"

namespace pawl {

// Replaces the task with the same number, or adds the task; beyond the limit the oldest is dropped.
template <typename Task>
void keep_task(std::vector<Task>& tasks, const Task& task, std::size_t most) {
  const auto at = std::ranges::lower_bound(tasks, task.number, {}, &Task::number);
  if (at != tasks.end() && at->number == task.number) {
    *at = task;
    return;
  }
  tasks.insert(at, task);
  if (tasks.size() > most) tasks.erase(tasks.begin());
  CHECK(tasks.size() <= most, "{} tasks", tasks.size());
}

// The running task, or null. Only the last may run.
template <typename Task>
Task* running_task(std::vector<Task>& tasks) {
  return tasks.empty() || tasks.back().status != Task::Status::running ? nullptr : &tasks.back();
}

template <typename Task>
std::uint32_t next_number(const std::vector<Task>& tasks) {
  CHECK(tasks.empty() || tasks.back().number < UINT32_MAX, "the task numbers are used up");
  return tasks.empty() ? 1 : tasks.back().number + 1;
}

}  // namespace pawl

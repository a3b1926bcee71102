// SPDX-License-Identifier: Apache-2.0
// Move tasks (core/queue/move_task.h): their requests, their progress and their end.
//
//   start --durable--> begun --transfers, at the task's rate--> completed | failed | cancelled
//
// Each message moves by a transfer (core/shard/transfers.h).
//
// Limits: one running task a queue, tasks_kept remembered; ShardLimits::moves_under_way transfers.
// Errors: task_running, task_ended, no_such_task.
// Owner:  core/shard/shard.h.
#pragma once

#include <cstdint>

#include "core/queue/effects.h"
#include "core/queue/move_task.h"
#include "core/queue/request.h"
#include "core/shard/commit_queue.h"
#include "core/shard/message_states.h"
#include "core/shard/shard_state.h"
#include "core/shard/transfers.h"

namespace pawl {

class MoveTasks {
 public:
  MoveTasks(ShardState& state, MessageStates& states, CommitQueue& commits, Transfers& transfers)
      : state_(state), states_(states), commits_(commits), transfers_(transfers) {}

  void start(Queue& queue, Request& request, Instant now, Effects& effects);
  void cancel(Queue& queue, Request& request, Effects& effects);
  void list(Queue& queue, Request& request, Effects& effects);

  // Begins the tasks whose start is durable: no crash can undo it, so the moved messages are
  // counted.
  void begin(Instant now, Effects& effects);
  // Moves as many messages as the limit and the rate allow by now.
  void move_on(Queue& queue, Instant now, Effects& effects);
  // A message of a task has been moved, or could not be.
  void note_moved(Queue& queue, const Transfer& transfer, Instant now, Effects& effects);
  void arm(Queue& queue, Instant due);

 private:
  void end(Queue& queue, MoveTask::Status status, Errc failure, Effects& effects);
  std::uint32_t next_to_move(Queue& queue, Instant now);

  ShardState& state_;
  MessageStates& states_;
  CommitQueue& commits_;
  Transfers& transfers_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/move_tasks.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "core/shard/selection.h"

namespace pawl {
namespace {

constexpr Duration refused_move_pause = milliseconds(100);

MoveTask* find_task(Queue& queue, std::uint32_t number) {
  if (!queue.moves) return nullptr;
  const auto it = std::ranges::find(queue.moves->tasks, number, &MoveTask::number);
  return it == queue.moves->tasks.end() ? nullptr : &*it;
}

}  // namespace

// --- requests ---

void MoveTasks::start(Queue& queue, Request& request, Instant now, Effects& effects) {
  if (!queue.moves) queue.moves = std::make_unique<Moves>();
  Moves& moves = *queue.moves;
  if (moves.running() != nullptr) {
    request.error = Errc::task_running;
    effects.replies.push_back({&request, false});
    return;
  }
  MoveTask task;
  task.source = queue.id;
  task.number = next_number(moves.tasks);
  task.rate = request.move.rate;
  task.to_move = queue.visible();
  task.started = now;
  task.destination = request.move.destination;
  keep_task(moves.tasks, task, tasks_kept);
  queue.count_kept();
  moves.pace.from(now);
  moves.begun = false;
  effects.tasks.push_back({task, {}});
  commits_.started(queue, task.number);
  request.move.number = task.number;
  effects.replies.push_back({&request, true});
}

void MoveTasks::cancel(Queue& queue, Request& request, Effects& effects) {
  MoveTask* const task = find_task(queue, request.move.number);
  if (task == nullptr || task->status != MoveTask::Status::running) {
    request.error = task == nullptr ? Errc::no_such_task : Errc::task_ended;
    effects.replies.push_back({&request, false});
    return;
  }
  end(queue, MoveTask::Status::cancelled, Errc::ok, effects);
  request.move.moved = task->moved;
  effects.replies.push_back({&request, true});
}

void MoveTasks::list(Queue& queue, Request& request, Effects& effects) {
  request.move.tasks.clear();
  if (queue.moves) {
    request.move.tasks.assign(queue.moves->tasks.rbegin(), queue.moves->tasks.rend());
  }
  effects.replies.push_back({&request, false});
}

// --- the running task ---

// Begins the tasks whose start is durable: no crash can undo it, so the moved messages are counted.
void MoveTasks::begin(Instant now, Effects& effects) {
  for (const auto& [id, number] : commits_.take_begun()) {
    Queue* const queue = state_.find_queue(id);
    const MoveTask* const task = queue == nullptr ? nullptr : queue->moves->running();
    if (task == nullptr || task->number != number) continue;  // cancelled meanwhile
    queue->moves->begun = true;
    move_on(*queue, now, effects);
  }
}

// Takes as many messages as may be under way, and as the rate allows by now.
void MoveTasks::move_on(Queue& queue, Instant now, Effects& effects) {
  Moves& moves = *queue.moves;
  MoveTask* const task = moves.running();
  if (task == nullptr || !moves.begun || state_.stopping) return;
  CHECK(moves.under_way <= state_.limits.moves_under_way, "{} transfers", moves.under_way);
  while (moves.under_way < state_.limits.moves_under_way) {
    if (!queue.has_ready()) {
      if (moves.under_way > 0) return;
      // A dead letter whose target has no free space returns and is moved too.
      if (queue.leaving > 0) return arm(queue, now + refused_move_pause);
      return end(queue, MoveTask::Status::completed, Errc::ok, effects);
    }
    if (!moves.pace.allows(now)) return arm(queue, moves.pace.next());
    const std::uint32_t row = next_to_move(queue, now);
    if (row == Slab<Slot>::none || state_.slots[row].unsettled ||
        !transfers_.prepare(queue, row, task->destination, task->number, effects)) {
      return arm(queue, now + refused_move_pause);
    }
    ++moves.under_way;
    if (!MUTANT(ignore_rate)) moves.pace.took(1, now, task->rate);
  }
}

std::uint32_t MoveTasks::next_to_move(Queue& queue, Instant now) {
  const auto [seq, indexed] = Selection(state_.slots, queue, now).next_to_move();
  return states_.slot_for(queue, seq, indexed);
}

// A message of a task has been moved, or could not be.
void MoveTasks::note_moved(Queue& queue, const Transfer& transfer, Instant now, Effects& effects) {
  const bool recovered = transfer.position == log_pos_none;
  MoveTask* const task = find_task(queue, transfer.task);
  if (queue.moves && !recovered) {
    CHECK(queue.moves->under_way > 0, "task {} had no transfer", transfer.task);
    --queue.moves->under_way;
  }
  if (transfer.request.error == Errc::ok) {
    if (task == nullptr) {  // forgotten for newer ones
      effects.deletes.push_back({queue.id, transfer.from.seq});
    } else {
      ++task->moved;
      if (MUTANT(count_apart)) {
        effects.deletes.push_back({queue.id, transfer.from.seq});
        return move_on(queue, now, effects);
      }
      std::vector<TaskRecord>& records = effects.tasks;
      const bool same = !records.empty() && records.back().task.source == queue.id &&
                        records.back().task.number == task->number;
      if (!same) records.push_back({*task, {}});
      records.back().task = *task;
      records.back().deleted.push_back(transfer.from.seq);
    }
  } else if (task != nullptr && task->status == MoveTask::Status::running) {
    if (transfer.request.error == Errc::no_such_queue ||
        transfer.request.error == Errc::source_unknown ||
        transfer.request.error == Errc::message_numbers_used_up) {
      end(queue, MoveTask::Status::failed, transfer.request.error, effects);
    } else {
      queue.moves->pace.from(now + refused_move_pause);
    }
  }
  // During recovery, more transfers may wait to be committed: the task continues after them.
  if (queue.moves && !recovered) move_on(queue, now, effects);
}

void MoveTasks::end(Queue& queue, MoveTask::Status status, Errc failure, Effects& effects) {
  CHECK(queue.moves && queue.moves->running() != nullptr, "queue {} has no task", raw(queue.id));
  MoveTask& task = *queue.moves->running();
  task.status = status;
  task.failure = failure;
  effects.tasks.push_back({task, {}});
  if (queue.moves->timer_armed) state_.timers.cancelled();
  queue.moves->timer_armed = false;
}

void MoveTasks::arm(Queue& queue, Instant due) {
  CHECK(queue.moves != nullptr, "queue {} has no task", raw(queue.id));
  Moves& moves = *queue.moves;
  if (moves.timer_armed) state_.timers.cancelled();
  moves.timer_armed = true;
  state_.timers.arm(due, timer_moves, raw(queue.id), ++moves.generation);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Replay tasks (core/queue/replay_task.h): their requests and their progress.
//
//   start --> running --replayed() ...--> end(completed | failed | cancelled)
//
// Replayer (net/engine/replayer.h) reads and sends the messages of one task at a time.
//
// Limits: one running task a queue, replays_kept remembered; in a shard ShardLimits::replays_max
//         remembered and replays_running running.
// Errors: not_kept, task_running, task_ended, no_such_task, overloaded.
// Owner:  core/shard/shard.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "core/queue/effects.h"
#include "core/queue/replay_task.h"
#include "core/queue/request.h"
#include "core/shard/shard_state.h"

namespace pawl {

class ReplayTasks {
 public:
  static constexpr LogPos none = UINT64_MAX;

  explicit ReplayTasks(ShardState& state) : state_(state) {}

  void start(Queue& queue, Request& request, Instant now, Effects& effects);
  void cancel(Queue& queue, Request& request, Effects& effects);
  static void list(Queue& queue, Request& request, Effects& effects);

  // The task to continue, the same one until it ends; null: none.
  const ReplayTask* under_way();
  void replayed(QueueId source, const ReplayStep& step, Effects& effects);
  void end(QueueId source, ReplayTask::Status status, Errc failure, Effects& effects);
  // The longest x-replay-retention of the shard's queues, and the first position that a running
  // task still reads; none: no task is running.
  Duration retention() const {
    return Duration{retentions_.empty() ? 0 : retentions_.rbegin()->first};
  }
  LogPos position() const;
  // True: a task is running, or a queue has an x-replay-retention.
  bool any() const { return !running_.empty() || !retentions_.empty(); }
  // Disarms the part, unless there is any.
  void rest() {
    if (!any()) state_.armed.take(ShardPart::replay);
  }

  void keep(Queue& queue, const ReplayTask& task);
  void forget_all(Queue& queue);
  // A queue's config changes; null: there is none before, or none after.
  void note_retention(const ConfigPtr& before, const ConfigPtr& after);

  // --- recovery ---
  void resume(Queue& queue);
  void count_retentions();

 private:
  bool forget_an_old_one();
  void forget_oldest(Queue& queue);

  ShardState& state_;
  std::set<QueueId> running_;                         // queues with a running task
  QueueId at_ = QueueId::none;                        // current or last one of running_
  std::size_t kept_ = 0;                              // tasks of all queues
  std::map<std::int64_t, std::uint32_t> retentions_;  // ms, and the number of queues with it
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/replay_tasks.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {

// --- requests ---

void ReplayTasks::start(Queue& queue, Request& request, Instant now, Effects& effects) {
  ReplayParams& asked = *request.replay;
  effects.replies.push_back({&request, false});
  if (queue.config->replay_retention() == Duration{0}) {
    request.error = Errc::not_kept;
    return;
  }
  if (queue.replaying() != nullptr) {
    request.error = Errc::task_running;
    return;
  }
  const bool one_more = queue.replays.size() < replays_kept;
  const bool full = one_more && kept_ >= state_.limits.replays_max && !forget_an_old_one();
  if (running_.size() >= state_.limits.replays_running || (full && queue.replays.empty())) {
    request.error = Errc::overloaded;
    return;
  }
  ReplayTask task;
  task.source = queue.id;
  task.number = next_number(queue.replays);
  task.rate = asked.rate;
  task.from = std::max(asked.from, now - queue.config->replay_retention());
  const Instant after_now = now + milliseconds(1);  // what was sent in this one is to come too
  task.to = asked.to.ms == 0 ? after_now : std::min(asked.to, after_now);
  task.started = now;
  task.position = asked.position;
  task.end = asked.end;
  task.destination = asked.destination;
  task.filter = asked.filter;
  task.copies = asked.copies;
  keep(queue, task);
  if (full) forget_oldest(queue);  // in the place of its own last one
  const bool added = running_.insert(queue.id).second;
  CHECK(added, "queue {} has a running task", raw(queue.id));
  state_.arm(ShardPart::replay);
  effects.replays.push_back({task, false});
  asked.number = task.number;
  effects.replies.back().after_flush = true;
}

void ReplayTasks::cancel(Queue& queue, Request& request, Effects& effects) {
  ReplayParams& asked = *request.replay;
  const auto task = std::ranges::find(queue.replays, asked.number, &ReplayTask::number);
  const bool found = task != queue.replays.end();
  if (!found || &*task != queue.replaying()) {
    request.error = found ? Errc::task_ended : Errc::no_such_task;
    effects.replies.push_back({&request, false});
    return;
  }
  end(queue.id, ReplayTask::Status::cancelled, Errc::ok, effects);
  asked.sent = task->sent;
  effects.replies.push_back({&request, true});
}

void ReplayTasks::list(Queue& queue, Request& request, Effects& effects) {
  request.replay->tasks.assign(queue.replays.rbegin(), queue.replays.rend());
  effects.replies.push_back({&request, false});
}

void ReplayTasks::keep(Queue& queue, const ReplayTask& task) {
  CHECK(kept_ >= queue.replays.size(), "{} tasks of {}", queue.replays.size(), kept_);
  kept_ -= queue.replays.size();
  keep_task(queue.replays, task, replays_kept);
  queue.count_kept();
  kept_ += queue.replays.size();
}

void ReplayTasks::forget_all(Queue& queue) {
  CHECK(kept_ >= queue.replays.size(), "{} tasks of {}", queue.replays.size(), kept_);
  kept_ -= queue.replays.size();
  queue.replays.clear();
  queue.count_kept();
  running_.erase(queue.id);
}

// Evicts the oldest finished task, but never a queue's most recent one: it holds the number of the
// next task.
bool ReplayTasks::forget_an_old_one() {
  Queue* oldest = nullptr;
  std::pair<Instant, QueueId> first{never, QueueId::none};
  for (const auto& [id, queue] : *state_.queues) {
    if (queue->replays.size() < 2) continue;
    const std::pair<Instant, QueueId> its{queue->replays.front().started, queue->id};
    if (its < first) {
      first = its;
      oldest = queue.get();
    }
  }
  if (oldest == nullptr) return false;
  forget_oldest(*oldest);
  return true;
}

void ReplayTasks::forget_oldest(Queue& queue) {
  CHECK(!queue.replays.empty() && kept_ > 0, "queue {} has no task", raw(queue.id));
  queue.replays.erase(queue.replays.begin());
  queue.count_kept();
  --kept_;
}

// --- the running task ---

// One after the other: the next queue's when it has ended.
const ReplayTask* ReplayTasks::under_way() {
  if (running_.empty()) return nullptr;
  auto at = running_.lower_bound(at_);
  if (at == running_.end()) at = running_.begin();
  at_ = *at;
  Queue* const queue = state_.existing_queue(raw(at_));
  CHECK(queue != nullptr && queue->replaying() != nullptr, "queue {} has no running task",
        raw(at_));
  return queue->replaying();
}

void ReplayTasks::replayed(QueueId id, const ReplayStep& step, Effects& effects) {
  ReplayTask* const running = state_.find_queue(id)->replaying();
  CHECK(running != nullptr, "queue {} has no running task", raw(id));
  ReplayTask& task = *running;
  CHECK(step.position >= task.position, "from {} back to {}", task.position, step.position);
  task.position = step.position;
  task.sent += step.sent;
  task.unreadable += step.unreadable;
  if (!MUTANT(forget_replay_step)) effects.replays.push_back({task, true});
}

void ReplayTasks::end(QueueId id, ReplayTask::Status status, Errc failure, Effects& effects) {
  ReplayTask* const running = state_.find_queue(id)->replaying();
  CHECK(running != nullptr, "queue {} has no running task", raw(id));
  ReplayTask& task = *running;
  task.status = status;
  task.failure = failure;
  const bool was_running = running_.erase(id) > 0;
  CHECK(was_running, "queue {} has no running task", raw(id));
  effects.replays.push_back({task, false});
}

LogPos ReplayTasks::position() const {
  LogPos first = none;
  for (const QueueId id : running_)
    first = std::min(first, state_.existing_queue(raw(id))->replaying()->position);
  return first;
}

// --- retention ---

void ReplayTasks::note_retention(const ConfigPtr& before, const ConfigPtr& after) {
  const auto wanted = [this](const ConfigPtr& config) {
    const bool ours = config != nullptr && config->owner == state_.identity.id;
    return ours ? config->replay_retention() : Duration{0};
  };
  if (const Duration was = wanted(before); was > Duration{0}) {
    const auto at = retentions_.find(was.ms);
    CHECK(at != retentions_.end() && at->second > 0, "{} ms was not counted", was.ms);
    if (--at->second == 0) retentions_.erase(at);
  }
  if (const Duration is = wanted(after); is > Duration{0}) {
    ++retentions_[is.ms];
    state_.arm(ShardPart::replay);
  }
}

// --- recovery ---

void ReplayTasks::resume(Queue& queue) {
  if (queue.replaying() == nullptr) return;
  running_.insert(queue.id);
  state_.arm(ShardPart::replay);
}

void ReplayTasks::count_retentions() {
  retentions_.clear();
  state_.directory->for_each([this](const ConfigPtr& config) { note_retention(nullptr, config); });
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Replay tasks: what is known of them. The reading and sending is net/engine/replayer.h's.
#include <algorithm>

#include "core/check.h"
#include "core/mutant.h"
#include "core/shard.h"

namespace pawl {

void Shard::start_replay(Queue& queue, Request& request, Instant now, Effects& effects) {
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
  const bool full = one_more && replays_ >= limits_.replays_max && !forget_an_old_replay();
  if (replaying_.size() >= limits_.replays_running || (full && queue.replays.empty())) {
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
  keep_replay(queue, task);
  if (full) forget_oldest_replay(queue);  // in the place of its own last one
  replaying_.insert(queue.id);
  effects.replays.push_back({task, false});
  asked.number = task.number;
  effects.replies.back().after_flush = true;
}

void Shard::keep_replay(Queue& queue, const ReplayTask& task) {
  replays_ -= queue.replays.size();
  keep_task(queue.replays, task, replays_kept);
  queue.count_kept();
  replays_ += queue.replays.size();
}

void Shard::forget_replays(Queue& queue) {
  replays_ -= queue.replays.size();
  queue.replays.clear();
  queue.count_kept();
  replaying_.erase(queue.id);
}

void Shard::cancel_replay(Queue& queue, Request& request, Effects& effects) {
  ReplayParams& asked = *request.replay;
  const auto task = std::ranges::find(queue.replays, asked.number, &ReplayTask::number);
  const bool found = task != queue.replays.end();
  if (!found || &*task != queue.replaying()) {
    request.error = found ? Errc::task_ended : Errc::no_such_task;
    effects.replies.push_back({&request, false});
    return;
  }
  end_replay(queue.id, ReplayTask::Status::cancelled, Errc::ok, effects);
  asked.sent = task->sent;
  effects.replies.push_back({&request, true});
}

void Shard::list_replays(Queue& queue, Request& request, Effects& effects) {
  request.replay->tasks.assign(queue.replays.rbegin(), queue.replays.rend());
  effects.replies.push_back({&request, false});
}

// One after the other: the next queue's when it has ended.
const ReplayTask* Shard::replay_under_way() {
  if (replaying_.empty()) return nullptr;
  auto at = replaying_.lower_bound(replay_at_);
  if (at == replaying_.end()) at = replaying_.begin();
  replay_at_ = *at;
  return queues_.find(raw(replay_at_))->second->replaying();
}

void Shard::replayed(QueueId id, const ReplayStep& step, Effects& effects) {
  ReplayTask& task = *find_queue(id)->replaying();
  task.position = step.position;
  task.sent += step.sent;
  task.unreadable += step.unreadable;
  if (!MUTANT(forget_replay_step)) effects.replays.push_back({task, true});
}

void Shard::end_replay(QueueId id, ReplayTask::Status status, Errc failure, Effects& effects) {
  ReplayTask& task = *find_queue(id)->replaying();
  task.status = status;
  task.failure = failure;
  replaying_.erase(id);
  effects.replays.push_back({task, false});
}

LogPos Shard::replay_position() const {
  LogPos first = replay_none;
  for (const QueueId id : replaying_)
    first = std::min(first, queues_.find(raw(id))->second->replaying()->position);
  return first;
}

void Shard::note_replay_retention(const ConfigPtr& before, const ConfigPtr& after) {
  const auto wanted = [this](const ConfigPtr& config) {
    const bool ours = config != nullptr && config->owner == identity_.id;
    return ours ? config->replay_retention() : Duration{0};
  };
  if (const Duration was = wanted(before); was > Duration{0}) {
    const auto at = replay_retentions_.find(was.ms);
    if (--at->second == 0) replay_retentions_.erase(at);
  }
  if (const Duration is = wanted(after); is > Duration{0}) ++replay_retentions_[is.ms];
}

// Evicts the oldest finished task, but never a queue's most recent one: it holds the number of the
// next task.
bool Shard::forget_an_old_replay() {
  Queue* oldest = nullptr;
  std::pair<Instant, QueueId> first{never, QueueId::none};
  for (const auto& [id, queue] : queues_) {
    if (queue->replays.size() < 2) continue;
    const std::pair<Instant, QueueId> its{queue->replays.front().started, queue->id};
    if (its < first) {
      first = its;
      oldest = queue.get();
    }
  }
  if (oldest == nullptr) return false;
  forget_oldest_replay(*oldest);
  return true;
}

void Shard::forget_oldest_replay(Queue& queue) {
  queue.replays.erase(queue.replays.begin());
  queue.count_kept();
  --replays_;
}

}  // namespace pawl

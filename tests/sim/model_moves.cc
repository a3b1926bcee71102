// SPDX-License-Identifier: Apache-2.0
// Model of messages that move between queues: dead letters and move tasks.
//
// A message that may have left its queue wanders: it is in its queue or in a queue reachable from
// there, through names that were ever set or requested. The next delivery shows where it is.
#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "tests/sim/model.h"

namespace pawl::sim {
std::optional<Policy> policy_of(const std::vector<AttributeChange>& changes) {
  std::optional<Policy> policy;
  for (const AttributeChange& change : changes) {
    if (change.attribute == Attribute::dead_letter_target) {
      if (!policy) policy.emplace();
      policy->target = change.text;
    } else if (change.attribute == Attribute::max_receive_count) {
      if (!policy) policy.emplace();
      policy->max = change.number;
    }
  }
  return policy;
}

void Model::settle_policy(QueueRow& queue, const Policy& policy) {
  if (queue.policies.size() > 1) queue.policy_known = world_->newest_now();
  queue.policies = {policy};
}

void Model::add_policy(QueueRow& queue, const Policy& policy) {
  if (std::ranges::find(queue.policies, policy) == queue.policies.end())
    queue.policies.push_back(policy);
  if (policy.target.empty()) return;
  const Names bit = bit_of(policy.target);
  if ((queue.exits & bit) == 0) reached_.clear();
  queue.exits |= bit;
  lead_on(queue);
}

// Updates all messages after the queue got a new exit.
void Model::lead_on(QueueRow& queue) {
  may_leave(queue);
  const Names reached = reach(static_cast<std::uint32_t>(&queue - queues_.data()));
  for (const QueueRow& to : queues_)
    if ((to.bit & reached) != 0 && (to.purges > 0 || to.deletes > 0)) may_vanish(to);
}

// --- where a message may be ---

Names Model::bit_of(std::string_view full_name) {
  const auto known = std::ranges::find(names_, full_name);
  const auto number = static_cast<std::size_t>(known - names_.begin());
  CHECK(number < names_max, "too many names: {}", full_name);
  if (known == names_.end()) names_.emplace_back(full_name);
  return Names{1} << number;
}

// Queues where messages of this one may be; the queue itself only if messages may come back.
Names Model::reach(std::uint32_t from) const {
  if (reached_.size() != queues_.size()) reached_.assign(queues_.size(), std::nullopt);
  std::optional<Names>& known = reached_[from];
  if (known) return *known;
  known = 0;
  std::vector<std::uint32_t> next{from};
  while (!next.empty()) {
    const QueueRow& queue = queues_[next.back()];
    next.pop_back();
    Names exits = queue.exits;
    for (const QueueRow& home : queues_)
      if (queue.moves_home && (home.exits & queue.bit) != 0) exits |= home.bit;
    const Names fresh = exits & ~*known;
    *known |= fresh;
    for (std::uint32_t to = 0; fresh != 0 && to < queues_.size(); ++to)
      if ((queues_[to].bit & fresh) != 0) next.push_back(to);
  }
  return *known;
}

bool Model::may_be_spent(const QueueRow& queue, std::int64_t receives) {
  return std::ranges::any_of(queue.policies, [&](const Policy& policy) {
    return !policy.target.empty() && receives >= policy.max;
  });
}

// The end of its last lease moves it, to a queue that takes it sooner or later.
bool Model::surely_spent(const QueueRow& queue, const ModelMessage& message) const {
  if (!queue.at_lease_end || !message.view.leased || queue.sets > 0 || queue.policies.size() != 1)
    return false;
  const Policy& policy = queue.policies.front();
  const QueueRow* const target = surely_there(policy.target, queue);
  return target != nullptr && target->known_step < message.view.step && policy.max > 0 &&
         message.view.received.low >= policy.max && queue.policy_known < message.received &&
         !world_->numbers_run_out();
}

void Model::may_leave(ModelMessage& message) {
  const QueueRow& queue = row(message);
  const bool expires = queue.moves_expired && may_be_spent(queue, INT64_MAX);
  if ((!may_be_spent(queue, message.view.received.high) && !queue.may_move && !expires) ||
      message.gone == ModelMessage::Gone::yes)
    return;
  message.wanders = any_wandered_ = true;
  const Names reached = reach(message.queue);
  for (const QueueRow& at : queues_)
    if ((at.bit & reached) != 0 && (at.purges > 0 || at.deletes > 0))
      message.gone = ModelMessage::Gone::maybe;
}

void Model::may_leave(QueueRow& queue) {
  for (const std::uint32_t id : queue.messages)
    if (messages_[id].decided_step > 0) may_leave(messages_[id]);
}

// A purge or delete of the queue is under way: messages that moved into it may be gone with it.
void Model::may_vanish(const QueueRow& queue) {
  if (!any_wandered_) return;
  const auto at = static_cast<std::uint32_t>(&queue - queues_.data());
  for (std::uint32_t from = 0; from < queues_.size(); ++from) {
    if (queues_[from].messages.empty() || !leads_to(from, at)) continue;
    for (const std::uint32_t id : queues_[from].messages) {
      ModelMessage& message = messages_[id];
      if (message.wanders && message.gone == ModelMessage::Gone::no)
        message.gone = ModelMessage::Gone::maybe;
    }
  }
}

const QueueRow* Model::surely_there(const std::string& target, const QueueRow& source) const {
  if (target == source.full_name) return nullptr;  // it is the source until its deletion is known
  for (const QueueRow& queue : queues_) {
    if (queue.state != QueueRow::State::live || queue.deletes > 0 || queue.fifo != source.fifo)
      continue;
    if (queue.full_name == target) return &queue;
  }
  return nullptr;
}

// A receive was decided by now, and may have started moves of dead letters.
void Model::looked(const Call& call) {
  QueueRow& queue = row(call);
  queue.looked = std::max(queue.looked, world_->newest_now());
  std::erase(queue.receives, &call);
}

// Whether nothing can have started to move the message before this turn: no receive since it may be
// visible, and no task.
bool Model::surely_here(const ModelMessage& message, const QueueRow& queue,
                        std::uint64_t step) const {
  const bool alone = std::ranges::all_of(queue.receives, [&](const Call* receive) {
    return receive->exact && (receive->decided_step == 0 || receive->decided_step == step);
  });
  return alone && !queue.fifo && !queue.may_move && !queue.at_lease_end && !queue.moves_expired &&
         queue.starts == 0 && queue.looked < message.view.from_low && !message.cancelled &&
         message.sent == ModelMessage::Sent::acked && message.gone == ModelMessage::Gone::no &&
         message.moves == 0 && queue.state == QueueRow::State::live && queue.purges == 0 &&
         queue.deletes == 0 && !may_be_expired(message);
}

// Records the deletes that are in time, if their messages are moved at all.
void Model::decided_delete(Call& call, const Turn& turn) {
  for (std::size_t i = 0; i < call.messages.size(); ++i) {
    if (!is_message(call.messages[i])) continue;
    const ModelMessage& message = messages_[call.messages[i]];
    if (message.queue == call.queue && names_place(call.receipts[i], message) &&
        message.deletes == 1 && surely_here(message, row(call), turn.step))
      call.in_time.insert(call.messages[i]);
  }
}

bool Model::about_to_move(std::uint32_t id, std::uint32_t at) const {
  const ModelMessage& message = messages_[id];
  return message.queue == at && message.wanders && message.deletes == 0 &&
         message.view.from_high <= world_->now() && queues_[at].receives.empty() &&
         surely_here(message, queues_[at], 0);
}

bool Model::names_place(const ReceiptEntry& entry, const ModelMessage& message) const {
  const Result<Receipt> receipt = open(world_->receipt_key(), entry.handle);
  return receipt && receipt->queue == row(message).id && receipt->seq == message.seq;
}

// --- a message arrives from another queue ---

void Model::arrive(std::uint32_t id, std::uint32_t at, const Delivery& delivery, const Turn& turn) {
  ModelMessage& message = messages_[id];
  QueueRow& to = queues_[at];
  QueueRow& from = row(message);
  const auto known = to.by_seq.find(delivery.seq);
  const bool old = known != to.by_seq.end() && known->second == id;
  const Names reached = reach(message.queue);
  const bool possible = message.wanders && !message.cancelled && (reached & to.bit) != 0;
  if (old || !possible)
    return trace_->broken("a message is in one queue",
                          "message {} of queue {} seq {} comes from queue {} seq {}", id,
                          raw(from.id), message.seq, raw(to.id), delivery.seq);
  if (!delivery.content.origin.empty()) {
    if (!arrive_dead(message, delivery, to, reached)) return;
    message.features |= bit(message.reason == DeadLetterReason::none ? Feature::dead_letter
                                                                     : Feature::expired_letter);
  } else {
    message.features |= bit(Feature::move_task);
    if (delivery.sent < message.received || delivery.sent > turn.now)
      return trace_->broken("a moved message is new", "message {} sent at {}, now {}", id,
                            delivery.sent.ms, turn.now.ms);
    if (delivery.content.dedup_id != text_of(message.dedup))
      message.uuid = delivery.content.dedup_id;
    message.origin.clear();
    message.reason = DeadLetterReason::none;
    message.born_queue = to.id;
    message.born_seq = delivery.seq;
    message.sent_at = message.aged = delivery.sent;
    message.latest = world_->newest_now();
    message.view.received = {0, 0};
    message.view.first = Instant{};
    ++from.hops;
  }
  arrive_to_live(message, to);
  trace_->note("  message {} has moved from queue {} to {}/{}", id, raw(from.id), raw(to.id),
               delivery.seq);
  // Its source may still have a record of it, and so may the queues that it passed through.
  for (QueueRow& queue : queues_) {
    const bool on_its_way = &queue == &from || (queue.bit & reached) != 0;
    if (on_its_way && queue.fifo && &queue != &to) queue.letting_go.insert(message.group);
  }
  std::erase(from.messages, id);
  to.messages.push_back(id);
  message.queue = at;
  message.arrived_step = turn.step;
  message.wanders = message.passed = false;
  message.past.clear();
  message.view.step = 0;
  message.view.from_low = message.view.from_high = Instant{};
  message.view.nonce = 0;
  message.view.nonce_known = true;
  if (message.sent == ModelMessage::Sent::doubtful || message.sent == ModelMessage::Sent::unacked)
    message.acked_step = turn.step;
  message.sent = ModelMessage::Sent::acked;
  take_seq(id, delivery.seq);
}

// A dead letter names the queue that it comes from, and keeps its identity.
bool Model::arrive_dead(ModelMessage& message, const Delivery& delivery, const QueueRow& at,
                        Names reached) {
  const bool known = std::ranges::any_of(queues_, [&](const QueueRow& queue) {
    const bool on_its_way = &queue == &row(message) || (queue.bit & reached) != 0;
    return on_its_way && (queue.exits & at.bit) != 0 && queue.full_name == delivery.content.origin;
  });
  if (!known) {
    trace_->broken("a dead letter says where it comes from", "seq {} of queue {}: {}", delivery.seq,
                   raw(at.id), delivery.content.origin);
    return false;
  }
  if (delivery.content.reason != DeadLetterReason::none) note_unseen_hop(message, delivery);
  message.origin = delivery.content.origin;
  message.reason = delivery.content.reason;
  if (message.reason != DeadLetterReason::none &&
      !std::ranges::any_of(queues_, &QueueRow::moves_expired)) {
    trace_->broken("a dead letter says why it came", "seq {} of queue {}", delivery.seq,
                   raw(at.id));
    return false;
  }
  if (!at.fifo) {
    if (row(message).apart) message.latest = std::max(message.latest, delivery.first_received);
    return true;
  }
  const std::array<char, 36> uuid =
      uuid_text(message_id(world_->secret(), message.born_queue, message.born_seq));
  message.uuid.assign(uuid.data(), uuid.size());
  message.aged = std::max(message.aged, message.received);
  message.latest = world_->newest_now();
  return true;
}

// Checks the origin and identity of a delivered message, and that this delivery is not one too
// many.
bool Model::check_place(const Call& call, const ModelMessage& message, const Delivery& delivery,
                        bool again) {
  const MessageId id = message.origin.empty()
                           ? MessageId{}
                           : message_id(world_->secret(), message.born_queue, message.born_seq);
  const std::string_view dedup =
      message.uuid.empty() ? text_of(message.dedup) : std::string_view(message.uuid);
  if (delivery.id != id || delivery.content.origin != message.origin ||
      delivery.content.reason != message.reason || delivery.content.dedup_id != dedup) {
    trace_->broken("a dead letter stays what it was", "seq {}: from \"{}\", dedup id {}",
                   message.seq, delivery.content.origin, delivery.content.dedup_id);
    return false;
  }
  const QueueRow& queue = row(message);
  // Where message numbers run out, the target may have none left.
  if (queue.policies.size() == 1 && queue.sets == 0 && !again && !world_->numbers_run_out()) {
    const Policy& policy = queue.policies.front();
    if (!policy.target.empty() && delivery.receive_count > policy.max &&
        surely_there(policy.target, queue) != nullptr) {
      trace_->broken("a dead letter is not delivered", "seq {} of queue {}: {} times of {}",
                     message.seq, raw(queue.id), delivery.receive_count, policy.max);
      return false;
    }
  }
  // A dead letter that its target refused is hidden for a second, from tasks too, even if the
  // policy changes meanwhile.
  constexpr Duration refused_pause = seconds(1);
  // The receive must come after the completion was seen: others may have been faster.
  const bool was_ready = !queue.fifo && queue.policy_known + refused_pause <= queue.emptied_fired &&
                         message.view.step < queue.emptied_step && message.acked_step > 0 &&
                         message.acked_step < queue.emptied_step &&
                         message.arrived_step < queue.emptied_step && message.moves == 0 &&
                         message.view.from_high <= queue.emptied_fired &&
                         call.asked_step > queue.emptied_seen;
  const bool dead = std::ranges::any_of(queue.policies, [&](const Policy& policy) {
    return !policy.target.empty() && message.view.received.high >= policy.max;
  });
  if (was_ready && !dead) {
    trace_->broken("a task is completed when nothing is left", "seq {} of queue {}", message.seq,
                   raw(queue.id));
    return false;
  }
  return true;
}

// --- move tasks ---

void Model::asked_start(Call& call, QueueRow& queue) {
  call.was_busy = queue.may_move || queue.starts > 0;
  ++queue.starts;
  call.starts_before = ++queue.starts_asked;
  queue.start_step = world_->step();
  queue.may_move = true;
  const Names before = queue.exits;
  bool more = false;
  if (call.destination.empty()) {
    more = !std::exchange(queue.moves_home, true);
  } else {
    queue.exits |= bit_of(call.destination);
    more = queue.exits != before;
  }
  if (more) reached_.clear();
  lead_on(queue);
}

void Model::answered_start(const Call& call) {
  QueueRow& queue = row(call);
  --queue.starts;
  if (call.request.error == Errc::task_running && !call.was_busy &&
      queue.starts_asked == call.starts_before)
    return trace_->broken("an error has a reason", "no task runs on queue {}", raw(queue.id));
  if (!queue_answers(call)) return;
  durable(call.target, call.exact ? call.decided_step : call.asked_step);
  MoveTask task;
  task.source = queue.id;
  task.number = call.request.move.number;
  task.rate = call.request.move.rate;
  task.destination = call.destination;
  trace_->note("  task {} of queue {}", task.number, raw(queue.id));
  const auto known = std::ranges::find(queue.tasks, task.number,
                                       [](const TaskRow& row) { return row.seen.number; });
  if (known == queue.tasks.end()) {
    queue.tasks.push_back(
        {task, task, call.asked_step, call.asked_step, call.fired_when_asked, true});
  } else if (std::exchange(known->answered, true)) {
    return trace_->broken("tasks are numbered", "{} of queue {}", task.number, raw(queue.id));
  } else if (known->sure.number == 0) {
    known->sure = task;  // a list was answered first
  }
  std::ranges::sort(queue.tasks, {}, [](const TaskRow& row) { return row.seen.number; });
}

void Model::answered_cancel(const Call& call) {
  QueueRow& queue = row(call);
  const auto known = std::ranges::find(queue.tasks, call.request.move.number,
                                       [](const TaskRow& row) { return row.seen.number; });
  if (!queue_answers(call)) {
    const bool there = known != queue.tasks.end() && queue.tasks.end() - known <= 5;
    const bool starting = queue.starts > 0 || call.was_busy || queue.start_step >= call.asked_step;
    if (call.request.error == Errc::no_such_task && there && !starting)
      trace_->broken("a task that was started is there", "{} of queue {}", call.request.move.number,
                     raw(queue.id));
    return;
  }
  durable(call.target, call.exact ? call.decided_step : call.asked_step);
  if (known == queue.tasks.end()) return;
  known->seen.status = known->sure.status = MoveTask::Status::cancelled;
  queue.moves_listed_step = world_->step();  // a list requested earlier may show it as running
}

void Model::answered_list(const Call& call, const Turn& turn) {
  if (!queue_answers(call)) return;
  QueueRow& queue = row(call);
  const std::vector<MoveTask>& tasks = call.request.move.tasks;
  bool fine = tasks.size() <= tasks_kept;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    fine &= tasks[i].source == queue.id;
    fine &= i == 0 ||
            (tasks[i].number < tasks[i - 1].number && tasks[i].status != MoveTask::Status::running);
  }
  if (!fine) return trace_->broken("one task runs", "queue {}", raw(queue.id));
  if (queue.moves_listed_step > call.asked_step) return;  // another list was faster
  const bool starting = queue.starts > 0 || call.was_busy || queue.start_step >= call.asked_step;
  const bool missing = !queue.tasks.empty() && !starting &&
                       (tasks.empty() || tasks.front().number < queue.tasks.back().sure.number);
  if (missing)
    return trace_->broken("a task that was started is there", "of queue {}", raw(queue.id));
  for (const MoveTask& task : tasks) see_task(call, queue, task, turn);
  const bool running = !tasks.empty() && tasks.front().status == MoveTask::Status::running;
  if (!running && !starting) {
    if (queue.may_move) queue.looked = world_->newest_now();
    queue.may_move = false;
  }
  queue.moves_listed_step = turn.step;
}

void Model::see_task(const Call& call, QueueRow& queue, const MoveTask& task, const Turn& turn) {
  using Status = MoveTask::Status;
  auto known = std::ranges::find(queue.tasks, task.number,
                                 [](const TaskRow& row) { return row.seen.number; });
  if (known == queue.tasks.end()) {  // its start has no response yet, or never will
    queue.tasks.push_back({{}, task, turn.step, call.asked_step, call.fired_when_asked});
    std::ranges::sort(queue.tasks, {}, [](const TaskRow& row) { return row.seen.number; });
    return;
  }
  trace_->note("  task {} of queue {}: status {}, moved {}", task.number, raw(queue.id),
               static_cast<int>(task.status), task.moved);
  const MoveTask& before = known->seen;
  const bool same = task.rate == before.rate && task.destination == before.destination;
  const bool back = before.status != Status::running && task.status != before.status;
  if (!same || back || task.moved < before.moved)
    return trace_->broken("a task goes on", "{} of queue {}: moved {}, status {}", task.number,
                          raw(queue.id), task.moved, static_cast<int>(task.status));
  if (task.rate > 0) {
    // A tenth of a second may be caught up, after each startup too.
    const std::int64_t burst = (task.rate / 10 + 2) * static_cast<std::int64_t>(starts_ + 1);
    const std::int64_t ms = std::max<std::int64_t>(0, (world_->newest_now() - task.started).ms);
    if (static_cast<std::int64_t>(task.moved) > task.rate * ms / 1000 + burst)
      return trace_->broken("a rate is kept", "{} moved in {} ms, {} a second", task.moved, ms,
                            task.rate);
  }
  if (task.status == Status::failed && before.status == Status::running) check_failure(queue, task);
  if (task.status == Status::completed && before.status == Status::running) {
    queue.emptied_step = known->low_step + 1;
    queue.emptied_fired = known->low_fired;
    queue.emptied_seen = turn.step;
  }
  if (known->step <= shards_[raw(queue.owner)].durable_step) known->sure = known->seen;
  known->seen = task;
  known->step = turn.step;
  known->low_step = call.asked_step;
  known->low_fired = call.fired_when_asked;
}

void Model::check_failure(const QueueRow& queue, const MoveTask& task) {
  if (task.failure == Errc::message_numbers_used_up) {
    if (!world_->numbers_run_out())
      trace_->broken("a task fails for a reason", "{} of queue {}: there are numbers left",
                     task.number, raw(queue.id));
    return;
  }
  const bool unknown = task.failure == Errc::source_unknown;
  if (unknown != (unknown && task.destination.empty()))
    return trace_->broken("a task fails for a reason", "{} of queue {}", task.number,
                          raw(queue.id));
  if (unknown || task.destination.empty()) return;
  const QueueRow* const target = surely_there(task.destination, queue);
  const std::size_t of_name = static_cast<std::size_t>(std::ranges::count_if(
      queues_, [&](const QueueRow& q) { return q.full_name == task.destination; }));
  if (target != nullptr && of_name == 1 && raw(target->id) < raw(queue.id))
    trace_->broken("a task fails for a reason", "{} of queue {}: {} is there", task.number,
                   raw(queue.id), task.destination);
}

void Model::tasks_crashed(QueueRow& queue, std::uint64_t durable_step) {
  queue.moves_listed_step = 0;
  queue.emptied_step = 0;
  queue.start_lost |= queue.starts > 0;
  queue.starts = 0;
  queue.start_step = world_->step();
  for (TaskRow& row : queue.tasks) {
    if (row.step <= durable_step) continue;
    row.seen = row.sure;
    // The model does not know how far the task had come, or (number 0) whether it was started.
    if (row.seen.status == MoveTask::Status::running) queue.may_move = true;
  }
  std::erase_if(queue.tasks, [](const TaskRow& row) { return row.seen.number == 0; });
  if (queue.may_move) may_leave(queue);
}

void Model::check_tasks_ended() {
  for (const QueueRow& queue : queues_) {
    if (queue.state != QueueRow::State::live) continue;
    std::uint64_t moved = 0;
    for (std::size_t i = 0; i < queue.tasks.size(); ++i) {
      const TaskRow& row = queue.tasks[i];
      // Older tasks are in no list any more.
      const bool listed = queue.tasks.size() - i <= tasks_kept;
      if (row.seen.status == MoveTask::Status::running && listed)
        trace_->broken("a task ends", "{} of queue {}", row.seen.number, raw(queue.id));
      moved += row.seen.moved;
    }
    if (!queue.name.starts_with("own-source") || queue.tasks.size() > tasks_kept) continue;
    // Messages moved by a task whose start was lost in a crash are in no count.
    if (moved > queue.hops + queue.unseen_hops || (moved < queue.hops && !queue.start_lost))
      trace_->broken("a task counts what it moves", "queue {}: {}, and {} came", raw(queue.id),
                     moved, queue.hops);
  }
}

}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
// Model of replay tasks: which messages may come again, which must, and how often.
//
// The start of a task is a row of its source. A received copy must be explained by one of the rows.
// At the end the copies of each message are counted against the rows that may have sent it and the
// rows that must have.
#include <algorithm>
#include <charconv>
#include <ranges>
#include <utility>

#include "tests/sim/model.h"

namespace pawl::sim {
namespace {

// Returns the number after the prefix, and removes both from `text`.
std::uint64_t take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return 0;
  text.remove_prefix(prefix.size());
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return error == std::errc() ? number : 0;
}

}  // namespace

// --- copies ---

std::uint32_t Model::copy_of(const Call& call, std::uint32_t original, const Delivery& delivery) {
  const auto next = static_cast<std::uint32_t>(copies_.size());
  const auto [at, fresh] = queues_[call.queue].replays.copies.try_emplace(delivery.seq, next);
  if (fresh) {
    Copy& copy = copies_.emplace_back();
    copy.queue = call.queue;
    copy.original = original;
    copy.seq = delivery.seq;
  } else if (copies_[at->second].original != original) {
    trace_->broken("a message is one message", "seq {}, a copy of {} and {}", delivery.seq,
                   copies_[at->second].original, original);
  }
  return copy_mark | at->second;
}

void Model::delivered_copy(Call& call, std::size_t index, const Turn& turn) {
  const Delivery& delivery = call.deliveries[index];
  Copy& copy = copies_[call.messages[index] ^ copy_mark];
  QueueRow& queue = row(call);
  if (call.attempt != 0) call.again = true;  // the same attempt may have received it before
  if (copy.gone)
    return trace_->broken("what is gone does not come back", "seq {}, a copy of {}", copy.seq,
                          copy.original);
  if (const auto known = queue.by_seq.find(copy.seq); known != queue.by_seq.end()) {
    ModelMessage& other = messages_[known->second];
    if (other.sent != ModelMessage::Sent::doubtful || other.promised != Durability::fsync)
      return trace_->broken("numbers are not used again", "queue {} seq {} was message {}",
                            raw(queue.id), copy.seq, known->second);
    lose(other, "lost in a crash, its number is a copy's");
  }
  if (copy.seen_step == 0) {
    if (!may_be_copied_into(copy.original, call.queue))
      return trace_->broken("a replay sends what was sent to its source",
                            "message {} into queue {}, seq {}", copy.original, raw(queue.id),
                            copy.seq);
    if (queue.fifo) check_copied_order(queue, copy, delivery.content.dedup_id);
  }
  copy.seen_step = turn.step;
  const Duration asked = call.request.receive.visibility;
  copy.until =
      std::max(copy.until, turn.now + (asked.ms < 0 ? Duration{queue.visibility.high} : asked) +
                               milliseconds(1));
  trace_->note("  copy {} of message {} delivered to client {}", copy.seq, copy.original,
               call.client);
}

// A copy has a deduplication id that states its position in the log.
void Model::check_copied_order(QueueRow& queue, const Copy& copy, std::string_view dedup) {
  const auto source = static_cast<std::uint32_t>(take_number(dedup, "replay-"));
  const auto number = static_cast<std::uint32_t>(take_number(dedup, "-"));
  const std::uint64_t place = take_number(dedup, "-");
  const auto known = by_id_.find(source);
  const bool asked =
      known != by_id_.end() &&
      std::ranges::any_of(queues_[known->second].replays.rows, [&](const ReplayRow& row) {
        return (row.number == number || row.number == 0) && row.destination == queue.full_name;
      });
  if (!asked)
    return trace_->broken("a replay sends what was sent to its source",
                          "seq {} is of task {} of queue {}", copy.seq, number, source);
  auto& places = queue.replays.places[{source, number}];
  const auto [at, fresh] = places.try_emplace(place, copy.seq);
  at->second = std::max(at->second, copy.seq);
  const bool behind = at == places.begin() || std::prev(at)->second < at->second;
  const bool before = std::next(at) == places.end() || at->second < std::next(at)->second;
  if (!behind || !before)
    trace_->broken("a replay keeps the order", "seq {} of queue {} is from {} in the log", copy.seq,
                   raw(queue.id), place);
}

// Marks copies that were received before a purge as gone.
void Model::forget_copies(QueueRow& queue, std::uint64_t step) {
  for (const auto& [seq, index] : queue.replays.copies) {
    Copy& copy = copies_[index];
    copy.gone |= copy.seen_step != 0 && copy.seen_step <= step;
  }
}

// --- what a task may send ---

bool Model::sends_again(const ReplayRow& replay, const QueueRow& source, std::uint32_t original) {
  const auto sent = source.replays.sent.find(original);
  return sent != source.replays.sent.end() && sent->second >= replay.from &&
         sent->second < replay.to && (!replay.odd || original % 2 == 1);
}

// Whether a dead-letter move or a move task may have brought the message to the queue.
bool Model::may_wander_to(std::uint32_t original, std::uint32_t at) const {
  if (!any_wandered_) return false;
  for (std::uint32_t from = 0; from < queues_.size(); ++from)
    if (queues_[from].replays.sent.contains(original) && leads_to(from, at)) return true;
  return false;
}

// Whether a chain of replay tasks may have copied the message into the queue.
bool Model::may_be_copied_into(std::uint32_t original, std::uint32_t target) const {
  std::vector<std::uint32_t> reached{target};  // queues that the rest of a chain leads from
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const std::uint32_t at = reached[i];
    for (std::uint32_t from = 0; from < queues_.size(); ++from) {
      const QueueRow& source = queues_[from];
      for (const ReplayRow& replay : source.replays.rows) {
        if (replay.destination != queues_[at].full_name || (replay.odd && original % 2 == 0))
          continue;
        if (sends_again(replay, source, original) || may_wander_to(original, from)) return true;
        const bool further = replay.copies && from != at && may_have_copies(source);
        if (further && std::ranges::find(reached, from) == reached.end()) reached.push_back(from);
      }
    }
  }
  return false;
}

// --- data kept for replay ---

// Until the change has a response, the shorter of the two times may hold.
void Model::asked_retention(QueueRow& queue, std::int64_t kept_s) {
  ReplaysOfQueue& replays = queue.replays;
  const std::int64_t least = std::min(kept_s, replays.retention.low);
  if (least == 0 || queue.sets > 1) {
    replays.kept_since = never;
  } else {
    replays.kept_since = std::max(replays.kept_since, world_->newest_now() - seconds(least));
  }
  replays.retention.widen(kept_s);
}

void Model::settle_retention(QueueRow& queue, std::int64_t kept_s) {
  ReplaysOfQueue& replays = queue.replays;
  const Instant now = world_->newest_now();
  if (kept_s == 0 || full_disks_.contains(raw(queue.owner))) {
    replays.kept_since = never;
  } else if (replays.kept_since == never) {
    // Messages were also sent earlier in this millisecond.
    replays.kept_since = now + milliseconds(1);
  } else if (replays.retention.low != kept_s) {
    replays.kept_since = std::max(replays.kept_since, now - seconds(replays.retention.low));
  }
  replays.retention = {kept_s, kept_s};
}

void Model::disk_is_full(std::uint32_t shard) {
  full_disks_.insert(shard);
  once_full_.insert(shard);
  for (QueueRow& queue : queues_)
    if (raw(queue.owner) == shard) queue.replays.kept_since = never;
}

void Model::disks_healed() {
  for (QueueRow& queue : queues_)
    if (full_disks_.contains(raw(queue.owner)) && queue.replays.retention.low > 0)
      queue.replays.kept_since = world_->newest_now() + milliseconds(1);
  full_disks_.clear();
}

void Model::bit_flipped() {
  for (QueueRow& queue : queues_)
    for (ReplayRow& replay : queue.replays.rows) replay.damaged |= replay.may_run();
}

// --- requests ---

void Model::asked_replay(Call& call, QueueRow& queue) {
  ReplaysOfQueue& replays = queue.replays;
  call.was_busy = replays.starts > 0 || std::ranges::any_of(replays.rows, &ReplayRow::may_run);
  ++replays.starts;
  copied_into_.insert(call.destination);
  ReplayRow& row = replays.rows.emplace_back();
  row.call = &call;
  row.destination = call.destination;
  row.rate = call.replay.rate;
  row.copies = call.replay.copies;
  row.odd = !call.filter.empty();
  row.asked_from = call.replay.from;
  if (call.replay.to.ms != 0) row.asked_to = call.replay.to;
  row.find_interval();
  row.asked_step = call.asked_step;
}

void Model::answered_replay(const Call& call) {
  QueueRow& queue = row(call);
  ReplaysOfQueue& replays = queue.replays;
  --replays.starts;
  const auto mine = std::ranges::find(replays.rows, &call, &ReplayRow::call);
  const bool known = queue.sets == 0 && queue.set_step <= call.asked_step;
  const Errc error = call.request.error;
  const bool taken = queue_answers(call);
  if (error == Errc::not_kept && known && replays.retention.low > 0)
    return trace_->broken("an error has a reason", "queue {} keeps {} s", raw(queue.id),
                          replays.retention.low);
  const bool others = std::ranges::any_of(replays.rows, [&](const ReplayRow& other) {
    return &other != &*mine && (other.may_run() || other.asked_step >= call.asked_step);
  });
  if (error == Errc::task_running && !call.was_busy && !others)
    return trace_->broken("an error has a reason", "no replay of queue {} runs", raw(queue.id));
  if (!taken) {
    replays.rows.erase(mine);
    return;
  }
  durable(call.target, call.exact ? call.decided_step : call.asked_step);
  const std::uint32_t number = call.replay.number;
  const bool twice = std::ranges::any_of(replays.rows, [&](const ReplayRow& other) {
    return &other != &*mine && other.number == number && other.answered;
  });
  if (number == 0 || twice)
    return trace_->broken("tasks are numbered", "{} of queue {}, a replay", number, raw(queue.id));
  if (known && replays.retention.high == 0)
    return trace_->broken("an error has a reason", "queue {} keeps nothing", raw(queue.id));
  // The model had to guess the row of a task when a list came before this response. If the guess
  // was wrong, each row gets its own task, with the interval from the list. If no list has shown
  // this task, the row has the interval of the request.
  if (mine->number != number) {
    std::optional<ReplayTask> seen;
    std::uint64_t seen_step = 0;
    for (ReplayRow& other : replays.rows) {
      if (other.number != number) continue;
      seen = std::exchange(other.seen, mine->seen);
      seen_step = std::exchange(other.seen_step, mine->seen_step);
      other.number = mine->number;
      other.find_interval();
    }
    mine->number = number;
    mine->seen = seen;
    mine->seen_step = seen_step;
    mine->find_interval();
  }
  mine->call = nullptr;
  if (known) mine->from = std::max(mine->from, call.asked_at - seconds(replays.retention.high));
  mine->answered = true;
  mine->to = std::min(mine->to, world_->newest_now() + milliseconds(1));
  mine->damaged |= world_->has_flip();
  if (known && replays.kept_since != never)
    mine->kept_from =
        std::max(replays.kept_since, world_->newest_now() - seconds(replays.retention.low));
  trace_->note("  replay {} of queue {}", number, raw(queue.id));
}

void Model::answered_cancel_replay(const Call& call) {
  QueueRow& queue = row(call);
  const auto known = std::ranges::find(queue.replays.rows, call.replay.number, &ReplayRow::number);
  const bool there =
      known != queue.replays.rows.end() && known->answered && known->asked_step < call.asked_step;
  if (!queue_answers(call)) {
    if (call.request.error == Errc::no_such_task && there && call.replay.number != 0)
      trace_->broken("a task that was started is there", "replay {} of queue {}",
                     call.replay.number, raw(queue.id));
    return;
  }
  durable(call.target, call.exact ? call.decided_step : call.asked_step);
  if (known == queue.replays.rows.end() || !known->seen) return;
  const ReplayTask& before = *known->seen;
  const bool ended =
      before.status == ReplayTask::Status::completed || before.status == ReplayTask::Status::failed;
  if (ended || call.replay.sent < before.sent)
    return trace_->broken("a task goes on", "replay {} of queue {} is cancelled with {}, not {}",
                          known->number, raw(queue.id), call.replay.sent, before.sent);
  known->seen->status = ReplayTask::Status::cancelled;
  known->seen->sent = call.replay.sent;
  queue.replays.listed_step = world_->step();
}

void Model::answered_list_replays(const Call& call, const Turn& turn) {
  QueueRow& queue = row(call);
  if (!queue_answers(call)) return;
  ReplaysOfQueue& replays = queue.replays;
  const std::vector<ReplayTask>& tasks = call.replay.tasks;
  bool fine = tasks.size() <= replays_kept;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    fine &= tasks[i].source == queue.id;
    fine &= i == 0 || (tasks[i].number < tasks[i - 1].number &&
                       tasks[i].status != ReplayTask::Status::running);
  }
  if (!fine) return trace_->broken("one task runs", "replays of queue {}", raw(queue.id));
  if (replays.listed_step > call.asked_step) return;  // another list was faster
  replays.listed_step = turn.step;
  // Oldest first: numbers follow the order of the requests, and see_replay() takes the first row
  // that fits.
  for (const ReplayTask& task : tasks | std::views::reverse) see_replay(call, queue, task, turn);
  const bool starting = call.was_busy || replays.starts > 0;
  for (ReplayRow& row : replays.rows) {
    const bool listed = std::ranges::find(tasks, row.number, &ReplayTask::number) != tasks.end();
    if (row.answered && row.asked_step < call.asked_step && !listed && !starting)
      trace_->broken("a task that was started is there", "replay {} of queue {}", row.number,
                     raw(queue.id));
    if (row.number == 0 && row.call == nullptr && !starting) row.lost = true;
  }
}

void Model::see_replay(const Call& call, QueueRow& queue, const ReplayTask& task,
                       const Turn& turn) {
  using Status = ReplayTask::Status;
  std::vector<ReplayRow>& rows = queue.replays.rows;
  const auto same = [&](const ReplayRow& row) {
    return row.rate == task.rate && row.destination == task.destination &&
           row.copies == task.copies && row.odd == !task.filter.empty() && row.from <= task.from &&
           task.to <= row.to;
  };
  auto known = std::ranges::find(rows, task.number, &ReplayRow::number);
  if (known == rows.end()) {
    known = std::ranges::find_if(
        rows, [&](const ReplayRow& row) { return row.number == 0 && !row.lost && same(row); });
    if (known == rows.end()) {
      if (!call.was_busy && queue.replays.starts == 0)
        trace_->broken("a replay was asked for", "{} of queue {}", task.number, raw(queue.id));
      return;
    }
    known->number = task.number;
  }
  trace_->note("  replay {} of queue {}: status {}, sent {}, unreadable {}", task.number,
               raw(queue.id), static_cast<int>(task.status), task.sent, task.unreadable);
  if (!same(*known))
    return trace_->broken("a task goes on", "replay {} of queue {} is another", task.number,
                          raw(queue.id));
  if (known->seen) {
    const ReplayTask& before = *known->seen;
    const bool back = before.status != Status::running && task.status != before.status;
    if (back || task.sent < before.sent || task.unreadable < before.unreadable)
      return trace_->broken("a task goes on", "replay {} of queue {}: sent {}, status {}",
                            task.number, raw(queue.id), task.sent, static_cast<int>(task.status));
  }
  if (task.rate > 0) {
    const std::int64_t burst = (task.rate / 10 + 2) * static_cast<std::int64_t>(starts_ + 1);
    const std::int64_t ms = std::max<std::int64_t>(0, (world_->newest_now() - task.started).ms);
    if (static_cast<std::int64_t>(task.sent) > task.rate * ms / 1000 + burst)
      return trace_->broken("a rate is kept", "{} sent again in {} ms, {} a second", task.sent, ms,
                            task.rate);
  }
  known->from = task.from;
  known->to = task.to;
  known->seen = task;
  known->seen_step = turn.step;
  if (task.status == Status::failed) check_replay_failure(queue, *known);
}

void Model::check_replay_failure(const QueueRow& queue, const ReplayRow& replay) {
  if (replay.seen->failure == Errc::message_numbers_used_up && world_->numbers_run_out()) return;
  const QueueRow* const target = surely_there(replay.destination, queue);
  const auto of_name = std::ranges::count(queues_, replay.destination, &QueueRow::full_name);
  const bool there = target != nullptr && of_name == 1 && target->known_step < replay.asked_step;
  if (replay.seen->failure != Errc::no_such_queue || there)
    trace_->broken("a task fails for a reason", "replay {} of queue {}: {}", replay.number,
                   raw(queue.id), name_of(replay.seen->failure));
}

void Model::replays_crashed(QueueRow& queue, std::uint64_t durable_step, bool in_order) {
  queue.replays.starts = 0;
  for (ReplayRow& row : queue.replays.rows) {
    row.call = nullptr;
    if (row.seen && row.seen_step > durable_step) {
      row.seen.reset();
      // The guess may have been wrong, see answered_replay(), and no response will correct it now.
      if (!row.answered) {
        row.number = 0;
        row.find_interval();
      }
    }
    if (!in_order && !row.ended()) ++row.crashes;
  }
}

// --- the end ---

bool Model::any_replay() const {
  return std::ranges::any_of(queues_, [](const QueueRow& queue) {
    return queue.state != QueueRow::State::deleted &&
           std::ranges::any_of(queue.replays.rows, &ReplayRow::may_run);
  });
}

// Judges the copies after everything was drained: all were seen, except copies that may have gone
// unseen.
void Model::check_replays() {
  for (const QueueRow& queue : queues_) {
    if (queue.state != QueueRow::State::live) continue;
    for (const ReplayRow& replay : queue.replays.rows)
      if (replay.may_run())
        trace_->broken("a task ends", "replay {} of queue {}", replay.number, raw(queue.id));
  }
  for (std::uint32_t at = 0; at < queues_.size() && trace_->ok(); ++at)
    if (may_have_copies(queues_[at])) check_copies(at);
}

// Whether every copy that ever came to the queue was received from it.
bool Model::keeps_copies(const QueueRow& queue) const {
  constexpr std::int64_t long_ms = 345'600'000;
  return queue.state == QueueRow::State::live && !queue.replays.relaxed && !queue.replays.lossy &&
         queue.retention_min >= long_ms && queue.life.ms == 0 &&
         std::ranges::count(queues_, queue.full_name, &QueueRow::full_name) == 1;
}

void Model::check_copies(std::uint32_t at) {
  const QueueRow& queue = queues_[at];
  std::unordered_map<std::uint32_t, std::uint64_t> came, must;
  for (const auto& [seq, index] : queue.replays.copies) ++came[copies_[index].original];
  const bool all_seen = keeps_copies(queue);
  std::uint64_t slack = 0, sent = 0, uncounted = 0;
  bool counted = true;  // no copy came that the tasks do not report
  bool once = true;     // a task sends a message once
  std::vector<std::pair<std::uint32_t, const ReplayRow*>> tasks;
  for (std::uint32_t from = 0; from < queues_.size(); ++from) {
    const QueueRow& source = queues_[from];
    for (const ReplayRow& replay : source.replays.rows) {
      if (replay.destination != queue.full_name) continue;
      tasks.emplace_back(from, &replay);
      slack += replay.crashes * replay_batch_max;
      once &= !replay.copies;
      counted &= replay.ended() && source.state == QueueRow::State::live;
      sent += replay.seen ? replay.seen->sent : 0;
      // A batch that is under way at the cancel arrives, and is not counted.
      if (replay.seen && replay.seen->status == ReplayTask::Status::cancelled)
        uncounted += replay_batch_max;
      const bool whole = replay.ended() && replay.answered &&
                         replay.seen->status == ReplayTask::Status::completed &&
                         replay.seen->unreadable == 0 && !replay.damaged;
      if (!all_seen || !whole || replay.kept_from == never) continue;
      for (const auto& [id, when] : source.replays.sent) {
        if (when >= replay.kept_from && when < replay.seen->started &&
            messages_[id].sent == ModelMessage::Sent::acked &&
            messages_[id].decided_step < replay.asked_step && sends_again(replay, source, id))
          ++must[id];
      }
    }
  }
  for (const auto& [id, times] : must) {
    const auto found = came.find(id);
    const std::uint64_t seen = found == came.end() ? 0 : found->second;
    if (seen < times)
      return trace_->broken("a replay leaves nothing out",
                            "message {} came {} times of {} into queue {}", id, seen, times,
                            raw(queue.id));
    replays_proved_ += times;
  }
  std::uint64_t doubled = 0;
  for (const auto& [id, times] : came) {
    std::uint64_t may = 0;
    bool wanders = false;
    for (const auto& [from, replay] : tasks) {
      may += sends_again(*replay, queues_[from], id) ? 1 : 0;
      wanders |= may_wander_to(id, from);
    }
    if (once && !wanders) doubled += times - std::min(times, may);
  }
  if (doubled > slack)
    return trace_->broken("a replay sends a message once", "{} came again into queue {}, not {}",
                          doubled, raw(queue.id), slack);
  const std::uint64_t all = queue.replays.copies.size();
  if ((all_seen && all < sent) || (counted && all > sent + uncounted + slack))
    trace_->broken("a task counts what it sends", "{} came into queue {}, {} were sent", all,
                   raw(queue.id), sent);
}

}  // namespace pawl::sim

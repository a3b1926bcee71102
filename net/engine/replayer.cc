// SPDX-License-Identifier: Apache-2.0
#include "net/engine/replayer.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
Request* Replayer::turn(Instant now, Effects& effects) {
  if (under_way_) {
    if (!answered_) return nullptr;
    under_way_ = answered_ = false;
    finish_batch(now, effects);
    return nullptr;  // its progress is appended to the log at the end of this turn
  }
  const ReplayTask* const task = stopping_ ? nullptr : shard_.replays().under_way();
  if (!is_current(task)) {
    if (source_ != QueueId::none) leave();
    if (task != nullptr) begin(*task, now);
    return nullptr;  // its start may be appended to the log at the end of this turn
  }
  if (task == nullptr || !noted() || now < not_before_) return nullptr;
  not_before_ = {};
  if (unreadable_) {
    shard_.replays().end(source_, ReplayTask::Status::failed, Errc::invalid, effects);
    return nullptr;
  }
  if (entries_.empty()) gather(*task, now);
  if (entries_.empty()) {
    const Lsn at = log_.send_reader().at();
    const bool at_end = log_.send_reader().at_end();
    if (at_end || at - task->position >= note_bytes) note(*task, at, 0, effects);
    if (at_end) shard_.replays().end(source_, ReplayTask::Status::completed, Errc::ok, effects);
    return nullptr;
  }
  // After a crash a skipped part of the log may be readable. A FIFO queue must not get its messages
  // behind the ones that follow them, so the task does not return to that part.
  if (fifo_ && passed_over_ != log_.send_reader().passed_over()) {
    note(*task, first_at_, 0, effects);
    unnoted_ = true;
    return nullptr;
  }
  const auto [account, name] = QueueName::from_text(task->destination);
  const ConfigPtr* const found = shard_.directory().find(account, name);
  if (found == nullptr || (*found)->is_fifo() != fifo_) {
    shard_.replays().end(source_, ReplayTask::Status::failed, Errc::no_such_queue, effects);
    return nullptr;
  }
  CHECK(entries_.size() <= replay_batch_max, "{} messages", entries_.size());
  request_ = Request{.op = Op::send, .queue = (*found)->id, .sends = entries_};
  target_ = (*found)->owner;
  under_way_ = true;
  return &request_;
}

bool Replayer::is_current(const ReplayTask* task) const {
  return task == nullptr ? source_ == QueueId::none
                         : task->source == source_ && task->number == number_;
}

void Replayer::begin(const ReplayTask& task, Instant now) {
  source_ = task.source;
  number_ = task.number;
  const ConfigPtr* const source = shard_.directory().find(task.source);
  CHECK(source != nullptr && entries_.empty(), "queue {} has gone", raw(task.source));
  fifo_ = (*source)->is_fifo();
  filter_ = task.filter.empty() || make_filter_ == nullptr ? nullptr : make_filter_(task.filter);
  unreadable_ = !task.filter.empty() && filter_ == nullptr;
  pace_.from(now);
  passed_over_ = 0;
  not_before_ = {};
  // A crash must not lose a task that has sent messages: the next task would get its number, and a
  // FIFO queue would treat that task's messages as duplicates.
  unnoted_ = true;
  pieces_ = std::vector<Piece>(replay_batch_max);
  log_.send_reader().begin(task.position, task.end, task.source);
}

void Replayer::leave() {
  CHECK(!under_way_, "a batch of queue {} is under way", raw(source_));
  source_ = QueueId::none;
  filter_.reset();
  entries_.clear();
  used_ = bytes_ = 0;
  unnoted_ = false;
  pieces_ = {};
  log_.send_reader().stop();
}

// True: the progress of the last batch is committed.
bool Replayer::noted() {
  if (std::exchange(unnoted_, false)) {
    noted_at_ = log_.appended();
    log_.urge();
  }
  return log_.committed() >= noted_at_;
}

// --- a batch ---

void Replayer::gather(const ReplayTask& task, Instant now) {
  const std::size_t max = pace_.allowed(now, task.rate, fifo_ ? 1 : replay_batch_max);
  if (max == 0) {
    not_before_ = pace_.next();
    return;
  }
  CHECK(entries_.empty(), "{} messages have not been sent", entries_.size());
  if (std::exchange(large_, false)) pieces_ = std::vector<Piece>(replay_batch_max);
  used_ = bytes_ = 0;
  FoundSend found;
  for (std::size_t looks = 0; used_ < max && bytes_ < batch_bytes_max && looks < looks_a_turn &&
                              log_.send_reader().next(found);
       ++looks) {
    if (wants(task, found.stored)) take(task, found);
  }
  pace_.took(used_, now, task.rate);
}

// A message from another queue counts from its arrival.
bool Replayer::wants(const ReplayTask& task, const StoredMessage& message) const {
  if (message.queue != source_ || message.relocated) return false;
  if (message.content.replayed && !task.copies && !MUTANT(replay_copies)) return false;
  const Instant since = message.carried.from.seq != 0 ? message.carried.arrived : message.sent;
  return since >= task.from && since < task.to &&
         (filter_ == nullptr || filter_->wants(message.content));
}

void Replayer::take(const ReplayTask& task, const FoundSend& found) {
  CHECK(used_ < pieces_.size(), "{} messages", used_);
  if (used_ == 0) first_at_ = found.position;
  Piece& piece = pieces_[used_++];
  piece.keep(found.stored.content);
  bytes_ += piece.bytes.size();
  large_ |= piece.bytes.capacity() > piece_bytes_kept;
  piece.content.origin = {};
  piece.content.reason = DeadLetterReason::none;
  piece.content.replayed = true;
  if (fifo_) {
    piece.dedup_id = fmt::format("replay-{}-{}-{}", raw(task.source), task.number, found.position);
    piece.content.dedup_id = piece.dedup_id;
  }
  entries_.push_back({.content = piece.content});
}

void Replayer::finish_batch(Instant now, Effects& effects) {
  const ReplayTask* const task = shard_.replays().under_way();
  if (!is_current(task)) return entries_.clear();
  if (request_.error == Errc::no_such_queue) {
    shard_.replays().end(source_, ReplayTask::Status::failed, Errc::no_such_queue, effects);
    return;
  }
  const std::size_t before = entries_.size();
  CHECK(before > 0, "an empty batch");
  if (request_.error == Errc::ok)
    std::erase_if(entries_, [](const SendEntry& entry) { return entry.error == Errc::ok; });
  const bool used_up = std::ranges::any_of(entries_, [](const SendEntry& entry) {
    return entry.error == Errc::message_numbers_used_up;
  });
  for (SendEntry& entry : entries_) entry.error = Errc::ok;
  if (!entries_.empty()) not_before_ = now + refused_pause;
  if (used_up) {
    note(*task, task->position, before - entries_.size(), effects);
    shard_.replays().end(source_, ReplayTask::Status::failed, Errc::message_numbers_used_up,
                         effects);
    return;
  }
  if (entries_.size() == before) return;
  note(*task, entries_.empty() ? log_.send_reader().at() : task->position, before - entries_.size(),
       effects);
  unnoted_ = true;
}

// Skipped bytes are counted with the position behind them: a task that begins there again does not
// meet them again.
void Replayer::note(const ReplayTask& task, Lsn position, std::uint64_t sent, Effects& effects) {
  const std::uint64_t before = passed_over_;
  if (position != task.position) passed_over_ = log_.send_reader().passed_over();
  CHECK(passed_over_ >= before, "from {} back to {}", before, passed_over_);
  shard_.replays().replayed(source_, {position, sent, passed_over_ - before}, effects);
}

Instant Replayer::next_due() const {
  if (under_way_) return answered_ ? Instant{0} : never;
  if (unnoted_) return Instant{0};
  const ReplayTask* const task = stopping_ ? nullptr : shard_.replays().under_way();
  if (!is_current(task)) return Instant{0};
  if (task == nullptr || log_.committed() < noted_at_) return never;
  if (not_before_.ms > 0) return not_before_;
  const SendReader& reader = log_.send_reader();
  return unreadable_ || !entries_.empty() || reader.due() || reader.at_end() ? Instant{0} : never;
}

}  // namespace pawl

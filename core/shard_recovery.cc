// SPDX-License-Identifier: Apache-2.0
// How a shard comes back: the records of its log, one after the other, then one look at the clock.
#include <algorithm>

#include "core/check.h"
#include "core/mutant.h"
#include "core/shard.h"

namespace pawl {

void Shard::restore(const ConfigRecord& record) {
  next_queue_id_ = std::max(next_queue_id_, raw(record.config->id) + 1);
  if (record.gone) {
    if (!MUTANT(forget_deletion)) deleted_names_.add(record.config);
    return directory_.drop(record.config->id);
  }
  deleted_names_.free(record.config->account, record.config->name);
  if (MUTANT(forget_scope_change)) {
    auto forgetful = std::make_shared<QueueConfig>(*record.config);
    forgetful->apply({Attribute::deduplication_scope_since, 0, {}});
    return directory_.put(forgetful);
  }
  const ConfigPtr* const known = directory_.find(record.config->id);
  if (known == nullptr || (*known)->rows.empty() || !record.config->rows.empty())
    return directory_.put(record.config);
  auto config = std::make_shared<QueueConfig>(*record.config);  // its rows are records of their own
  config->rows = (*known)->rows;
  directory_.put(config);
}

void Shard::restore(const RowRecord& record) {
  // An unknown topic was deleted; the record of its deletion follows.
  directory_.change_row(
      record.topic, {Attribute::topic_row, static_cast<std::int64_t>(record.number), record.text});
}

void Shard::restore(const HeadRecord& record) {
  if (record.queue == QueueId::none) {
    next_queue_id_ = std::max(next_queue_id_, static_cast<std::uint32_t>(record.next_seq));
    return;
  }
  Queue& queue = make_queue(record.queue);
  queue.next_seq = std::max(queue.next_seq, record.next_seq);
}

// A checkpoint may list the message already, or it was deleted and the record of that follows.
void Shard::restore(const SendRecord& record, std::vector<LogPos>& freed) {
  Queue& queue = make_queue(record.queue);
  if (record.relocated && !MUTANT(forget_relocation))
    return restore_relocated(queue, record, freed);
  const Carried& carried = record.carried;
  const bool moved = carried.from.seq != 0;
  if (moved) unsettled_[carried.from] = {record.queue, carried.task};
  if (record.dedup != TextKey{} && !MUTANT(forget_dedup)) {
    Dedup& dedup = fifo_of(queue).dedup;
    if (record.seq > dedup.newest()) dedup.add(record.dedup, record.seq, record.sent);
  }
  if (record.seq < queue.low) return freed.push_back(record.position);
  queue.next_seq = std::max(queue.next_seq, record.seq + 1);
  // The retention is not known yet; finish_recovery() joins what is finer than it needs.
  if (record.seq >= queue.times.end())
    queue.times.note(record.seq, moved ? carried.arrived : record.sent, Duration{0});
  if (carried.receive_count > 0) aged_of(queue).add(record.sent, record.seq, queue.all_there());
  if (!queue.index.find(record.seq).absent()) return freed.push_back(record.position);
  if (record.deliver_at <= record.sent && record.content->group.empty() && !moved) {
    queue.index.put(record.seq, IndexEntry::log(record.position));
    return;
  }
  slots_.set_max(restoring_max);
  const std::uint32_t row = new_slot(queue, record.seq, *record.content);
  CHECK(row != Slab<Slot>::none);
  Slot& slot = slots_[row];
  slot.position = record.position;
  slot.deadline = record.deliver_at;
  if (!moved) {
    slot.since = record.sent;
  } else if (carried.receive_count > 0) {
    slot.set_received(carried.receive_count, carried.first_received, carried.last_received);
  }
}

// Only the log position is new: the checkpoint before it lists the message, or it was deleted.
void Shard::restore_relocated(Queue& queue, const SendRecord& record, std::vector<LogPos>& freed) {
  const IndexEntry indexed = queue.index.find(record.seq);
  if (indexed.absent()) return freed.push_back(record.position);
  freed.push_back(indexed.is_slot() ? LogPos{slots_[indexed.slot()].position} : indexed.position());
  set_position(queue, record.seq, indexed, record.position);
}

void Shard::restore(const ReceiveRecord& record) {
  Queue& queue = make_queue(record.queue);
  const IndexEntry indexed = queue.index.find(record.seq);
  if (indexed.absent()) return;  // deleted before; the records of one frame may be in this order
  slots_.set_max(restoring_max);
  const std::uint32_t row = slot_for(queue, record.seq, indexed);
  CHECK(row != Slab<Slot>::none);
  Slot& slot = slots_[row];
  slot.nonce = record.nonce;
  slot.deadline = record.deadline;
  slot.set_received(record.receive_count, record.first_received, record.last_received);
}

void Shard::restore(const DeleteRecord& record, std::vector<LogPos>& freed) {
  erase(make_queue(record.queue), record.seq, freed);
}

void Shard::restore(const PurgeRecord& record, std::vector<LogPos>& freed) {
  Queue& queue = make_queue(record.queue);
  queue.low = std::max(queue.low, record.below);
  queue.next_seq = std::max(queue.next_seq, record.below);
  if (record.at.ms != 0) {
    queue.purged_at = record.at;
    if (queue.fifo) queue.fifo->dedup.forget_below(record.below);
  }
  for (Seq seq = queue.index.oldest(); seq != 0 && seq < record.below;
       seq = queue.index.first_from(seq + 1)) {
    erase(queue, seq, freed);
  }
}

void Shard::restore(const TaskRecord& record, std::vector<LogPos>& freed) {
  Queue& queue = make_queue(record.task.source);
  for (const Seq seq : record.deleted) erase(queue, seq, freed);
  if (!queue.moves) queue.moves = std::make_unique<Moves>();
  keep_task(queue.moves->tasks, record.task, tasks_kept);
  queue.count_kept();
}

// The last one read of a task counts: a checkpoint said what is, and then comes all that led there.
void Shard::restore(const ReplayRecord& record) {
  Queue& queue = make_queue(record.task.source);
  if (!record.progress) return keep_replay(queue, record.task);
  const auto task = std::ranges::find(queue.replays, record.task.number, &ReplayTask::number);
  if (task == queue.replays.end()) return;  // forgotten for newer ones
  task->sent = record.task.sent;
  task->unreadable = record.task.unreadable;
  task->position = record.task.position;
}

void Shard::restore(const ForgetTransferRecord& record) { unsettled_.erase(record.from); }

// Frees the messages of a deleted queue. Source queues must still delete the messages that they
// moved here (`unsettled_`); else those would be back there.
void Shard::abandon(Queue& queue, std::vector<LogPos>& freed) {
  while (queue.index.drain_page([&](Seq, IndexEntry indexed) { give_back(indexed, freed); })) {
  }
  forget_replays(queue);
  CHECK(queue.set_aside.empty());  // nothing was read yet
}

std::uint32_t Shard::newest_queue_id() const {
  std::uint32_t newest = 0;
  for (const auto& [id, queue] : queues_) newest = std::max(newest, id);
  return newest;
}

std::vector<std::pair<QueueId, std::uint64_t>> Shard::queues_with_messages() const {
  std::vector<std::pair<QueueId, std::uint64_t>> found;
  for (const auto& [id, queue] : queues_)
    if (queue->index.size() > 0) found.emplace_back(QueueId{id}, queue->index.size());
  std::ranges::sort(found);
  return found;
}

void Shard::finish_recovery(Instant passed, Instant now, std::vector<LogPos>& freed) {
  slots_.set_max(limits_.slots_max);
  // Time has gone on behind the newest frame.
  if (identity_.upgraded == never) identity_.upgraded = now - milliseconds(1);
  for (auto it = queues_.begin(); it != queues_.end();) {
    Queue& queue = *it->second;
    const ConfigPtr* const config = directory_.find(queue.id);
    if (config == nullptr) {
      abandon(queue, freed);
      it = queues_.erase(it);
      continue;
    }
    CHECK((*config)->owner == identity_.id);  // ShardEngine::adopt() has looked
    queue.config = *config;
    resume(queue, passed, now);
    ++it;
  }
  latest_ = nullptr;
  replay_retentions_.clear();
  directory_.for_each([this](const ConfigPtr& config) { note_replay_retention(nullptr, config); });
}

// All records have been read: what is ready, what is hidden until when.
void Shard::resume(Queue& queue, Instant passed, Instant now) {
  // hide() and show() change what is ready, not what is present: the walk may go on under them.
  queue.index.for_each([&](Seq seq, IndexEntry indexed) {
    if (!indexed.is_slot()) {
      queue.index.make_ready(seq, SeqIndex::Set::fresh);
      return;
    }
    Slot& slot = slots_[indexed.slot()];
    if (const Instant end = delay_end(queue, slot); end.ms != 0) slot.deadline = end;
    if (slot.deadline > passed) {
      hide(queue, indexed.slot(), slot.receive_count == 0 ? State::delayed : State::in_flight,
           slot.deadline);
    } else {
      show(queue, indexed.slot());
    }
  });
  if (queue.config->is_fifo()) queue.aged.reset();  // they go by when they came
  queue.times.coarsen(queue.config->retention());
  queue.times.forget_below(queue.oldest());
  arm_retention(queue);
  arm_fifo(queue, now);
  if (queue.moves && queue.moves->running() != nullptr) arm_moves(queue, now);
  if (queue.replaying() != nullptr) replaying_.insert(queue.id);
}

}  // namespace pawl

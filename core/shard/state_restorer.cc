// SPDX-License-Identifier: Apache-2.0
#include "core/shard/state_restorer.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

using State = Slot::State;

// Expired producers forgotten with each send: more than are added.
constexpr std::size_t producers_a_send = 2;

}  // namespace

// --- records of a checkpoint ---

void StateRestorer::restore(const CheckpointRecord& record) {
  std::visit([this](const auto& r) { restore_part(r); }, record);
}

void StateRestorer::restore_part(const IndexEntriesRecord& record) {
  Queue& queue = state_.make_queue(record.queue);
  for (const auto& [seq, position] : record.entries)
    queue.index.put(seq, IndexEntry::log(position));
  if (!record.entries.empty())
    queue.next_seq = std::max(queue.next_seq, record.entries.back().seq + 1);
}

void StateRestorer::restore_part(const TrackedMessagesRecord& record) {
  Queue& queue = state_.make_queue(record.queue);
  states_.set_slots_max(restoring_max);
  for (const TrackedMessagesRecord::Entry& entry : record.entries) {
    queue.next_seq = std::max(queue.next_seq, entry.seq + 1);
    const IndexEntry known = queue.index.find(entry.seq);
    if (!known.absent()) {  // it left the calendar during the checkpoint
      CHECK(known.is_pending(), "seq {} of queue {} is tracked twice", entry.seq,
            raw(record.queue));
      listed_again_.push_back(known.position());
      queue.index.put(entry.seq, known.moved_to(entry.position));
    }
    if (!record.fifo && Pending::was(entry)) {
      if (known.absent()) pending_.add(queue, entry.seq, entry.position, entry.deadline);
      continue;
    }
    const std::uint32_t row =
        known.absent() ? states_.take_slot(queue, entry.seq, State::sent, entry.position)
                       : states_.slot_for_pending(queue, entry.seq, queue.index.find(entry.seq));
    CHECK(row != Slab<Slot>::none);
    Slot& slot = state_.slot(row);
    slot.deadline = entry.deadline;
    slot.since = entry.since;
    slot.first_before = entry.first_before;
    slot.receive_count = entry.receive_count;
    slot.nonce = entry.nonce;
    slot.was_waiting = entry.waits;
    slot.final_deadline = entry.final_deadline;
    slot.cancelled = entry.cancelled;
    slot.expired = entry.expired;
    if (entry.aged_apart) queue.keep_apart(slot);
    if (entry.group != TextKey{}) {
      Groups& groups = states_.groups_of(queue, record.fifo);
      CHECK(groups.join(row, entry.group), "more groups than a queue may have");
    }
  }
}

void StateRestorer::restore_part(const TimesRecord& record) {
  Queue& queue = state_.make_queue(record.queue);
  if (record.first) {
    queue.times.clear();
    queue.aged.reset();
    queue.ttl_ends.reset();
  }
  // Messages may have been sent since the first record was written, and no bucket counts them. They
  // are noted when the log is read, so the end of a later record does not hold.
  queue.times.restore(record.buckets, record.first ? record.end : 0);
  if (record.aged.empty()) return;
  AgedArrivals& times = record.ends ? retention_.ttl_ends_of(queue) : retention_.aged_of(queue);
  times.restore(record.aged);
}

void StateRestorer::restore_part(const DedupRecord& record) {
  Dedup& dedup = history_.fifo_of(state_.make_queue(record.queue)).dedup;
  for (const Dedup::Entry& entry : record.entries) dedup.add(entry.key, entry.seq, entry.sent);
}

void StateRestorer::restore_part(const UnsettledTransferRecord& record) {
  transfers_.note_unsettled(record.from, {record.queue, record.task});
}

void StateRestorer::restore_part(const ProducersRecord& record) {
  Producers& producers = history_.producers_of(state_.make_queue(record.queue));
  for (const Producers::Entry& entry : record.entries) {
    CHECK(entry.id != 0 && entry.run.first >= entry.floor, "producer {}", entry.id);
    producers.restore(entry);
  }
}

void StateRestorer::restore_part(const FiresRecord& record) {
  Queue& queue = state_.make_queue(record.queue);
  for (const Fires::Entry& entry : record.entries) schedules_.note(queue, entry.fire, entry.seq);
}

// --- records of the log ---

// The ids below `end` have been given out.
void StateRestorer::note_queue_ids(std::uint32_t end) {
  std::uint32_t& next = state_.next_queue_id.write();
  next = std::max(next, end);
}

void StateRestorer::restore(const ConfigRecord& record) {
  note_queue_ids(raw(record.config->id) + 1);
  if (record.gone) {
    if (!MUTANT(forget_deletion)) state_.deleted_names.write().add(record.config);
    return state_.directory.write().drop(record.config->id);
  }
  state_.deleted_names.write().free(record.config->account, record.config->name);
  if (MUTANT(forget_scope_change)) {
    auto forgetful = std::make_shared<QueueConfig>(*record.config);
    forgetful->apply({Attribute::deduplication_scope_since, 0, {}});
    return state_.directory.write().put(forgetful);
  }
  const ConfigPtr* const known = state_.directory->find(record.config->id);
  if (known == nullptr || (*known)->rows.empty() || !record.config->rows.empty())
    return state_.directory.write().put(record.config);
  auto config = std::make_shared<QueueConfig>(*record.config);  // its rows are records of their own
  config->rows = (*known)->rows;
  state_.directory.write().put(config);
}

void StateRestorer::restore(const RowRecord& record) {
  // An unknown topic was deleted; the record of its deletion follows.
  state_.directory.write().change_row(
      record.topic, {Attribute::topic_row, static_cast<std::int64_t>(record.number), record.text});
}

void StateRestorer::restore(const HeadRecord& record) {
  if (record.queue == QueueId::none) {
    return note_queue_ids(static_cast<std::uint32_t>(record.next_seq));
  }
  Queue& queue = state_.make_queue(record.queue);
  queue.next_seq = std::max(queue.next_seq, record.next_seq);
}

// A checkpoint may have the number already.
void StateRestorer::restore(const NumberRecord& record) {
  Queue& topic = state_.make_queue(record.topic);
  topic.next_seq = std::max(topic.next_seq, record.seq + 1);
  Dedup& dedup = history_.fifo_of(topic).dedup;
  if (record.seq > dedup.newest() && !MUTANT(forget_numbers))
    dedup.add(record.dedup, record.seq, record.sent);
}

// A checkpoint may list the message already, or it was deleted and the record of that follows.
void StateRestorer::restore(const SendRecord& record, std::vector<LogPos>& freed) {
  Queue& queue = state_.make_queue(record.queue);
  free_listed_again(freed);
  if (record.relocated && !MUTANT(forget_relocation))
    return restore_relocated(queue, record, freed);
  const Carried& carried = record.carried;
  if (record.moved()) transfers_.note_unsettled(carried.from, {record.queue, carried.task});
  if (record.dedup != TextKey{} && !MUTANT(forget_dedup)) {
    Dedup& dedup = history_.fifo_of(queue).dedup;
    if (record.seq > dedup.newest()) dedup.add(record.dedup, record.seq, record.sent);
  }
  if (record.producer.id != 0 && !MUTANT(forget_producers)) {
    Producers& producers = history_.producers_of(queue);
    producers.forget_over(record.sent, producers_a_send);
    producers.restore(record.producer, record.seq, record.sent);
  }
  if (record.fire.schedule != QueueId::none) schedules_.note(queue, record.fire, record.seq);
  if (record.seq < queue.low) return freed.push_back(record.position);
  queue.next_seq = std::max(queue.next_seq, record.seq + 1);
  // The retention is not known yet; finish() joins what is finer than it needs.
  if (record.seq >= queue.times.end()) queue.times.note(record.seq, record.arrived(), Duration{0});
  if (carried.receive_count > 0 && record.content->dedup_id.empty())  // not in a FIFO queue
    retention_.aged_of(queue).add(record.aged_apart ? record.deliver_at : record.sent, record.seq,
                                  queue);
  const Duration ttl = record.time_to_live;
  if (ttl.ms != 0 && record.lives_at_once())
    retention_.ends_at(queue, record.seq, record.arrived() + ttl);
  if (!queue.index.find(record.seq).absent()) return freed.push_back(record.position);
  if (record.deliver_at <= record.sent && record.content->group.empty() && !record.moved()) {
    queue.index.put(record.seq, IndexEntry::log(record.position));
    return;
  }
  if (record.aged_apart && !record.moved() && record.content->group.empty() && ttl.ms == 0 &&
      state_.is_far(record.sent, record.deliver_at))
    return pending_.add(queue, record.seq, record.position, record.deliver_at);
  states_.set_slots_max(restoring_max);
  const std::uint32_t row = states_.new_slot(queue, record.seq, *record.content);
  CHECK(row != Slab<Slot>::none);
  Slot& slot = state_.slot(row);
  slot.position = record.position;
  slot.deadline = record.moved() && !record.aged_apart ? record.arrived() : record.deliver_at;
  if (record.aged_apart) queue.keep_apart(slot);
  if (!record.moved()) slot.since = record.own_delay ? Instant{} : record.sent;
  if (carried.receive_count > 0)
    slot.set_received(carried.receive_count, carried.first_received, carried.last_received);
  if (!record.lives_at_once()) slot.first_before = static_cast<std::uint32_t>(ttl.ms);
}

// A message that a checkpoint lists twice holds its record once.
void StateRestorer::free_listed_again(std::vector<LogPos>& freed) {
  freed.insert(freed.end(), listed_again_.begin(), listed_again_.end());
  listed_again_.clear();
}

// Only the log position is new: the checkpoint before it lists the message, or it was deleted.
void StateRestorer::restore_relocated(Queue& queue, const SendRecord& record,
                                      std::vector<LogPos>& freed) {
  const IndexEntry indexed = queue.index.find(record.seq);
  if (indexed.absent()) return freed.push_back(record.position);
  freed.push_back(states_.position_of(indexed));
  states_.set_position(queue, record.seq, indexed, record.position);
}

void StateRestorer::restore(const ReceiveRecord& record) {
  Queue& queue = state_.make_queue(record.queue);
  const IndexEntry indexed = queue.index.find(record.seq);
  if (indexed.absent()) return;  // deleted before; the records of one frame may be in this order
  states_.set_slots_max(restoring_max);
  const std::uint32_t row = indexed.is_pending()
                                ? states_.slot_for_pending(queue, record.seq, indexed)
                                : states_.slot_for(queue, record.seq, indexed);
  CHECK(row != Slab<Slot>::none);
  Slot& slot = state_.slot(row);
  // Until its first delivery its deadline was the time at which it became visible. For a pending
  // message Pending::resume() does this: only the calendar has its time.
  if (slot.aged_apart && slot.never_delivered() && !indexed.is_pending()) {
    AgedArrivals& aged = retention_.aged_of(queue);
    if (record.nonce == 0) {
      aged.remove({slot.deadline.ms, slot.seq});  // a new delivery time
    } else {
      aged.add(slot.deadline, slot.seq, queue);
    }
  }
  // It has begun to live where the record does not have its time to live any more.
  if (const Duration ahead = slot.life_ahead();
      ahead.ms != 0 && (record.nonce != 0 || record.first_received == record.last_received))
    retention_.ends_at(queue, slot.seq, std::min(slot.deadline, record.deadline) + ahead);
  if (record.aged_apart) queue.keep_apart(slot);
  slot.cancelled = record.cancelled;
  slot.expired = record.expired;
  slot.nonce = record.nonce;
  slot.deadline = record.deadline;
  slot.set_received(record.receive_count, record.first_received, record.last_received);
  slot.was_waiting = record.waits;
  slot.final_deadline = record.final_deadline;
}

void StateRestorer::restore(const DeleteRecord& record, std::vector<LogPos>& freed) {
  states_.erase(state_.make_queue(record.queue), record.seq, freed);
}

void StateRestorer::restore(const PurgeRecord& record, std::vector<LogPos>& freed) {
  Queue& queue = state_.make_queue(record.queue);
  queue.low = std::max(queue.low, record.below);
  queue.next_seq = std::max(queue.next_seq, record.below);
  if (record.at.ms != 0) {
    queue.purged_at = record.at;
    if (queue.fifo) queue.fifo->dedup.forget_below(record.below);
  }
  for (Seq seq = queue.index.oldest(); seq != 0 && seq < record.below;
       seq = queue.index.first_from(seq + 1)) {
    states_.erase(queue, seq, freed);
  }
}

void StateRestorer::restore(const TaskRecord& record, std::vector<LogPos>& freed) {
  Queue& queue = state_.make_queue(record.task.source);
  for (const Seq seq : record.deleted) states_.erase(queue, seq, freed);
  if (!queue.moves) queue.moves = std::make_unique<Moves>();
  keep_task(queue.moves->tasks, record.task, tasks_kept);
  queue.count_kept();
}

// The last one read of a task counts: a checkpoint said what is, and then comes all that led there.
void StateRestorer::restore(const ReplayRecord& record) {
  Queue& queue = state_.make_queue(record.task.source);
  if (!record.progress) return replays_.keep(queue, record.task);
  const auto task = std::ranges::find(queue.replays, record.task.number, &ReplayTask::number);
  if (task == queue.replays.end()) return;  // forgotten for newer ones
  task->sent = record.task.sent;
  task->unreadable = record.task.unreadable;
  task->position = record.task.position;
}

void StateRestorer::restore(const ForgetTransferRecord& record) {
  transfers_.forget_unsettled(record.from);
}

// --- the end ---

void StateRestorer::finish(Instant passed, Instant now, std::vector<LogPos>& freed) {
  CHECK(passed <= now, "passed {}, now {}", passed.ms, now.ms);
  states_.set_slots_max(state_.limits.slots_max);
  free_listed_again(freed);
  // `never`: handles of version 1 were issued until this startup. Time has gone on behind the
  // newest frame.
  if (state_.upgraded == never) state_.upgraded.write() = now - milliseconds(1);
  state_.statistics.now = now;
  state_.statistics.label(state_.directory);
  for (auto it = state_.queues->begin(); it != state_.queues->end();) {
    Queue& queue = *(it++)->second;  // which may be dropped
    const ConfigPtr* const config = state_.directory->find(queue.id);
    if (config == nullptr) {
      abandon(queue, freed);
      state_.drop_queue(queue.id);
      continue;
    }
    CHECK((*config)->owner == state_.identity.id);  // ShardEngine::adopt() has looked
    queue.config = *config;
    resume(queue, passed, now);
    state_.statistics.begin(queue);
  }
  replays_.count_retentions();
  schedules_.recovered();
}

// Frees the messages of a deleted queue. Source queues must still delete the messages that they
// moved here (Transfers::unsettled()); else those would be back there.
void StateRestorer::abandon(Queue& queue, std::vector<LogPos>& freed) {
  while (
      queue.index.drain_page([&](Seq, IndexEntry indexed) { states_.release(indexed, freed); })) {
  }
  CHECK(queue.index.size() == 0, "{} messages are left", queue.index.size());
  replays_.forget_all(queue);
  CHECK(queue.set_aside.empty());  // nothing was read yet
}

void StateRestorer::resume(Queue& queue, std::uint32_t row, Instant passed) {
  Slot& slot = state_.slot(row);
  // A dead letter that was not received here has a receive count, but no nonce.
  const bool ended = slot.nonce != 0 && !slot.was_waiting && slot.deadline <= passed;
  if (ended && (slot.cancelled || slot.expired))
    return states_.hide(queue, row, State::in_flight, passed);
  if (slot.expired && (slot.nonce == 0 || slot.was_waiting)) {
    states_.show(queue, row);
    return states_.hide(queue, row, State::moving, passed);  // its timer deletes or moves it
  }
  if (ended && transfers_.moves_by_itself(queue, slot)) {
    states_.show(queue, row);
    return states_.hide(queue, row, State::moving, passed);  // its timer begins the move
  }
  const Instant shown = ended ? slot.deadline + wait_after(*queue.config, slot) : slot.deadline;
  if (shown <= passed) return states_.show(queue, row);
  if (pending_.takes(queue, slot, passed)) return pending_.take(queue, row);
  const bool delayed = slot.receive_count == 0 || slot.was_waiting || ended;
  if (ended) slot.final_deadline = true;
  states_.hide(queue, row, delayed ? State::delayed : State::in_flight, shown);
}

// All records have been read: makes each message ready, or hides it until its deadline.
void StateRestorer::resume(Queue& queue, Instant passed, Instant now) {
  // hide() and show() change the ready messages, not the entries of the index: the walk may
  // continue.
  queue.index.for_each([&](Seq seq, IndexEntry indexed) {
    if (indexed.is_pending()) return Pending::settle(queue, seq, indexed);
    if (!indexed.is_slot()) {
      queue.index.make_ready(seq, SeqIndex::Set::fresh);
      return;
    }
    Slot& slot = state_.slot(indexed.slot());
    CHECK(slot.seq == seq && slot.queue == queue.id, "seq {} is in the slot of seq {}", seq,
          slot.seq);
    if (const Instant end = states_.delay_end(queue, slot); end.ms != 0) {
      if (end > slot.since && queue.config->ages_from_delivery()) queue.keep_apart(slot);
      slot.deadline = end;
    }
    resume(queue, indexed.slot(), passed);
  });
  states_.order_groups(queue);
  pending_.resume(queue, passed, now);
  retention_.add_missing(queue);
  queue.times.coarsen(queue.config->retention());
  queue.times.forget_below(queue.oldest());
  retention_.arm_retention(queue);
  if (queue.producers) queue.producers->sort();
  history_.arm(queue, now);
  if (queue.moves && queue.moves->running() != nullptr) moves_.arm(queue, now);
  replays_.resume(queue);
}

}  // namespace pawl

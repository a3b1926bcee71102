// SPDX-License-Identifier: Apache-2.0
#include "core/shard/commit_queue.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

using State = Slot::State;

}  // namespace

// The messages from `first` on become visible once they are durable, or with `at_once` as soon as
// they have their log positions.
void CommitQueue::sent(Queue& queue, Seq first, QueueCounter came, bool at_once, Instant now) {
  CHECK(first < queue.next_seq, "seq {} of {}", first, queue.next_seq);
  count(queue, came, queue.next_seq - first, now);
  const bool armed = !queue.times.empty();
  // No noted message is left. Messages sent in this turn join the next bucket, of the same time.
  if (queue.index.size() == 0 && queue.set_aside.empty()) queue.times.clear();
  // The messages between these two were sent at the same time and share their buckets.
  const bool begins = queue.times.note(first, now, queue.config->retention());
  if (const Seq last = queue.next_seq - 1; last != first)
    queue.times.note(last, now, queue.config->retention());
  if (begins) queue.times.forget_below(queue.oldest());
  if (!armed) retention_.arm_retention(queue);
  const Commit commit{.queue = queue.id,
                      .first = first,
                      .count = static_cast<std::uint32_t>(queue.next_seq - first)};
  if (at_once) return at_once_.push_back(commit);
  push(commit);
}

// As Statistics::leave() for messages that leave, but written out here: a send that is alone pays
// for each source file that it enters.
inline void CommitQueue::count(const Queue& queue, QueueCounter came, std::uint64_t messages,
                               Instant now) {
  QueueSums* const own = queue.stats == nullptr ? &state_.statistics.others : &queue.stats->sums;
  for (QueueSums* const sums : {own, &state_.statistics.all}) {
    sums->counters[static_cast<std::size_t>(came)] += messages;
    sums->messages += messages;
    sums->moments -= messages * static_cast<std::uint64_t>(now.ms);
  }
}

void CommitQueue::reserved(const Queue& queue, Seq reserved) {
  CHECK(reserved > 0 && reserved <= seq_max, "reserved to {}", reserved);
  push({.queue = queue.id, .reserved = reserved});
}

void CommitQueue::started(const Queue& queue, std::uint32_t task) {
  CHECK(task != 0, "a task of queue {} without a number", raw(queue.id));
  push({.queue = queue.id, .task = task});
}

void CommitQueue::appended(Effects& effects, Lsn lsn) {
  Queue* queue = nullptr;
  for (const SendRecord& record : effects.sends) {
    if (queue == nullptr || queue->id != record.queue) queue = state_.find_queue(record.queue);
    if (queue == nullptr || record.seq < queue->low) {  // deleted or purged in the same turn
      effects.freed.push_back(record.position);
      continue;
    }
    const IndexEntry indexed = queue->index.find(record.seq);
    if (indexed.is_slot()) {
      state_.slot(indexed.slot()).position = record.position;
      // In a standard queue the retention of a dead letter counts from its sending, in a FIFO
      // queue from its arrival. Noted only now: it may be past retention already, and a deleted
      // message must not be noted again.
      if (record.carried.receive_count > 0 && !queue->config->is_fifo()) {
        if (!MUTANT(forget_dead_letter_age))
          retention_.aged_of(*queue).add(record.aged_apart ? record.deliver_at : record.sent,
                                         record.seq, *queue);
        retention_.arm_retention(*queue);
      }
    } else if (record.aged_apart) {
      pending_.add(*queue, record.seq, record.position, record.deliver_at);
    } else {
      queue->index.put(record.seq, IndexEntry::log(record.position));
    }
    if (record.time_to_live.ms != 0 && record.lives_at_once())
      retention_.ends_at(*queue, record.seq, record.arrived() + record.time_to_live);
  }
  CHECK(unplaced_ <= commits_.size());
  CHECK(unplaced_ == commits_.size() || commits_[commits_.size() - unplaced_ - 1].lsn <= lsn,
        "the log went back to {}", lsn);
  for (std::size_t i = commits_.size() - unplaced_; i < commits_.size(); ++i) commits_[i].lsn = lsn;
  unplaced_ = 0;
}

void CommitQueue::committed(Lsn durable, Instant now) {
  for (const Commit& commit : at_once_) make_available(commit, now);
  at_once_.clear();
  while (commits_.size() > unplaced_ &&
         (commits_.front().lsn <= durable || MUTANT(deliver_before_durable))) {
    const Commit commit = commits_.front();
    commits_.pop_front();
    make_available(commit, now);
  }
}

void CommitQueue::make_available(const Commit& commit, Instant now) {
  Queue* const queue = state_.find_queue(commit.queue);
  if (queue == nullptr) return;
  if (commit.task != 0) {
    begun_.emplace_back(commit.queue, commit.task);
    state_.arm(ShardPart::moves);
  }
  queue->reserved_durable = std::max(queue->reserved_durable, commit.reserved);
  for (Seq seq = commit.first; seq < commit.first + commit.count; ++seq) {
    const IndexEntry indexed = queue->index.find(seq);
    if (indexed.absent()) continue;  // purged meanwhile
    CHECK(!indexed.is_lease(), "seq {} was delivered before it was available", seq);
    if (indexed.is_plain()) {
      queue->index.make_ready(seq, SeqIndex::Set::fresh);
    } else if (indexed.is_pending()) {
      Pending::settle(*queue, seq, indexed);
    } else if (state_.slots[indexed.slot()].deadline > now) {
      states_.hide(*queue, indexed.slot(), State::delayed, state_.slots[indexed.slot()].deadline);
    } else {
      states_.show(*queue, indexed.slot());
    }
  }
  if (!queue->waiters.empty()) polls_.want_match(*queue);
}

}  // namespace pawl

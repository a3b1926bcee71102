// SPDX-License-Identifier: Apache-2.0
#include "core/shard/checkpoint_slicer.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "core/shard/pending.h"

namespace pawl {
namespace {

constexpr std::size_t replay_entries = 8;  // messages that a replay task counts for in a slice

}  // namespace

bool CheckpointSlicer::slice(CheckpointSlice& out) {
  if (!std::exchange(walk_.begun, true)) {
    out.heads.push_back({QueueId::none, state_.next_queue_id});  // so that none is empty
    for (const auto& [from, to] : transfers_.unsettled()) {
      out.records.push_back(UnsettledTransferRecord{from, to.queue, to.task});
    }
  }
  for (std::size_t left = state_.limits.slice_entries; left > 0;) {
    if (!walk_.names_done) {
      slice_deleted_names(out, left);
      continue;
    }
    const ConfigPtr* const config = state_.directory->first_from(walk_.queue);
    if (config == nullptr) return false;
    if ((*config)->id != walk_.queue)
      walk_ = {.begun = true, .names_done = true, .queue = (*config)->id};
    if (!slice_queue(*config, out, left)) return true;
    walk_ = {.begun = true, .names_done = true, .queue = QueueId{raw((*config)->id) + 1}};
  }
  return true;
}

// Recovery from this checkpoint has to know which names wait. Reading such a record again changes
// nothing else: the queue is gone.
void CheckpointSlicer::slice_deleted_names(CheckpointSlice& out, std::size_t& left) {
  for (; left > 0; --left) {
    walk_.name = state_.deleted_names->next(walk_.name);
    if (walk_.name == nullptr) {
      walk_.names_done = true;
      return;
    }
    out.configs.push_back({walk_.name, true});
  }
}

// False: the slice is full, and the queue goes on in the next.
bool CheckpointSlicer::slice_queue(const ConfigPtr& config, CheckpointSlice& out,
                                   std::size_t& left) {
  using Part = CheckpointWalk::Part;
  Queue* const existing = state_.existing_queue(raw(config->id));
  if (walk_.part == Part::settings) {
    CHECK(left > 0, "a full slice");
    --left;
    if (state_.identity.id == control_shard) {
      ConfigRecord record{config, false};
      for (const auto& row : config->rows) record.rows.push_back(row->number);
      out.configs.push_back(std::move(record));
    }
    if (existing != nullptr) {
      Queue& queue = *existing;
      forget_set_aside(queue, out.freed);
      queue.times.forget_below(queue.oldest());
      slice_settings(queue, out);
      left -= std::min(left, replay_entries * queue.replays.size() + queue.times.size());
    }
    walk_.part = Part::aged;
  }
  if (existing == nullptr) return true;
  Queue& queue = *existing;
  if (walk_.part == Part::aged) {
    if (!slice_aged(queue, false, out, left)) return false;
    walk_.part = Part::dedup;
  }
  if (walk_.part == Part::dedup) {
    if (!slice_dedup(queue, out, left)) return false;
    walk_.part = Part::producers;
  }
  if (walk_.part == Part::producers) {
    if (!slice_producers(queue, out, left)) return false;
    walk_.part = Part::fires;
  }
  if (walk_.part == Part::fires) {
    if (!slice_fires(queue, out, left)) return false;
    walk_.part = Part::pending;
  }
  if (walk_.part == Part::pending) {
    if (!slice_pending(queue, out, left)) return false;
    walk_.part = Part::messages;
    walk_.seq = queue.gone_below();
  }
  if (walk_.part == Part::messages) {
    if (!slice_messages(queue, out, left)) return false;
    // Behind the messages: a time to live that begins meanwhile is in one of both.
    walk_.part = Part::ttl_ends;
    walk_.aged = AgedArrivals::before_all;
  }
  return MUTANT(forget_ttl_ends) || slice_aged(queue, true, out, left);
}

void CheckpointSlicer::slice_settings(const Queue& queue, CheckpointSlice& out) const {
  if (!MUTANT(forget_head)) out.heads.push_back({queue.id, queue.next_seq});
  if (queue.reserved > queue.next_seq) out.heads.push_back({queue.id, queue.reserved, true});
  // Messages past retention are left out even if they are not deleted yet: their sending times are
  // no longer stored. Among messages with Slot::aged_apart, slice_messages() does it.
  out.purges.push_back({.queue = queue.id, .below = queue.gone_below(), .at = Instant{}});
  // Apart from it: a purge ends deduplication, retention does not.
  if (queue.purged_at > Instant{})
    out.purges.push_back({.queue = queue.id, .below = 0, .at = queue.purged_at});
  if (queue.moves) {
    for (const MoveTask& task : queue.moves->tasks) out.tasks.push_back({task, {}});
  }
  for (const ReplayTask& task : queue.replays) out.replays.push_back({task, false});
  out.records.push_back(TimesRecord{.queue = queue.id,
                                    .first = true,
                                    .end = queue.times.end(),
                                    .buckets = queue.times.buckets(),
                                    .aged = {}});
}

// They are kept for the next startup, until they would have gone in any case.
void CheckpointSlicer::forget_set_aside(Queue& queue, std::vector<LogPos>& freed) {
  std::erase_if(queue.set_aside, [&](const TrackedMessage& message) {
    const bool gone = message.seq < (message.aged_apart ? queue.gone_below()
                                                        : std::max(queue.low, queue.expired));
    if (gone) freed.push_back(message.position);
    return gone;
  });
}

bool CheckpointSlicer::slice_aged(const Queue& queue, bool ends, CheckpointSlice& out,
                                  std::size_t& left) {
  const AgedArrivals* const times = ends ? queue.ttl_ends.get() : queue.aged.get();
  if (times == nullptr) return true;
  // The buckets were said in an earlier slice.
  TimesRecord record{.queue = queue.id, .ends = ends};
  const bool all = times->copy_behind(walk_.aged, queue, left, record.aged);
  if (!record.aged.empty()) out.records.emplace_back(std::move(record));
  return all;
}

bool CheckpointSlicer::slice_dedup(const Queue& queue, CheckpointSlice& out, std::size_t& left) {
  if (!queue.fifo) return true;
  DedupRecord record{.queue = queue.id, .entries = {}};
  const bool all = queue.fifo->dedup.copy_from(walk_.seq, left, record.entries);
  CHECK(record.entries.size() <= left, "{} entries", record.entries.size());
  left -= record.entries.size();
  if (!record.entries.empty()) {
    walk_.seq = record.entries.back().seq + 1;
    out.records.emplace_back(std::move(record));
  }
  return all;
}

bool CheckpointSlicer::slice_producers(const Queue& queue, CheckpointSlice& out,
                                       std::size_t& left) {
  if (!queue.producers || MUTANT(forget_producers_record)) return true;
  ProducersRecord record{.queue = queue.id, .entries = {}};
  const bool all = queue.producers->copy_behind(walk_.producer, left, record.entries);
  CHECK(record.entries.size() <= left, "{} entries", record.entries.size());
  left -= record.entries.size();
  if (!record.entries.empty()) out.records.emplace_back(std::move(record));
  return all;
}

bool CheckpointSlicer::slice_fires(Queue& queue, CheckpointSlice& out, std::size_t& left) {
  if (!queue.fires || MUTANT(forget_fires_record)) return true;
  FiresRecord record{.queue = queue.id, .entries = {}};
  const bool all = queue.fires->copy_from(
      walk_.schedule, left,
      [this](QueueId schedule) { return state_.directory->find(schedule) != nullptr; },
      record.entries);
  CHECK(record.entries.size() <= left, "{} entries", record.entries.size());
  left -= record.entries.size();
  if (!record.entries.empty()) out.records.emplace_back(std::move(record));
  return all;
}

// In order of their times: only the calendar has them. A message that gets a slot during the
// checkpoint is written again, as it is then.
bool CheckpointSlicer::slice_pending(const Queue& queue, CheckpointSlice& out, std::size_t& left) {
  if (!queue.pending || !queue.pending->calendar || MUTANT(forget_pending_record)) return true;
  std::vector<Calendar::Entry> entries;
  const bool all = queue.pending->calendar->copy_from(walk_.pending, left, entries);
  left -= std::min(left, entries.size());
  TrackedMessagesRecord record{.queue = queue.id, .entries = {}};
  for (const auto& [seq, at] : entries) {
    const IndexEntry indexed = queue.index.find(seq);
    if (!indexed.is_pending()) continue;
    if (!record.entries.empty() && record.entries.back().seq >= seq)
      out.records.emplace_back(std::exchange(record, {.queue = queue.id, .entries = {}}));
    record.entries.push_back(Pending::tracked(seq, indexed, at));
  }
  if (!record.entries.empty()) out.records.emplace_back(std::move(record));
  return all;
}

// In order of their numbers, for so they join their groups: what was set aside comes in between.
bool CheckpointSlicer::slice_messages(const Queue& queue, CheckpointSlice& out, std::size_t& left) {
  IndexEntriesRecord index_entries{.queue = queue.id, .entries = {}};
  TrackedMessagesRecord tracked{
      .queue = queue.id, .fifo = queue.groups && queue.groups->is_fifo(), .entries = {}};
  auto aside = std::ranges::lower_bound(queue.set_aside, walk_.seq, {}, &TrackedMessage::seq);
  const auto add_set_aside = [&](Seq below) {
    for (; aside != queue.set_aside.end() && aside->seq < below; ++aside)
      tracked.entries.push_back(*aside);
  };
  Seq seq = queue.index.first_from(walk_.seq);
  for (; seq != 0 && left > 0; seq = queue.index.first_from(seq + 1), --left) {
    add_set_aside(seq);
    walk_.seq = seq + 1;
    const IndexEntry indexed = queue.index.find(seq);
    if (indexed.is_pending()) continue;  // slice_pending() has it, or its SEND follows
    if (queue.keeps_apart && seq < queue.expired && !states_.is_apart(indexed)) continue;
    if (indexed.in_log()) {
      index_entries.entries.push_back({seq, indexed.position()});
      continue;
    }
    tracked.entries.push_back(states_.tracked_message_of(queue, seq, indexed));
    CHECK(tracked.entries.back().position != log_pos_none, "seq {} of queue {} is not in the log",
          seq, raw(queue.id));
  }
  if (seq == 0) add_set_aside(queue.next_seq);
  if (!index_entries.entries.empty() && !MUTANT(forget_index_entries))
    out.records.emplace_back(std::move(index_entries));
  if (!tracked.entries.empty() && !MUTANT(forget_tracked_messages))
    out.records.emplace_back(std::move(tracked));
  return seq == 0;
}

}  // namespace pawl

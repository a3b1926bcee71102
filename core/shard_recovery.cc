// How a shard comes back: the records of its log, one after the other, then one look at the clock.
#include <algorithm>

#include "core/check.h"
#include "core/mutant.h"
#include "core/shard.h"

namespace pawl {

void Shard::restore(const ConfigRecord& record) {
  next_queue_id_ = std::max(next_queue_id_, raw(record.config->id) + 1);
  if (record.gone) {
    directory_.drop(record.config->id);
  } else {
    directory_.put(record.config);
  }
}

void Shard::restore(const HeadRecord& record) {
  if (record.queue == QueueId::none) {
    next_queue_id_ = std::max(next_queue_id_, static_cast<std::uint32_t>(record.next_seq));
    return;
  }
  Queue& queue = make_queue(record.queue);
  queue.next_seq = std::max(queue.next_seq, record.next_seq);
}

void Shard::restore(const SendRecord& record) {
  Queue& queue = make_queue(record.queue);
  queue.next_seq = std::max(queue.next_seq, record.seq + 1);
  const Carried& carried = record.carried;
  const bool moved = carried.from.seq != 0;
  // The retention is not known yet; finish_recovery() joins what is finer than it needs.
  queue.times.note(record.seq, moved ? carried.arrived : record.sent, Duration{0});
  if (record.dedup != TextKey{} && !MUTANT(forget_dedup)) {
    fifo_of(queue).dedup.add(record.dedup, record.seq, record.sent);
  }
  if (record.deliver_at <= record.sent && record.content->group.empty() && !moved) {
    queue.index.put(record.seq, Place::log(record.position));
    return;
  }
  const std::uint32_t row = new_slot(queue, record.seq, *record.content);
  CHECK(row != Slab<Slot>::none, "more messages with a state than a shard may have");
  Slot& slot = slots_[row];
  slot.position = record.position;
  slot.deadline = record.deliver_at;
  if (!moved) {
    slot.since = record.sent;
    return;
  }
  slot.unsettled = 1;
  unsettled_[carried.from] = {record.queue, record.seq, log_pos_none, carried.task};
  unsettled_by_message_[{record.queue, record.seq}] = carried.from;
  if (carried.receive_count > 0) {
    slot.set_received(carried.receive_count, carried.first_received, carried.last_received);
    queue.aged.add(record.sent, record.seq, queue.index);
  }
}

void Shard::restore(const ReceiveRecord& record) {
  Queue& queue = make_queue(record.queue);
  const Place place = queue.index.find(record.seq);
  if (place.absent()) return;  // deleted before; the records of one frame may be in this order
  const std::uint32_t row = slot_for(queue, record.seq, place);
  CHECK(row != Slab<Slot>::none, "more messages with a state than a shard may have");
  Slot& slot = slots_[row];
  slot.nonce = record.nonce;
  slot.deadline = record.deadline;
  slot.set_received(record.receive_count, record.first_received, record.last_received);
}

void Shard::restore(const RemoveRecord& record, std::vector<LogPos>& freed) {
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
  for (const Seq seq : record.removed) erase(queue, seq, freed);
  if (!queue.moves) queue.moves = std::make_unique<Moves>();
  std::vector<MoveTask>& tasks = queue.moves->tasks;
  const auto at = std::ranges::lower_bound(tasks, record.task.number, {}, &MoveTask::number);
  if (at != tasks.end() && at->number == record.task.number) {
    *at = record.task;
    return;
  }
  tasks.insert(at, record.task);
  if (tasks.size() > tasks_kept) tasks.erase(tasks.begin());
}

void Shard::restore(const SettledRecord& record, std::vector<LogPos>& freed) {
  settle(record.from, freed);
}

// The queue was deleted; what it had goes.
void Shard::abandon(Queue& queue, std::vector<LogPos>& freed) {
  queue.index.for_each([&](Seq, Place place) {
    if (place.is_slot()) slots_[place.slot()].unsettled = 0;
    give_back(place, freed);
  });
  for (auto it = unsettled_.begin(); it != unsettled_.end();) {
    if (it->second.queue != queue.id) {
      ++it;
      continue;
    }
    if (it->second.held != log_pos_none) freed.push_back(it->second.held);
    unsettled_by_message_.erase({it->second.queue, it->second.seq});
    it = unsettled_.erase(it);
  }
}

void Shard::finish_recovery(Instant now, std::vector<LogPos>& freed) {
  for (auto it = queues_.begin(); it != queues_.end();) {
    Queue& queue = *it->second;
    const ConfigPtr* const config = directory_.find(queue.id);
    if (config == nullptr) {
      abandon(queue, freed);
      it = queues_.erase(it);
      continue;
    }
    CHECK((*config)->owner == identity_.id, "queue {} of shard {} found in the log of shard {}",
          raw(queue.id), raw((*config)->owner), raw(identity_.id));
    queue.config = *config;
    resume(queue, now);
    ++it;
  }
  latest_ = nullptr;
}

// All records have been read: what is ready, what is hidden until when.
void Shard::resume(Queue& queue, Instant now) {
  const bool fifo = queue.config->is_fifo();
  // hide() and show() change what is ready, not what is present: the walk may go on under them.
  queue.index.for_each([&](Seq seq, Place place) {
    if (!place.is_slot()) {
      queue.index.make_ready(seq, SeqIndex::Set::fresh);
      return;
    }
    Slot& slot = slots_[place.slot()];
    if (fifo && slot.receive_count == 0 && slot.since.ms != 0)
      slot.deadline = slot.since + queue.config->delay();
    if (slot.deadline > now) {
      hide(queue, place.slot(), slot.receive_count == 0 ? State::delayed : State::in_flight,
           slot.deadline);
    } else {
      show(queue, place.slot());
    }
  });
  if (fifo) queue.aged.clear();  // they go by when they came
  queue.times.coarsen(queue.config->retention());
  arm_retention(queue);
  arm_dedup(queue, now);
  if (queue.moves && queue.moves->running() != nullptr) arm_moves(queue, now);
}

}  // namespace pawl

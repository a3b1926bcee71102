// How a shard comes back: the records of its log, one after the other, then one look at the clock.
#include <algorithm>

#include "core/check.h"
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
  // The retention is not known yet; finish_recovery() joins what is finer than it needs.
  queue.times.note(record.seq, record.sent, Duration{0});
  if (record.deliver_at <= record.sent) {
    queue.index.put(record.seq, Place::log(record.position));
    return;
  }
  const std::uint32_t row = slots_.take();
  CHECK(row != Slab<Slot>::none, "more messages with a state than a shard may have");
  Slot& slot = slots_[row];
  slot = Slot{.position = record.position,
              .seq = record.seq,
              .deadline = record.deliver_at,
              .queue = record.queue,
              .generation = slot.generation,
              .state = Slot::State::visible};
  queue.index.put(record.seq, Place::slot(row));
}

void Shard::restore(const ReceiveRecord& record) {
  Queue& queue = make_queue(record.queue);
  const Place place = queue.index.find(record.seq);
  if (place.absent()) return;  // deleted before; the records of one frame may be in this order
  const std::uint32_t row = slot_for(queue, record.seq, place);
  CHECK(row != Slab<Slot>::none, "more messages with a state than a shard may have");
  Slot& slot = slots_[row];
  slot.nonce = record.nonce;
  slot.receive_count = record.receive_count;
  slot.deadline = record.deadline;
  slot.first_received = record.first_received;
  slot.last_received = record.last_received;
}

void Shard::restore(const RemoveRecord& record, std::vector<LogPos>& freed) {
  erase(make_queue(record.queue), record.seq, freed);
}

void Shard::restore(const PurgeRecord& record, std::vector<LogPos>& freed) {
  Queue& queue = make_queue(record.queue);
  queue.low = std::max(queue.low, record.below);
  queue.next_seq = std::max(queue.next_seq, record.below);
  if (record.at.ms != 0) queue.purged_at = record.at;
  for (Seq seq = queue.index.oldest(); seq != 0 && seq < record.below;
       seq = queue.index.first_from(seq + 1)) {
    erase(queue, seq, freed);
  }
}

void Shard::finish_recovery(Instant now, std::vector<LogPos>& freed) {
  for (auto it = queues_.begin(); it != queues_.end();) {
    Queue& queue = *it->second;
    const ConfigPtr* const config = directory_.find(queue.id);
    if (config == nullptr) {
      queue.index.for_each([&](Seq, Place place) {
        freed.push_back(place.is_slot() ? slots_[place.slot()].position : place.position());
        if (place.is_slot()) slots_.give(place.slot());
      });
      it = queues_.erase(it);
      continue;
    }
    CHECK((*config)->owner == identity_.id, "queue {} of shard {} found in the log of shard {}",
          raw(queue.id), raw((*config)->owner), raw(identity_.id));
    queue.config = *config;
    // hide() and show() change what is ready, not what is present: the walk may go on under them.
    queue.index.for_each([&](Seq seq, Place place) {
      if (!place.is_slot()) {
        queue.index.make_ready(seq, SeqIndex::Set::fresh);
      } else if (const Slot& slot = slots_[place.slot()]; slot.deadline > now) {
        hide(queue, place.slot(),
             slot.receive_count == 0 ? Slot::State::delayed : Slot::State::in_flight,
             slot.deadline);
      } else {
        show(queue, place.slot());
      }
    });
    queue.times.coarsen(queue.config->retention());
    arm_retention(queue);
    ++it;
  }
  latest_ = nullptr;
}

}  // namespace pawl

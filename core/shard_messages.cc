// What the requests about messages do: send, receive, delete, change of visibility, purge.
#include <algorithm>

#include "core/check.h"
#include "core/mutant.h"
#include "core/shard.h"

namespace pawl {
namespace {

constexpr Duration visibility_total_max = seconds(12 * 3600);
constexpr Duration purge_pause = seconds(60);

Duration or_default(Duration asked, Duration queue_setting) {
  return asked.ms < 0 ? queue_setting : asked;
}

}  // namespace

// --- send ----------------------------------------------------------------------------------------------

void Shard::send(Queue& queue, Request& request, Instant now, Effects& effects) {
  const Seq first = queue.next_seq;
  for (SendEntry& entry : request.sends) {
    if (entry.error != Errc::ok) continue;
    const Duration delay = or_default(entry.delay, queue.config->delay());
    if (delay.ms > 0) {
      const std::uint32_t row = slots_.take();
      if (row == Slab<Slot>::none) {
        entry.error = Errc::overloaded;
        continue;
      }
      Slot& slot = slots_[row];
      const std::uint32_t generation = slot.generation;
      slot = Slot{.seq = queue.next_seq,
                  .deadline = now + delay,
                  .queue = queue.id,
                  .generation = generation};
      queue.index.put(queue.next_seq, Place::slot(row));
    }
    entry.seq = queue.next_seq++;
    effects.sends.push_back({.queue = queue.id,
                             .seq = entry.seq,
                             .sent = now,
                             .deliver_at = now + delay,
                             .content = &entry.content});
  }
  const auto count = static_cast<std::uint32_t>(queue.next_seq - first);
  if (count > 0) {
    const bool armed = !queue.times.empty();
    for (Seq seq = first; seq < queue.next_seq; ++seq)
      queue.times.note(seq, now, queue.config->retention());
    if (!armed) arm_retention(queue);
    commits_.push_back({queue.id, first, count, 0});
    ++commits_unplaced_;
  }
  effects.replies.push_back({&request, count > 0});
}

void Shard::appended(Effects& effects, Lsn lsn) {
  for (const SendRecord& record : effects.sends) {
    Queue* const queue = find_queue(record.queue);
    if (queue == nullptr || record.seq < queue->low) {  // deleted or purged in the same turn
      effects.freed.push_back(record.position);
      continue;
    }
    const Place place = queue->index.find(record.seq);
    if (place.is_slot()) {
      slots_[place.slot()].position = record.position;
    } else {
      queue->index.put(record.seq, Place::log(record.position));
    }
  }
  for (std::size_t i = commits_.size() - commits_unplaced_; i < commits_.size(); ++i)
    commits_[i].lsn = lsn;
  commits_unplaced_ = 0;
}

void Shard::committed(Lsn durable, Instant now) {
  while (commits_.size() > commits_unplaced_ &&
         (commits_.front().lsn <= durable || MUTANT(deliver_before_durable))) {
    const Commit commit = commits_.front();
    commits_.pop_front();
    Queue* const queue = find_queue(commit.queue);
    if (queue == nullptr) continue;
    for (Seq seq = commit.first; seq < commit.first + commit.count; ++seq) {
      const Place place = queue->index.find(seq);
      if (place.absent()) continue;  // purged meanwhile
      if (!place.is_slot()) {
        queue->index.make_ready(seq, SeqIndex::Set::fresh);
      } else if (slots_[place.slot()].deadline > now) {
        hide(*queue, place.slot(), Slot::State::delayed, slots_[place.slot()].deadline);
      } else {
        show(*queue, place.slot());
      }
    }
    want_match(*queue);
  }
}

// --- receive -------------------------------------------------------------------------------------------

void Shard::receive(Queue& queue, Request& request, Instant now, Effects& effects) {
  CHECK(request.receive.max >= 1 && request.receive.max <= request.deliveries.size());
  request.delivered = 0;
  if (queue.in_match_list) match(now, effects);  // who waits already comes first
  const Duration wait = or_default(request.receive.wait, queue.config->wait());
  const bool full = queue.in_flight >= in_flight_max;
  if (full && wait.ms == 0) {
    request.error = Errc::over_in_flight;
  } else if (full || deliver(queue, request, now, effects) == 0) {
    if (wait.ms > 0 && request.error == Errc::ok) {
      if (!waiters_.full()) return park(queue, request, now, wait);
      request.error = Errc::overloaded;
    }
  }
  effects.replies.push_back({&request, false});
}

std::uint32_t Shard::deliver(Queue& queue, Request& request, Instant now, Effects& effects) {
  const Duration visibility = or_default(request.receive.visibility, queue.config->visibility());
  const std::uint64_t room = in_flight_max - std::min(in_flight_max, queue.in_flight);
  const auto max = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.receive.max, room));
  while (request.delivered < max) {
    const Seq seq = queue.next_ready();
    if (seq == 0) break;
    if (!hand_out(queue, seq, visibility, now, request.deliveries[request.delivered], effects)) {
      if (request.delivered == 0) request.error = Errc::overloaded;
      break;
    }
    ++request.delivered;
  }
  if (visibility.ms == 0) {  // back at once, but not twice in one answer
    for (const Delivery& delivery : request.deliveries.first(request.delivered)) {
      show(queue, queue.index.find(delivery.seq).slot());
    }
  }
  return request.delivered;
}

std::uint32_t Shard::slot_for(Queue& queue, Seq seq, Place place) {
  if (place.is_slot()) return place.slot();
  const std::uint32_t row = slots_.take();
  if (row == Slab<Slot>::none) return row;
  Slot& slot = slots_[row];
  const std::uint32_t generation = slot.generation;
  slot = Slot{.position = place.position(),
              .seq = seq,
              .queue = queue.id,
              .generation = generation,
              .state = Slot::State::visible};
  queue.index.put(seq, Place::slot(row));
  return row;
}

bool Shard::hand_out(Queue& queue, Seq seq, Duration visibility, Instant now, Delivery& delivery,
                     Effects& effects) {
  const std::uint32_t row = slot_for(queue, seq, queue.index.find(seq));
  if (row == Slab<Slot>::none) return false;
  Slot& slot = slots_[row];
  if (slot.first_received.ms == 0) slot.first_received = now;
  slot.last_received = now;
  if (!MUTANT(lose_receive_count) && slot.receive_count < UINT32_MAX) ++slot.receive_count;
  slot.nonce = nonce_++;
  if (visibility.ms > 0) {
    hide(queue, row, Slot::State::in_flight, now, visibility);
  } else {
    slot.deadline = now;
    leave_state(queue, slot);
    slot.state = Slot::State::visible;
    queue.index.make_unready(seq);  // until the answer is complete: deliver()
  }
  record(slot, effects);
  delivery = Delivery{
      .position = slot.position,
      .seq = seq,
      .handle = seal(identity_.secret,
                     {.shard = identity_.id, .queue = queue.id, .seq = seq, .nonce = slot.nonce}),
      .receive_count = slot.receive_count,
      .first_received = slot.first_received};
  return true;
}

void Shard::record(const Slot& slot, Effects& effects) const {
  effects.receives.push_back({.queue = slot.queue,
                              .seq = slot.seq,
                              .nonce = slot.nonce,
                              .receive_count = slot.receive_count,
                              .deadline = slot.deadline,
                              .first_received = slot.first_received,
                              .last_received = slot.last_received});
}

// --- the states of a slot --------------------------------------------------------------------------------

void Shard::leave_state(Queue& queue, Slot& slot) {
  if (slot.state == Slot::State::in_flight && !MUTANT(leak_in_flight)) --queue.in_flight;
  if (slot.state == Slot::State::delayed) --queue.delayed;
  if (slot.timer_armed) timers_.cancelled();
  slot.timer_armed = false;
  ++slot.generation;
}

void Shard::hide(Queue& queue, std::uint32_t row, Slot::State state, Instant deadline) {
  Slot& slot = slots_[row];
  leave_state(queue, slot);
  queue.index.make_unready(slot.seq);
  slot.state = state;
  slot.deadline = deadline;
  slot.timer_armed = true;
  ++(state == Slot::State::delayed ? queue.delayed : queue.in_flight);
  timers_.arm(MUTANT(fire_too_soon) ? deadline - milliseconds(1) : deadline, timer_message, row,
              slot.generation);
}

void Shard::hide(Queue& queue, std::uint32_t row, Slot::State state, Instant now,
                 Duration timeout) {
  Slot& slot = slots_[row];
  leave_state(queue, slot);
  queue.index.make_unready(slot.seq);
  slot.state = state;
  slot.deadline = now + timeout;
  slot.timer_armed = true;
  ++(state == Slot::State::delayed ? queue.delayed : queue.in_flight);
  timers_.arm(now, timeout, timer_message, row, slot.generation);
}

void Shard::show(Queue& queue, std::uint32_t row) {
  Slot& slot = slots_[row];
  leave_state(queue, slot);
  slot.state = Slot::State::visible;
  queue.index.make_ready(slot.seq,
                         slot.receive_count == 0 ? SeqIndex::Set::fresh : SeqIndex::Set::returned);
  if (!MUTANT(lose_wakeup)) want_match(queue);
}

void Shard::erase(Queue& queue, Seq seq, std::vector<LogPos>& freed) {
  const Place place = queue.index.find(seq);
  if (place.absent()) return;
  LogPos position = place.position();
  if (place.is_slot()) {
    Slot& slot = slots_[place.slot()];
    leave_state(queue, slot);
    position = slot.position;
    slot.state = Slot::State::free;
    slots_.give(place.slot());
    if (queue.index.ready() > 0) want_match(queue);  // below the limit of messages in flight again
  }
  queue.index.erase(seq);
  if (position != log_pos_none) freed.push_back(position);
}

// --- delete, change of visibility --------------------------------------------------------------------------

Result<Receipt> Shard::receipt_of(const Queue& queue, const ReceiptEntry& entry) const {
  if (entry.error != Errc::ok) return fail(entry.error, "receipt handle");
  const Result<Receipt> receipt = open(identity_.secret, entry.handle);
  if (!receipt) return receipt;
  if (receipt->queue != queue.id || receipt->shard != identity_.id) {
    return fail(Errc::receipt_invalid, "receipt handle of another queue");
  }
  return receipt;
}

void Shard::remove(Queue& queue, Request& request, Effects& effects) {
  for (ReceiptEntry& entry : request.receipts) {
    const Result<Receipt> receipt = receipt_of(queue, entry);
    if (!receipt) {
      entry.error = receipt.error().code;
      continue;
    }
    // An old handle deletes too: a delete that was answered with success must hold.
    if (queue.index.find(receipt->seq).absent()) continue;
    erase(queue, receipt->seq, effects.freed);
    if (!MUTANT(forget_remove_record)) effects.removes.push_back({queue.id, receipt->seq});
  }
  // Also when nothing was left to delete: the delete before this one may not be durable yet.
  effects.replies.push_back({&request, true});
}

void Shard::change_visibility(Queue& queue, Request& request, Instant now, Effects& effects) {
  for (ReceiptEntry& entry : request.receipts) entry.error = change_one(queue, entry, now, effects);
  effects.replies.push_back({&request, false});
}

Errc Shard::change_one(Queue& queue, const ReceiptEntry& entry, Instant now, Effects& effects) {
  const Result<Receipt> receipt = receipt_of(queue, entry);
  if (!receipt) return receipt.error().code;
  const Place place = queue.index.find(receipt->seq);
  if (place.absent()) return Errc::message_gone;
  const std::uint32_t row = slot_for(queue, receipt->seq, place);
  if (row == Slab<Slot>::none) return Errc::overloaded;
  Slot& slot = slots_[row];
  if (slot.receive_count == 0) {  // a crash lost the record of the delivery
    slot.nonce = receipt->nonce;
    slot.receive_count = 1;
    slot.first_received = slot.last_received = now;
  }
  if (slot.nonce != receipt->nonce && !MUTANT(obey_old_handle))
    return Errc::ok;  // received again since: not this holder's to change
  if (now - slot.last_received + entry.visibility > visibility_total_max)
    return Errc::visibility_beyond_max;
  if (entry.visibility.ms > 0) {
    hide(queue, row, Slot::State::in_flight, now, entry.visibility);
  } else {
    slot.deadline = now;
    show(queue, row);
  }
  record(slot, effects);
  return Errc::ok;
}

void Shard::undeliver(Queue& queue, Request& request, Instant now, Effects& effects) {
  for (const ReceiptEntry& entry : request.receipts) {
    const Result<Receipt> receipt = receipt_of(queue, entry);
    if (!receipt) continue;
    const Place place = queue.index.find(receipt->seq);
    if (!place.is_slot()) continue;
    Slot& slot = slots_[place.slot()];
    if (slot.nonce != receipt->nonce || slot.state != Slot::State::in_flight) continue;
    if (slot.receive_count > 0 && !MUTANT(count_undelivered)) --slot.receive_count;
    if (slot.receive_count == 0) slot.first_received = Instant{};
    slot.deadline = now;
    show(queue, place.slot());
    record(slot, effects);
  }
  effects.replies.push_back({&request, false});
}

// --- purge, retention ----------------------------------------------------------------------------------------

// All messages of the queue go; the memory is given back in the turns to come.
void Shard::doom(Queue& queue) {
  doomed_.push_back(std::move(queue.index));
  queue.index = SeqIndex(pages_);
  queue.times.clear();
  queue.in_flight = queue.delayed = 0;
  queue.low = queue.next_seq;
}

void Shard::purge(Queue& queue, Request& request, Instant now, Effects& effects) {
  if (now - queue.purged_at < purge_pause) {
    request.error = Errc::purge_in_progress;
    effects.replies.push_back({&request, false});
    return;
  }
  queue.purged_at = now;
  doom(queue);
  if (!MUTANT(forget_purge_record)) {
    effects.purges.push_back({.queue = queue.id, .below = queue.next_seq, .at = now});
  }
  effects.replies.push_back({&request, true});
}

void Shard::arm_retention(Queue& queue) {
  const Instant due =
      queue.config == nullptr ? never : queue.times.next_expiry(queue.config->retention());
  if (due == never || due == queue.retention_armed || MUTANT(forget_retention)) return;
  if (queue.retention_armed != never) timers_.cancelled();
  queue.retention_armed = due;
  timers_.arm(due, timer_retention, raw(queue.id), ++queue.retention_generation);
}

void Shard::expire_retention(Queue& queue, Instant now, Effects& effects) {
  queue.expired = std::max(queue.expired, queue.times.expire(now, queue.config->retention()));
  const std::uint64_t before = queue.index.size();
  Seq seq = queue.index.oldest();
  for (std::size_t left = limits_.doomed_a_turn; left > 0 && seq != 0 && seq < queue.expired;
       --left) {
    erase(queue, seq, effects.freed);
    seq = queue.index.first_from(seq + 1);
  }
  const bool more = seq != 0 && seq < queue.expired;
  const Seq below = more ? seq : queue.expired;
  queue.low = std::max(queue.low, below);
  if (queue.index.size() < before) {
    // Recorded, so that a longer retention set later does not bring them back after a restart.
    effects.purges.push_back({.queue = queue.id, .below = below, .at = Instant{}});
  }
  if (!more) return arm_retention(queue);
  queue.retention_armed = now + milliseconds(1);
  timers_.arm(queue.retention_armed, timer_retention, raw(queue.id), ++queue.retention_generation);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Send and receive.
#include <algorithm>

#include "core/check.h"
#include "core/mutant.h"
#include "core/shard.h"

namespace pawl {
namespace {

// A receive that found only dead letters waits until they have moved, so that counts made after it
// find them in the dead-letter queue. The move takes a flush of the target's log.
constexpr Duration move_wait_max = seconds(5);

// A start goes on behind them: a crash costs so many numbers at most.
constexpr Seq numbers_reserved = 1 << 18;

Duration or_default(Duration asked, Duration queue_setting) {
  return asked.ms < 0 ? queue_setting : asked;
}

}  // namespace

// --- send ---

void Shard::send(Queue& queue, Request& request, Instant now, Effects& effects) {
  const Seq first = queue.next_seq;
  const bool fifo = queue.config->is_fifo();
  const Duration delay = queue.config->delay();
  const Durability durability = queue.config->durability();
  if (durability != Durability::fsync) reserve_numbers(queue, effects);
  bool accepted = false;
  for (SendEntry& entry : request.sends) {
    if (entry.error != Errc::ok) continue;
    accepted |= fifo ? send_in_order(queue, entry, now, effects)
                     : send_one(queue, entry, or_default(entry.delay, delay), {}, now, effects);
  }
  if (durability != Durability::fsync && queue.next_seq <= queue.reserved_durable)
    request.durability = durability;
  if (queue.next_seq > first) sent(queue, first, request.durability == Durability::memory, now);
  // The response to a duplicate waits too: the original may not be durable yet.
  effects.replies.push_back({&request, accepted});
}

// A crash may lose messages that were acknowledged before they were durable. Their numbers must not
// be used again: an old receipt handle would delete another message.
void Shard::reserve_numbers(Queue& queue, Effects& effects) {
  if (std::min(queue.next_seq + numbers_reserved / 2, seq_max) <= queue.reserved) return;
  queue.reserved = std::min(queue.next_seq + numbers_reserved, seq_max);
  if (!MUTANT(forget_reserved)) effects.heads.push_back({queue.id, queue.reserved, true});
  commits_.push_back({.queue = queue.id, .reserved = queue.reserved});
  ++commits_unplaced_;
}

bool Shard::send_in_order(Queue& queue, SendEntry& entry, Instant now, Effects& effects) {
  const QueueConfig& config = *queue.config;
  const Content& content = entry.content;
  if (content.group.empty() || content.dedup_id.empty()) {
    entry.error = Errc::invalid;
    return false;
  }
  const auto key_by = [&](DeduplicationScope scope) {
    const bool of_group = scope == DeduplicationScope::message_group;
    return text_key(identity_.secret, of_group ? content.group : std::string_view(),
                    content.dedup_id);
  };
  const DeduplicationScope scope = config.scope_in_force(now);
  const TextKey dedup = key_by(scope);
  if (is_duplicate(queue, entry, dedup, now)) return true;
  if (config.both_scopes_count(now)) {
    const DeduplicationScope other = scope == DeduplicationScope::queue
                                         ? DeduplicationScope::message_group
                                         : DeduplicationScope::queue;
    if (is_duplicate(queue, entry, key_by(other), now)) return true;
  }
  if (deduplicated_ >= limits_.dedup_max) {
    entry.error = Errc::overloaded;
    return false;
  }
  if (!send_one(queue, entry, config.delay(), dedup, now, effects)) return false;
  queue.fifo->dedup.add(dedup, entry.seq, now);
  arm_fifo(queue, now);
  return true;
}

bool Shard::send_one(Queue& queue, SendEntry& entry, Duration delay, const TextKey& dedup,
                     Instant now, Effects& effects) {
  if (queue.used_up()) {
    entry.error = Errc::message_numbers_used_up;
    return false;
  }
  if (delay.ms > 0 || !entry.content.group.empty()) {
    const std::uint32_t row = new_slot(queue, queue.next_seq, entry.content);
    if (row == Slab<Slot>::none) {
      entry.error = Errc::overloaded;
      return false;
    }
    slots_[row].deadline = now + delay;
    slots_[row].since = now;
  }
  entry.seq = queue.next_seq++;
  // Made where it stays: to copy one is 12 ns.
  SendRecord& record = effects.sends.emplace_back(queue.id, entry.seq, now, now + delay);
  record.content = &entry.content;
  record.dedup = dedup;
  return true;
}

bool Shard::is_duplicate(Queue& queue, SendEntry& entry, const TextKey& key, Instant now) {
  const Seq first = fifo_of(queue).dedup.find(key, now);
  if (first == 0) return false;
  if (MUTANT(restart_window)) queue.fifo->dedup.add(key, first, now);
  entry.seq = first;
  entry.duplicate = true;
  return true;
}

// The messages from `first` on become visible once they are durable, or with `at_once` as soon as
// they have their log positions.
void Shard::sent(Queue& queue, Seq first, bool at_once, Instant now) {
  const bool armed = !queue.times.empty();
  // No noted message is left. Messages sent in this turn join the next bucket, of the same time.
  if (queue.index.size() == 0 && queue.set_aside.empty()) queue.times.clear();
  // The messages between these two were sent at the same time and share their buckets.
  const bool begins = queue.times.note(first, now, queue.config->retention());
  queue.times.note(queue.next_seq - 1, now, queue.config->retention());
  if (begins) queue.times.forget_below(queue.oldest());
  if (!armed) arm_retention(queue);
  const Commit commit{.queue = queue.id,
                      .first = first,
                      .count = static_cast<std::uint32_t>(queue.next_seq - first)};
  if (at_once) return at_once_.push_back(commit);
  commits_.push_back(commit);
  ++commits_unplaced_;
}

void Shard::appended(Effects& effects, Lsn lsn) {
  Queue* queue = nullptr;
  for (const SendRecord& record : effects.sends) {
    if (queue == nullptr || queue->id != record.queue) queue = find_queue(record.queue);
    if (queue == nullptr || record.seq < queue->low) {  // deleted or purged in the same turn
      effects.freed.push_back(record.position);
      continue;
    }
    const IndexEntry indexed = queue->index.find(record.seq);
    if (indexed.is_slot()) {
      slots_[indexed.slot()].position = record.position;
      // In a standard queue the retention of a dead letter counts from its sending, in a FIFO
      // queue from its arrival. Noted only now: it may be past retention already, and a deleted
      // message must not be noted again.
      if (record.carried.receive_count > 0 && !queue->config->is_fifo()) {
        if (!MUTANT(forget_dead_letter_age))
          aged_of(*queue).add(record.sent, record.seq, queue->all_there());
        arm_retention(*queue);
      }
    } else {
      queue->index.put(record.seq, IndexEntry::log(record.position));
    }
  }
  for (std::size_t i = commits_.size() - commits_unplaced_; i < commits_.size(); ++i)
    commits_[i].lsn = lsn;
  commits_unplaced_ = 0;
}

void Shard::committed(Lsn durable, Instant now) {
  for (const Commit& commit : at_once_) make_available(commit, now);
  at_once_.clear();
  while (commits_.size() > commits_unplaced_ &&
         (commits_.front().lsn <= durable || MUTANT(deliver_before_durable))) {
    const Commit commit = commits_.front();
    commits_.pop_front();
    make_available(commit, now);
  }
}

void Shard::make_available(const Commit& commit, Instant now) {
  Queue* const queue = find_queue(commit.queue);
  if (queue == nullptr) return;
  if (commit.task != 0) begun_.emplace_back(commit.queue, commit.task);
  queue->reserved_durable = std::max(queue->reserved_durable, commit.reserved);
  for (Seq seq = commit.first; seq < commit.first + commit.count; ++seq) {
    const IndexEntry indexed = queue->index.find(seq);
    if (indexed.absent()) continue;  // purged meanwhile
    if (!indexed.is_slot()) {
      queue->index.make_ready(seq, SeqIndex::Set::fresh);
    } else if (slots_[indexed.slot()].deadline > now) {
      hide(*queue, indexed.slot(), State::delayed, slots_[indexed.slot()].deadline);
    } else {
      show(*queue, indexed.slot());
    }
  }
  want_match(*queue);
}

// --- receive ---

void Shard::receive(Queue& queue, Request& request, Instant now, Effects& effects) {
  CHECK(request.receive.max >= 1 && request.receive.max <= request.deliveries.size());
  request.delivered = 0;
  if (queue.in_match_list) match(now, effects);  // who waits already comes first
  if (receive_again(queue, request, now, effects)) return;
  const Duration wait = or_default(request.receive.wait, queue.config->wait());
  const bool full = queue.in_flight >= in_flight_max;
  if (full && wait.ms == 0 && !queue.config->is_fifo()) {
    request.error = Errc::over_in_flight;
  } else if (full || deliver(queue, request, now, effects) == 0) {
    const bool awaits_moves = wait.ms == 0 && queue.moving > 0 && !stopping_;
    if ((wait.ms > 0 || awaits_moves) && request.error == Errc::ok) {
      if (!waiters_.full())
        return park(queue, request, now, awaits_moves ? move_wait_max : wait, awaits_moves);
      request.error = Errc::overloaded;
    }
  }
  reply(queue, request, effects);
}

std::uint32_t Shard::deliver(Queue& queue, Request& request, Instant now, Effects& effects) {
  const std::uint64_t left = in_flight_max - std::min(in_flight_max, queue.in_flight);
  const auto max = static_cast<std::uint32_t>(std::min<std::uint64_t>(request.receive.max, left));
  if (queue.config->is_fifo()) {
    deliver_in_order(queue, request, max, now, effects);
    note_attempt(queue, request, now);
  } else {
    deliver_any(queue, request, max, now, effects);
  }
  if (or_default(request.receive.visibility, queue.config->visibility()).ms > 0)
    return request.delivered;
  // They are back at once, but not twice in one answer.
  for (const Delivery& delivery : request.deliveries.first(request.delivered))
    show(queue, queue.index.find(delivery.seq).slot());
  return request.delivered;
}

// Group by group: of each, from the front up to the first message that is not visible.
void Shard::deliver_in_order(Queue& queue, Request& request, std::uint32_t max, Instant now,
                             Effects& effects) {
  if (!queue.groups) return;
  Groups& groups = *queue.groups;
  std::uint32_t dead_letters = 0;
  while (request.delivered < max && groups.any_ready()) {
    std::uint32_t row = groups.next_in_order();
    while (row != 0 && request.delivered < max && slots_[row].state == State::visible) {
      const std::uint32_t next = groups.after(row);
      if (is_dead_letter(queue, slots_[row])) {
        if (!move_to_dead_letters(queue, row, dead_letters, now, effects)) return;
        break;  // what is behind it waits until it is gone
      }
      hand_out(queue, row, request, now, effects);
      row = MUTANT(overtake) && next != 0 && slots_[next].state != State::visible
                ? groups.after(next)
                : next;
    }
  }
}

void Shard::deliver_any(Queue& queue, Request& request, std::uint32_t max, Instant now,
                        Effects& effects) {
  const bool redrives = queue.config->number(Attribute::max_receive_count) > 0;
  std::uint32_t dead_letters = 0;
  bool dead_letters_wait = false;  // messages never received do not wait with them
  while (request.delivered < max &&
         (dead_letters_wait ? queue.index.ready(SeqIndex::Set::fresh) > 0 : queue.has_ready())) {
    const Seq fresh = dead_letters_wait ? queue.index.first_ready(SeqIndex::Set::fresh) : 0;
    const std::uint32_t row = dead_letters_wait ? slot_for(queue, fresh, queue.index.find(fresh))
                                                : next_message(queue, now);
    if (row == Slab<Slot>::none) {
      if (request.delivered == 0) request.error = Errc::overloaded;
      return;
    }
    if (!redrives || !is_dead_letter(queue, slots_[row])) {
      hand_out(queue, row, request, now, effects);
    } else if (!move_to_dead_letters(queue, row, dead_letters, now, effects)) {
      dead_letters_wait = true;
    }
  }
}

// The next message of a standard queue; messages with and without a group take turns. none: no slot
// is free.
std::uint32_t Shard::next_message(Queue& queue, Instant now) {
  const bool grouped = queue.groups && queue.groups->any_ready();
  queue.grouped_last = grouped && (queue.index.ready() == 0 || !queue.grouped_last);
  if (queue.grouped_last) return queue.groups->next_fairly(queue.in_flight, now);
  const Seq seq = next_ready(queue, now);
  return slot_for(queue, seq, queue.index.find(seq));
}

// The oldest message without a group. Messages that have just come back take turns with fresh ones:
// messages that are received and returned for ever do not starve the others.
Seq Shard::next_ready(Queue& queue, Instant now) {
  const Seq fresh = queue.index.first_ready(SeqIndex::Set::fresh);
  const Seq returned = queue.index.first_ready(SeqIndex::Set::returned);
  bool choose_returned = fresh == 0;
  if (fresh != 0 && returned != 0) {
    const Slot& slot = slots_[queue.index.find(returned).slot()];
    choose_returned = returned < fresh && (!slot.just_returned(now) || !queue.chose_returned);
  }
  queue.chose_returned = choose_returned;
  return choose_returned ? returned : fresh;
}

void Shard::hand_out(Queue& queue, std::uint32_t row, Request& request, Instant now,
                     Effects& effects) {
  const Duration visibility = or_default(request.receive.visibility, queue.config->visibility());
  Slot& slot = slots_[row];
  const bool counts = slot.receive_count < UINT32_MAX && !MUTANT(lose_receive_count);
  const std::uint32_t count = slot.receive_count + (counts ? 1 : 0);
  slot.set_received(count, slot.receive_count == 0 ? now : slot.first_received(), now);
  slot.nonce = nonce_++;
  if (visibility.ms > 0) {
    hide(queue, row, State::in_flight, now, visibility);
  } else {
    change_state(queue, row, State::in_flight);  // until the answer is complete
    slot.deadline = now;
  }
  record(slot, effects);
  deliver_one(slot, request);
}

void Shard::deliver_one(const Slot& slot, Request& request) const {
  const Receipt receipt{
      .shard = identity_.id, .queue = slot.queue, .seq = slot.seq, .nonce = slot.nonce};
  Delivery& delivery = request.deliveries[request.delivered++];
  delivery = Delivery();
  delivery.position = slot.position;
  delivery.seq = slot.seq;
  delivery.handle = seal(identity_.receipt_key, receipt);
  delivery.receive_count = slot.receive_count;
  delivery.first_received = slot.first_received();
}

// --- ReceiveRequestAttemptId ---

// Answers a repeated attempt with the same messages if they are unchanged. False: a new attempt.
bool Shard::receive_again(Queue& queue, Request& request, Instant now, Effects& effects) {
  if (request.receive.attempt.empty() || !queue.fifo) return false;
  std::vector<Attempted>* const messages =
      queue.fifo->attempts.find(text_key(identity_.secret, request.receive.attempt), now);
  if (messages == nullptr) return false;
  const auto kept = [](const Attempted& m) {
    return m.seq != 0;
  };  // undeliver() returned the others
  const bool any = std::ranges::any_of(*messages, kept);
  const bool untouched = any && std::ranges::all_of(*messages, [&](const Attempted& m) {
                           if (!kept(m)) return true;
                           const IndexEntry indexed = queue.index.find(m.seq);
                           if (!indexed.is_slot()) return false;
                           const Slot& slot = slots_[indexed.slot()];
                           return slot.state == State::in_flight && slot.nonce == m.nonce &&
                                  slot.deadline == m.deadline;
                         });
  if (!untouched || messages->size() > request.deliveries.size()) {
    request.error = Errc::attempt_not_retryable;
    effects.replies.push_back({&request, false});
    return true;
  }
  const Duration visibility = or_default(request.receive.visibility, queue.config->visibility());
  for (Attempted& m : *messages) {
    if (!kept(m)) continue;
    const std::uint32_t row = queue.index.find(m.seq).slot();
    slots_[row].deadline = now;
    if (visibility.ms > 0) {
      hide(queue, row, State::in_flight, now, visibility);
    } else {
      show(queue, row);
    }
    m.deadline = slots_[row].deadline;
    record(slots_[row], effects);
    deliver_one(slots_[row], request);
  }
  reply(queue, request, effects);
  return true;
}

void Shard::note_attempt(Queue& queue, const Request& request, Instant now) {
  if (request.receive.attempt.empty() || request.delivered == 0) return;
  if (attempts_bytes_ >= limits_.attempts_bytes_max) return;
  std::vector<Attempted> messages;
  for (const Delivery& delivery : request.deliveries.first(request.delivered)) {
    const Slot& slot = slots_[queue.index.find(delivery.seq).slot()];
    messages.push_back({slot.seq, slot.nonce, slot.deadline});
  }
  const TextKey attempt = text_key(identity_.secret, request.receive.attempt);
  fifo_of(queue).attempts.put(attempt, std::move(messages), now);
  if (!queue.waiters.empty()) queue.fifo->attempts_noted.push_back(attempt);
  want_match(queue);
  arm_fifo(queue, now);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/send_requests.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

// Recovery continues behind the reserved numbers: a crash costs so many numbers at most.
constexpr Seq numbers_reserved = 1 << 18;

}  // namespace

// True: at least one message is accepted or is a duplicate. Inlined: a send takes it once.
[[gnu::always_inline]] inline bool SendRequests::send_to(Queue& queue, std::span<SendEntry> sends,
                                                         const ProducerParams& producer,
                                                         Instant now, Effects& effects) {
  const Seq first = queue.next_seq;
  const bool fifo = queue.config->is_fifo();
  const Duration delay = queue.config->delay();
  bool accepted = false;
  for (SendEntry& entry : sends) {
    if (entry.error != Errc::ok) continue;
    const Duration own_delay = entry.delay.ms < 0 ? delay : entry.delay;
    if (fifo) {
      accepted |= send_in_order(queue, entry, now, effects);
    } else if (producer.id != 0) {
      accepted |= send_once(queue, entry, producer, own_delay, now, effects);
    } else {
      accepted |= send_one(queue, entry, own_delay, now, effects) != nullptr;
    }
  }
  CHECK(queue.next_seq >= first && queue.next_seq <= seq_max, "seq {}", queue.next_seq);
  CHECK(queue.reserved_durable <= queue.reserved, "{} reserved, {} durable", queue.reserved,
        queue.reserved_durable);
  return accepted;
}

void SendRequests::send(Queue& queue, Request& request, Instant now, Effects& effects) {
  const Durability durability = queue.config->durability();
  const Seq first = queue.next_seq;
  if (durability != Durability::fsync) reserve_numbers(queue, effects);
  const bool accepted = send_to(queue, request.sends, request.producer, now, effects);
  if (durability != Durability::fsync && queue.next_seq <= queue.reserved_durable)
    request.durability = durability;
  if (queue.next_seq > first)
    commits_.sent(queue, first, QueueCounter::sent, request.durability == Durability::memory, now);
  // The response to a duplicate waits too: the original may not be durable yet.
  effects.replies.push_back({&request, accepted});
}

// The message is durable before it is answered and delivered, whatever the settings of the queues.
void SendRequests::fan_out(Request& request, Instant now, Effects& effects) {
  CHECK(request.sends.size() == 1, "{} messages", request.sends.size());
  SendEntry& entry = request.sends.front();
  bool accepted = false;
  const bool fires = request.fire.schedule != QueueId::none;
  // Looked up first: a queue may be the target of two subscriptions.
  for (FanOutTarget& target : request.targets) {
    const Queue* const queue = fires ? state_.find_queue(target.queue) : nullptr;
    target.duplicate = queue != nullptr && Schedules::has(*queue, request.fire);
  }
  for (FanOutTarget& target : request.targets) {
    Queue* const queue = state_.find_queue(target.queue);
    target.error = Errc::no_such_queue;
    if (queue == nullptr) continue;
    if (target.duplicate) {  // it has had the fire
      target.error = Errc::ok;
      accepted = true;
      continue;
    }
    const std::size_t before = effects.sends.size();
    const Seq first = queue->next_seq;
    entry.error = Errc::ok;
    entry.seq = 0;
    entry.duplicate = false;
    accepted |= entry.dedup_by.empty() || queue->config->is_fifo()
                    ? send_to(*queue, request.sends, {}, now, effects)
                    : send_unless_known(*queue, entry, now, effects);
    if (queue->next_seq > first) commits_.sent(*queue, first, QueueCounter::sent, false, now);
    target.error = entry.error;
    target.seq = entry.seq;
    target.duplicate = entry.duplicate;
    if (fires && entry.error == Errc::ok) schedules_.note(*queue, request.fire, entry.seq);
    if (effects.sends.size() == before) continue;
    effects.sends.back().subscription = target.subscription;
    effects.sends.back().fire = request.fire;
  }
  effects.replies.push_back({&request, accepted});
}

// A crash may lose messages that were acknowledged before they were durable. Their numbers must not
// be used again: an old receipt handle would delete another message.
void SendRequests::reserve_numbers(Queue& queue, Effects& effects) {
  if (std::min(queue.next_seq + numbers_reserved / 2, seq_max) <= queue.reserved) return;
  queue.reserved = std::min(queue.next_seq + numbers_reserved, seq_max);
  if (!MUTANT(forget_reserved)) effects.heads.push_back({queue.id, queue.reserved, true});
  commits_.reserved(queue, queue.reserved);
}

bool SendRequests::send_in_order(Queue& queue, SendEntry& entry, Instant now, Effects& effects) {
  const QueueConfig& config = *queue.config;
  const Content& content = entry.content;
  if (content.group.empty() || content.dedup_id.empty()) {
    entry.error = Errc::invalid;
    return false;
  }
  const auto key_by = [&](DeduplicationScope scope) {
    const bool of_group = scope == DeduplicationScope::message_group;
    return text_key(state_.identity.secret, of_group ? content.group : std::string_view(),
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
  const bool own = entry.delay.ms >= 0 && config.ages_from_delivery();
  const Duration delay = own ? entry.delay : config.delay();
  return send_first(queue, entry, dedup, delay, now, effects);
}

bool SendRequests::send_first(Queue& queue, SendEntry& entry, const TextKey& key, Duration delay,
                              Instant now, Effects& effects) {
  if (!has_room(entry)) return false;
  SendRecord* const record = send_one(queue, entry, delay, now, effects);
  if (record == nullptr) return false;
  record->dedup = key;
  CHECK(queue.fifo != nullptr && queue.fifo->dedup.newest() < entry.seq, "seq {} is not the newest",
        entry.seq);
  queue.fifo->dedup.add(key, entry.seq, now);
  history_.arm(queue, now);
  return true;
}

bool SendRequests::has_room(SendEntry& entry) const {
  if (history_.has_room()) return true;
  entry.error = Errc::overloaded;
  return false;
}

// A standard queue of a FIFO topic gets a message once, also if it is published again because the
// first publish was not answered.
bool SendRequests::send_unless_known(Queue& queue, SendEntry& entry, Instant now,
                                     Effects& effects) {
  const TextKey key = text_key(state_.identity.secret, entry.dedup_by);
  return (is_duplicate(queue, entry, key, now) && !MUTANT(repeat_publish)) ||
         send_first(queue, entry, key, entry.delay.ms < 0 ? queue.config->delay() : entry.delay,
                    now, effects);
}

void SendRequests::take_numbers(Queue& topic, Request& request, Instant now, Effects& effects) {
  reserve_numbers(topic, effects);
  bool waits = request.durability == Durability::fsync;
  request.durability = Durability::fsync;
  for (SendEntry& entry : request.sends) {
    if (take_number(topic, entry, now, effects)) waits |= entry.seq >= topic.reserved_durable;
  }
  effects.replies.push_back({&request, waits});
}

bool SendRequests::take_number(Queue& topic, SendEntry& entry, Instant now, Effects& effects) {
  const TextKey key = text_key(state_.identity.secret, entry.dedup_by);
  if (is_duplicate(topic, entry, key, now)) return true;
  if (!has_room(entry)) return false;
  if (topic.used_up()) {
    entry.error = Errc::message_numbers_used_up;
    return false;
  }
  entry.seq = topic.next_seq++;
  entry.duplicate = false;
  topic.fifo->dedup.add(key, entry.seq, now);
  history_.arm(topic, now);
  effects.numbers.push_back({topic.id, entry.seq, key, now});
  return true;
}

// A message that its producer resends is accepted once.
bool SendRequests::send_once(Queue& queue, SendEntry& entry, const ProducerParams& producer,
                             Duration delay, Instant now, Effects& effects) {
  CHECK(!queue.config->is_fifo(), "a producer of FIFO queue {}", raw(queue.id));
  CHECK(entry.sequence >= producer.floor, "sequence {}, floor {}", entry.sequence, producer.floor);
  Producers& producers = history_.producers_of(queue);
  const ProducerKey key{producer.id, entry.sequence};
  if (const std::optional<Seq> first = producers.find(key)) {
    entry.seq = *first;
    entry.duplicate = true;
    state_.statistics.count(queue, QueueCounter::deduplicated);
    return !MUTANT(duplicate_reply_early);
  }
  if (!history_.make_room(producers, key, producer.floor)) {
    entry.error = Errc::overloaded;
    return false;
  }
  SendRecord* const record = send_one(queue, entry, delay, now, effects);
  if (record == nullptr) return false;
  record->producer = key;
  producers.add(key, producer.floor, entry.seq, now);
  history_.arm(queue, now);
  return true;
}

SendRecord* SendRequests::send_one(Queue& queue, SendEntry& entry, Duration delay, Instant now,
                                   Effects& effects) {
  if (queue.used_up()) {
    entry.error = Errc::message_numbers_used_up;
    return nullptr;
  }
  if ((delay.ms > 0 || !entry.content.group.empty()) && !waits_long(queue, entry, delay, now)) {
    const std::uint32_t row = states_.new_slot(queue, queue.next_seq, entry.content);
    if (row == Slab<Slot>::none) {
      entry.error = Errc::overloaded;
      return nullptr;
    }
    Slot& slot = state_.slot(row);
    slot.deadline = now + delay;
    slot.since = now;
  }
  CHECK(queue.next_seq >= queue.low, "seq {} is below {}", queue.next_seq, queue.low);
  entry.seq = queue.next_seq++;
  CHECK(entry.seq > 0 && entry.seq <= seq_newest_max, "seq {}", entry.seq);
  // Made where it stays: to copy one is 12 ns.
  SendRecord& record = effects.sends.emplace_back(queue.id, entry.seq, now, now + delay);
  record.content = &entry.content;
  const std::int64_t times =  // one test, because most queues and messages have none
      queue.config->number(Attribute::max_delay) | queue.config->number(Attribute::message_ttl) |
      entry.time_to_live.ms;
  if (times != 0) note_times(queue, entry, delay, record);
  record.subscription = entry.content.subscription;
  return &record;
}

// The message gets no slot: appended() enters it into the calendar. A time to live that has not
// begun needs a slot.
bool SendRequests::waits_long(const Queue& queue, const SendEntry& entry, Duration delay,
                              Instant now) const {
  return entry.content.group.empty() && queue.config->ages_from_delivery() &&
         queue.config->time_to_live(entry.time_to_live).ms == 0 && state_.is_far(now, now + delay);
}

// A delayed message ages from its delivery time where x-max-delay says so. In a FIFO queue, a delay
// of its own stays when that of the queue changes.
void SendRequests::note_own_time(Queue& queue, const SendEntry& entry, Duration delay,
                                 SendRecord& record) {
  record.aged_apart = delay.ms > 0;
  record.own_delay = queue.config->is_fifo() && entry.delay.ms >= 0;
  if (!record.aged_apart && !record.own_delay) return;
  const IndexEntry indexed = queue.index.find(entry.seq);
  if (indexed.absent()) return;  // it has no slot
  Slot& slot = state_.slot(indexed.slot());
  CHECK(slot.seq == entry.seq, "seq {} is in the slot of seq {}", entry.seq, slot.seq);
  if (record.aged_apart) queue.keep_apart(slot);
  if (record.own_delay) slot.since = Instant{};
}

void SendRequests::note_times(Queue& queue, const SendEntry& entry, Duration delay,
                              SendRecord& record) {
  if (queue.config->ages_from_delivery()) note_own_time(queue, entry, delay, record);
  if (const Duration ttl = queue.config->time_to_live(entry.time_to_live); ttl.ms != 0)
    note_time_to_live(queue, ttl, record);
}

void SendRequests::note_time_to_live(Queue& queue, Duration ttl, SendRecord& record) {
  CHECK(ttl.ms > 0 && ttl <= time_to_live_max, "a time to live of {} ms", ttl.ms);
  record.time_to_live = ttl;
  if (record.lives_at_once()) return;
  Slot& slot = state_.slot(queue.index.find(record.seq).slot());
  CHECK(slot.seq == record.seq, "seq {} is in the slot of seq {}", record.seq, slot.seq);
  slot.first_before = static_cast<std::uint32_t>(ttl.ms);
}

bool SendRequests::is_duplicate(Queue& queue, SendEntry& entry, const TextKey& key, Instant now) {
  const Seq first = history_.fifo_of(queue).dedup.find(key, now);
  if (first == 0) return false;
  if (MUTANT(restart_window)) queue.fifo->dedup.add(key, first, now);
  entry.seq = first;
  entry.duplicate = true;
  if (!queue.config->is_topic()) state_.statistics.count(queue, QueueCounter::deduplicated);
  return true;
}

}  // namespace pawl

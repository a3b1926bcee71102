// SPDX-License-Identifier: Apache-2.0
#include "core/shard/peek.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "core/shard/selection.h"

namespace pawl {
namespace {

using Peeked = PeekedMessage::State;

// A found message, and its record.
struct Found {
  PeekedMessage message;
  LogPos position = log_pos_none;
};

Peeked state_of(const Slot& slot) {
  switch (slot.state) {
    case Slot::State::sent:
      return Peeked::not_durable;
    case Slot::State::delayed:
      return Peeked::delayed;
    case Slot::State::visible:
      return Peeked::visible;
    case Slot::State::in_flight:
      return Peeked::in_flight;
    case Slot::State::moving:
      return Peeked::moving;
    case Slot::State::free:
      break;
  }
  CHECK(false, "seq {} has a free slot", slot.seq);
}

// The message that this one of a FIFO queue waits for; 0: none that was looked at.
Seq hidden_before(const ShardState& state, const Slot& slot, const Groups& groups) {
  if (slot.prev_in_group == 0) return 0;  // it is the first, or does not wait for others
  const Slot* hidden = &state.slots[groups.first_of(slot.group)];
  if (hidden->state == Slot::State::visible) {
    std::uint32_t row = slot.prev_in_group;
    hidden = nullptr;
    for (std::uint32_t i = 0; i < group_looks_max && row != 0 && hidden == nullptr; ++i) {
      const Slot& before = state.slots[row];
      if (before.state != Slot::State::visible) hidden = &before;
      row = before.prev_in_group;
    }
  }
  if (hidden != nullptr) return hidden->seq;
  // Messages that have passed it are received without it.
  const Seq before = state.slots[slot.prev_in_group].seq;
  return before > slot.seq ? before : 0;
}

// The tenant of a visible message of a standard queue.
void add_tenant(PeekedMessage& message, const Queue& queue, std::uint32_t group) {
  message.tenant_in_flight = queue.groups->in_flight_of(group);
  message.tenant_is_noisy = queue.groups->is_noisy(group, queue.in_flight);
  CHECK(message.tenant_in_flight <= queue.in_flight, "{} of {} messages in flight",
        message.tenant_in_flight, queue.in_flight);
}

Found from_slot(const ShardState& state, const Queue& queue, const Slot& slot) {
  CHECK(slot.queue == queue.id, "a slot of queue {}", raw(slot.queue));
  Found found{
      .message = {.seq = slot.seq, .state = state_of(slot), .receive_count = slot.receive_count},
      .position = slot.position
  };
  PeekedMessage& message = found.message;
  if (message.state == Peeked::delayed || message.state == Peeked::in_flight)
    message.until = slot.deadline;
  if (message.state == Peeked::delayed) {
    message.never_delivered = slot.never_delivered();
    message.aged_apart = slot.aged_apart;
    message.life_ahead = slot.life_ahead();
  }
  if (message.receive_count > 0) message.first_received = slot.first_received();
  message.cancelled = slot.cancelled;
  if (message.state == Peeked::in_flight)
    message.consumer = state.recent_receives->consumer_of(slot.nonce);
  if (slot.group == 0) return found;
  if (queue.config->is_fifo()) {
    message.behind = hidden_before(state, slot, *queue.groups);
  } else if (message.state == Peeked::visible) {
    add_tenant(message, queue, slot.group);
  }
  return found;
}

Found look_at(const ShardState& shard, const Queue& queue, Seq seq, IndexEntry indexed) {
  if (indexed.is_slot()) return from_slot(shard, queue, shard.slots[indexed.slot()]);
  if (indexed.is_lease()) {
    Found found = from_slot(shard, queue, shard.leases->slot_of(indexed));
    if (MUTANT(peek_leases_as_visible)) found.message.state = Peeked::visible;
    return found;
  }
  const Peeked state = indexed.is_durable()        ? Peeked::delayed
                       : queue.index.is_ready(seq) ? Peeked::visible
                                                   : Peeked::not_durable;
  const bool pending = indexed.is_pending();
  return {
      .message = {.seq = seq, .state = state, .never_delivered = pending, .aged_apart = pending},
      .position = indexed.position()
  };
}

// The message set aside at `seq` or behind it; null: none.
const TrackedMessage* set_aside_from(const Queue& queue, Seq seq) {
  const auto at = std::ranges::lower_bound(queue.set_aside, seq, {}, &TrackedMessage::seq);
  return at == queue.set_aside.end() ? nullptr : &*at;
}

// The first message at `seq` or behind it; number 0: none.
Found next_from(const ShardState& state, const Queue& queue, Seq seq) {
  const Seq indexed = queue.index.first_from(seq);
  const TrackedMessage* const aside = set_aside_from(queue, seq);
  if (aside != nullptr && (indexed == 0 || aside->seq < indexed)) {
    PeekedMessage message{
        .seq = aside->seq, .state = Peeked::unreadable, .receive_count = aside->receive_count};
    if (aside->receive_count > 0)
      message.first_received = aside->since - span_of(aside->first_before);
    return {.message = message};
  }
  return indexed == 0 ? Found{} : look_at(state, queue, indexed, queue.index.find(indexed));
}

PeekSlice::Gone gone_from(const Queue& queue) {
  const Seq below = queue.gone_below();
  return {.expired_below = std::min(queue.expired, below),
          .below = below,
          .purged = std::max(queue.purged_at, Instant{}),
          .by_age = queue.aged != nullptr || queue.keeps_apart};
}

}  // namespace

void peek(const ShardState& state, Request& request, Instant now, Effects& effects) {
  CHECK(request.peek != nullptr, "a peek without a slice");
  PeekSlice& slice = *request.peek;
  CHECK(slice.looks > 0 && slice.looks <= PeekSlice::looks_max, "{} looks", slice.looks);
  CHECK(!request.deliveries.empty(), "a peek without space for a message");
  slice.messages.clear();
  slice.next = slice.newest = 0;
  slice.full = false;
  slice.deduplicates_until = {};
  slice.gone = {};
  request.delivered = 0;
  effects.replies.push_back({&request, false});
  const Queue* const existing = state.existing_queue(raw(request.queue));
  if (existing == nullptr) {
    const ConfigPtr* const config = state.directory->find(request.queue);
    const bool here = config != nullptr && (*config)->owner == state.identity.id;
    if (!here) request.error = Errc::no_such_queue;
    return;
  }
  const Queue& queue = *existing;
  const Dedup* const dedup = queue.fifo ? &queue.fifo->dedup : nullptr;
  slice.newest = queue.next_seq - 1;
  slice.full = Selection::full(queue);
  CHECK(queue.low <= queue.next_seq, "{} messages are gone, {} were sent", queue.low, slice.newest);
  if (dedup != nullptr) slice.deduplicates_until = dedup->over_at(slice.from, now);
  slice.gone = gone_from(queue);
  const Seq start = std::max(slice.from, slice.gone.below);
  Found found = next_from(state, queue, start);
  if (MUTANT(skip_peeked_message) && found.message.seq != 0)
    found = next_from(state, queue, found.message.seq + 1);
  for (std::uint32_t looks = 0; found.message.seq != 0 && looks < slice.looks &&
                                slice.messages.size() < request.deliveries.size();
       ++looks) {
    const PeekedMessage& message = found.message;
    if ((slice.states & PeekSlice::bit(message.state)) != 0) {
      slice.messages.push_back(message);
      if (dedup != nullptr)
        slice.messages.back().deduplicates_until = dedup->over_at(message.seq, now);
      if (found.position != log_pos_none) {
        Delivery& delivery = request.deliveries[request.delivered++];
        delivery = Delivery();
        delivery.position = found.position;
        delivery.seq = message.seq;
      }
    }
    found = next_from(state, queue, message.seq + 1);
  }
  slice.next = found.message.seq;
  CHECK(slice.next == 0 || slice.next > start, "the peek goes back to {}", slice.next);
}

void end_before(PeekSlice& slice, Seq seq) {
  const auto at = std::ranges::lower_bound(slice.messages, seq, {}, &PeekedMessage::seq);
  CHECK(at != slice.messages.end() && at->seq == seq, "the slice has no message {}", seq);
  slice.messages.erase(at, slice.messages.end());
  slice.next = seq;
}

void add_record(PeekSlice& slice, Seq seq, const PeekedRecord& record) {
  const auto at = std::ranges::lower_bound(slice.messages, seq, {}, &PeekedMessage::seq);
  CHECK(at != slice.messages.end() && at->seq == seq, "the slice has no message {}", seq);
  at->record = record;
  if (at->state == Peeked::delayed && at->until == Instant{}) at->until = record.deliver_at;
}

}  // namespace pawl

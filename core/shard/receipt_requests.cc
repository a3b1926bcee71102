// SPDX-License-Identifier: Apache-2.0
#include "core/shard/receipt_requests.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

using State = Slot::State;
using By = ReceiptEntry::By;

}  // namespace

// An attacker with the key of version 1 can forge handles of any delivery; only handles from before
// the upgrade are accepted. Every lease is younger.
Result<Receipt> ReceiptRequests::open(const ReceiptHandle& handle, const Queue& queue,
                                      Instant now) const {
  if (!is_old(handle) || state_.upgraded->ms == 0)
    return pawl::open(state_.identity.receipt_key, handle);
  Result<Receipt> receipt = open_old(state_.identity.secret, handle);
  if (!receipt) return receipt;
  const IndexEntry indexed = queue.index.find(receipt->seq);
  const bool delivered_before =
      indexed.absent() || (indexed.is_slot() && state_.slots[indexed.slot()].receive_count > 0 &&
                           state_.slots[indexed.slot()].since <= state_.upgraded);
  if (!delivered_before || now >= *state_.upgraded + old_handles_valid)
    receipt = fail(Errc::receipt_invalid, "receipt handle of before the upgrade");
  return receipt;
}

Result<Receipt> ReceiptRequests::receipt_of(const Queue& queue, const ReceiptEntry& entry,
                                            Instant now) const {
  // One variable, returned at the end: a Result is not copied.
  Result<Receipt> receipt = entry.error == Errc::ok ? open(entry.handle, queue, now)
                                                    : fail(entry.error, "receipt handle");
  if (receipt && (receipt->queue != queue.id || receipt->shard != state_.identity.id))
    receipt = fail(Errc::receipt_invalid, "receipt handle of another queue");
  return receipt;
}

// --- delete ---

void ReceiptRequests::delete_messages(Queue& queue, Request& request, Instant now,
                                      Effects& effects) {
  request.durability = queue.config->durability();
  counted_lease_ = Leases::none;
  for (ReceiptEntry& entry : request.receipts)
    entry.error = entry.by == By::handle ? delete_message(queue, entry, request, now, effects)
                                         : by_id_.cancel(queue, entry, now, effects);
  state_.statistics.count_deletes(queue);
  if (transfers_.holds_deletes_of(request)) return;  // transfers_.answer_deletes() does it
  // Also when nothing was left to delete: the delete before this one may not be durable yet.
  effects.replies.push_back({&request, true});
}

Errc ReceiptRequests::delete_message(Queue& queue, const ReceiptEntry& entry, Request& request,
                                     Instant now, Effects& effects) {
  const Result<Receipt> receipt = receipt_of(queue, entry, now);
  if (!receipt) return receipt.error().code;
  const IndexEntry indexed = queue.index.find(receipt->seq);
  const TransferKey key{state_.identity.id, queue.id, receipt->seq};
  if (indexed.absent()) {
    return transfers_.hold_delete(key, request) ? Errc::ok
                                                : delete_set_aside(queue, *receipt, effects);
  }
  if (queue.config->is_fifo()) {
    CHECK(indexed.is_slot(), "seq {} of a FIFO queue has no slot", receipt->seq);
    const Slot& slot = state_.slots[indexed.slot()];
    // It may be with another receiver by now; to take it away from that one would break the order.
    if ((slot.state != State::in_flight || slot.nonce != receipt->nonce) && !MUTANT(obey_expired))
      return Errc::receipt_expired;
  }
  if (transfers_.hold_delete(key, request)) return Errc::ok;
  count_delete(queue, *receipt, indexed);
  // In a standard queue an old handle deletes, too: a delete with a success response must hold.
  states_.erase(queue, receipt->seq, indexed, effects.freed);
  if (!MUTANT(forget_delete_record)) effects.deletes.push_back({queue.id, receipt->seq});
  return Errc::ok;
}

void ReceiptRequests::count_delete(Queue& queue, const Receipt& receipt, IndexEntry indexed) {
  if (indexed.is_lease() && indexed.lease() == counted_lease_)
    return state_.statistics.done_alike(queue, receipt.seq);
  counted_lease_ = indexed.is_lease() ? indexed.lease() : Leases::none;
  if (indexed.in_log())  // a crash lost the record of the delivery
    return state_.statistics.done(queue, receipt.seq, state_.statistics.now, 1, false);
  if (indexed.is_lease())
    return state_.statistics.done(queue, receipt.seq, state_.leases[counted_lease_].received, 1,
                                  true);
  const Slot& slot = state_.slots[indexed.slot()];
  const bool in_time = slot.state == State::in_flight && slot.nonce == receipt.nonce;
  state_.statistics.done(queue, receipt.seq, slot.since, slot.receive_count, in_time);
}

// Messages set aside are deleted like others; else they would be back after the next startup.
Errc ReceiptRequests::delete_set_aside(Queue& queue, const Receipt& receipt, Effects& effects) {
  const TrackedMessage* const found = MessageStates::find_set_aside(queue, receipt.seq);
  if (found == nullptr) return Errc::ok;
  if (queue.config->is_fifo() && found->nonce != receipt.nonce) return Errc::receipt_expired;
  MessageStates::erase_set_aside(queue, receipt.seq, effects);
  return Errc::ok;
}

// --- change of visibility ---

void ReceiptRequests::change_visibility(Queue& queue, Request& request, Instant now,
                                        Effects& effects) {
  // The response waits for the record: a consumer relies on the message of a group staying hidden;
  // after a crash another consumer would get it too early. A new delivery time is a promise too,
  // and so is a delivery that does not count.
  const bool fifo = queue.config->is_fifo();
  bool waits = false;
  for (ReceiptEntry& entry : request.receipts) {
    entry.error = entry.by == By::handle ? change_one(queue, entry, now, effects)
                                         : by_id_.reschedule(queue, entry, now, effects);
    waits |= entry.error == Errc::ok && (fifo || entry.by != By::handle || entry.uncounted);
  }
  effects.replies.push_back({&request, waits});
}

Errc ReceiptRequests::change_one(Queue& queue, const ReceiptEntry& entry, Instant now,
                                 Effects& effects) {
  const Result<Receipt> receipt = receipt_of(queue, entry, now);
  if (!receipt) return receipt.error().code;
  const IndexEntry indexed = queue.index.find(receipt->seq);
  if (indexed.absent()) return Errc::message_gone;
  if (indexed.is_pending()) return Errc::receipt_expired;  // its time is far ahead
  const std::uint32_t row = states_.slot_for(queue, receipt->seq, indexed);
  if (row == Slab<Slot>::none) return Errc::overloaded;
  Slot& slot = state_.slot(row);
  CHECK(slot.seq == receipt->seq && slot.queue == queue.id, "seq {} is in the slot of seq {}",
        receipt->seq, slot.seq);
  if (queue.config->is_fifo() && (slot.state != State::in_flight || slot.nonce != receipt->nonce)) {
    return Errc::receipt_expired;
  }
  if (slot.state == State::moving) return Errc::message_gone;
  if (entry.uncounted)
    return give_back_uncounted(queue, row, receipt->nonce, entry.visibility, now, effects);
  // The consumer gave the message back as uncounted, or it has a new delivery time since.
  if (slot.receive_count == 0 && (slot.nonce == ~receipt->nonce || slot.has_own_time()))
    return Errc::receipt_expired;
  if (slot.receive_count == 0) {  // a crash lost the record of the delivery
    if (slot.state == State::delayed) states_.show(queue, row);
    slot.nonce = receipt->nonce;
    slot.set_received(1, now, now);
  }
  // An old handle of a standard queue works too, as on AWS.
  if (slot.nonce != receipt->nonce && MUTANT(ignore_old_handle)) return Errc::ok;
  // The limit may be lower than at the receive. What ends a lease earlier is allowed all the same.
  const bool longer = slot.state != State::in_flight || now + entry.visibility > slot.deadline;
  if (entry.visibility.ms > 0 && longer &&
      now - slot.since + entry.visibility > queue.config->visibility_limit())
    return Errc::visibility_beyond_max;
  if (entry.visibility.ms > 0) {
    states_.hide(queue, row, State::in_flight, now, entry.visibility);
    slot.final_deadline = queue.config->acts_at_lease_end();
  } else if (!returns_.returned(queue, row, now, effects)) {
    return Errc::ok;
  }
  states_.record(slot, effects);
  return Errc::ok;
}

// The consumer could not begin, so the delivery does not count. One that has ended already counted.
Errc ReceiptRequests::give_back_uncounted(Queue& queue, std::uint32_t row, std::uint32_t nonce,
                                          Duration wait, Instant now, Effects& effects) {
  Slot& slot = state_.slot(row);
  if (wait > queue.config->visibility_limit()) return Errc::visibility_beyond_max;
  if (slot.state != State::in_flight || slot.nonce != nonce) return Errc::receipt_expired;
  if (!MUTANT(count_snooze)) uncount(slot);
  if (returns_.end_if_over(queue, row, now, effects)) return Errc::ok;
  state_.statistics.count(queue, QueueCounter::returned);
  slot.deadline = now + wait;
  slot.final_deadline = true;
  if (wait.ms > 0) {
    states_.hide(queue, row, State::delayed, slot.deadline);
  } else {
    states_.show(queue, row);
  }
  states_.record(slot, effects);
  return Errc::ok;
}

void ReceiptRequests::uncount(Slot& slot) {
  CHECK(slot.state == State::in_flight, "seq {} is not in flight", slot.seq);
  if (slot.receive_count > 0 && !MUTANT(count_undelivered)) --slot.receive_count;
  slot.nonce = ~slot.nonce;  // a change with the old handle does not bring the delivery back
  if (slot.receive_count > 0) return;
  slot.since = Instant{};
  slot.first_before = 0;
}

// --- a delivery that reached nobody ---

void ReceiptRequests::undeliver(Queue& queue, Request& request, Instant now, Effects& effects) {
  // A retry of the receive gets the messages that stayed with it.
  std::vector<Attempted>* const attempted =
      request.receive.attempt.empty() || !queue.fifo
          ? nullptr
          : queue.fifo->attempts.find(text_key(state_.identity.secret, request.receive.attempt),
                                      now);
  for (const ReceiptEntry& entry : request.receipts) {
    const Result<Receipt> receipt = receipt_of(queue, entry, now);
    if (!receipt) continue;
    const IndexEntry indexed = queue.index.find(receipt->seq);
    if (indexed.absent() || indexed.in_log()) continue;
    const std::uint32_t row = states_.slot_for(queue, receipt->seq, indexed);
    Slot& slot = state_.slot(row);
    CHECK(slot.seq == receipt->seq, "seq {} is in the slot of seq {}", receipt->seq, slot.seq);
    if (slot.nonce != receipt->nonce || slot.state != State::in_flight) continue;
    if (attempted != nullptr) {
      const auto m = std::ranges::find(*attempted, slot.seq, &Attempted::seq);
      if (m != attempted->end() && m->nonce == slot.nonce) m->seq = 0;  // no message has it
    }
    uncount(slot);
    if (returns_.end_if_over(queue, row, now, effects)) continue;
    slot.deadline = now;
    slot.final_deadline = queue.config->acts_at_lease_end();
    states_.show(queue, row);
    states_.record(slot, effects);
  }
  effects.replies.push_back({&request, false});
}

}  // namespace pawl

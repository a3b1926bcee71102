// SPDX-License-Identifier: Apache-2.0
// Requests with receipt handles: delete, change of visibility, return of a delivery.
#include <algorithm>

#include "core/check.h"
#include "core/mutant.h"
#include "core/shard.h"

namespace pawl {
namespace {

constexpr Duration visibility_total_max = seconds(12 * 3600);

}  // namespace

// An attacker with the key of version 1 can forge handles of any delivery; only handles from before
// the upgrade are accepted.
Result<Receipt> Shard::open(const ReceiptHandle& handle, const Queue& queue, Instant now) const {
  if (!is_old(handle) || identity_.upgraded.ms == 0)
    return pawl::open(identity_.receipt_key, handle);
  Result<Receipt> receipt = open_old(identity_.secret, handle);
  if (!receipt) return receipt;
  const IndexEntry indexed = queue.index.find(receipt->seq);
  const bool delivered_before =
      indexed.absent() || (indexed.is_slot() && slots_[indexed.slot()].receive_count > 0 &&
                           slots_[indexed.slot()].since <= identity_.upgraded);
  if (!delivered_before || now >= identity_.upgraded + old_handles_valid)
    receipt = fail(Errc::receipt_invalid, "receipt handle of before the upgrade");
  return receipt;
}

Result<Receipt> Shard::receipt_of(const Queue& queue, const ReceiptEntry& entry,
                                  Instant now) const {
  // One variable, returned at the end: a Result is not copied.
  Result<Receipt> receipt = entry.error == Errc::ok ? open(entry.handle, queue, now)
                                                    : fail(entry.error, "receipt handle");
  if (receipt && (receipt->queue != queue.id || receipt->shard != identity_.id))
    receipt = fail(Errc::receipt_invalid, "receipt handle of another queue");
  return receipt;
}

// --- delete ---

void Shard::delete_messages(Queue& queue, Request& request, Instant now, Effects& effects) {
  request.durability = queue.config->durability();
  for (ReceiptEntry& entry : request.receipts)
    entry.error = delete_message(queue, entry, request, now, effects);
  if (held_deletes_.contains(&request)) return;  // answer_deletes() does it
  // Also when nothing was left to delete: the delete before this one may not be durable yet.
  effects.replies.push_back({&request, true});
}

Errc Shard::delete_message(Queue& queue, const ReceiptEntry& entry, Request& request, Instant now,
                           Effects& effects) {
  const Result<Receipt> receipt = receipt_of(queue, entry, now);
  if (!receipt) return receipt.error().code;
  const IndexEntry indexed = queue.index.find(receipt->seq);
  const TransferKey key{identity_.id, queue.id, receipt->seq};
  if (indexed.absent()) {
    return hold_delete(key, request) ? Errc::ok : delete_set_aside(queue, *receipt, effects);
  }
  if (queue.config->is_fifo()) {
    const Slot& slot = slots_[indexed.slot()];
    // It may be with another receiver by now; to take it away from that one would break the order.
    if ((slot.state != State::in_flight || slot.nonce != receipt->nonce) && !MUTANT(obey_expired))
      return Errc::receipt_expired;
  }
  if (hold_delete(key, request)) return Errc::ok;
  // In a standard queue an old handle deletes, too: a delete with a success response must hold.
  erase(queue, receipt->seq, indexed, effects.freed);
  if (!MUTANT(forget_delete_record)) effects.deletes.push_back({queue.id, receipt->seq});
  return Errc::ok;
}

// Messages set aside are deleted like others; else they would be back after the next startup.
Errc Shard::delete_set_aside(Queue& queue, const Receipt& receipt, Effects& effects) {
  const auto found =
      std::ranges::lower_bound(queue.set_aside, receipt.seq, {}, &TrackedMessage::seq);
  if (found == queue.set_aside.end() || found->seq != receipt.seq) return Errc::ok;
  if (queue.config->is_fifo() && found->nonce != receipt.nonce) return Errc::receipt_expired;
  effects.freed.push_back(found->position);
  effects.deletes.push_back({queue.id, receipt.seq});
  queue.set_aside.erase(found);
  return Errc::ok;
}

// --- change of visibility ---

void Shard::change_visibility(Queue& queue, Request& request, Instant now, Effects& effects) {
  for (ReceiptEntry& entry : request.receipts) entry.error = change_one(queue, entry, now, effects);
  // The response waits for the record: a consumer relies on the message of a group staying hidden;
  // after a crash another consumer would get it too early.
  const bool any =
      std::ranges::find(request.receipts, Errc::ok, &ReceiptEntry::error) != request.receipts.end();
  effects.replies.push_back({&request, any && queue.config->is_fifo()});
}

Errc Shard::change_one(Queue& queue, const ReceiptEntry& entry, Instant now, Effects& effects) {
  const Result<Receipt> receipt = receipt_of(queue, entry, now);
  if (!receipt) return receipt.error().code;
  const IndexEntry indexed = queue.index.find(receipt->seq);
  if (indexed.absent()) return Errc::message_gone;
  const std::uint32_t row = slot_for(queue, receipt->seq, indexed);
  if (row == Slab<Slot>::none) return Errc::overloaded;
  Slot& slot = slots_[row];
  if (queue.config->is_fifo() && (slot.state != State::in_flight || slot.nonce != receipt->nonce)) {
    return Errc::receipt_expired;
  }
  if (slot.state == State::moving) return Errc::message_gone;
  if (slot.receive_count == 0) {  // a crash lost the record of the delivery
    slot.nonce = receipt->nonce;
    slot.set_received(1, now, now);
  }
  // An old handle of a standard queue works too, as on AWS.
  if (slot.nonce != receipt->nonce && MUTANT(ignore_old_handle)) return Errc::ok;
  if (now - slot.since + entry.visibility > visibility_total_max)
    return Errc::visibility_beyond_max;
  if (entry.visibility.ms > 0) {
    hide(queue, row, State::in_flight, now, entry.visibility);
  } else {
    slot.deadline = now;
    show(queue, row);
  }
  record(slot, effects);
  return Errc::ok;
}

// --- a delivery that reached nobody ---

void Shard::undeliver(Queue& queue, Request& request, Instant now, Effects& effects) {
  // A retry of the receive gets the messages that stayed with it.
  std::vector<Attempted>* const attempted =
      request.receive.attempt.empty() || !queue.fifo
          ? nullptr
          : queue.fifo->attempts.find(text_key(identity_.secret, request.receive.attempt), now);
  for (const ReceiptEntry& entry : request.receipts) {
    const Result<Receipt> receipt = receipt_of(queue, entry, now);
    if (!receipt) continue;
    const IndexEntry indexed = queue.index.find(receipt->seq);
    if (!indexed.is_slot()) continue;
    Slot& slot = slots_[indexed.slot()];
    if (slot.nonce != receipt->nonce || slot.state != State::in_flight) continue;
    if (slot.receive_count > 0 && !MUTANT(count_undelivered)) --slot.receive_count;
    if (slot.receive_count == 0) {
      slot.since = Instant{};
      slot.first_ms_before = 0;
    }
    slot.deadline = now;
    show(queue, indexed.slot());
    record(slot, effects);
    if (attempted == nullptr) continue;
    const auto m = std::ranges::find(*attempted, slot.seq, &Attempted::seq);
    if (m != attempted->end() && m->nonce == slot.nonce) m->seq = 0;  // no message has this number
  }
  effects.replies.push_back({&request, false});
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/transfers.h"

#include <algorithm>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

constexpr Duration refused_transfer_pause = seconds(1);
constexpr Duration refused_transfer_pause_max = seconds(8);

using State = Slot::State;

}  // namespace

// --- at the source: prepare ---

// Null: there is none, or it cannot take a message.
const QueueConfig* Transfers::dead_letter_queue(const Queue& queue) const {
  const auto [account, name] =
      QueueName::from_text(queue.config->text(Attribute::dead_letter_target));
  const ConfigPtr* const target = state_.directory->find(account, name);
  if (target == nullptr || (*target)->is_fifo() != queue.config->is_fifo()) return nullptr;
  if ((*target)->id == queue.id) return queue.used_up() ? nullptr : target->get();
  const bool full = !used_up_targets_.empty() && used_up_targets_.contains((*target)->id);
  return full ? nullptr : target->get();
}

bool Transfers::is_dead_letter(const Queue& queue, const Slot& slot) const {
  const std::int64_t max = queue.config->number(Attribute::max_receive_count);
  if (max <= 0 || slot.receive_count < max) return false;
  // Without a target it stays, and is handed out as if there were no policy.
  const QueueConfig* const target = dead_letter_queue(queue);
  // In a queue that is its own dead-letter queue a delivery follows each move: a message without a
  // nonce has just been moved.
  return target != nullptr && (target->id != queue.id || slot.nonce != 0);
}

// A queue that is its own dead-letter queue would keep them for ever.
bool Transfers::takes_expired(const Queue& queue) const {
  if (!queue.config->moves_expired()) return false;
  const QueueConfig* const target = dead_letter_queue(queue);
  return target != nullptr && target->id != queue.id;
}

// Starts the transfer of a dead letter; `dead_letters` counts those of this receive. False: not
// now.
bool Transfers::move_to_dead_letters(Queue& queue, std::uint32_t row, std::uint32_t& dead_letters,
                                     Instant now, Effects& effects) {
  if (dead_letters++ >= state_.limits.dead_letters_a_receive) return false;
  if (state_.slots[row].unsettled) {  // forget() shows it
    states_.hide(queue, row, State::moving, now + refused_transfer_pause);
    return true;
  }
  if (now < queue.dead_letters_from) {
    states_.hide(queue, row, State::moving, queue.dead_letters_from);
    return true;
  }
  return prepare(queue, row, queue.config->text(Attribute::dead_letter_target), 0, effects);
}

bool Transfers::may_transfer() const {
  const std::uint64_t bytes = bytes_ + state_.limits.transfer_bytes_unread;
  return !state_.stopping && under_way_ < transfers_max_ &&
         (under_way_ == 0 || bytes <= state_.limits.transfer_bytes_max);
}

// From now on the message under way counts as so many bytes of memory.
void Transfers::count_transfer(Transfer& transfer, std::uint64_t bytes) {
  CHECK(bytes_ >= transfer.counted, "{} bytes of {}", transfer.counted, bytes_);
  bytes_ += bytes - transfer.counted;
  transfer.counted = bytes;
}

Transfer* Transfers::take_transfer() {
  if (free_.empty()) {
    pool_.push_back(std::make_unique<Transfer>());
    free_.push_back(pool_.back().get());
  }
  Transfer* const transfer = free_.back();
  free_.pop_back();
  CHECK(transfer->stage == Transfer::Stage::free && transfer->counted == 0,
        "a free transfer is under way");
  ++under_way_;
  CHECK(under_way_ <= pool_.size(), "{} of {} transfers", under_way_, pool_.size());
  transfer->request = Request{.op = Op::transfer, .home = state_.identity.id, .transfer = transfer};
  transfer->id = {};
  transfer->accepted_seq = 0;
  transfer->deleted = false;
  return transfer;
}

void Transfers::give_transfer(Transfer& transfer) {
  CHECK(transfer.stage != Transfer::Stage::free, "a transfer ends twice");
  transfer.stage = Transfer::Stage::free;
  std::string().swap(transfer.bytes);
  count_transfer(transfer, 0);
  CHECK(under_way_ > 0, "a transfer ends twice");
  --under_way_;
  free_.push_back(&transfer);
  CHECK(free_.size() + under_way_ == pool_.size(), "{} free, {} under way of {} transfers",
        free_.size(), under_way_, pool_.size());
  wake_refused();
}

void Transfers::wake_refused() {
  for (const QueueId id : std::exchange(refused_, {})) {
    Queue* const queue = state_.existing_queue(raw(id));
    if (queue == nullptr) continue;
    queue->wants_transfer = false;
    polls_.want_match(*queue);
  }
}

// Hides the message and has the shard loop read it. False: too many are under way.
bool Transfers::prepare(Queue& queue, std::uint32_t row, std::string_view destination,
                        std::uint32_t task, Effects& effects) {
  if (!may_transfer()) {
    if (!std::exchange(queue.wants_transfer, true)) refused_.push_back(queue.id);
    return false;
  }
  Transfer* const transfer = take_transfer();
  count_transfer(*transfer, state_.limits.transfer_bytes_unread);
  const Slot& slot = state_.slots[row];
  transfer->stage = Transfer::Stage::accept;
  transfer->from = {state_.identity.id, queue.id, slot.seq};
  transfer->fifo = queue.config->is_fifo();
  transfer->task = task;
  transfer->destination = destination;
  transfer->position = slot.position;
  transfer->receive_count = MUTANT(forget_dead_letter_count) ? 1 : slot.receive_count;
  transfer->first_received = slot.first_received();
  transfer->last_received = slot.since;
  transfer->expired = slot.expired && task == 0;
  transfer->ages_from = slot.aged_apart && slot.receive_count > 0 && !MUTANT(forget_delivery_age)
                            ? slot.first_received()
                            : Instant{};
  CHECK(slot.state == State::visible && !slot.unsettled, "seq {} cannot move now", slot.seq);
  const bool added = moving_.try_emplace(transfer->from).second;
  CHECK(added, "seq {} moves already", transfer->from.seq);
  states_.change_state(queue, row, State::moving);
  ++queue.moving;
  effects.transfers.push_back(transfer);
  return true;
}

// `sent`, `id` (zero if it has none of its own) and `content` are what the log has.
void Transfers::address(Transfer& transfer) {
  CHECK(transfer.stage == Transfer::Stage::accept, "stage {}", static_cast<int>(transfer.stage));
  count_transfer(transfer, transfer.bytes.capacity());
  if (may_transfer()) wake_refused();
  const std::string_view destination = transfer.destination.empty()
                                           ? transfer.content.origin
                                           : std::string_view(transfer.destination);
  const auto [account, name] = QueueName::from_text(destination);
  const ConfigPtr* const target = state_.directory->find(account, name);
  const ConfigPtr* const source = state_.directory->find(transfer.from.queue);
  transfer.request.error = destination.empty()                      ? Errc::source_unknown
                           : target == nullptr || source == nullptr ? Errc::no_such_queue
                           : (*target)->is_fifo() != transfer.fifo  ? Errc::no_such_queue
                                                                    : Errc::ok;
  if (transfer.request.error != Errc::ok) {
    transfer.stage = Transfer::Stage::commit;
    return;
  }
  transfer.request.queue = (*target)->id;
  transfer.to = (*target)->owner;
  if (transfer.task != 0) {  // a new message
    transfer.id = {};
    transfer.receive_count = 0;
    transfer.content.origin = {};
    transfer.content.reason = DeadLetterReason::none;
    return;
  }
  if (transfer.id == MessageId{})
    transfer.id = message_id(state_.identity.secret, transfer.from.queue, transfer.from.seq);
  transfer.origin = QueueName{(*source)->account, (*source)->name}.text();
  transfer.content.origin = transfer.origin;
  transfer.content.reason = transfer.expired ? DeadLetterReason::expired : DeadLetterReason::none;
  if (transfer.fifo) {  // so that equal content does not vanish
    transfer.uuid = uuid_text(transfer.id);
    transfer.content.dedup_id = {transfer.uuid.data(), transfer.uuid.size()};
  }
}

// --- accept, commit, forget ---

// At the target: sends the message to the queue, whatever its delay.
void Transfers::accept(Transfer& transfer, Instant now, Effects& effects) {
  Request& request = transfer.request;
  CHECK(transfer.from.seq != 0 && transfer.accepted_seq == 0, "accepted as {}",
        transfer.accepted_seq);
  const bool known = unsettled_.contains(transfer.from);
  effects.replies.push_back({&request, !MUTANT(commit_transfer_early)});
  if (known) return;
  Queue* const queue = state_.find_queue(request.queue);
  if (queue == nullptr) {
    request.error = Errc::no_such_queue;
    return;
  }
  const bool dead_letter = transfer.task == 0;
  // An expired one would expire again at once, where the target has the same retention.
  const bool anew = (transfer.expired && !MUTANT(keep_expired_age)) ||
                    queue->config->retention_from() == RetentionFrom::move;
  // A dead letter past the retention of the target expires on the way: if it were stored, it could
  // be received before the timer deletes it.
  const bool apart =
      (anew || transfer.ages_from.ms != 0) && dead_letter && !queue->config->is_fifo();
  const Instant ages_from = !apart ? transfer.sent : anew ? now : transfer.ages_from;
  const bool expired =
      dead_letter && !queue->config->is_fifo() && ages_from + queue->config->retention() <= now;
  if (expired && !MUTANT(forget_dead_letter_age)) return;
  if (queue->used_up()) {
    request.error = Errc::message_numbers_used_up;
    return;
  }
  const Seq seq = queue->next_seq;
  const std::uint32_t row = states_.new_slot(*queue, seq, transfer.content);
  if (row == Slab<Slot>::none) {
    request.error = Errc::overloaded;
    return;
  }
  Slot& slot = state_.slot(row);
  slot.deadline = now;
  slot.unsettled = true;
  if (transfer.receive_count > 0)
    slot.set_received(transfer.receive_count, transfer.first_received, transfer.last_received);
  if (apart) queue->keep_apart(slot);
  unsettled_[transfer.from] = {queue->id, transfer.task};
  transfer.accepted_seq = seq;
  ++queue->next_seq;
  const Instant sent_at = dead_letter ? transfer.sent : now;
  effects.sends.push_back({
      .queue = queue->id,
      .seq = seq,
      .sent = sent_at,
      .deliver_at = apart ? ages_from : sent_at,
      .content = &transfer.content,
      .carried = {.from = transfer.from,
                  .arrived = now,
                  .task = transfer.task,
                  .id = transfer.id,
                  .receive_count = transfer.receive_count,
                  .first_received = transfer.first_received,
                  .last_received = transfer.last_received},
      .subscription = transfer.content.subscription,
      .aged_apart = apart,
      .time_to_live = queue->config->time_to_live(Duration{0}
        )
  });
  commits_.sent(*queue, seq, QueueCounter::arrived, false, now);
}

// At the source: the target has the message durably, or refused it.
Queue* Transfers::commit(Transfer& transfer, Instant now, Effects& effects) {
  const TransferKey& from = transfer.from;
  CHECK(from.shard == state_.identity.id, "a transfer of shard {}", raw(from.shard));
  Queue* const queue = state_.find_queue(from.queue);
  const IndexEntry indexed = queue == nullptr ? IndexEntry() : queue->index.find(from.seq);
  const bool recovered = transfer.position == log_pos_none;
  const bool there =
      indexed.is_slot() && (recovered || state_.slots[indexed.slot()].state == State::moving);
  const auto held = moving_.find(from);
  transfer.deleted = held != moving_.end() && !held->second.empty();
  if (held != moving_.end() && !transfer.deleted) moving_.erase(held);
  if (queue != nullptr && !recovered) {
    CHECK(queue->moving > 0, "seq {} was not counted", from.seq);
    --queue->moving;
    polls_.want_match(*queue);
  }
  if (transfer.request.error == Errc::message_numbers_used_up)
    used_up_targets_.insert(transfer.request.queue);
  const std::uint32_t next =
      transfer.expired && there ? state_.slots[indexed.slot()].next_in_group : 0;
  if (transfer.request.error != Errc::ok) {
    if (there && transfer.deleted) {
      states_.erase(*queue, from.seq, indexed, effects.freed);
      effects.deletes.push_back({from.queue, from.seq});
      state_.statistics.leave(*queue, QueueCounter::deleted);
    } else if (there && transfer.request.error == Errc::corrupt) {
      states_.set_aside(from.queue, from.seq);
    } else if (there) {
      return_to_source(*queue, transfer, indexed.slot(), now);
    }
    return transfer.task == 0 ? nullptr : queue;
  }
  if (queue != nullptr && transfer.task == 0) queue->dead_letter_pause = Duration{0};
  if (!indexed.absent()) {
    states_.erase(*queue, from.seq, effects.freed);
    state_.statistics.leave(
        *queue, transfer.task == 0 ? QueueCounter::dead_lettered : QueueCounter::redriven);
    if (next != 0) let_follow(*queue, next, now);
  }
  // Logged even if the message is gone meanwhile: the record of that may not be durable yet. During
  // recovery, however, the record that deleted the message has also counted it for its task.
  if (queue != nullptr && transfer.task != 0 &&
      (!(recovered && indexed.absent()) || MUTANT(count_again))) {
    return queue;
  }
  effects.deletes.push_back({from.queue, from.seq});
  return nullptr;
}

// The next message of the group has expired too, and waited for the one that has arrived.
void Transfers::let_follow(Queue& queue, std::uint32_t row, Instant now) {
  const Slot& slot = state_.slots[row];
  CHECK(slot.queue == queue.id, "a slot of queue {}", raw(slot.queue));
  const bool waits = slot.state == State::moving && slot.expired &&
                     !moving_.contains({state_.identity.id, queue.id, slot.seq});
  if (waits) states_.hide(queue, row, State::moving, now);
}

void Transfers::finish_commit(Transfer& transfer, Effects& effects) {
  if (transfer.request.error != Errc::ok) return finish(transfer, effects);
  effects.replies.push_back({&transfer.request, !MUTANT(forget_transfer_early)});
}

void Transfers::finish(Transfer& transfer, Effects& effects) {
  if (transfer.deleted) answer_deletes(transfer.from, effects);
  give_transfer(transfer);
}

// At the target: the source has deleted the message durably.
void Transfers::forget(Transfer& transfer, Effects& effects) {
  CHECK(transfer.request.error == Errc::ok, "seq {} was refused", transfer.from.seq);
  effects.forgotten_transfers.push_back({transfer.from});
  unsettled_.erase(transfer.from);
  effects.replies.push_back({&transfer.request, transfer.deleted});
  Queue* const queue =
      transfer.accepted_seq == 0 ? nullptr : state_.find_queue(transfer.request.queue);
  if (queue == nullptr) return;
  const IndexEntry indexed = queue->index.find(transfer.accepted_seq);
  if (indexed.is_slot()) {
    Slot& slot = state_.slot(indexed.slot());
    slot.unsettled = false;
    if (slot.state == State::moving && !slot.expired)
      states_.show(*queue, indexed.slot());  // move_to_dead_letters() hid it
  }
  if (!transfer.deleted || MUTANT(forget_held_delete)) return;
  if (indexed.absent()) {
    MessageStates::erase_set_aside(*queue, transfer.accepted_seq, effects);
    return;
  }
  states_.erase(*queue, transfer.accepted_seq, indexed, effects.freed);
  state_.statistics.leave(*queue, QueueCounter::deleted);
  effects.deletes.push_back({queue->id, transfer.accepted_seq});
}

// The target has no memory or disk for a dead letter. Each try reads a message, so all of the queue
// wait, longer each time.
Instant Transfers::hold_back(Queue& queue, Instant now) {
  CHECK(queue.config != nullptr, "queue {} is not in the directory", raw(queue.id));
  if (queue.dead_letters_from > now) return queue.dead_letters_from;
  queue.dead_letter_pause =
      std::clamp(queue.dead_letter_pause * 2, refused_transfer_pause, refused_transfer_pause_max);
  queue.dead_letters_from = now + queue.dead_letter_pause;
  CHECK(queue.dead_letters_from > now, "a pause of {} ms", queue.dead_letter_pause.ms);
  return queue.dead_letters_from;
}

// The target refused the message.
void Transfers::return_to_source(Queue& queue, Transfer& transfer, std::uint32_t row, Instant now) {
  // This shard may not know yet that the target is deleted. It would try again at once, and for
  // ever if the disk of the control shard is full.
  const bool final = transfer.request.error == Errc::no_such_queue ||
                     transfer.request.error == Errc::message_numbers_used_up;
  const bool gone = final && !is_dead_letter(queue, state_.slots[row]);
  const Instant again =
      final || transfer.task != 0 ? now + refused_transfer_pause : hold_back(queue, now);
  if (state_.slots[row].expired) return states_.hide(queue, row, State::moving, again);
  // Its queue may have another delay since it left.
  if (const Instant delayed = states_.delay_end(queue, state_.slots[row]); delayed > now)
    return states_.hide(queue, row, State::delayed, delayed);
  if (gone || transfer.task != 0) return states_.show(queue, row);
  states_.hide(queue, row, State::moving, again);  // the next receive after that tries again
}

// --- deletes of messages on their way ---

// True: the delete waits for the message that is on its way, and the request for answer_deletes().
bool Transfers::hold_delete(const TransferKey& key, Request& request) {
  const auto at = moving_.find(key);
  if (at == moving_.end()) return false;
  at->second.push_back(&request);
  ++held_deletes_[&request];
  return true;
}

// The message is gone, here and at its target. Entries of the same requests may wait for others.
void Transfers::answer_deletes(const TransferKey& key, Effects& effects) {
  const auto at = moving_.find(key);
  CHECK(at != moving_.end(), "seq {} holds no deletes", key.seq);
  for (Request* const request : at->second) {
    const auto left = held_deletes_.find(request);
    CHECK(left != held_deletes_.end() && left->second > 0, "a delete is answered twice");
    if (--left->second > 0) continue;
    held_deletes_.erase(left);
    effects.replies.push_back({request, true});
  }
  moving_.erase(at);
}

// --- during recovery ---

Transfer& Transfers::resume(const UnsettledTransfer& unsettled, ShardId target) {
  CHECK(raw(target) < state_.identity.shards, "shard {}", raw(target));
  transfers_max_ = std::max(transfers_max_, under_way_ + 1);
  Transfer& transfer = *take_transfer();
  transfer.stage = Transfer::Stage::commit;
  transfer.from = unsettled.from;
  transfer.to = target;
  transfer.task = unsettled.task;
  transfer.position = log_pos_none;
  return transfer;
}

std::uint64_t Transfers::memory() const {
  const auto rows = [](const auto& map) {
    return map.size() * (ShardState::map_node_bytes + sizeof(*map.begin()));
  };
  return pool_.size() * (sizeof(Transfer) + 32) + rows(held_deletes_) + rows(moving_) +
         rows(unsettled_);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/receive_requests.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "core/shard/selection.h"

namespace pawl {
namespace {

// A receive that found only dead letters waits until they have moved, so that counts made after it
// find them in the dead-letter queue. The move takes a flush of the target's log.
constexpr Duration move_wait_max = seconds(5);

Duration or_default(Duration asked, Duration queue_setting) {
  return asked.ms < 0 ? queue_setting : asked;
}

Duration visibility_of(const Queue& queue, const Request& request) {
  return or_default(request.receive.visibility, queue.config->visibility());
}

using State = Slot::State;

}  // namespace

void ReceiveRequests::receive(Queue& queue, Request& request, Instant now, Effects& effects) {
  CHECK(request.receive.max >= 1 && request.receive.max <= request.deliveries.size());
  request.delivered = 0;
  if (queue.in_match_list) match(now, effects);  // who waits already comes first
  if (receive_again(queue, request, now, effects)) return;
  const std::uint64_t moving = queue.moving;
  const bool delivered = Selection::any(queue) && deliver(queue, request, now, effects) > 0;
  if (delivered || request.error != Errc::ok) return reply(queue, request, effects);
  const Duration wait = or_default(request.receive.wait, queue.config->wait());
  // Expired messages move at any time: there it waits for those alone that it found.
  const std::uint64_t others = queue.config->moves_expired() ? moving : 0;
  const bool awaits_moves = wait.ms == 0 && queue.moving > others && !state_.stopping;
  if (wait.ms == 0 && Selection::full(queue) && !queue.config->is_fifo()) {
    request.error = Errc::over_in_flight;
  } else if (wait.ms > 0 || awaits_moves) {
    if (!polls_.full())
      return polls_.park(queue, request, now, awaits_moves ? move_wait_max : wait, awaits_moves);
    request.error = Errc::overloaded;
  }
  reply(queue, request, effects);
}

// The response to a receive from a FIFO queue waits for its record: order must hold across a crash.
void ReceiveRequests::reply(const Queue& queue, Request& request, Effects& effects) {
  effects.replies.push_back(
      {&request, request.delivered > 0 && queue.config->is_fifo() && !MUTANT(fifo_reply_early)});
}

// --- delivery ---

std::uint32_t ReceiveRequests::deliver(Queue& queue, Request& request, Instant now,
                                       Effects& effects) {
  const std::uint32_t max = Selection::most(queue, request.receive.max);
  // 0 is the nonce of no delivery, also in its inverted form.
  if (nonce_ == 0 || nonce_ >= UINT32_MAX - max) nonce_ = 1;
  const std::uint32_t first_nonce = nonce_;
  deliver_selected(queue, request, max, now, effects);
  CHECK(request.delivered <= max, "{} deliveries of {}", request.delivered, max);
  CHECK(request.delivered == 0 || nonce_ != first_nonce, "deliveries without nonces");
  if (nonce_ != first_nonce)
    state_.recent_receives.write().note(
        first_nonce, nonce_ - first_nonce,
        MUTANT(forget_consumer) ? ConsumerAddress{1} : request.receive.consumer);
  if (queue.config->is_fifo()) note_attempt(queue, request, now);
  if (visibility_of(queue, request).ms > 0) return request.delivered;
  // They are back at once, but not twice in one answer.
  for (const Delivery& delivery : request.deliveries.first(request.delivered))
    states_.show(queue, queue.index.find(delivery.seq).slot());
  return request.delivered;
}

void ReceiveRequests::deliver_selected(Queue& queue, Request& request, std::uint32_t max,
                                       Instant now, Effects& effects) {
  const bool redrives = queue.config->number(Attribute::max_receive_count) > 0;
  const bool leases = max >= Lease::members_min && visibility_of(queue, request).ms > 0;
  std::uint32_t lease = Leases::none;
  std::uint32_t dead_letters = 0;
  Selection selection(state_.slots, queue, now);
  while (request.delivered < max) {
    const auto [seq, indexed] = selection.next();
    if (seq == 0) break;
    if (leases && indexed.in_log()) {  // never received, so not a dead letter
      lease = lease_for(queue, request, seq, lease, max - request.delivered, now);
      if (lease != Leases::none) {
        hand_out(states_.lease(queue, lease, seq, indexed.position(), nonce_++), request, effects);
        continue;
      }
    }
    const std::uint32_t row =
        indexed.is_slot() ? indexed.slot() : states_.slot_for(queue, seq, indexed);
    if (row == Slab<Slot>::none) {
      if (request.delivered == 0) request.error = Errc::overloaded;
      break;
    }
    if (!redrives || !transfers_.is_dead_letter(queue, state_.slots[row])) {
      hand_out(queue, row, request, now, effects);
    } else {
      selection.passed_dead_letter(
          transfers_.move_to_dead_letters(queue, row, dead_letters, now, effects));
    }
  }
  if (lease != Leases::none) states_.close_lease(queue, lease);
}

// The lease for a fresh message, the `open` one of the receive or a new one; none: it gets a slot.
// `left` messages may still be delivered.
std::uint32_t ReceiveRequests::lease_for(Queue& queue, const Request& request, Seq seq,
                                         std::uint32_t open, std::uint32_t left, Instant now) {
  if (open != Leases::none) {
    if (state_.leases[open].fits(seq, nonce_)) return open;
    states_.close_lease(queue, open);
  }
  const std::uint64_t fresh = queue.index.ready(SeqIndex::Set::fresh);
  return states_.open_lease(queue, seq, nonce_, std::min<std::uint64_t>(left, fresh), now,
                            visibility_of(queue, request));
}

void ReceiveRequests::hand_out(Queue& queue, std::uint32_t row, Request& request, Instant now,
                               Effects& effects) {
  const Duration visibility = visibility_of(queue, request);
  Slot& slot = state_.slot(row);
  CHECK(slot.state == State::visible, "seq {} is not visible", slot.seq);
  CHECK(slot.queue == queue.id, "a slot of queue {}", raw(slot.queue));
  const bool counts = slot.receive_count < UINT32_MAX && !MUTANT(lose_receive_count);
  const std::uint32_t count = slot.receive_count + (counts ? 1 : 0);
  slot.set_received(count, slot.receive_count == 0 ? now : slot.first_received(), now);
  slot.nonce = nonce_++;
  slot.final_deadline = visibility.ms == 0 && queue.config->acts_at_lease_end();
  if (visibility.ms > 0) {
    states_.hide(queue, row, State::in_flight, now, visibility);
  } else {
    states_.change_state(queue, row, State::in_flight);  // until the answer is complete
    slot.deadline = now;
  }
  hand_out(slot, request, effects);
}

void ReceiveRequests::hand_out(const Slot& slot, Request& request, Effects& effects) const {
  states_.record(slot, effects);
  deliver_one(slot, request);
}

void ReceiveRequests::deliver_one(const Slot& slot, Request& request) const {
  const Receipt receipt{
      .shard = state_.identity.id, .queue = slot.queue, .seq = slot.seq, .nonce = slot.nonce};
  CHECK(request.delivered < request.deliveries.size(), "{} deliveries", request.delivered);
  CHECK(slot.position != log_pos_none, "seq {} is not in the log", slot.seq);
  Delivery& delivery = request.deliveries[request.delivered++];
  std::construct_at(&delivery);  // an assignment costs a copy
  delivery.position = slot.position;
  delivery.seq = slot.seq;
  delivery.handle = seal(state_.identity.receipt_key, receipt);
  delivery.receive_count = slot.receive_count;
  delivery.first_received = slot.first_received();
  delivery.received = slot.since;
}

// --- long polls ---

void ReceiveRequests::match(Instant now, Effects& effects) {
  for (const QueueId id : polls_.match_list()) {
    Queue* const existing = state_.existing_queue(raw(id));
    if (existing == nullptr) continue;
    Queue& queue = *existing;
    CHECK(queue.in_match_list, "queue {} is listed twice", raw(id));
    do {
      serve_waiters(queue, now, effects);
    } while (answer_attempts(queue, now, effects));
    if (queue.moving == 0) answer_awaiting_moves(queue, effects);
    // Cleared after the walk: a delivery that is visible again at once must not put the queue on
    // the list that is being walked.
    queue.in_match_list = false;
  }
  polls_.match_list().clear();
}

void ReceiveRequests::serve_waiters(Queue& queue, Instant now, Effects& effects) {
  while (!queue.waiters.empty() && Selection::any(queue)) {
    Request& request = polls_.request(queue.waiters.first);
    if (!receive_again(queue, request, now, effects)) {
      // Nothing, and no error: there were only dead letters, which are on their way now.
      if (deliver(queue, request, now, effects) == 0 && request.error == Errc::ok) return;
      reply(queue, request, effects);
    }
    polls_.unpark_early(queue, queue.waiters.first);
  }
}

// Answers waiting receives whose attempt has just been served with the same messages. True: there
// were any.
bool ReceiveRequests::answer_attempts(Queue& queue, Instant now, Effects& effects) {
  if (!queue.fifo) return false;
  bool any = false;
  for (const TextKey& noted : std::exchange(queue.fifo->attempts_noted, {})) {
    const std::pair attempt{queue.id, noted};
    auto it = polls_.attempts().lower_bound(attempt);
    while (it != polls_.attempts().end() && it->first == attempt) {
      const std::uint32_t row = (it++)->second;
      if (!receive_again(queue, polls_.request(row), now, effects)) continue;
      polls_.unpark_early(queue, row);
      any = true;
    }
  }
  return any;
}

// Short polls that waited only to let dead letters go first.
void ReceiveRequests::answer_awaiting_moves(Queue& queue, Effects& effects) {
  while (!queue.awaiting_moves.empty()) {
    reply(queue, *polls_.unpark_early(queue, queue.awaiting_moves.first), effects);
  }
}

// --- ReceiveRequestAttemptId ---

// Answers a repeated attempt with the same messages if they are unchanged. False: a new attempt.
bool ReceiveRequests::receive_again(Queue& queue, Request& request, Instant now, Effects& effects) {
  if (request.receive.attempt.empty() || !queue.fifo) return false;
  std::vector<Attempted>* const messages =
      queue.fifo->attempts.find(text_key(state_.identity.secret, request.receive.attempt), now);
  if (messages == nullptr) return false;
  const auto kept = [](const Attempted& m) {
    return m.seq != 0;
  };  // undeliver() returned the others
  const bool any = std::ranges::any_of(*messages, kept);
  const bool untouched = any && std::ranges::all_of(*messages, [&](const Attempted& m) {
                           if (!kept(m)) return true;
                           const IndexEntry indexed = queue.index.find(m.seq);
                           if (!indexed.is_slot()) return false;
                           const Slot& slot = state_.slots[indexed.slot()];
                           return slot.state == State::in_flight && slot.nonce == m.nonce &&
                                  slot.deadline == m.deadline && !slot.cancelled && !slot.expired;
                         });
  if (!untouched || messages->size() > request.deliveries.size()) {
    request.error = Errc::attempt_not_retryable;
    effects.replies.push_back({&request, false});
    return true;
  }
  const Duration visibility = visibility_of(queue, request);
  for (Attempted& m : *messages) {
    if (!kept(m)) continue;
    const std::uint32_t row = queue.index.find(m.seq).slot();
    state_.slot(row).deadline = now;
    state_.slot(row).final_deadline = visibility.ms == 0 && queue.config->acts_at_lease_end();
    if (visibility.ms > 0) {
      states_.hide(queue, row, State::in_flight, now, visibility);
    } else {
      states_.show(queue, row);
    }
    m.deadline = state_.slots[row].deadline;
    states_.record(state_.slots[row], effects);
    deliver_one(state_.slots[row], request);
  }
  reply(queue, request, effects);
  return true;
}

void ReceiveRequests::note_attempt(Queue& queue, const Request& request, Instant now) {
  if (request.receive.attempt.empty() || request.delivered == 0) return;
  if (!history_.has_attempt_room()) return;
  std::vector<Attempted> messages;
  for (const Delivery& delivery : request.deliveries.first(request.delivered)) {
    const IndexEntry indexed = queue.index.find(delivery.seq);
    CHECK(indexed.is_slot(), "seq {} was delivered without a slot", delivery.seq);
    const Slot& slot = state_.slots[indexed.slot()];
    messages.push_back({slot.seq, slot.nonce, slot.deadline});
  }
  const TextKey attempt = text_key(state_.identity.secret, request.receive.attempt);
  history_.fifo_of(queue).attempts.put(attempt, std::move(messages), now);
  if (!queue.waiters.empty()) queue.fifo->attempts_noted.push_back(attempt);
  polls_.want_match(queue);
  history_.arm(queue, now);
}

}  // namespace pawl

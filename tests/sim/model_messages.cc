// SPDX-License-Identifier: Apache-2.0
// Model of sends, deliveries, deletes and changes of visibility.
#include <algorithm>

#include "net/engine/shard_loop.h"
#include "tests/sim/model.h"

namespace pawl::sim {
namespace {

// Longest wait of a receive that finds only dead letters: until their transfers are settled.
constexpr Duration move_wait_max = seconds(5);

Duration longest(const Call& call, const QueueRow& queue) {
  return queue.exits == 0 && !queue.moves_home ? Duration{call.wait.high}
                                               : std::max(Duration{call.wait.high}, move_wait_max);
}

// Returns the time from which a message is visible again that was hidden for so long.
Instant end_of(Instant begun, Duration hidden) {
  return hidden.ms > 0 ? begun + hidden + ShardLoop::timers_late : begun;
}

std::uint32_t nonce_of(const SipKey& key, const ReceiptHandle& handle) {
  const Result<Receipt> receipt = open(key, handle);
  return receipt ? receipt->nonce : 0;
}

}  // namespace

// --- send ---

void Model::decided_sends(Call& call, bool duplicates, const Turn& turn) {
  if (call.undecided == 0) return;
  QueueRow& queue = row(call);
  for (std::size_t i = 0; i < call.sends.size(); ++i) {
    const SendEntry& entry = call.sends[i];
    ModelMessage& message = messages_[call.messages[i]];
    if ((entry.seq == 0 && !entry.duplicate) || message.sent != ModelMessage::Sent::asked) continue;
    if (entry.duplicate != duplicates) continue;
    --call.undecided;
    const bool own_delay = entry.delay.ms >= 0 && (!queue.fifo || queue.apart);
    const Range delay = own_delay ? Range{entry.delay.ms, entry.delay.ms} : queue.delay;
    message.decided_step = turn.step;
    judge_send(queue, message, entry, turn);
    if (entry.duplicate) {
      message.sent = ModelMessage::Sent::refused;
      continue;
    }
    message.sent = ModelMessage::Sent::unacked;
    message.born_queue = queue.id;
    message.born_seq = entry.seq;
    queue.replays.sent.emplace(call.messages[i], turn.now);
    message.sent_at = message.aged = turn.now;
    message.latest = world_->newest_now();
    message.view.step = turn.step;
    // A message that is durable only after its delay comes at once.
    message.view.from_low = turn.now + Duration{delay.low};
    message.view.from_high = turn.now + Duration{delay.high};
    message.own_delay = own_delay;
    if (queue.apart) {
      message.aged = message.view.from_low;
      message.latest = std::max(message.latest, message.view.from_high);
    }
    begin_life(message, entry.time_to_live);
    note_features(message, queue, message.view.from_high);
    take_seq(call.messages[i], entry.seq);
    may_leave(message);
    trace_->note("  message {} is {}/{}", call.messages[i], raw(queue.id), entry.seq);
  }
}

void Model::take_seq(std::uint32_t id, Seq seq) {
  QueueRow& queue = row(messages_[id]);
  messages_[id].seq = seq;
  const auto [at, fresh] = queue.by_seq.try_emplace(seq, id);
  // A queue that answers early may have lost it in a crash, and so may any queue one that only a
  // peek has seen.
  if (const auto copy = queue.replays.copies.find(seq);
      copy != queue.replays.copies.end() && !queue.replays.relaxed) {
    if (copies_[copy->second].seen_step != 0)
      trace_->broken("numbers are not used again", "queue {} seq {} was a copy", raw(queue.id),
                     seq);
    queue.replays.copies.erase(copy);
  }
  if (fresh) return;
  const std::uint32_t before = std::exchange(at->second, id);
  ModelMessage& other = messages_[before];
  if (other.sent != ModelMessage::Sent::doubtful || other.promised != Durability::fsync) {
    trace_->broken("numbers are not used again", "queue {} seq {} was message {}, is {}",
                   raw(queue.id), seq, before, id);
  }
  lose(other, "lost in a crash, its number is another's");
}

// The last number is in use: by a message that was seen, or by one from another queue or a replay
// that was not seen yet. Or a queue that answers early, or a topic, lost it in a crash.
void Model::check_used_up(const QueueRow& queue) {
  const bool seen = queue.by_seq.contains(seq_newest_max);
  bool unseen = queue.replays.relaxed || queue.gives_numbers || may_have_copies(queue);
  for (std::uint32_t from = 0; from < queues_.size(); ++from)
    unseen |= leads_to(from, static_cast<std::uint32_t>(&queue - queues_.data()));
  if (!world_->numbers_run_out() || (!seen && !unseen))
    trace_->broken("an error has a reason", "queue {} has numbers left", raw(queue.id));
}

// Checks a refusal for want of memory; the turn that answers it also decided it.
void Model::check_memory(const Call& call) {
  std::uint64_t bytes = 0;
  for (const std::uint32_t id : call.messages) bytes += messages_[id].body_bytes + 200;
  bytes += call.targets.size() * 64 + 300;  // at most, if the content is shared
  if (!world_->short_of_memory(call.target, bytes))
    trace_->broken("an error has a reason", "call {} of {} bytes: no_memory", call.number, bytes);
}

void Model::answered_send(const Call& call, const Turn& turn) {
  const bool taken = queue_answers(call);
  if (call.request.error == Errc::no_memory && call.home == call.target) check_memory(call);
  const Durability promised = call.request.durability;
  check_promise(call);
  for (std::size_t i = 0; i < call.sends.size(); ++i) {
    ModelMessage& message = messages_[call.messages[i]];
    if (!taken || call.sends[i].error != Errc::ok) {
      message.sent = ModelMessage::Sent::refused;
      if (taken && call.sends[i].error == Errc::message_numbers_used_up) {
        check_used_up(row(call));
        given_up(row(call), message, turn);
      }
      continue;
    }
    if (call.sends[i].duplicate) {
      if (promised == Durability::fsync) durable(call.target, message.decided_step);
      continue;
    }
    if (message.sent == ModelMessage::Sent::asked) {
      trace_->broken("an answer names the message's number", "message {}", call.messages[i]);
      return;
    }
    ShardView& shard = shards_[raw(call.target)];
    if (promised != Durability::fsync && message.decided_step > shard.durable_step) {
      if (message.sent != ModelMessage::Sent::acked) message.sent = ModelMessage::Sent::early;
      message.promised = promised;
      message.start = starts_;
      shard.early.push_back(call.messages[i]);
      continue;
    }
    message.sent = ModelMessage::Sent::acked;
    message.acked_step = turn.step;
    // Its life may have ended before it was durable: it ends soon after.
    if (message.dead != never) message.dead = std::max(message.dead, turn.now);
    if (promised == Durability::fsync) durable(call.target, message.decided_step);
  }
}

// --- deliveries ---

void Model::delivered(Call& call, std::size_t index, const Turn& turn) {
  const Delivery& delivery = call.deliveries[index];
  const std::uint32_t id = call.messages[index];
  if (id == UINT32_MAX) return;
  const Result<Receipt> receipt = open(world_->receipt_key(), delivery.handle);
  const QueueRow& queue = row(call);
  if (!receipt || receipt->seq != delivery.seq || receipt->queue != queue.id ||
      receipt->shard != queue.owner)
    return trace_->broken("a handle names its message", "message {}", id);
  if (is_copy(id)) return delivered_copy(call, index, turn);
  ModelMessage& message = messages_[id];
  const bool known =
      message.sent != ModelMessage::Sent::refused && message.sent != ModelMessage::Sent::asked;
  if (known && (message.queue != call.queue || message.seq != delivery.seq)) {
    arrive(id, call.queue, delivery, turn);
    if (!trace_->ok()) return;
  }
  if (message.passed)
    return trace_->broken("what was passed is gone",
                          "message {} (seq {}): a later one of its group was received", id,
                          message.seq);
  const bool again = is_again(call, message, receipt->nonce);
  call.again |= again;
  check_delivery(call, id, delivery, again, turn);
  if (queue.fifo) check_order(call, index, turn);
  message.wanders = false;
  message.received = turn.now;
  if (queue.apart) message.latest = std::max(message.latest, turn.now);
  message.consumer = consumer_of(call);
  // A change or return may have been decided before this delivery, and a crash may stop after it.
  if (message.moves > 0) {
    View between = message.view;
    between.step = turn.step;
    between.received.low = std::max<std::int64_t>(0, between.received.low - 1);
    between.from_low = long_ago;
    between.from_high = std::max(between.from_high, turn.now + message.moved);
    between.first = Instant{};
    set_view(message, between);
  }
  const Duration asked = call.request.receive.visibility;
  const Range visibility = asked.ms < 0 ? queue.visibility : Range{asked.ms, asked.ms};
  View view;
  view.step = turn.step;
  view.received = {delivery.receive_count, delivery.receive_count};
  const bool waits = queue.backoff.high > 0 && visibility.low > 0;
  view.leased = visibility.low > 0;
  // A timer is late, but a wait counts from when it was due.
  view.from_low = waits ? turn.now + Duration{visibility.low} + shortest_wait(queue)
                        : end_of(turn.now, Duration{visibility.low});
  view.from_high = turn.now + Duration{visibility.high};
  if (visibility.high > 0) view.from_high = view.from_high + Duration{queue.backoff.high};
  // Two receives of an attempt in one turn, in any order.
  if (again && message.view.step == turn.step) {
    view.from_low = std::min(view.from_low, message.view.from_low);
    view.from_high = std::max(view.from_high, message.view.from_high);
  }
  view.first = delivery.first_received;
  view.nonce = receipt->nonce;
  set_view(message, view);
  trace_->note("  message {} delivered to client {}, count {}, until {}..{}", id, call.client,
               delivery.receive_count, view.from_low.ms, view.from_high.ms);
}

void Model::check_delivery(const Call& call, std::uint32_t id, const Delivery& delivery, bool again,
                           const Turn& turn) {
  ModelMessage& message = messages_[id];
  const View& view = message.view;
  using Sent = ModelMessage::Sent;
  if (message.sent == Sent::refused || message.sent == Sent::asked)
    return trace_->broken("only what was sent is delivered", "message {}", id);
  if (message.sent == Sent::early && message.promised == Durability::async)
    durable(row(message).owner, message.decided_step);  // only a durable message is delivered
  if (message.sent == Sent::unacked && message.sender_is_local)
    return trace_->broken("nothing is delivered before it is durable", "message {}", id);
  if (message.gone == ModelMessage::Gone::yes)
    return trace_->broken("what is gone does not come back", "message {}: {}", id, message.why);
  if (message.cancelled && !again)
    return trace_->broken("what is cancelled does not come back", "message {}", id);
  if (must_be_expired(message, turn.fired))
    return trace_->broken("retention ends", "message {} sent at {}, now {}", id, message.sent_at.ms,
                          turn.now.ms);
  if (!again && surely_dead(message, turn))
    return trace_->broken("a time to live ends", "message {} was dead at {}, now {}", id,
                          message.dead.ms, turn.now.ms);
  if (delivery.seq != message.seq || delivery.sent != message.sent_at)
    return trace_->broken("a message is one message", "message {} seq {} sent {}, not {} {}", id,
                          delivery.seq, delivery.sent.ms, message.seq, message.sent_at.ms);
  if (!check_place(call, message, delivery, again)) return;
  if (!again && message.moves == 0 && turn.now < view.from_low)
    return trace_->broken(view.received.high == 0 ? "a delay holds" : "one holder at a time",
                          "message {} at {}, not before {}", id, turn.now.ms, view.from_low.ms);
  const int counts = again ? 0 : 1;
  const Range expected{view.received.low + counts - (message.moves > 0 ? 1 : 0),
                       view.received.high + counts};
  if (!expected.holds(delivery.receive_count))
    return trace_->broken("the receive count counts", "message {}: {}, expected {}..{}", id,
                          delivery.receive_count, expected.low, expected.high);
  // With a count of 1 this is the first delivery: earlier ones, if any, were forgotten or returned.
  const Instant first = delivery.receive_count == 1 && !again ? turn.now : view.first;
  if (first.ms != 0 && delivery.first_received != first && message.moves == 0)
    return trace_->broken("the first delivery is remembered", "message {}: {}, expected {}", id,
                          delivery.first_received.ms, first.ms);
  if (message.sent == Sent::doubtful) {
    message.sent = Sent::acked;
    message.acked_step = turn.step;
  }
  if (message.deletes == 0) message.gone = ModelMessage::Gone::no;
}

void Model::answered_receive(const Call& call, const Turn& turn) {
  looked(call);
  if (call.request.error == Errc::attempt_not_retryable) return refused_attempt(call, turn);
  if (!queue_answers(call)) return;
  const QueueRow& queue = row(call);
  // The response waited until everything before it was on disk: order must hold across a crash.
  if (queue.fifo && call.request.delivered > 0) {
    durable(call.target, call.delivered_step);
    note_passed(call);
  }
  const bool waited = call.request.delivered > 0 || call.again || call.abandoned || draining_ ||
                      queue.sets > 0 || queue.set_step > call.asked_step ||
                      turn.now >= decided_low(call) + Duration{call.wait.low};
  if (!waited)
    trace_->broken("a long poll waits", "call {} came back after {} ms of {}", call.number,
                   (turn.now - decided_low(call)).ms, call.wait.low);
}

void Model::check_short(const Call& call, const Turn& turn) {
  if (call.request.error != Errc::ok || call.request.delivered == call.request.receive.max) return;
  if (call.again) return;
  // A delivery shows when the receive was decided; an empty response does so only for
  // a receive from the same shard.
  const bool now =
      call.target == turn.shard && (call.home == turn.shard || call.request.delivered > 0);
  const std::uint64_t step = now ? turn.step : call.asked_step + 1;
  const Instant fired = now ? turn.fired : call.fired_when_asked;
  QueueRow& queue = row(call);
  tidy(queue);
  if (may_stop_short(call)) return;
  if (queue.fifo)
    return check_groups(call, step, now ? turn.step : call.asked_step, fired,
                        "what is ready is delivered");
  for (const std::uint32_t id : queue.messages) {
    if (!surely_ready(messages_[id], step, fired)) continue;
    trace_->broken("what is ready is delivered",
                   "message {} (seq {}, sent at {}, ready at {}) to call {}, asked at {}", id,
                   messages_[id].seq, messages_[id].sent_at.ms, messages_[id].view.from_high.ms,
                   call.number, call.asked_at.ms);
    return;
  }
}

void Model::check_overdue(const Call& call, const Turn& turn) {
  if (call.op != Op::receive || !call.exact || call.target != turn.shard || call.abandoned) return;
  if (call.applied) return;  // the response waits for the disk
  const QueueRow& queue = row(call);
  if (queue.sets > 0 || queue.set_step > call.asked_step) return;
  if (turn.step <= call.decided_step || turn.fires < call.decided_at + longest(call, queue)) return;
  trace_->broken("a long poll ends in time", "call {} of {} ms, parked at {}, still there at {}",
                 call.number, call.wait.high, call.decided_at.ms, turn.fires.ms);
}

void Model::check_rest(const Call& call) {
  const bool parked = call.request.op == Op::receive && !call.abandoned;
  const QueueRow& queue = row(call);
  const bool overdue =
      call.exact && world_->now() > call.decided_at + longest(call, queue) + milliseconds(1);
  const bool wait_known = queue.sets == 0 && queue.set_step <= call.asked_step;
  if (!parked || (overdue && wait_known))
    return trace_->broken("every request is answered", "call {}, op {}, asked at {}, now {}",
                          call.number, static_cast<int>(call.request.op), call.asked_at.ms,
                          world_->now().ms);
  const Instant fired = shards_[raw(call.target)].fired;
  if (may_stop_short(call)) return;
  if (queue.fifo)
    return check_groups(call, world_->step() + 1, world_->step(), fired,
                        "nobody waits for what is ready");
  for (const std::uint32_t id : queue.messages) {
    if (!surely_ready(messages_[id], world_->step() + 1, fired)) continue;
    trace_->broken("nobody waits for what is ready", "message {}, call {}", id, call.number);
    return;
  }
}

// --- delete, change of visibility, return ---

void Model::answered_delete_messages(const Call& call, const Turn& turn) {
  const bool taken = queue_answers(call);
  const bool early = call.request.durability != Durability::fsync;
  check_promise(call);
  if (taken && !early) durable(call.target, call.exact ? call.decided_step : call.asked_step);
  for (std::size_t i = 0; i < call.messages.size(); ++i) {
    const std::uint32_t id = call.messages[i];
    if (id == UINT32_MAX) {
      if (taken && call.receipts[i].error != Errc::receipt_invalid)
        trace_->broken("a forged handle is refused", "call {}", call.number);
      continue;
    }
    if (is_copy(id)) {
      Copy& copy = copies_[id ^ copy_mark];
      const Errc error = call.receipts[i].error;
      if (taken && error != Errc::ok && !(row(call).fifo && error == Errc::receipt_expired))
        trace_->broken("a handle deletes", "seq {}, a copy: {}", copy.seq, name_of(error));
      copy.gone |= taken && !early && error == Errc::ok;
      continue;
    }
    ModelMessage& message = messages_[id];
    --message.deletes;
    if (!taken || message.gone == ModelMessage::Gone::yes) continue;
    if (call.receipts[i].by != ReceiptEntry::By::handle) {
      answered_cancel_by_id(call, i, turn);
      continue;
    }
    const bool in_time = call.in_time.contains(id) && call.receipts[i].error == Errc::ok;
    if (!in_time && !names_place(call.receipts[i], message)) {
      // It has moved on. If its source does not know that yet, the delete follows it.
      if (message.arrived_step > rested_step_) message.gone = ModelMessage::Gone::maybe;
      continue;
    }
    if (row(call).fifo) {
      check_expired_handle(call, i, turn);
      if (call.receipts[i].error == Errc::receipt_expired) continue;
    }
    if (message.wanders && !in_time && call.receipts[i].error == Errc::ok) {
      message.gone = ModelMessage::Gone::maybe;
      continue;
    }
    if (call.receipts[i].error != Errc::ok)
      trace_->broken("a handle deletes", "message {}: {}", id, name_of(call.receipts[i].error));
    trace_->note("  message {} deleted", id);
    lose(message, "deleted");
    if (!early) continue;
    // A delete that waited for a dead letter to arrive was decided in this turn.
    shards_[raw(call.target)].deleted_early.emplace_back(id, turn.step);
    // Receives of this turn may have come first.
    row(call).lost_step[message.group] = turn.step + 1;
  }
}

void Model::answered_change(const Call& call, const Turn& turn) {
  const bool taken = queue_answers(call);
  const Instant low = decided_low(call), high = decided_high(call, turn);
  for (std::size_t i = 0; i < call.messages.size(); ++i) {
    const std::uint32_t id = call.messages[i];
    if (is_copy(id)) {
      Instant& until = copies_[id ^ copy_mark].until;
      until = std::max(until, high + call.receipts[i].visibility);
    }
    if (!is_message(id)) continue;
    ModelMessage& message = messages_[id];
    if (--message.moves == 0) message.moved = Duration{0};
    if (!taken) continue;
    const ReceiptEntry& entry = call.receipts[i];
    if (entry.by != ReceiptEntry::By::handle) {
      answered_reschedule(call, i, turn);
      continue;
    }
    if (!names_place(entry, message)) continue;
    if (entry.uncounted) {
      answered_uncounted(call, i, turn);
      continue;
    }
    if (row(call).fifo) {
      check_expired_handle(call, i, turn);
      if (entry.error == Errc::receipt_expired) continue;
    }
    if (entry.error == Errc::message_gone) {
      check_gone(call, id, "a change");
      continue;
    }
    // It was given back as uncounted, or has a new delivery time.
    if (entry.error == Errc::receipt_expired && (message.returned || message.moves > 0)) continue;
    if (entry.error != Errc::ok) {
      trace_->broken("a change of visibility is possible", "message {}: {}", id,
                     name_of(entry.error));
      continue;
    }
    const std::uint32_t nonce = nonce_of(world_->receipt_key(), entry.handle);
    View view = message.view;
    const bool sure = view.step <= call.asked_step;
    View changed = view;
    changed.leased = changed.durable = changed.idle = false;
    changed.scheduled = view.scheduled && entry.visibility.ms == 0;
    changed.received.low = std::max<std::int64_t>(view.received.low, 1);
    changed.received.high = std::max<std::int64_t>(view.received.high, 1);
    changed.from_low = end_of(low, entry.visibility);
    changed.from_high = high + entry.visibility;
    const Range& backoff = row(call).backoff;
    if (entry.visibility.ms == 0 && (backoff.high > 0 || view.scheduled)) {
      // A message that waits already or is visible stays as it is.
      changed.from_low = std::min(view.from_low, low + shortest_wait(row(call)));
      changed.from_high = std::max(view.from_high, high + Duration{backoff.high});
    }
    // After a change by an old handle the message still belongs to the latest receiver. A message
    // that counts as never received then belongs to this handle.
    if (view.received.high == 0) {
      changed.nonce = nonce;
      changed.nonce_known = true;
    } else if (view.received.low == 0 && view.nonce != nonce) {
      changed.nonce_known = false;
    }
    if (view.received.low == 0) changed.first = Instant{};
    if (sure) {
      view = changed;
    } else {
      view.received.widen(changed.received.low);
      view.from_low = std::min(view.from_low, changed.from_low);
      view.from_high = std::max(view.from_high, changed.from_high);
      view.nonce_known &= changed.nonce_known && view.nonce == changed.nonce;
      view.durable = view.idle = false;
      view.scheduled |= changed.scheduled;
      if (view.received.low == 0) view.first = Instant{};
    }
    view.step = turn.step;
    view.leased = false;
    trace_->note("  message {} moved to {}..{}", id, view.from_low.ms, view.from_high.ms);
    set_view(message, view);
  }
}

void Model::answered_return(const Call& call, const Turn& turn) {
  const bool taken = queue_answers(call);
  const Instant low = decided_low(call), high = decided_high(call, turn);
  for (std::size_t i = 0; i < call.messages.size(); ++i) {
    if (!is_message(call.messages[i])) continue;
    ModelMessage& message = messages_[call.messages[i]];
    --message.returns;
    if (--message.moves == 0) message.moved = Duration{0};
    if (!taken || !names_place(call.receipts[i], message)) continue;
    View view = message.view;
    const std::uint32_t nonce = nonce_of(world_->receipt_key(), call.receipts[i].handle);
    if (view.nonce_known && view.nonce != nonce) continue;  // received again since then
    const bool untouched = view.nonce_known && view.step <= call.asked_step && message.moves == 0;
    if (untouched && view.from_high <= call.fired_when_asked) continue;  // visible again already
    if (untouched && view.idle) continue;                                // not in flight
    view.uncount(untouched && view.from_low > high && row(call).backoff.high == 0, low, high);
    view.step = turn.step;
    trace_->note("  message {} returned", call.messages[i]);
    view.leased = view.durable = view.idle = false;
    if (row(call).apart) message.latest = std::max(message.latest, view.from_high);
    set_view(message, view);
  }
}

}  // namespace pawl::sim

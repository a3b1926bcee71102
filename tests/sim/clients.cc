// SPDX-License-Identifier: Apache-2.0
// Calls under way and the meaning of their responses. client_acts.cc makes the requests.
#include "tests/sim/clients.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "core/base/check.h"

namespace pawl::sim {

Clients::Clients(const Plan& plan, Trace& trace)
    : plan_(plan),
      trace_(&trace),
      random_(Random(plan.seed).split("clients")),
      numbered_(Random(plan.seed).split("numbered")),
      shared_(Random(plan.seed).split("shared")),
      lives_(Random(plan.seed).split("lives")),
      by_id_(Random(plan.seed).split("by id")),
      senders_(Random(plan.seed).split("senders")) {
  // The last client is the scheduler's own.
  for (std::uint32_t i = 0; i <= plan.clients; ++i) {
    homes_.push_back(ShardId{static_cast<std::uint8_t>(random_.below(plan.shards))});
    busy_.push_back(0);
  }
}

void Clients::use(SimulatedBroker& world, Model& model) {
  world_ = &world;
  model_ = &model;
}

// --- calls ---

Call& Clients::make(Op op, std::uint32_t client, std::uint32_t queue) {
  Call& call = calls_.emplace_back();
  call.op = call.request.op = op;
  call.number = next_number_++;
  call.client = client;
  call.home = homes_[client];
  call.queue = queue;
  if (op == Op::list_queues) return call;  // the caller chooses shard and cursor
  if (op == Op::create_queue || op == Op::delete_queue || op == Op::set_attributes) {
    call.target = control_shard;
  } else {
    call.target = model_->queues()[queue].owner;
  }
  if (op != Op::create_queue) call.request.queue = model_->queues()[queue].id;
  return call;
}

void Clients::submit(Call& call) {
  begin(call);
  world_->submit(call.request, call.home, call.target);
}

void Clients::begin(Call& call) {
  Request& request = call.request;
  request.owner = &call;
  request.sends = call.sends;
  request.targets = call.targets;
  request.receipts = call.receipts;
  request.changes = call.changes;
  request.deliveries = call.deliveries;
  request.spec = &call.spec;
  request.move.destination = call.destination;
  call.replay.destination = call.destination;
  call.replay.filter = call.filter;
  request.replay = &call.replay;
  request.slice = &call.slice;
  request.peek = &call.peek;
  request.receive.attempt = call.attempt_text;
  request.receive.consumer[0] = consumer_of(call);
  const bool inside = world_->inside_turn();
  call.asked_step = inside ? world_->step() - 1 : world_->step();
  call.asked_at = world_->now();
  // The response to a peek may wait for the disk.
  call.exact = !inside && call.home == call.target && call.op != Op::peek;
  call.decided_step = 0;
  ++busy_[call.client];
  under_way_.push_back(&call);
  trace_->note("{} us: call {} of client {}: op {} queue {} at shard {} from {}, attempt {}",
               world_->now_us(), call.number, call.client, static_cast<int>(call.op),
               raw(request.queue), raw(call.target), raw(call.home), call.attempt);
  model_->asked(call);
}

void Clients::finish(Call& call) {
  std::erase(under_way_, &call);
  --busy_[call.client];
}

void Clients::on_response(ShardId home, Request& request) {
  Call& call = *static_cast<Call*>(request.owner);
  if (call.state != Call::State::under_way || call.home != home) {
    trace_->broken("every request is answered once", "call {} at shard {}", call.number, raw(home));
    return;
  }
  call.state = Call::State::answered;
  if (request.op == Op::receive) call.applied ? put_in_order(call) : recognise(call);
  if (request.op == Op::peek) recognise_peeked(call);
  answers_.push_back(&call);
  if (request.op == Op::fan_out) share_answer(call);
  // A client may submit its next request within the response, as a connection handles pipelined
  // requests. Not for a peek: it comes in addition to a count, so requests would grow without end.
  if (may_go_on_ && request.op != Op::peek && homes_[call.client] == home &&
      random_.chance(plan_.inside, 100))
    act_as(call.client);
}

void Clients::share_answer(Call& first) {
  take_outcomes();
  const Errc whole = first.request.error;
  for (Call* call : under_way_) {
    if (call->shared_by != &first) continue;
    const bool exists = call->sends.front().error != Errc::no_such_queue;
    call->request.error = whole == Errc::ok && !exists ? Errc::no_such_queue : whole;
    call->request.durability = first.request.durability;
    if (call == &first) continue;
    call->state = Call::State::answered;
    answers_.push_back(call);
  }
}

// Each call of a fan_out gets the outcome for its queue.
void Clients::take_outcomes() {
  for (Call* call : under_way_) {
    if (call->shared_by == nullptr) continue;
    const FanOutTarget& outcome = call->shared_by->targets[call->place];
    SendEntry& entry = call->sends.front();
    entry.error = outcome.error;
    entry.seq = outcome.seq;
    entry.duplicate = outcome.duplicate;
  }
}

// Reports the decisions of this turn, in their order as far as it is known, then the responses.
void Clients::on_turn(const Turn& turn) {
  take_outcomes();
  bool undecided = false, numbers = false;
  for (Call* call : under_way_) {
    if (call->target != turn.shard || call->asked_step >= turn.step) continue;
    if (call->exact && call->decided_step == 0) {
      call->decided_step = turn.step;
      call->decided_at = turn.now;
      if (call->op == Op::delete_message) model_->decided_delete(*call, turn);
    }
    if (call->op == Op::take_numbers) numbers = true;
    if (call->op != Op::send || call->undecided == 0) continue;
    model_->decided_sends(*call, false, turn);
    undecided |= call->undecided > 0;
  }
  for (Call* call : under_way_) {
    if (!undecided) break;
    if (call->op == Op::send && call->target == turn.shard && call->asked_step < turn.step)
      model_->decided_sends(*call, true, turn);
  }
  for (const bool duplicates : {false, true}) {
    for (Call* call : under_way_) {
      if (!numbers) break;
      if (call->op == Op::take_numbers && call->target == turn.shard &&
          call->asked_step < turn.step)
        model_->decided_numbers(*call, duplicates, turn);
    }
  }
  const auto comes_first = [](const Call* call) {
    // A delete that did not wait for the disk may have been decided after a receive of the same
    // turn.
    const bool at_once =
        call->request.op == Op::delete_message && call->request.durability != Durability::fsync;
    return !at_once && call->request.op != Op::receive &&
           call->request.op != Op::change_visibility && call->request.op != Op::undeliver &&
           call->request.op != Op::count && call->request.op != Op::list_queues &&
           call->request.op != Op::peek;
  };
  const auto hear_all = [&](auto which) {
    for (Call* call : heard_)
      if (which(call)) hear(*call, turn);
  };
  heard_.swap(answers_);
  hear_all(comes_first);
  std::erase_if(heard_, comes_first);
  answers_.swap(heard_);
  deliver_in_order(turn);
  heard_.swap(answers_);
  // Changes, then receives: ready messages are judged when everything else is known.
  const auto is_receive = [](const Call* call) { return call->request.op == Op::receive; };
  hear_all(std::not_fn(is_receive));
  hear_all(is_receive);
  heard_.clear();
  model_->on_turn(turn);
  for (const Call* call : under_way_) model_->check_overdue(*call, turn);
}

// Deliveries of one shard carry rising nonces. Deliveries to other shards, and those that wait for
// the disk, are read from the request as soon as they are there: their responses come later.
void Clients::deliver_in_order(const Turn& turn) {
  struct Item {
    std::uint32_t nonce;
    Call* call;
    std::size_t index;
  };
  std::vector<Item> items;
  std::vector<Call*> decided;
  const auto collect = [&](Call* call) {
    if (call->applied || call->request.op != Op::receive || call->target != turn.shard) return;
    const std::size_t all = call->request.delivered + call->request.unreadable;
    if (all == 0) return;
    call->applied = true;
    call->delivered_step = turn.step;
    decided.push_back(call);
    for (std::size_t i = 0; i < all; ++i) {
      const Result<Receipt> receipt = open(world_->receipt_key(), call->deliveries[i].handle);
      items.push_back({receipt ? receipt->nonce : 0, call, i});
    }
  };
  for (Call* call : answers_) collect(call);
  for (Call* call : under_way_) {
    if (call->state != Call::State::under_way || call->applied) continue;
    if (call->target != turn.shard || call->request.op != Op::receive) continue;
    recognise(*call);
    collect(call);
  }
  if (items.empty()) return;
  // Nonces wrap; nonces of one turn are close together.
  const std::uint32_t around = items.front().nonce;
  std::ranges::stable_sort(
      items, {}, [&](const Item& item) { return static_cast<std::int32_t>(item.nonce - around); });
  // Two receives of an attempt in one turn: it is unknown which of them was the first.
  for (std::size_t i = 1; i < items.size(); ++i)
    if (items[i].nonce == items[i - 1].nonce)
      items[i].call->again = items[i - 1].call->again = true;
  for (const Item& item : items) model_->delivered(*item.call, item.index, turn);
  for (const Call* call : decided) model_->attempted(*call, turn);
  for (const Call* call : decided) model_->check_short(*call, turn);
}

// Identifies the deliveries while their contents are valid: the memory may be freed at the end of
// the turn.
void Clients::recognise(Call& call) {
  const std::size_t all = call.request.delivered + call.request.unreadable;
  call.again |= call.request.unreadable > 0;  // the response may be short
  for (std::size_t i = 0; i < all; ++i) {
    Delivery& delivery = call.deliveries[i];
    if (call.request.route.unread > 0 || i >= call.request.delivered - call.request.unfetched) {
      const StoredMessage stored = world_->stored(call.target, call.request.queue, delivery);
      delivery.take(stored.sent, stored.deliver_at, stored.carried.id, stored.content);
    }
    call.messages.push_back(model_->recognise(call, delivery));
    call.seqs.push_back(delivery.seq);
    for (std::string_view* text : {&delivery.content.origin, &delivery.content.dedup_id})
      if (!text->empty()) *text = call.texts.emplace_front(*text);
  }
}

void Clients::recognise_peeked(Call& call) {
  for (const Delivery& delivery : call.request.deliveries.first(call.request.delivered))
    call.messages.push_back(model_->recognise(call, delivery));
}

// Unreadable messages follow the messages in the response, and no client holds them.
void Clients::put_in_order(Call& call) {
  std::vector<std::uint32_t> messages;
  const std::size_t all = call.request.delivered + call.request.unreadable;
  for (std::size_t i = 0; i < all; ++i) {
    const auto at = std::ranges::find(call.seqs, call.deliveries[i].seq) - call.seqs.begin();
    messages.push_back(call.messages[static_cast<std::size_t>(at)]);
    if (i < call.request.delivered - call.request.unfetched &&
        model_->recognise(call, call.deliveries[i]) != messages.back())
      trace_->broken("bytes are as they were sent", "seq {} is another message",
                     call.deliveries[i].seq);
  }
  call.messages = std::move(messages);
  call.again |= call.request.unreadable > 0;  // the response may be short
}

void Clients::hear(Call& call, const Turn& turn) {
  Request& request = call.request;
  trace_->note("  call {} answered: {} delivered {}", call.number, name_of(request.error),
               request.delivered);
  if (request.error != Errc::ok) ++refused_;
  if (request.op == Op::receive) deliveries_ += request.delivered;
  model_->answered(call, turn);
  senders_.answered(call);
  if (request.op == Op::receive && request.error == Errc::ok) {
    if (request.delivered == 0) model_->check_short(call, turn);
    if (request.delivered > 0 && call.abandoned) return undeliver(call);
    for (std::size_t i = 0; i < request.delivered; ++i) {
      if (held_.size() == held_max) held_.erase(held_.begin());
      held_.push_back({call.queue, call.messages[i], call.deliveries[i].handle});
    }
  }
  finish(call);
  if (call.op == Op::list_queues && call.slice.next != QueueId::none)
    list_queues(call.target, call.slice.next, call.slice.wants_figures);
  if (call.op == Op::peek && call.request.error == Errc::ok && call.peek.next != 0)
    peek(call.client, call.queue, call.peek.next, call.request.receive.bytes_max);
}

void Clients::undeliver(Call& call) {
  finish(call);
  call.receipts.clear();
  for (const Delivery& delivery : call.deliveries)
    call.receipts.push_back({.handle = delivery.handle});
  call.receipts.resize(call.request.delivered);
  call.op = call.request.op = Op::undeliver;
  call.state = Call::State::under_way;
  model_->gives_back(call);
  submit(call);
}

void Clients::drop(std::uint32_t client) {
  trace_->note("{} us: client {} goes", world_->now_us(), client);
  for (std::size_t i = under_way_.size(); i > 0; --i) {
    Call& call = *under_way_[i - 1];
    if (call.client != client || call.abandoned || call.op != Op::receive) continue;
    if (call.state != Call::State::under_way) continue;
    call.abandoned = true;
    if (!world_->cancel(call.request, call.home, call.target)) continue;  // a response will come
    call.state = Call::State::cancelled;
    model_->cancelled(call);
    finish(call);
  }
  senders_.dropped(client);
  homes_[client] = ShardId{static_cast<std::uint8_t>(random_.below(plan_.shards))};
}

void Clients::drop_all() {
  for (std::uint32_t client = 0; client < homes_.size(); ++client) drop(client);
}

void Clients::check_rest() {
  for (const Call* call : under_way_) model_->check_rest(*call);
}

void Clients::crashed() {
  under_way_.clear();
  answers_.clear();
  calls_.clear();
  std::ranges::fill(busy_, 0);
  senders_.crashed();
}

}  // namespace pawl::sim

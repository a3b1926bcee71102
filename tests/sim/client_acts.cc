// SPDX-License-Identifier: Apache-2.0
// Requests of the simulated clients.
#include <fmt/core.h>
#include <algorithm>

#include "core/base/check.h"
#include "tests/sim/clients.h"

namespace pawl::sim {
namespace {

constexpr std::uint32_t no_message = UINT32_MAX;

constexpr std::size_t dedups_kept = 24;
constexpr std::string_view account = "000000000000";
constexpr std::string_view topic_name = "own-topic";  // gives numbers to published messages
constexpr std::uint64_t peek_bytes_max = 8192;        // so that a slice may end before its queue
constexpr std::size_t replays_a_queue = 9;            // with more the broker forgets the first

AttributeChange number(Attribute attribute, std::int64_t value) { return {attribute, value, {}}; }

std::string copies_name(bool fifo) { return fifo ? "own-copies.fifo" : "own-copies"; }

}  // namespace

std::uint64_t Clients::act_as(std::uint32_t client) {
  if (client == plan_.clients || busy_[client] >= plan_.calls_a_client) return 0;
  std::uint64_t total = 0;
  for (const std::uint32_t weight : plan_.weights) total += weight;
  std::uint64_t left = random_.below(total);
  std::size_t act = 0;
  while (left >= plan_.weights[act]) left -= plan_.weights[act++];
  return perform(static_cast<Act>(act), client) ? 1 : 0;
}

bool Clients::pick_queue(std::uint32_t& queue) {
  const std::size_t known = model_->queues().size();
  if (known == 0) return false;
  const auto deleted = [&] { return model_->queues()[queue].state == QueueRow::State::deleted; };
  queue = static_cast<std::uint32_t>(random_.below(known));
  if (random_.chance(1, 30)) return !is_own(queue);
  // Mostly one of the latest queues, and one that exists.
  for (int tries = 0; tries < 4; ++tries) {
    const std::size_t recent = std::min<std::size_t>(known, plan_.queue_names);
    queue = static_cast<std::uint32_t>(known - 1 - random_.below(recent));
    if (!deleted() && !is_own(queue)) return true;
  }
  return false;
}

// Whether it is a queue for move or replay tasks alone. Nobody receives from these before the end,
// so that the messages that a task reports as moved can be counted.
bool Clients::is_own(std::uint32_t queue) const {
  return model_->queues()[queue].name.starts_with("own-");
}

bool Clients::pick_source(std::uint32_t& queue) {
  if (!random_.chance(1, 2)) return true;
  for (std::uint32_t row = 0; row < model_->queues().size(); ++row) {
    const QueueRow& known = model_->queues()[row];
    if (!known.name.starts_with("own-source")) continue;
    queue = row;
    return true;
  }
  return true;
}

bool Clients::perform(Act act, std::uint32_t client) {
  std::uint32_t queue = 0;
  if (!pick_queue(queue)) act = Act::create;
  switch (act) {
    case Act::send:
      if (plan_.moves && random_.chance(1, 8)) pick_source(queue);
      send(client, queue, random_.between(1, plan_.batch_max));
      return true;
    case Act::receive:
      receive(client, queue);
      return true;
    case Act::delete_message:
      if (by_id_.chance(plan_.by_id, 300)) return by_id(Op::delete_message, client, queue);
      return delete_under_way(client) || with_handles(Op::delete_message, client);
    case Act::change:
      if (by_id_.chance(plan_.by_id, 100)) return by_id(Op::change_visibility, client, queue);
      return with_handles(Op::change_visibility, client);
    case Act::count:
      submit(make(Op::count, client, queue));
      peek(client, queue, 0, peek_bytes_max);
      return true;
    case Act::purge:
      submit(make(Op::purge, client, queue));
      return true;
    case Act::create:
      create(client);
      return true;
    case Act::delete_queue:
      submit(make(Op::delete_queue, client, queue));
      return true;
    case Act::set:
      set(client, queue);
      return true;
    case Act::start_move:
    case Act::cancel_move:
    case Act::list_moves:
      return move(act, client, queue);
    case Act::start_replay:
    case Act::cancel_replay:
    case Act::list_replays:
      return replay(act, client, queue);
    case Act::drop_client:
      if (world_->inside_turn()) return false;
      drop(client);
      return true;
  }
  CHECK(false);
}

// --- messages ---

void Clients::send(std::uint32_t client, std::uint32_t queue, std::size_t entries) {
  Call& call = make(Op::send, client, queue);
  const QueueRow& row = model_->queues()[queue];
  call.names.resize(entries);
  for (std::size_t i = 0; i < entries; ++i) {
    const bool small = random_.chance(1, 2);
    const std::uint64_t bytes =
        random_.between(1, small ? std::min<std::uint64_t>(plan_.body_max, 64) : plan_.body_max);
    const std::uint32_t id = model_->make_message(queue, bytes, random_);
    call.names[i] = name_mark ^ id;
    SendEntry& entry = call.sends.emplace_back();
    if (row.fifo) {
      model_->name_group(id, pick_group(), pick_dedup(random_, row.name));
    } else if (random_.chance(plan_.fair, 100)) {
      model_->name_group(id, pick_group(), 0);
    }
    model_->fill(id, entry.content, call.names[i]);
    if (plan_.delays && !row.fifo && random_.chance(1, 3))
      entry.delay = milliseconds(static_cast<std::int64_t>(random_.below(4)) * 700);
    if (plan_.delays && row.apart && by_id_.chance(1, 3))  // up to twice the shortest retention
      entry.delay = milliseconds(static_cast<std::int64_t>(by_id_.below(12)) * 11'000);
    const std::int64_t lives[] = {1, 300, 2000, 7000, 30'000, 90'000};
    if (lives_.chance(plan_.lives, 100))
      entry.time_to_live = milliseconds(lives[lives_.below(std::size(lives))]);
    call.messages.push_back(id);
  }
  if (entries == 1 && may_go_on_ && shared_.chance(plan_.shared, 100)) {
    fan_out(call);
    if (shared_.chance(1, 4)) take_numbers(client);
    return;
  }
  if (!row.fifo && numbered_.chance(plan_.numbered, 100)) number_sends(call);
  submit(call);
}

// Sends the message of the call to other queues of its shard too, in one request.
void Clients::fan_out(Call& first) {
  std::vector<Call*> calls{&first};
  const QueueRow& row = model_->queues()[first.queue];
  for (std::uint32_t other = 0; other < model_->queues().size(); ++other) {
    const QueueRow& to = model_->queues()[other];
    const bool alike = to.owner == row.owner && to.fifo == row.fifo && !is_own(other);
    if (other == first.queue || !alike || !shared_.chance(3, 4)) continue;
    Call& call = make(Op::send, first.client, other);
    call.messages.push_back(model_->share_message(other, first.messages.front()));
    call.sends = first.sends;
    calls.push_back(&call);
  }
  std::ranges::sort(calls, {}, [](const Call* call) { return raw(call->request.queue); });
  for (std::size_t i = 0; i < calls.size(); ++i) {
    calls[i]->shared_by = &first;
    calls[i]->place = i;
    first.targets.push_back({.queue = calls[i]->request.queue,
                             .subscription = subscription_of(calls[i]->messages.front())});
  }
  first.sends.front().content.notification = shared_note;
  if (!row.fifo && shared_.chance(1, 2)) publish(calls);
  for (Call* call : calls) begin(*call);
  first.request.op = Op::fan_out;
  world_->submit(first.request, first.home, first.target);
}

// The message has a deduplication id of a FIFO topic.
void Clients::publish(std::vector<Call*>& calls) {
  Call& first = *calls.front()->shared_by;
  const std::uint32_t text = pick_dedup(shared_, std::string(topic_name));
  first.sends.front().dedup_by = model_->text_of(text);
  for (const Call* call : calls) model_->name_producer(call->messages.front(), publisher, text);
}

void Clients::take_numbers(std::uint32_t client) {
  const auto& queues = model_->queues();
  const auto topic = std::ranges::find_if(queues, [](const QueueRow& row) {
    return row.name == topic_name && row.state != QueueRow::State::deleted;
  });
  if (topic == queues.end()) {
    Call& call = make(Op::create_queue, client, 0);
    call.spec.account = account;
    call.spec.name = topic_name;
    return submit(call);
  }
  Call& call = make(Op::take_numbers, client, static_cast<std::uint32_t>(topic - queues.begin()));
  for (std::uint64_t entries = shared_.between(1, 3); entries > 0; --entries) {
    call.names.push_back(pick_dedup(shared_, std::string(topic_name)));
    call.sends.push_back(
        {.dedup_by = model_->text_of(static_cast<std::uint32_t>(call.names.back()))});
  }
  call.numbers_known.resize(call.sends.size());
  call.waits_for_numbers = shared_.chance(1, 2);
  if (!call.waits_for_numbers) call.request.durability = Durability::memory;
  submit(call);
}

void Clients::number_sends(Call& call) {
  senders_.number(call);
  for (std::size_t i = 0; i < call.sends.size(); ++i)
    model_->name_producer(call.messages[i], call.sender, call.sends[i].sequence);
}

void Clients::receive(std::uint32_t client, std::uint32_t queue) {
  Call& call = make(Op::receive, client, queue);
  ReceiveParams& params = call.request.receive;
  params.max = static_cast<std::uint32_t>(random_.chance(1, 2) ? random_.between(1, 10) : 1);
  call.deliveries.resize(params.max);
  // Messages beyond that size come without content.
  if (random_.chance(1, 4)) params.bytes_max = random_.between(1, 3000);
  params.wait = milliseconds(0);
  if (random_.chance(plan_.long_polls, 100)) {
    const std::int64_t waits[] = {-1, 1, 50, 1000, 20'000};
    params.wait = milliseconds(waits[random_.below(std::size(waits))]);
  }
  const std::int64_t timeouts[] = {-1, -1, 0, 5, 200, 1000, 7000, 30'000};
  params.visibility = milliseconds(timeouts[random_.below(std::size(timeouts))]);
  if (model_->queues()[queue].fifo && random_.chance(1, 3)) {
    const bool again = !attempts_.empty() && random_.chance(1, 2);
    call.attempt = again ? attempts_[random_.below(attempts_.size())] : next_text_++;
    call.attempt_text = model_->text_of(call.attempt);
    if (attempts_.size() == 4) attempts_.erase(attempts_.begin());
    if (!again) attempts_.push_back(call.attempt);
  }
  submit(call);
}

std::uint32_t Clients::pick_group() {
  return 1 + static_cast<std::uint32_t>(random_.below(plan_.groups));
}

// Repeats some ids again and again: soon, after a purge, after a crash, or after the window.
std::uint32_t Clients::pick_dedup(Random& random, const std::string& name) {
  std::vector<std::uint32_t>& used = dedups_[name];
  if (!used.empty() && random.chance(plan_.duplicates, 100)) return used[random.below(used.size())];
  if (used.size() == dedups_kept)
    used.erase(used.begin() + static_cast<long>(random.below(dedups_kept)));
  used.push_back(next_text_++);
  return used.back();
}

// Takes mostly the newest handle, which is then forgotten; sometimes one that will be used again.
Clients::Held Clients::take_held(bool keep) {
  const std::size_t back = random_.chance(2, 3)
                               ? random_.below(std::min<std::size_t>(held_.size(), 4))
                               : random_.below(held_.size());
  const std::size_t at = held_.size() - 1 - back;
  const Held held = held_[at];
  if (!keep) held_.erase(held_.begin() + static_cast<std::ptrdiff_t>(at));
  return held;
}

// Submits a receive that starts moving a message to another queue, and directly after it a delete
// of the message.
bool Clients::delete_under_way(std::uint32_t client) {
  if (world_->inside_turn()) return false;
  const auto at = std::ranges::find_if(held_, [&](const Held& held) {
    return is_message(held.message) && model_->queues()[held.queue].owner == homes_[client] &&
           model_->about_to_move(held.message, held.queue);
  });
  if (at == held_.end()) return false;
  const Held held = *at;
  held_.erase(at);
  receive(client, held.queue);
  Call& call = make(Op::delete_message, client, held.queue);
  call.receipts.push_back({.handle = held.handle});
  call.messages.push_back(held.message);
  submit(call);
  return true;
}

bool Clients::with_handles(Op op, std::uint32_t client) {
  if (held_.empty()) return false;
  const bool keep = op == Op::change_visibility || random_.chance(1, 10);
  const Held first = take_held(keep);
  Call& call = make(op, client, first.queue);
  const auto add = [&](const Held& held) {
    ReceiptEntry entry{.handle = held.handle};
    const std::int64_t timeouts[] = {0, 0, 3, 400, 2000, 60'000};
    if (op == Op::change_visibility)
      entry.visibility = milliseconds(timeouts[random_.below(std::size(timeouts))]);
    entry.uncounted = op == Op::change_visibility && by_id_.chance(plan_.by_id, 200);
    std::uint32_t message = held.message;
    if (op == Op::delete_message && random_.chance(1, 100)) {
      entry.handle[random_.below(entry.handle.size())] ^= 0x10;
      message = no_message;
    }
    call.receipts.push_back(entry);
    call.messages.push_back(message);
  };
  add(first);
  for (std::uint64_t more = random_.below(plan_.batch_max); more > 0 && !held_.empty(); --more) {
    const bool same_message =
        std::ranges::find(call.messages, held_.back().message) != call.messages.end();
    if (held_.back().queue != first.queue || same_message) break;
    add(held_.back());
    if (!keep) held_.pop_back();
  }
  submit(call);
  return true;
}

// --- queues ---

std::vector<AttributeChange> Clients::some_attributes(std::uint64_t name) {
  std::vector<AttributeChange> changes;
  const auto choose = [&](std::initializer_list<std::int64_t> from) {
    return from.begin()[random_.below(from.size())];
  };
  if (random_.chance(1, 2))
    changes.push_back(number(Attribute::visibility_timeout, choose({0, 1, 5, 30})));
  if (plan_.delays && random_.chance(1, 2))
    changes.push_back(number(Attribute::delay_seconds, choose({0, 1, 3})));
  if (plan_.short_retention && random_.chance(1, 2))
    changes.push_back(number(Attribute::message_retention_period, choose({60, 60, 120, 345'600})));
  if (random_.chance(plan_.long_polls, 100))
    changes.push_back(number(Attribute::receive_message_wait_time_seconds, choose({0, 1, 5})));
  if (random_.chance(plan_.relaxed, 100))
    changes.push_back(number(Attribute::durability, choose({0, 1, 2})));
  if (random_.chance(plan_.dead_letters, 100)) add_policy(name, changes);
  if (plan_.kept > 0 && random_.chance(plan_.kept, 100))
    changes.push_back(number(
        Attribute::replay_retention,
        plan_.replays > 0 ? choose({0, 5, 60, 3600, 3600, 3600, 3600}) : choose({0, 5, 60, 3600})));
  return changes;
}

void Clients::create(std::uint32_t client) {
  Call& call = make(Op::create_queue, client, 0);
  call.spec.account = account;
  if (plan_.moves && random_.chance(1, 4)) {
    call.spec.name = own_name(random_.chance(1, 2));
    if (plan_.own_fifo) call.spec.changes.push_back(number(Attribute::fifo_queue, 1));
    return submit(call);
  }
  if (plan_.replays > 0 && random_.chance(1, 3)) {
    const bool fifo = random_.below(plan_.queue_names) < plan_.fifo_names;
    call.spec.name = copies_name(fifo);
    if (fifo) call.spec.changes.push_back(number(Attribute::fifo_queue, 1));
    return submit(call);
  }
  const std::uint64_t name = random_.below(plan_.queue_names);
  call.spec.name = queue_name(name);
  if (is_fifo(name)) call.spec.changes = fifo_attributes(name);
  add_backoff(name, call.spec.changes);
  if (random_.chance(2, 3))
    for (AttributeChange& change : some_attributes(name)) {
      std::erase_if(call.spec.changes, [&](const AttributeChange& before) {
        return before.attribute == change.attribute;
      });
      call.spec.changes.push_back(change);
    }
  submit(call);
}

// Returns the attributes of a FIFO queue, which depend on its name and the seed only.
std::vector<AttributeChange> Clients::fifo_attributes(std::uint64_t name) const {
  std::vector<AttributeChange> changes{number(Attribute::fifo_queue, 1)};
  if ((name + plan_.seed) % 2 == 0) {
    changes.push_back(number(Attribute::deduplication_scope,
                             static_cast<std::int64_t>(DeduplicationScope::message_group)));
    changes.push_back(number(Attribute::fifo_throughput_limit, 1));
  }
  return changes;
}

// The attributes of a return and the longest delay depend on the name and the seed only, too.
void Clients::add_backoff(std::uint64_t name, std::vector<AttributeChange>& changes) const {
  static constexpr std::array<std::string_view, 4> plans = {"none 1000,3000", "equal 2000",
                                                            "full 4000", "none 20"};
  const std::uint64_t choice = name * 7 + plan_.seed;
  if (choice % 3 == 0)
    changes.push_back({Attribute::backoff_plan, -1, std::string(plans[choice / 3 % plans.size()])});
  if (choice % 5 < 2) changes.push_back(number(Attribute::dead_letter_at, 1));
  if (choice % 4 == 1) changes.push_back(number(Attribute::max_delay, 7200));
  if (is_fifo(name) && choice % 4 < 2) changes.push_back(number(Attribute::fifo_delay, 1));
  if (plan_.lives == 0) return;
  static constexpr std::array<std::int64_t, 3> lives = {2, 20, 90};
  if (choice % 6 == 2)
    changes.push_back(number(Attribute::message_ttl, lives[choice / 6 % lives.size()]));
  if (choice % 5 >= 3) {
    changes.push_back(number(Attribute::dlq_on_expiry, 1));
    add_policy(full_name(queue_name(name + 1)), 3, changes);
  }
  // A dead letter that expired is then as old as the retention of its new queue.
  if (plan_.seed % 2 == 0) changes.push_back(number(Attribute::message_retention_period, 60));
  if (choice % 3 == 1) changes.push_back(number(Attribute::retention_from, 1));
}

std::string Clients::queue_name(std::uint64_t name) const {
  return fmt::format("queue-{}{}", name, is_fifo(name) ? ".fifo" : "");
}

std::string Clients::own_name(bool source) const {
  return fmt::format("own-{}{}", source ? "source" : "dest", plan_.own_fifo ? ".fifo" : "");
}

std::string Clients::full_name(std::string_view name) {
  return QueueName{.account = account, .name = name}.text();
}

// Dead letters go to their own queue or to queues of a higher number: in a wider circle they would
// go round for ever.
void Clients::add_policy(std::uint64_t name, std::vector<AttributeChange>& changes) {
  std::string target;
  if (random_.chance(5, 6)) target = full_name(queue_name(name + random_.below(3)));
  const auto max = target.empty() ? 0 : static_cast<std::int64_t>(random_.between(1, 3));
  add_policy(target, max, changes);
}

void Clients::add_policy(const std::string& target, std::int64_t max,
                         std::vector<AttributeChange>& changes) {
  changes.push_back({Attribute::dead_letter_target, -1, target});
  changes.push_back(
      {Attribute::redrive_policy, -1, target.empty() ? "" : "{\"to\":\"" + target + "\"}"});
  changes.push_back(number(Attribute::max_receive_count, max));
}

void Clients::set(std::uint32_t client, std::uint32_t queue) {
  Call& call = make(Op::set_attributes, client, queue);
  std::uint64_t name = 0;
  while (name < plan_.queue_names && queue_name(name) != model_->queues()[queue].name) ++name;
  call.changes = some_attributes(name);
  if (plan_.scopes > 0 && is_fifo(name) && random_.chance(plan_.scopes, 100)) {
    const std::int64_t of_group = random_.chance(1, 2) ? 1 : 0;
    call.changes.push_back(number(Attribute::deduplication_scope, of_group));
    call.changes.push_back(number(Attribute::fifo_throughput_limit, of_group));
  }
  if (is_fifo(name) && random_.chance(1, 4))
    call.changes.push_back(number(Attribute::fifo_delay, random_.chance(2, 3) ? 1 : 0));
  submit(call);
}

// Creates every queue, because a crash may have left queues that the model does not know.
void Clients::create_all() {
  const auto submit_one = [&](std::string name, bool fifo) {
    Call& call = make(Op::create_queue, plan_.clients, 0);
    call.spec.account = account;
    call.spec.name = std::move(name);
    if (fifo) call.spec.changes.push_back(number(Attribute::fifo_queue, 1));
    submit(call);
  };
  for (std::uint64_t name = 0; name < plan_.queue_names; ++name)
    submit_one(queue_name(name), is_fifo(name));
  if (plan_.replays > 0) {
    submit_one(copies_name(false), false);
    submit_one(copies_name(true), true);
  }
  if (plan_.shared > 0) submit_one(std::string(topic_name), false);
  if (!plan_.moves) return;
  submit_one(own_name(true), plan_.own_fifo);
  submit_one(own_name(false), plan_.own_fifo);
}

// --- move tasks ---

bool Clients::move(Act act, std::uint32_t client, std::uint32_t queue) {
  pick_source(queue);
  const QueueRow& row = model_->queues()[queue];
  const bool own = is_own(queue);
  if (act == Act::start_move) {
    if (own && row.tasks.size() + row.starts + 2 > tasks_kept)
      return false;  // with more the broker forgets some
    Call& call = make(Op::start_move, client, queue);
    const std::uint32_t rates[] = {0, 0, 0, 1, 20, 500};
    call.request.move.rate = rates[random_.below(std::size(rates))];
    if (own) {
      call.destination = full_name(own_name(false));
    } else if (random_.chance(1, 2)) {
      // All tasks of a seed go up, or all go down: two in a circle would move the same messages for
      // ever.
      const bool up = plan_.seed / 2 % 2 == 0;
      for (int tries = 0; tries < 4 && call.destination.empty(); ++tries) {
        const std::string to = queue_name(random_.below(plan_.queue_names));
        if (up ? to > row.name : to < row.name) call.destination = full_name(to);
      }
    }
    if (call.destination == full_name(row.name)) call.destination.clear();
    submit(call);
    return true;
  }
  if (act == Act::cancel_move) {
    Call& call = make(Op::cancel_move, client, queue);
    call.request.move.number = row.tasks.empty() || random_.chance(1, 10)
                                   ? static_cast<std::uint32_t>(random_.below(5))
                                   : row.tasks.back().seen.number;
    submit(call);
    return true;
  }
  submit(make(Op::list_moves, client, queue));
  return true;
}

// --- replay tasks ---

// Returns a queue for copies alone, from which nobody receives before the end; or another queue, if
// no copy can move on from there.
std::string Clients::replay_destination(const QueueRow& source) {
  const bool others = plan_.dead_letters == 0 && !plan_.moves && plan_.lives == 0;
  if (!others || random_.chance(1, 2)) return full_name(copies_name(source.fifo));
  if (random_.chance(1, 2)) return source.full_name;
  for (int tries = 0; tries < 4; ++tries) {
    const std::uint64_t name = random_.below(plan_.queue_names);
    if (is_fifo(name) == source.fifo) return full_name(queue_name(name));
  }
  return source.full_name;
}

bool Clients::replay(Act act, std::uint32_t client, std::uint32_t queue) {
  if (plan_.moves && random_.chance(1, 4)) pick_source(queue);
  const QueueRow& row = model_->queues()[queue];
  if (act == Act::list_replays) {
    submit(make(Op::list_replays, client, queue));
    return true;
  }
  if (act == Act::cancel_replay) {
    Call& call = make(Op::cancel_replay, client, queue);
    call.replay.number = row.replays.rows.empty() || random_.chance(1, 10)
                             ? static_cast<std::uint32_t>(random_.below(5))
                             : row.replays.rows.back().number;
    submit(call);
    return true;
  }
  if (replays_ == plan_.replays || row.replays.rows.size() >= replays_a_queue) return false;
  if (row.replays.retention.high == 0 && !random_.chance(1, 20)) return false;
  ++replays_;
  Call& call = make(Op::start_replay, client, queue);
  ReplayParams& asked = call.replay;
  call.destination = replay_destination(row);
  const std::uint32_t rates[] = {0, 0, 0, 20, 500};
  asked.rate = rates[random_.below(std::size(rates))];
  asked.copies = random_.chance(1, 8);
  if (random_.chance(1, 6)) call.filter = odd_filter;
  const std::int64_t back_s[] = {3600, 3600, 60, 20, 3};
  asked.from = world_->now() - seconds(back_s[random_.below(std::size(back_s))]);
  if (random_.chance(1, 4))
    asked.to = world_->now() - milliseconds(static_cast<std::int64_t>(random_.below(5000)));
  submit(call);
  return true;
}

// --- for the scheduler ---

// Submits more than a ring of the mesh holds, so that some requests must wait on the sender's side.
std::uint64_t Clients::burst() {
  std::uint32_t queue = 0;
  if (!pick_queue(queue)) return 0;
  const auto client = static_cast<std::uint32_t>(random_.below(plan_.clients));
  const std::uint64_t calls = Mesh::ring_slots + random_.between(1, 60);
  for (std::uint64_t i = 0; i < calls; ++i) {
    if (random_.chance(1, 20)) {
      receive(client, queue);
    } else {
      submit(make(Op::count, client, queue));
    }
  }
  return calls / 4;
}

bool Clients::receive_and_delete(std::uint32_t queue) {
  if (random_.chance(1, 2)) homes_.back() = model_->queues()[queue].owner;
  Call& call = make(Op::receive, plan_.clients, queue);
  call.request.receive = {.max = 10, .visibility = seconds(10), .wait = milliseconds(0)};
  call.deliveries.resize(10);
  submit(call);
  return delete_held();
}

bool Clients::delete_held() {
  if (held_.empty()) return false;
  while (!held_.empty()) {
    const Held held = held_.back();
    held_.pop_back();
    Call& deletion = make(Op::delete_message, plan_.clients, held.queue);
    deletion.receipts.push_back({.handle = held.handle});
    deletion.messages.push_back(held.message);
    submit(deletion);
  }
  return true;
}

void Clients::send_one(std::uint32_t queue) { send(plan_.clients, queue, 1); }

}  // namespace pawl::sim

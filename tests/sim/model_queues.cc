// SPDX-License-Identifier: Apache-2.0
// Model of the directory, of purges and of counts.
#include <algorithm>
#include <map>

#include "tests/sim/model.h"

namespace pawl::sim {
namespace {

constexpr Duration purge_pause = seconds(60);

std::int64_t ms(std::int64_t whole_seconds) { return whole_seconds * 1000; }

Policy policy_of(const QueueConfig& config) {
  return {std::string(config.text(Attribute::dead_letter_target)),
          config.number(Attribute::max_receive_count)};
}

Range number_of(const QueueConfig& config, Attribute attribute) {
  const std::int64_t number = config.number(attribute);
  return {number, number};
}

}  // namespace

// Whether the request was accepted. Judges every other result.
bool Model::queue_answers(const Call& call) {
  QueueRow& queue = row(call);
  const Errc error = call.request.error;
  using State = QueueRow::State;
  if (error == Errc::no_such_queue) {
    if (queue.state == State::live && queue.deletes == 0)
      trace_->broken("a queue that was created is there", "queue {} for call {}", raw(queue.id),
                     call.number);
    if (queue.state == State::doubtful && queue.deletes == 0) {
      queue.state = State::deleted;
      queue.deleted_step = world_->step();
      lose_all(queue, "its queue was deleted");
    }
    return false;
  }
  // A send for which space is missing is refused before the queue is looked up.
  const bool full = error == Errc::no_memory || error == Errc::no_space || error == Errc::io;
  if (full && (call.op == Op::send || call.op == Op::take_numbers)) {
    if (error == Errc::no_space && !draining_ && !once_full_.contains(raw(queue.owner)))
      trace_->broken("a send is refused for space only on a full disk", "call {} to queue {}",
                     call.number, raw(queue.id));
    return false;
  }
  if (queue.state == State::deleted && queue.deleted_step <= call.asked_step)
    trace_->broken("a deleted queue is gone", "queue {} answers call {}", raw(queue.id),
                   call.number);
  if (queue.state == State::doubtful && queue.deletes == 0) queue.state = State::live;
  const bool expected =
      error == Errc::ok || (call.op == Op::purge && error == Errc::purge_in_progress) ||
      (call.op == Op::start_move && error == Errc::task_running) ||
      (call.op == Op::cancel_move && (error == Errc::no_such_task || error == Errc::task_ended)) ||
      (call.op == Op::start_replay && (error == Errc::not_kept || error == Errc::task_running)) ||
      (call.op == Op::cancel_replay && (error == Errc::no_such_task || error == Errc::task_ended));
  if (!expected)
    trace_->broken("an error has a reason", "call {}, op {}: {}", call.number,
                   static_cast<int>(call.op), name_of(error));
  return error == Errc::ok;
}

void Model::lose_all(QueueRow& queue, const char* why) {
  for (const std::uint32_t id : queue.messages) {
    ModelMessage& message = messages_[id];
    if (message.gone == ModelMessage::Gone::yes) continue;
    if (message.wanders) {
      message.gone = ModelMessage::Gone::maybe;
    } else {
      lose(message, why);
    }
  }
  tidy(queue);
}

// --- the directory ---

// The shortest and the longest wait of a plan, "none 1000,3000", "equal 1000" or "full 1000".
Range waits_of(std::string_view plan) {
  if (plan.empty()) return {};
  Range waits{INT64_MAX, 0};
  for (std::size_t at = plan.find(' '); at != std::string_view::npos; at = plan.find(',', at + 1))
    waits.widen(std::stoll(std::string(plan.substr(at + 1))));
  if (plan.starts_with("equal")) waits.low -= waits.low / 2;
  if (plan.starts_with("full")) waits.low = 0;
  return waits;
}

std::uint32_t Model::add_queue(const QueueConfig& config) {
  QueueRow queue;
  queue.id = config.id;
  queue.owner = config.owner;
  queue.name = config.name;
  queue.full_name = QueueName{.account = config.account, .name = config.name}.text();
  queue.bit = bit_of(queue.full_name);
  const auto exactly = [](Duration d) { return Range{d.ms, d.ms}; };
  queue.visibility = exactly(config.visibility());
  queue.delay = exactly(config.delay());
  queue.wait = exactly(config.wait());
  queue.durability = number_of(config, Attribute::durability);
  queue.backoff = waits_of(config.text(Attribute::backoff_plan));
  queue.apart = config.ages_from_delivery();
  queue.at_lease_end = config.dead_letter_at() == DeadLetterAt::lease_end;
  queue.life = config.time_to_live(Duration{0});
  queue.moves_expired = config.moves_expired();
  queue.ages_from_move = config.retention_from() == RetentionFrom::move;
  if (queue.life.ms != 0) life_least_ = std::min(life_least_, queue.life);
  queue.replays.relaxed = queue.durability.high != 0;
  queue.replays.retention = number_of(config, Attribute::replay_retention);
  if (queue.replays.retention.low > 0 && !full_disks_.contains(raw(queue.owner)))
    queue.replays.kept_since = Instant{};
  queue.known_step = world_->step();
  queue.retention_min = queue.retention_max = config.retention().ms;
  queue.fifo = config.is_fifo();
  queue.passes = number_of(config, Attribute::fifo_delay);
  queue.passed_once = queue.passes.high == 1;
  const bool of_group = config.number(Attribute::deduplication_scope) == 1;
  queue.scopes = {
      {.before = of_group, .now = of_group}
  };
  queues_.push_back(queue);
  add_policy(queues_.back(), policy_of(config));
  retention_least_ = std::min(retention_least_, config.retention().ms);
  return by_id_[raw(config.id)] = static_cast<std::uint32_t>(queues_.size() - 1);
}

void Model::widen(QueueRow& queue, const AttributeChange& change) {
  const std::int64_t value = ms(change.number);
  switch (change.attribute) {
    case Attribute::visibility_timeout:
      return queue.visibility.widen(value);
    case Attribute::delay_seconds:
      return queue.delay.widen(value);
    case Attribute::receive_message_wait_time_seconds:
      return queue.wait.widen(value);
    case Attribute::durability:
      queue.replays.relaxed |= change.number != 0;
      return queue.durability.widen(change.number);
    case Attribute::fifo_delay:
      queue.passed_once = true;
      return queue.passes.widen(change.number);
    case Attribute::replay_retention:
      return asked_retention(queue, change.number);
    case Attribute::message_retention_period:
      queue.retention_min = std::min(queue.retention_min, value);
      queue.retention_max = std::max(queue.retention_max, value);
      retention_least_ = std::min(retention_least_, value);
      return;
    default:
      return;
  }
}

// Adopts the settings that a shard reports, if no change of them is under way.
void Model::adopt_config(const Call& call, const QueueConfig& config, QueueRow& queue) {
  if (queue.sets > 0 || queue.set_step > call.asked_step) return;
  const bool known = queue.visibility.holds(config.visibility().ms) &&
                     queue.delay.holds(config.delay().ms) && queue.wait.holds(config.wait().ms) &&
                     queue.durability.holds(config.number(Attribute::durability)) &&
                     queue.passes.holds(config.number(Attribute::fifo_delay)) &&
                     queue.replays.retention.holds(config.number(Attribute::replay_retention));
  if (!known) trace_->broken("attributes are as they were set", "queue {}", raw(queue.id));
  queue.visibility = {config.visibility().ms, config.visibility().ms};
  queue.delay = {config.delay().ms, config.delay().ms};
  queue.wait = {config.wait().ms, config.wait().ms};
  queue.durability = number_of(config, Attribute::durability);
  queue.passes = number_of(config, Attribute::fifo_delay);
  queue.passed_once |= queue.passes.high == 1;
  settle_retention(queue, config.number(Attribute::replay_retention));
  const bool of_group = config.number(Attribute::deduplication_scope) == 1;
  std::erase_if(queue.scopes, [&](const ScopeState& state) { return state.now != of_group; });
  if (queue.scopes.empty()) {
    trace_->broken("attributes are as they were set", "scope of queue {}", raw(queue.id));
    queue.scopes = {
        {.before = of_group, .now = of_group}
    };
  }
  const Policy policy = policy_of(config);
  if (std::ranges::find(queue.policies, policy) == queue.policies.end())
    trace_->broken("attributes are as they were set", "policy of queue {}", raw(queue.id));
  settle_policy(queue, policy);
}

void Model::answered_create(const Call& call) {
  --creates_[call.spec.name];
  const Request& request = call.request;
  durable(call.target, call.exact ? call.decided_step : call.asked_step);
  if (request.error == Errc::queue_deleted_recently) return check_name_waits(call);
  if ((request.error != Errc::ok && request.error != Errc::queue_exists) ||
      request.config == nullptr)
    return trace_->broken("an error has a reason", "create: {}", name_of(request.error));
  const QueueConfig& config = *request.config;
  const auto found = by_id_.find(raw(config.id));
  if (found == by_id_.end()) {
    for (QueueRow& other : queues_) {
      if (other.name != config.name || other.state == QueueRow::State::deleted || other.deletes > 0)
        continue;
      if (other.state == QueueRow::State::live)
        return trace_->broken("a name is one queue's", "{} is {} and {}", config.name,
                              raw(other.id), raw(config.id));
      other.state = QueueRow::State::deleted;
      other.deleted_step = world_->step();
      lose_all(other, "its queue was deleted");
    }
    if (const auto known = deletions_.find(config.name); known != deletions_.end())
      check_name_waited(config, known->second);
    add_queue(config);
    trace_->note("  queue {} is {} on shard {}, back-off \"{}\"", config.name, raw(config.id),
                 raw(config.owner), config.text(Attribute::backoff_plan));
  } else {
    QueueRow& queue = queues_[found->second];
    if (queue.state == QueueRow::State::deleted && queue.deleted_step <= call.asked_step)
      return trace_->broken("numbers are not used again", "queue {}", raw(config.id));
    if (queue.state == QueueRow::State::doubtful && queue.deletes == 0)
      queue.state = QueueRow::State::live;
    adopt_config(call, config, queue);
  }
  const bool equal = std::ranges::all_of(
      call.spec.changes, [&](const AttributeChange& change) { return config.has(change); });
  if (equal != (request.error == Errc::ok))
    trace_->broken("a create that differs is told so", "queue {}: {}", raw(config.id),
                   name_of(request.error));
}

// Judges a create that was refused because the queue name is not usable yet.
void Model::check_name_waits(const Call& call) {
  const auto known = deletions_.find(call.spec.name);
  const bool waits =
      known != deletions_.end() && decided_low(call) < known->second.latest + deleted_name_wait;
  const bool under_way = std::ranges::any_of(queues_, [&](const QueueRow& queue) {
    return queue.name == call.spec.name && queue.deletes > 0;
  });
  if (!world_->strict() || (!waits && !under_way))
    trace_->broken("an error has a reason", "create: {} waits", call.spec.name);
}

void Model::check_name_waited(const QueueConfig& config, const Deletion& last) {
  if (world_->strict() && config.created < last.sure + deleted_name_wait)
    trace_->broken("the name of a deleted queue waits", "{}: created at {}, deleted at {}",
                   config.name, config.created.ms, last.sure.ms);
}

void Model::answered_delete(const Call& call, const Turn& turn) {
  QueueRow& queue = row(call);
  --queue.deletes;
  durable(call.target, call.exact ? call.decided_step : call.asked_step);
  if (!queue_answers(call)) return;
  queue.state = QueueRow::State::deleted;
  queue.deleted_step = world_->step();
  deletions_[queue.name].was(decided_low(call), decided_high(call, turn));
  trace_->note("  queue {} deleted", raw(queue.id));
  lose_all(queue, "its queue was deleted");
}

void Model::answered_set(const Call& call, const Turn& turn) {
  QueueRow& queue = row(call);
  --queue.sets;
  durable(call.target, call.exact ? call.decided_step : call.asked_step);
  const bool alone = queue.sets == 0 && queue.set_step <= call.asked_step;
  queue.set_step = world_->step();
  if (!queue_answers(call) || !alone) return end_scope_changes(queue);
  for (const AttributeChange& change : call.changes) {
    const Range now{ms(change.number), ms(change.number)};
    if (change.attribute == Attribute::visibility_timeout) queue.visibility = now;
    if (change.attribute == Attribute::delay_seconds) queue.delay = now;
    if (change.attribute == Attribute::receive_message_wait_time_seconds) queue.wait = now;
    if (change.attribute == Attribute::durability)
      queue.durability = {change.number, change.number};
    if (change.attribute == Attribute::fifo_delay) queue.passes = {change.number, change.number};
    if (change.attribute == Attribute::replay_retention) settle_retention(queue, change.number);
    if (change.attribute == Attribute::deduplication_scope)
      settle_scope(queue, change.number == 1, decided_low(call), decided_high(call, turn));
  }
  if (const auto policy = policy_of(call.changes)) settle_policy(queue, *policy);
  redelay(queue);
}

// --- purge ---

void Model::answered_purge(const Call& call, const Turn& turn) {
  QueueRow& queue = row(call);
  --queue.purges;
  const Instant low = decided_low(call), high = decided_high(call, turn);
  if (call.request.error == Errc::purge_in_progress) {
    if (low >= queue.purged_high + purge_pause && queue.purges == 0)
      trace_->broken("an error has a reason", "purge of queue {}: the last was at {}",
                     raw(queue.id), queue.purged_high.ms);
    return;
  }
  if (!queue_answers(call)) return;
  if (queue.purged.low >= 0 && high.ms < queue.purged.low + purge_pause.ms &&
      queue.purged.high < low.ms + purge_pause.ms)
    trace_->broken("purges are a minute apart", "queue {}: {}..{} and {}..{}", raw(queue.id),
                   queue.purged.low, queue.purged.high, low.ms, high.ms);
  const std::uint64_t step = call.exact ? call.decided_step : call.asked_step + 1;
  durable(call.target, step - 1);
  queue.purged = {low.ms, high.ms};
  queue.purged_high = std::max(queue.purged_high, high);
  forget_firsts(queue, step, call.exact);
  for (auto& [number, attempt] : queue.attempts) attempt.sure = false;
  forget_copies(queue, call.asked_step);
  trace_->note("  queue {} purged", raw(queue.id));
  for (const std::uint32_t id : queue.messages) {
    ModelMessage& message = messages_[id];
    if (message.gone == ModelMessage::Gone::yes || message.decided_step == 0) continue;
    if (message.decided_step < step && message.arrived_step < step && !message.wanders) {
      lose(message, "purged");
    } else if (!call.exact || message.decided_step == step || message.arrived_step >= step ||
               message.wanders) {
      message.gone = ModelMessage::Gone::maybe;
    }
  }
  tidy(queue);
}

// --- counts ---

void Model::answered_count(const Call& call, const Turn& turn) {
  if (!queue_answers(call)) return;
  adopt_config(call, *call.request.config, row(call));
  check_counts(call, turn, row(call), call.request.counts);
}

// The call was decided in this turn or later.
std::uint64_t Model::step_before(const Call& call) {
  return call.exact ? call.decided_step : call.asked_step + 1;
}

Model::Standing Model::standing(const Call& call, const Turn& turn,
                                const ModelMessage& message) const {
  const View& view = message.view;
  const bool settled = view.step < step_before(call) && message.moves == 0;
  const Instant fired = call.exact ? turn.fired : call.fired_when_asked;
  return {.settled = settled,
          .ready = settled && view.from_high <= fired,
          .hidden = settled && view.from_low > decided_high(call, turn),
          .received = view.received.low > 0,
          .never = view.received.high == 0,
          .backs_off = row(message).backoff.high > 0 || view.scheduled};
}

void Model::check_counts(const Call& call, const Turn& turn, QueueRow& queue,
                         const QueueCounts& counts) {
  const std::uint64_t step = step_before(call);
  const Instant fired = call.exact ? turn.fired : call.fired_when_asked;
  Range visible, in_flight, delayed;
  const auto add = [](Range& range, bool sure, bool may) {
    range.low += sure ? 1 : 0;
    range.high += may ? 1 : 0;
  };
  tidy(queue);
  for (const std::uint32_t id : queue.messages) {
    const ModelMessage& message = messages_[id];
    if (message.decided_step == 0 || must_be_expired(message, fired)) continue;
    const Standing is = standing(call, turn, message);
    const bool alive =
        surely_alive(message) && message.acked_step < step && is.settled && !message.wanders;
    add(visible, alive && is.ready, is.may_be_visible());
    add(in_flight, alive && is.hidden && is.received && !is.backs_off, is.may_be_in_flight());
    add(delayed, alive && is.hidden && is.never, is.may_be_delayed());
  }
  // Messages that may have arrived from other queues.
  const auto own = static_cast<std::uint32_t>(&queue - queues_.data());
  for (std::uint32_t from = 0; any_wandered_ && from < queues_.size(); ++from) {
    if (from == own || queues_[from].messages.empty() || !leads_to(from, own)) continue;
    // A receive without a response may have had them.
    for (const std::uint32_t id : queues_[from].messages)
      for (Range* range : {&visible, &in_flight, &delayed}) range->high += messages_[id].wanders;
  }
  const bool exact = call.alone && !may_have_copies(queue);
  const auto off = [&](const Range& range, std::uint64_t count) {
    const auto n = static_cast<std::int64_t>(count);
    return n < range.low || (exact && n > range.high);
  };
  if (off(visible, counts.visible) || off(in_flight, counts.in_flight) ||
      off(delayed, counts.delayed)) {
    trace_->broken("counts count",
                   "queue {}: visible {} of {}..{}, in flight {} of {}..{}, delayed {} of {}..{}",
                   raw(queue.id), counts.visible, visible.low, visible.high, counts.in_flight,
                   in_flight.low, in_flight.high, counts.delayed, delayed.low, delayed.high);
  }
}

// Each message is counted, in one state at most; those on their way to another queue in none.
void Model::check_figures(const Call& call) {
  const QueueSlice& slice = call.slice;
  const std::size_t wanted = slice.wants_figures ? slice.queues.size() : 0;
  if (slice.figures.size() != wanted)
    trace_->broken("figures are of the queues listed", "{} of {}", slice.figures.size(), wanted);
  for (std::size_t i = 0; i < slice.figures.size(); ++i) {
    const QueueCounts& counts = slice.queues[i].counts;
    const std::uint64_t there = slice.figures[i].sums.messages;
    if (counts.visible + counts.in_flight + counts.delayed > there)
      trace_->broken("figures have the messages", "queue {}: {} + {} + {} of {}",
                     raw(slice.queues[i].config->id), counts.visible, counts.in_flight,
                     counts.delayed, there);
  }
}

// A slice of the list has each queue of its range that is there, and its counts.
void Model::answered_queues(const Call& call, const Turn& turn) {
  const std::uint32_t from = raw(call.request.queue), next = raw(call.slice.next);
  check_figures(call);
  std::map<std::uint32_t, const ListedQueue*> listed;
  for (const ListedQueue& found : call.slice.queues) {
    const std::uint32_t id = raw(found.config->id);
    const bool inside = id >= from && (next == 0 || id < next);
    if (!inside || !listed.emplace(id, &found).second)
      trace_->broken("a list has each queue once", "queue {} from {} to {}", id, from, next);
  }
  for (QueueRow& queue : queues_) {
    const std::uint32_t id = raw(queue.id);
    if (queue.owner != call.target || id < from || (next != 0 && id >= next)) continue;
    const auto found = listed.find(id);
    const bool there = queue.state == QueueRow::State::live && queue.deletes == 0;
    const bool gone =
        queue.state == QueueRow::State::deleted && queue.deleted_step <= call.asked_step;
    // With figures the queues without a label are missing.
    const bool labelled = !call.slice.wants_figures || found != listed.end();
    if (found == listed.end() ? there && labelled : gone)
      trace_->broken("a list has the queues that are there", "queue {} from {} to {}: {}", id, from,
                     next, there ? "missing" : "deleted");
    if (found == listed.end() || gone) continue;
    adopt_config(call, *found->second->config, queue);
    check_counts(call, turn, queue, found->second->counts);
  }
}

void Model::answered_peek(const Call& call, const Turn& turn) {
  if (!queue_answers(call)) return;
  QueueRow& queue = row(call);
  const PeekSlice& slice = call.peek;
  QueueCounts counts;
  Seq before = 0;
  for (const PeekedMessage& shown : slice.messages) {
    if (shown.seq <= before || shown.seq < slice.from ||
        (slice.next != 0 && shown.seq >= slice.next))
      trace_->broken("a peek has each message once", "seq {} of queue {} behind {}, from {} to {}",
                     shown.seq, raw(queue.id), before, slice.from, slice.next);
    before = shown.seq;
    counts.visible += shown.state == PeekedMessage::State::visible;
    counts.in_flight += shown.state == PeekedMessage::State::in_flight;
    counts.delayed += shown.state == PeekedMessage::State::delayed;
    check_peeked(call, turn, queue, shown);
  }
  if (slice.from == 0 && slice.next == 0) check_counts(call, turn, queue, counts);
}

void Model::check_peeked(const Call& call, const Turn& turn, const QueueRow& queue,
                         const PeekedMessage& shown) {
  using State = PeekedMessage::State;
  const auto found = queue.by_seq.find(shown.seq);
  if (found == queue.by_seq.end()) return;
  const ModelMessage& message = messages_[found->second];
  if (!surely_alive(message) || &row(message) != &queue) return;
  const Standing is = standing(call, turn, message);
  if (shown.state == State::visible && is.ready && surely_spent(queue, message))
    trace_->broken("the last lease moves a message", "seq {} of queue {}, received {} times",
                   shown.seq, raw(queue.id), shown.receive_count);
  if (message.wanders) return;
  const bool fits = shown.state == State::visible     ? is.may_be_visible()
                    : shown.state == State::in_flight ? is.may_be_in_flight()
                    : shown.state == State::delayed   ? is.may_be_delayed()
                                                      : true;
  if (!fits || (is.settled && !message.view.received.holds(shown.receive_count)))
    trace_->broken("a peek shows the state", "seq {} of queue {}: state {}, received {} times",
                   shown.seq, raw(queue.id), static_cast<int>(shown.state), shown.receive_count);
  // A repeated attempt of another client leaves the first consumer's name.
  const std::uint8_t consumer = shown.consumer[0];
  if (shown.state == State::in_flight && is.settled && !queue.fifo && consumer != 0 &&
      consumer != message.consumer)
    trace_->broken("a peek names the consumer", "seq {} of queue {}: {} in place of {}", shown.seq,
                   raw(queue.id), consumer, message.consumer);
}

}  // namespace pawl::sim

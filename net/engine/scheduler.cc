// SPDX-License-Identifier: Apache-2.0
#include "net/engine/scheduler.h"

#include <algorithm>
#include <string_view>

#include "core/base/check.h"
#include "core/base/mutant.h"

namespace pawl {
namespace {

bool is_final(Errc error) {
  return error == Errc::no_such_queue || error == Errc::message_numbers_used_up ||
         error == Errc::invalid || error == Errc::too_large;
}

constexpr Duration one_ms{1};

}  // namespace

void Scheduler::turn(Instant now, std::vector<Request*>& out) {
  for (const QueueId id : shard_.schedules().take_changed())
    if (reader_ != nullptr) unread_.push_back(id);
  const Instant wall = shift_->wall(now);
  for (std::size_t left = rows_a_turn; left > 0 && !unread_.empty(); --left) {
    read(unread_.front(), wall);
    unread_.pop_front();
  }
  for (Message* const message : std::exchange(answered_, {})) settle(*message, wall);
  if (!stopping_) {
    try_again(wall, out);
    std::size_t steps = steps_a_turn;
    while (!due_.empty() && due_.begin()->first <= wall && under_way_ < under_way_max && steps > 0)
      take(due_.begin()->second, wall, steps, out);
  }
  if (rows_.empty() && messages_.empty() && unread_.empty()) shard_.schedules().rest();
}

// --- one schedule ---

void Scheduler::read(QueueId id, Instant wall) {
  const ConfigPtr* const config = shard_.directory().find(id);
  const bool is_schedule = config != nullptr && (*config)->name.contains('/');
  const auto known = rows_.find(id);
  if (known != rows_.end() && known->second.left > 0) {
    known->second.changed = true;
    return;
  }
  if (!is_schedule) {
    if (known == rows_.end()) return;
    plan(id, known->second, never);
    rows_.erase(known);
    stats_.schedules = rows_.size();
    return;
  }
  Row& row = rows_[id];
  CHECK(row.left == 0 && reader_ != nullptr, "schedule {} has {} messages under way", raw(id),
        row.left);
  stats_.schedules = rows_.size();
  row.deletes = false;
  const ScheduleTerms terms = reader_->terms(**config);
  if (!terms.enabled) return plan(id, row, never);
  go_on(**config, terms, row, base_of(**config, terms), wall);
}

void Scheduler::plan(QueueId id, Row& row, Instant due) {
  if (row.due != never) {
    const auto erased = due_.erase({row.due, id});
    CHECK(erased == 1, "schedule {} was not due at {}", raw(id), row.due.ms);
  }
  CHECK(due == never || row.left == 0, "schedule {} has {} messages under way", raw(id), row.left);
  row.due = due;
  if (due != never) due_.insert({due, id});
}

// All fires up to `base` are over.
void Scheduler::go_on(const QueueConfig& config, const ScheduleTerms& terms, Row& row, Instant base,
                      Instant wall) {
  const Instant next = reader_->next(config, base);
  CHECK(next > base, "a fire at {} after {}", next.ms, base.ms);
  row.deletes = next == never && terms.ends_deleted && shard_.identity().id == control_shard;
  plan(config.id, row, row.deletes ? wall + missed_after : next);
}

// A queue remembers its newest fire. A queue without such a memory may be new, like a later
// subscription of a topic: the fires are over that the server was alive to send, but for the last
// ones. Of several queues of a topic, a crash may have left some without the newest fire: it is
// sent again, and the others know it.
Instant Scheduler::base_of(const QueueConfig& config, const ScheduleTerms& terms) const {
  const ConfigPtr* const queue = terms.queue.empty() ? nullptr : find_queue(terms);
  const Instant sure = alive_until_ - unsure_before_end;
  if (queue != nullptr) {
    const Instant newest = shard_.schedules().newest(config.id, (*queue)->id);
    if (newest.ms != 0 || (*queue)->id < config.id) return std::max(terms.from, newest);
    return std::max(terms.from, sure);
  }
  const Instant newest = shard_.schedules().newest(config.id);
  if (newest.ms == 0) return std::max(terms.from, sure);
  return std::max(terms.from, newest > sure ? newest - one_ms : newest);
}

const ConfigPtr* Scheduler::find_queue(const ScheduleTerms& terms) const {
  const auto [account, name] = QueueName::from_text(terms.queue);
  return shard_.directory().find(account, name);
}

// --- a fire ---

void Scheduler::take(QueueId id, Instant wall, std::size_t& steps, std::vector<Request*>& out) {
  --steps;
  Row& row = rows_.at(id);
  CHECK(row.left == 0, "schedule {} is due at {} and has {} messages under way", raw(id),
        row.due.ms, row.left);
  const ConfigPtr* const found = shard_.directory().find(id);
  if (found == nullptr) return read(id, wall);
  if (row.deletes) return ask_to_delete(id, row, out);
  const QueueConfig& config = **found;
  const ScheduleTerms terms = reader_->terms(config);
  // Its new definition has not been read yet.
  if (!terms.enabled || row.due <= terms.from || reader_->next(config, row.due - one_ms) != row.due)
    return read(id, wall);
  if (wall - row.due > missed_after && !catch_up(config, terms, row, wall, steps)) return;
  fire(config, terms, row, wall, out);
}

// False: fires were passed over, and the schedule is due at another time.
bool Scheduler::catch_up(const QueueConfig& config, const ScheduleTerms& terms, Row& row,
                         Instant wall, std::size_t& steps) {
  const CatchUp policy = MUTANT(forget_missed) ? CatchUp::none : terms.catch_up;
  if (policy == CatchUp::all) return true;
  const bool last = policy == CatchUp::last;
  Instant due = row.due;
  for (;; --steps) {
    const Instant next = reader_->next(config, due);
    if (last ? next > wall : wall - due <= missed_after) break;
    ++stats_.missed;
    if (next == never) {
      go_on(config, terms, row, due, wall);
      return false;
    }
    due = next;
    if (steps == 0) {
      plan(config.id, row, due);
      return false;
    }
  }
  plan(config.id, row, due);
  return last;
}

void Scheduler::fire(const QueueConfig& config, const ScheduleTerms& terms, Row& row, Instant wall,
                     std::vector<Request*>& out) {
  const Instant at = row.due;
  const ConfigPtr* const queue = terms.queue.empty() ? nullptr : find_queue(terms);
  if (terms.skips_overlap && queue != nullptr &&
      shard_.schedules().is_there(config.id, (*queue)->id)) {
    ++stats_.overlapped;
    return go_on(config, terms, row, at, wall);
  }
  std::vector<FiredMessage> contents =
      reader_->messages(config, at, shard_.directory(), shard_.identity().id);
  if (contents.empty()) return go_on(config, terms, row, at, wall);
  if (wall - at <= missed_after) stats_.late_ms_max = std::max(stats_.late_ms_max, (wall - at).ms);
  plan(config.id, row, never);
  for (FiredMessage& content : contents) {
    CHECK(!content.targets.empty(), "a message of schedule {} without a queue", raw(config.id));
    auto message = std::make_unique<Message>();
    message->content = std::move(content);
    message->request.fire = {config.id, at};
    ++row.left;
    submit(*message, out);
    const Request* const key = &message->request;
    messages_.emplace(key, std::move(message));
  }
}

void Scheduler::submit(Message& message, std::vector<Request*>& out) {
  const FiredMessage& content = message.content;
  message.entry = {};
  message.entry.content = {.body = content.body,
                           .attributes = content.attributes,
                           .group = content.group,
                           .dedup_id = content.dedup_id,
                           .notification = content.notification};
  const Fire fire = message.request.fire;
  message.request = Request{
      .op = Op::fan_out, .sends = {&message.entry, 1}
  };
  message.request.targets = message.content.targets;
  message.request.fire = fire;
  message.request.owner = this;
  message.again = {};
  ++under_way_;
  out.push_back(&message.request);
}

void Scheduler::ask_to_delete(QueueId id, Row& row, std::vector<Request*>& out) {
  plan(id, row, never);
  auto message = std::make_unique<Message>();
  message->request = Request{.op = Op::delete_queue, .queue = id};
  message->request.fire = {id, Instant{}};
  message->request.owner = this;
  ++row.left;
  ++under_way_;
  out.push_back(&message->request);
  const Request* const key = &message->request;
  messages_.emplace(key, std::move(message));
}

// --- responses ---

void Scheduler::on_response(Request& request) {
  const auto found = messages_.find(&request);
  CHECK(found != messages_.end() && under_way_ > 0, "{} messages are under way", under_way_);
  --under_way_;
  answered_.push_back(found->second.get());
}

void Scheduler::settle(Message& message, Instant wall) {
  const Request& request = message.request;
  bool again = request.error != Errc::ok && !is_final(request.error);
  for (const FanOutTarget& target : request.targets)
    again |= request.error == Errc::ok && target.error != Errc::ok && !is_final(target.error);
  if (again && !MUTANT(drop_refused_fire)) {
    message.again = wall + refused_pause;
    refused_.push_back(&message);
    return;
  }
  CHECK(message.again.ms == 0, "it is tried again at {}", message.again.ms);
  for (const FanOutTarget& target : request.targets) {
    const bool failed = request.error != Errc::ok || target.error != Errc::ok;
    stats_.failed += failed ? 1 : 0;
    stats_.sent += !failed && !target.duplicate ? 1 : 0;
  }
  finish(message, wall);
}

void Scheduler::try_again(Instant wall, std::vector<Request*>& out) {
  for (Message* const message : std::exchange(refused_, {})) {
    if (message->again > wall) {
      refused_.push_back(message);
    } else if (message->request.op == Op::fan_out) {
      submit(*message, out);
    } else {
      ++under_way_;
      message->request.error = Errc::ok;
      out.push_back(&message->request);
    }
  }
}

void Scheduler::finish(Message& message, Instant wall) {
  const auto [id, at] = message.request.fire;
  const bool deleted = message.request.op == Op::delete_queue;
  const auto erased = messages_.erase(&message.request);
  const auto found = rows_.find(id);
  CHECK(erased == 1 && found != rows_.end() && found->second.left > 0, "schedule {}", raw(id));
  Row& row = found->second;
  if (--row.left > 0) return;
  const ConfigPtr* const config = shard_.directory().find(id);
  if (deleted || config == nullptr || std::exchange(row.changed, false)) return read(id, wall);
  const ScheduleTerms terms = reader_->terms(**config);
  if (!terms.enabled) return read(id, wall);
  go_on(**config, terms, row, at, wall);
}

Instant Scheduler::next_due(Instant now) const {
  if (!answered_.empty() || !unread_.empty() || shard_.schedules().any_changed()) return Instant{0};
  if (stopping_) return never;
  Instant due = never;
  if (!due_.empty() && under_way_ < under_way_max) due = due_.begin()->first;
  for (const Message* const message : refused_) due = std::min(due, message->again);
  if (due == never) return never;
  const Instant engine = shift_->engine(due);
  return engine <= now ? Instant{0} : std::min(engine, now + clock_look);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/engine/scheduler.h"

#include <algorithm>
#include <string_view>

#include "core/base/check.h"
#include "core/base/mutant.h"
#include "core/base/usage.h"

namespace pawl {
namespace {

bool is_final(Errc error) {
  return error == Errc::no_such_queue || error == Errc::message_numbers_used_up ||
         error == Errc::invalid || error == Errc::too_large;
}

constexpr Duration one_ms{1};

// The steps that a definition costs: it is parsed each time.
std::size_t steps_of(const QueueConfig& config) {
  return 1 + config.text(Attribute::schedule).size() / Scheduler::bytes_a_step;
}

}  // namespace

void Scheduler::turn(Instant now, std::vector<Request*>& out) {
  for (const QueueId id : shard_.schedules().take_changed())
    if (reader_ != nullptr) unread_.push_back(id);
  const Instant wall = shift_->wall(now);
  for (std::size_t left = rows_a_turn; left > 0 && !unread_.empty();) {
    const ConfigPtr* const config = shard_.directory().find(unread_.front());
    left -= std::min(left, config == nullptr ? 1 : steps_of(**config));
    read(unread_.front(), wall);
    unread_.pop_front();
  }
  for (Message* const message : std::exchange(answered_, {})) settle(*message, wall);
  if (!stopping_) {
    try_again(wall, out);
    std::size_t steps = steps_a_turn;
    while (!due_.empty() && due_.begin()->first <= wall && has_room() && steps > 0)
      take(due_.begin()->second, wall, steps, out);
  }
  shard_.schedules().followed_in(memory());
  if (progress_ != nullptr) progress_->set(shard_.identity().id, over_before());
  if (rows_.empty() && messages_.empty() && unread_.empty()) shard_.schedules().rest();
}

// The rows and their times; a name of a queue that is longer than most is not counted.
std::size_t Scheduler::memory() const {
  constexpr std::size_t row = sizeof(Row) + 2 * sizeof(void*) + heap_block_bytes;
  constexpr std::size_t name = 48;
  constexpr std::size_t time = 32 + sizeof(*due_.begin()) + heap_block_bytes;
  return rows_.size() * (row + name) + rows_.bucket_count() * sizeof(void*) + due_.size() * time;
}

// All fires before that time are over here. A restart would forget one that is not, if its schedule
// were deleted.
Instant Scheduler::over_before() const {
  if (!unread_.empty()) return Instant{};
  Instant first = due_.empty() ? never : due_.begin()->first;
  for (const auto& [request, message] : messages_) {
    CHECK(request->op == Op::delete_queue || request->fire.at.ms > 0, "a message without a fire");
    if (request->op == Op::fan_out) first = std::min(first, request->fire.at);
  }
  return first;
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
    plan(known->second, never);
    rows_.erase(known);
    stats_.schedules = rows_.size();
    return;
  }
  Row& row = rows_[id];
  CHECK(row.left == 0 && reader_ != nullptr, "schedule {} has {} messages under way", raw(id),
        row.left);
  stats_.schedules = rows_.size();
  row.deletes = false;
  row.config = *config;
  row.terms = reader_->terms(**config);
  if (!row.terms.enabled) return plan(row, never);
  go_on(row, row.over.ms == 0 ? base_of(row, wall) : std::max(row.terms.from, row.over), wall);
}

void Scheduler::plan(Row& row, Instant due) {
  const QueueId id = row.config->id;
  if (row.due != never) {
    const auto erased = due_.erase({row.due, id});
    CHECK(erased == 1, "schedule {} was not due at {}", raw(id), row.due.ms);
  }
  CHECK(due == never || row.left == 0, "schedule {} has {} messages under way", raw(id), row.left);
  row.due = due;
  if (due != never) due_.insert({due, id});
}

// All fires up to `base` are over.
void Scheduler::go_on(Row& row, Instant base, Instant wall) {
  const Instant next = reader_->next(*row.config, base);
  CHECK(next > base, "a fire at {} after {}", next.ms, base.ms);
  CHECK(row.left == 0 && row.terms.enabled, "schedule {} has {} messages under way",
        raw(row.config->id), row.left);
  row.over = base;
  row.deletes = next == never && row.terms.ends_deleted && may_delete(row.terms);
  plan(row, row.deletes ? wall + missed_after : next);
}

// At the start. This shard remembers the newest fire that reached a queue of its own. A queue that
// was made after the schedule gets no older fire. Of several queues of a topic, a crash may have
// left some without the newest fire: it is sent again, and the others know it. Where no queue of
// the topic is, the fires are over that the server was alive to send, but for the last ones.
Instant Scheduler::base_of(const Row& row, Instant wall) const {
  const ScheduleTerms& terms = row.terms;
  const QueueId id = row.config->id;
  const ConfigPtr* const queue = find_queue(terms);
  const Instant sure = alive_until_ - unsure_before_end, newest = shard_.schedules().newest(id);
  if (queue != nullptr && (*queue)->owner == shard_.identity().id) {
    const bool older = (*queue)->id < id;
    const Instant made = older ? Instant{} : std::min((*queue)->created + lead_, wall);
    return std::max({terms.from, made, newest});
  }
  if (!terms.queue.empty()) return std::max({terms.from, sure, newest});
  if (newest.ms == 0)
    return sends_here(*row.config, wall) ? terms.from : std::max(terms.from, sure);
  return std::max(terms.from, newest > sure ? newest - one_ms : newest);
}

bool Scheduler::sends_here(const QueueConfig& config, Instant fire) const {
  CHECK(reader_ != nullptr, "schedule {} was not read", raw(config.id));
  return std::ranges::any_of(
      reader_->messages(config, fire, shard_.directory(), shard_.identity().id),
      [](const FiredMessage& one) { return !one.targets.empty(); });
}

// Null: it sends to a topic, or its queue does not exist.
const ConfigPtr* Scheduler::find_queue(const ScheduleTerms& terms) const {
  if (terms.queue.empty()) return nullptr;
  const auto [account, name] = QueueName::from_text(terms.queue);
  return shard_.directory().find(account, name);
}

bool Scheduler::may_delete(const ScheduleTerms& terms) const {
  const ConfigPtr* const queue = find_queue(terms);
  return shard_.identity().id == (queue == nullptr ? control_shard : (*queue)->owner);
}

// --- a fire ---

void Scheduler::take(QueueId id, Instant wall, std::size_t& steps, std::vector<Request*>& out) {
  Row& row = rows_.at(id);
  CHECK(row.left == 0, "schedule {} is due at {} and has {} messages under way", raw(id),
        row.due.ms, row.left);
  const ConfigPtr* const found = shard_.directory().find(id);
  steps -= std::min(steps, found == nullptr ? 1 : steps_of(**found));
  // Its new definition has not been read yet.
  if (found == nullptr || row.config != *found) return read(id, wall);
  if (row.deletes) return end(row, wall, out);
  if (wall - row.due > missed_after && !catch_up(row, wall, steps)) return;
  fire(row, wall, out);
}

// Its last fire is over here.
void Scheduler::end(Row& row, Instant wall, std::vector<Request*>& out) {
  CHECK(row.deletes && progress_ != nullptr, "schedule {} stays", raw(row.config->id));
  if (!may_delete(row.terms)) return read(row.config->id, wall);
  progress_->is_over(row.over) ? ask_to_delete(row, out) : plan(row, wall + missed_after);
}

// False: fires were passed over, and the schedule is due at another time.
bool Scheduler::catch_up(Row& row, Instant wall, std::size_t& steps) {
  const CatchUp policy = MUTANT(forget_missed) ? CatchUp::none : row.terms.catch_up;
  if (policy == CatchUp::all) return true;
  const bool last = policy == CatchUp::last;
  const bool counts = may_delete(row.terms);  // every shard leaves the fires out
  Instant due = row.due;
  for (;; steps -= std::min(steps, steps_of(*row.config))) {
    const Instant next = reader_->next(*row.config, due);
    if (last ? next > wall : wall - due <= missed_after) break;
    stats_.missed += counts ? 1 : 0;
    if (next == never) {
      go_on(row, due, wall);
      return false;
    }
    due = next;
    if (steps == 0) {
      plan(row, due);
      return false;
    }
  }
  plan(row, due);
  return last;
}

void Scheduler::fire(Row& row, Instant wall, std::vector<Request*>& out) {
  const QueueConfig& config = *row.config;
  const Instant at = row.due;
  const ConfigPtr* const queue = find_queue(row.terms);
  if (row.terms.skips_overlap && queue != nullptr &&
      shard_.schedules().is_there(config.id, (*queue)->id)) {
    ++stats_.overlapped;
    return go_on(row, at, wall);
  }
  std::vector<FiredMessage> contents =
      reader_->messages(config, at, shard_.directory(), shard_.identity().id);
  stats_.failed += std::erase_if(contents, [](const auto& one) { return one.targets.empty(); });
  if (contents.empty()) return go_on(row, at, wall);
  plan(row, never);
  for (FiredMessage& content : contents) {
    auto message = std::make_unique<Message>();
    message->content = std::move(content);
    message->request.fire = {config.id, at};
    if (wall - at <= missed_after) message->late_ms = (wall - at).ms;
    ++row.left;
    under_way_bytes_ += message->content.body.size();
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

void Scheduler::ask_to_delete(Row& row, std::vector<Request*>& out) {
  const ConfigPtr& config = row.config;
  plan(row, never);
  auto message = std::make_unique<Message>();
  message->request = Request{.op = Op::delete_queue, .queue = config->id};
  message->request.based_on = config;
  message->request.fire = {config->id, Instant{}};
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
  // A deletion that is refused, because the schedule has changed, is judged anew.
  if (request.op == Op::delete_queue) return finish(message, wall);
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
    if (failed || target.duplicate) continue;
    ++stats_.sent;
    stats_.late_ms_max = std::max(stats_.late_ms_max, message.late_ms);
  }
  finish(message, wall);
}

void Scheduler::try_again(Instant wall, std::vector<Request*>& out) {
  for (Message* const message : std::exchange(refused_, {})) {
    if (message->again > wall) {
      refused_.push_back(message);
    } else if (is_wanted(message->request.fire)) {
      submit(*message, out);
    } else {
      finish(*message, wall);
    }
  }
}

// The schedule may have been deleted, paused or changed since the fire was refused.
bool Scheduler::is_wanted(const Fire& fire) const {
  const ConfigPtr* const config = shard_.directory().find(fire.schedule);
  CHECK(fire.at.ms > 0 && reader_ != nullptr, "a message without a fire");
  if (config == nullptr || rows_.at(fire.schedule).config == *config) return config != nullptr;
  const ScheduleTerms terms = reader_->terms(**config);
  return terms.enabled && terms.from < fire.at;
}

void Scheduler::finish(Message& message, Instant wall) {
  const auto [id, at] = message.request.fire;
  const bool deletion = message.request.op == Op::delete_queue;
  CHECK(under_way_bytes_ >= message.content.body.size(), "{} bytes are under way",
        under_way_bytes_);
  under_way_bytes_ -= message.content.body.size();
  const auto erased = messages_.erase(&message.request);
  const auto found = rows_.find(id);
  CHECK(erased == 1 && found != rows_.end() && found->second.left > 0, "schedule {}", raw(id));
  Row& row = found->second;
  if (--row.left > 0) return;
  if (!deletion) row.over = at;
  if (deletion || std::exchange(row.changed, false)) return read(id, wall);
  go_on(row, at, wall);
}

Instant Scheduler::next_due(Instant now) const {
  if (!answered_.empty() || !unread_.empty() || shard_.schedules().any_changed()) return Instant{0};
  if (stopping_) return never;
  Instant due = never;
  if (!due_.empty() && has_room()) due = due_.begin()->first;
  for (const Message* const message : refused_) due = std::min(due, message->again);
  if (due == never) return never;
  const Instant engine = shift_->engine(due);
  return engine <= now ? Instant{0} : std::min(engine, now + clock_look);
}

}  // namespace pawl

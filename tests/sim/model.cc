// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/model.h"

#include <algorithm>
#include <cstring>

#include <fmt/core.h>

#include "core/base/check.h"

namespace pawl::sim {
namespace {

constexpr std::size_t pool_bytes = 256 << 10;

// Random bytes from which bodies are cut: the same in every run.
const std::vector<char>& pool() {
  static const std::vector<char> bytes = [] {
    Random random(7);
    std::vector<char> made(pool_bytes);
    for (char& byte : made) byte = static_cast<char>(random.below(256));
    return made;
  }();
  return bytes;
}

std::string_view cut(std::uint64_t at, std::size_t bytes) { return {pool().data() + at, bytes}; }

View joined(const View& a, const View& b) {
  View both = a;
  both.received.widen(b.received.low);
  both.received.widen(b.received.high);
  both.from_low = std::min(a.from_low, b.from_low);
  both.from_high = std::max(a.from_high, b.from_high);
  if (a.first != b.first) both.first = Instant{};
  both.scheduled = a.scheduled || b.scheduled;
  both.idle = a.idle && b.idle;
  both.given_back = a.given_back || b.given_back;
  both.nonce_known = a.nonce_known && b.nonce_known && a.nonce == b.nonce;
  return both;
}

}  // namespace

Model::Model(const SimulatedBroker& world, Trace& trace)
    : world_(&world), trace_(&trace), shards_(world.shards()) {}

// --- content ---

std::uint32_t Model::make_message(std::uint32_t queue, std::uint64_t body_bytes, Random& random) {
  ModelMessage& message = messages_.emplace_back();
  message.queue = queue;
  message.body_bytes = static_cast<std::uint32_t>(body_bytes);
  message.system_bytes =
      random.chance(1, 8) ? static_cast<std::uint32_t>(random.between(1, 40)) : 0;
  message.sender_bytes =
      random.chance(1, 8) ? static_cast<std::uint32_t>(random.between(1, 20)) : 0;
  message.with_md5 = random.chance(1, 4);
  message.body_at = random.below(pool_bytes - body_bytes - 64);
  return static_cast<std::uint32_t>(messages_.size() - 1);
}

// A message for another queue, with the content of an earlier one.
std::uint32_t Model::share_message(std::uint32_t queue, std::uint32_t of) {
  const ModelMessage from = messages_[of];
  ModelMessage& message = messages_.emplace_back();
  message.queue = queue;
  message.shares = of;
  message.body_at = from.body_at;
  message.body_bytes = from.body_bytes;
  message.system_bytes = from.system_bytes;
  message.sender_bytes = from.sender_bytes;
  message.with_md5 = from.with_md5;
  message.group = from.group;
  message.dedup = from.dedup;
  return static_cast<std::uint32_t>(messages_.size() - 1);
}

void Model::name_group(std::uint32_t id, std::uint32_t group, std::uint32_t dedup) {
  messages_[id].group = group;
  messages_[id].dedup = dedup;
}

std::string_view Model::text_of(std::uint32_t number) const {
  static std::deque<std::string> texts{""};  // the same in every run
  while (texts.size() <= number) texts.push_back(fmt::format("text-{}", texts.size()));
  return texts[number];
}

void Model::fill(std::uint32_t id, Content& content, const std::uint64_t& name) const {
  const ModelMessage& message = messages_[id];
  content.body = cut(message.body_at, message.body_bytes);
  content.attributes = {reinterpret_cast<const char*>(&name), sizeof name};
  content.system = cut(message.body_at + 1, message.system_bytes);
  content.sender = cut(message.body_at + 2, message.sender_bytes);
  content.group = text_of(message.group);
  content.dedup_id = text_of(message.dedup);
  if (message.with_md5)
    content.body_md5 = reinterpret_cast<const Delivery::Md5*>(cut(message.body_at + 3, 16).data());
}

std::uint32_t Model::recognise(const Call& call, const Delivery& delivery) {
  std::uint64_t name = 0;
  if (delivery.content.attributes.size() == sizeof name)
    std::memcpy(&name, delivery.content.attributes.data(), sizeof name);
  auto id = static_cast<std::uint32_t>(name ^ name_mark);
  bool known = (name ^ name_mark) < messages_.size();
  // The content names the first message that has it, the subscription the message itself.
  const MessageId& subscription = delivery.content.subscription;
  if (known && subscription != MessageId{}) {
    const std::uint32_t first = std::exchange(id, static_cast<std::uint32_t>(subscription.low));
    known = subscription == subscription_of(id) && id < messages_.size() &&
            (id == first || messages_[id].shares == first) &&
            delivery.content.notification == shared_note;
  }
  if (!known) {
    trace_->broken("bytes are as they were sent", "an unknown message with seq {}", delivery.seq);
    return UINT32_MAX;
  }
  const ModelMessage& message = messages_[id];
  Content sent;
  fill(id, sent, name);
  const bool same_md5 = (sent.body_md5 == nullptr) == (delivery.content.body_md5 == nullptr) &&
                        (sent.body_md5 == nullptr || *sent.body_md5 == *delivery.content.body_md5);
  if (sent.body != delivery.content.body || sent.system != delivery.content.system ||
      sent.sender != delivery.content.sender || sent.group != delivery.content.group || !same_md5)
    trace_->broken("bytes are as they were sent", "message {} of {} bytes, seq {}", id,
                   message.body_bytes, delivery.seq);
  return delivery.content.replayed ? copy_of(call, id, delivery) : id;
}

// --- state of a message ---

void Model::lose(ModelMessage& message, const char* why) {
  message.gone = ModelMessage::Gone::yes;
  message.why = why;
  row(message).lost_step[message.group] = world_->step();
  trace_->note("  message {}/{} is gone: {}", raw(row(message).id), message.seq, why);
}

// Sets a view, and drops earlier views that no crash can restore any more.
void Model::set_view(ModelMessage& message, View view) {
  const std::uint64_t durable_step = shards_[raw(row(message).owner)].durable_step;
  message.past.push_back(message.view);
  message.view = view;
  std::size_t base = 0;
  for (std::size_t i = 0; i < message.past.size(); ++i)
    if (message.past[i].step <= durable_step) base = i;
  if (view.step <= durable_step || view.durable) base = message.past.size();
  message.past.erase(message.past.begin(),
                     message.past.begin() + static_cast<std::ptrdiff_t>(base));
  may_leave(message);
}

// A crash restores the last view that is durable, or any later one.
void Model::roll_back(ModelMessage& message, std::uint64_t durable_step) {
  View result = message.view;
  if (message.view.step > durable_step && !message.view.durable) {
    for (std::size_t i = message.past.size(); i > 0; --i) {
      result = joined(result, message.past[i - 1]);
      if (message.past[i - 1].step <= durable_step || message.past[i - 1].durable) break;
    }
  }
  if (message.moves > 0) {
    result.from_low = long_ago;
    result.from_high = std::max(result.from_high, world_->newest_now() + message.moved);
    result.scheduled = message.returned = true;
    result.idle = false;
    message.latest = std::max(message.latest, result.from_high);
    message.aged = std::min(message.aged, message.sent_at);
    if (message.life.ms != 0) live_again(message, message.sent_at, never);
    result.received.low = std::max<std::int64_t>(0, result.received.low - 1);
  }
  result.step = world_->step();
  result.durable = false;
  message.view = result;
  message.past.clear();
  may_leave(message);
}

// Messages expire by the bucket: a second, or a 4096th part of the retention.
bool Model::must_be_expired(const ModelMessage& message, Instant fired) const {
  if (message.wanders) return false;
  const std::int64_t retention = row(message).retention_max;
  const std::int64_t grain = std::max<std::int64_t>(1000, retention / 4096);
  return std::min(fired, shards_[raw(row(message).owner)].swept) >
         message.latest + Duration{retention + grain};
}

bool Model::surely_alive(const ModelMessage& message) const {
  const QueueRow& queue = row(message);
  return message.sent == ModelMessage::Sent::acked && message.gone == ModelMessage::Gone::no &&
         !message.cancelled && message.deletes == 0 && queue.state == QueueRow::State::live &&
         queue.purges == 0 && queue.deletes == 0 && !may_be_expired(message);
}

// In every turn from `step` on, if timers up to `fired` had fired before the first of these turns.
bool Model::surely_ready(const ModelMessage& message, std::uint64_t step, Instant fired) const {
  return surely_alive(message) && message.acked_step < step && message.view.step < step &&
         message.moves == 0 && message.view.from_high <= fired && !message.wanders;
}

Instant Model::decided_low(const Call& call) const {
  return call.exact ? call.decided_at : call.asked_at;
}

Instant Model::decided_high(const Call& call, const Turn& turn) const {
  if (call.exact) return call.decided_at;
  return call.target == turn.shard ? turn.now : shards_[raw(call.target)].now;
}

void Model::durable(ShardId shard, std::uint64_t step) {
  ShardView& view = shards_[raw(shard)];
  if (step <= view.durable_step) return;
  view.durable_step = step;
  std::erase_if(view.deleted_early, [&](const auto& deleted) { return deleted.second <= step; });
  std::erase_if(view.early, [&](std::uint32_t id) {
    ModelMessage& message = messages_[id];
    if (message.sent != ModelMessage::Sent::early) return true;
    if (message.decided_step > step) return false;
    message.sent = ModelMessage::Sent::acked;
    message.acked_step = world_->step();
    if (message.dead != never) message.dead = std::max(message.dead, world_->newest_now());
    return true;
  });
}

// A delete that was answered before it was on disk may be undone: its message may be back.
void Model::deletes_undone(ShardView& shard) {
  for (const auto& [id, step] : shard.deleted_early) {
    ModelMessage& message = messages_[id];
    QueueRow& queue = row(message);
    if (queue.state == QueueRow::State::deleted) continue;
    message.gone = ModelMessage::Gone::maybe;
    message.cancelled = false;
    if (std::ranges::find(queue.messages, id) == queue.messages.end()) queue.messages.push_back(id);
  }
  shard.deleted_early.clear();
  shard.early.clear();
}

// Checks that a response promises no less than the queue's setting.
void Model::check_promise(const Call& call) {
  const QueueRow& queue = row(call);
  const auto promised = static_cast<std::int64_t>(call.request.durability);
  if (promised == 0 || queue.sets > 0 || queue.set_step > call.asked_step) return;
  if (!queue.durability.holds(promised))
    trace_->broken("an answer says what it means", "durability {} of call {}, set to {}..{}",
                   promised, call.number, queue.durability.low, queue.durability.high);
}

// All messages that one crash took from async queues were answered within one window.
void Model::check_windows() const {
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::pair<Instant, Instant>> windows;
  for (const QueueRow& queue : queues_) {
    if (queue.state != QueueRow::State::live) continue;
    for (const std::uint32_t id : queue.messages) {
      const ModelMessage& message = messages_[id];
      const bool lost = message.sent == ModelMessage::Sent::doubtful &&
                        message.promised == Durability::async && !message.wanders &&
                        message.gone == ModelMessage::Gone::no && !may_be_expired(message);
      if (!lost) continue;
      const auto [at, fresh] =
          windows.try_emplace({raw(queue.owner), message.start}, message.sent_at, message.sent_at);
      auto& [first, last] = at->second;
      first = std::min(first, message.sent_at);
      last = std::max(last, message.sent_at);
      if (last - first >= ShardLoop::async_window)
        return trace_->broken("an async queue loses no more than its window",
                              "shard {} lost what was answered from {} to {}", raw(queue.owner),
                              first.ms, last.ms);
    }
  }
}

// --- requests ---

void Model::asked(Call& call) {
  call.fired_when_asked = shards_[raw(call.target)].fired;
  if (call.op == Op::create_queue) {
    ++creates_[call.spec.name];
    for (const AttributeChange& change : call.spec.changes)
      if (change.attribute == Attribute::message_retention_period)
        retention_least_ = std::min(retention_least_, 1000 * change.number);
    return;
  }
  if (call.op == Op::list_queues) return;
  QueueRow& queue = row(call);
  switch (call.op) {
    case Op::send:
      call.undecided = call.sends.size();
      for (std::size_t i = 0; i < call.sends.size(); ++i) {
        queue.messages.push_back(call.messages[i]);
        messages_[call.messages[i]].sender_is_local = call.home == call.target;
      }
      return;
    case Op::receive:
      call.wait = call.request.receive.wait.ms < 0
                      ? queue.wait
                      : Range{call.request.receive.wait.ms, call.request.receive.wait.ms};
      if (call.attempt != 0) queue.attempts_asked.insert(call.attempt);
      queue.receives.push_back(&call);
      return;
    case Op::delete_message:
      for (const std::uint32_t id : call.messages)
        if (is_message(id)) ++messages_[id].deletes;
      return;
    case Op::change_visibility:
      for (std::size_t i = 0; i < call.messages.size(); ++i) {
        if (!is_message(call.messages[i])) continue;
        ModelMessage& message = messages_[call.messages[i]];
        ++message.moves;
        // A handle older than a returned delivery makes the message count as received again.
        const ReceiptEntry& entry = call.receipts[i];
        if (entry.by == ReceiptEntry::By::handle && !entry.uncounted)
          message.view.received.high = std::max<std::int64_t>(message.view.received.high, 1);
        message.moved = std::max(message.moved, call.receipts[i].visibility.ms > 0
                                                    ? call.receipts[i].visibility
                                                    : Duration{queue.backoff.high});
        if (entry.by != ReceiptEntry::By::handle)  // it may have begun to live by the answer
          live_again(message, call.asked_at + entry.visibility, long_ago);
      }
      return;
    case Op::purge:
      ++queue.purges;
      queue.replays.lossy = true;
      for (auto& [number, attempt] : queue.attempts) attempt.sure = false;
      return may_vanish(queue);
    case Op::delete_queue:
      ++queue.deletes;
      queue.replays.lossy = true;
      return may_vanish(queue);
    case Op::set_attributes:
      ++queue.sets;
      queue.set_step = world_->step();
      for (const AttributeChange& change : call.changes) {
        widen(queue, change);
        if (change.attribute == Attribute::deduplication_scope)
          asked_scope(queue, change.number == 1, call.asked_at);
      }
      if (const auto policy = policy_of(call.changes)) add_policy(queue, *policy);
      return redelay(queue);
    case Op::take_numbers:
      queue.gives_numbers = true;
      return;
    case Op::start_move:
      return asked_start(call, queue);
    case Op::list_moves:
    case Op::cancel_move:
      call.was_busy = queue.starts > 0;
      return;
    case Op::start_replay:
      return asked_replay(call, queue);
    case Op::list_replays:
    case Op::cancel_replay:
      call.was_busy = queue.replays.starts > 0;
      return;
    default:
      return;
  }
}

void Model::gives_back(const Call& call) {
  for (const std::uint32_t id : call.messages) {
    if (!is_message(id)) continue;
    ++messages_[id].moves;
    ++messages_[id].returns;
    messages_[id].returned = true;
  }
}

void Model::answered(Call& call, const Turn& turn) {
  switch (call.op) {
    case Op::send:
    case Op::fan_out:
      return answered_send(call, turn);
    case Op::take_numbers:
      return answered_numbers(call, turn);
    case Op::receive:
      return answered_receive(call, turn);
    case Op::delete_message:
      return answered_delete_messages(call, turn);
    case Op::change_visibility:
      return answered_change(call, turn);
    case Op::undeliver:
      return answered_return(call, turn);
    case Op::purge:
      return answered_purge(call, turn);
    case Op::count:
      return answered_count(call, turn);
    case Op::list_queues:
      return answered_queues(call, turn);
    case Op::peek:
      return answered_peek(call, turn);
    case Op::create_queue:
      return answered_create(call);
    case Op::delete_queue:
      return answered_delete(call, turn);
    case Op::set_attributes:
      return answered_set(call, turn);
    case Op::start_move:
      return answered_start(call);
    case Op::cancel_move:
      return answered_cancel(call);
    case Op::list_moves:
      return answered_list(call, turn);
    case Op::start_replay:
      return answered_replay(call);
    case Op::cancel_replay:
      return answered_cancel_replay(call);
    case Op::list_replays:
      return answered_list_replays(call, turn);
    case Op::transfer:
    case Op::none:
      break;
  }
  CHECK(false, "op {}", static_cast<int>(call.op));
}

// --- the broker ---

void Model::on_turn(const Turn& turn) {
  shards_[raw(turn.shard)].now = turn.now;
  shards_[raw(turn.shard)].fired = shards_[raw(turn.shard)].swept = turn.fires;
}

void Model::started() {
  draining_ = false;
  ++starts_;
  // The clock may be behind the last time seen: that time had not reached the log.
  for (ModelMessage& message : messages_)
    message.received = std::min(message.received, world_->now());
  for (std::uint32_t i = 0; i < world_->shards(); ++i) {
    shards_[i].now = world_->now();
    shards_[i].fired = world_->fired(ShardId{static_cast<std::uint8_t>(i)});
    shards_[i].swept = Instant{};
    durable(ShardId{static_cast<std::uint8_t>(i)}, world_->step());
  }
}

void Model::rested(std::uint64_t step) {
  for (std::uint32_t i = 0; i < world_->shards(); ++i)
    durable(ShardId{static_cast<std::uint8_t>(i)}, step);
  for (QueueRow& queue : queues_) queue.letting_go.clear();
  rested_step_ = std::max(rested_step_, step);
}

void Model::stopped() {
  rested(world_->step());
  crashed(true);
}

void Model::crashed(bool in_order) {
  creates_.clear();
  rested_step_ = world_->step();
  for (ShardView& shard : shards_) deletes_undone(shard);
  for (QueueRow& queue : queues_) {
    const std::uint64_t durable_step = shards_[raw(queue.owner)].durable_step;
    if (queue.deletes > 0) deletions_[queue.name].may_be(world_->newest_now());
    if (queue.deletes > 0 && queue.state == QueueRow::State::live)
      queue.state = QueueRow::State::doubtful;
    for (const std::uint32_t id : queue.messages) {
      ModelMessage& message = messages_[id];
      message.features |= bit(Feature::crash);
      if (message.sent == ModelMessage::Sent::asked) message.sent = ModelMessage::Sent::refused;
      if (message.sent == ModelMessage::Sent::unacked ||
          message.sent == ModelMessage::Sent::early) {
        const bool on_disk = message.decided_step <= durable_step;
        message.sent = on_disk ? ModelMessage::Sent::acked : ModelMessage::Sent::doubtful;
        message.acked_step = world_->step();
      }
      if ((message.deletes > 0 || queue.purges > 0) && message.gone == ModelMessage::Gone::no)
        message.gone = ModelMessage::Gone::maybe;
      roll_back(message, durable_step);
      message.deletes = message.moves = message.returns = 0;
      message.moved = Duration{0};
    }
    queue.receives.clear();
    queue.looked = std::max(queue.looked, world_->newest_now());
    if (queue.purges > 0) queue.purged_high = std::max(queue.purged_high, world_->newest_now());
    crashed_in_order(queue, durable_step);
    queue.deletes = queue.purges = 0;
    if (queue.sets > 0) queue.set_step = world_->step();
    queue.sets = 0;
    end_scope_changes(queue);
    redelay(queue);
    tasks_crashed(queue, durable_step);
    replays_crashed(queue, durable_step, in_order);
    tidy(queue);
  }
}

void Model::tidy(QueueRow& queue) {
  std::erase_if(queue.messages, [&](std::uint32_t id) {
    const ModelMessage& message = messages_[id];
    return message.gone == ModelMessage::Gone::yes || message.sent == ModelMessage::Sent::refused;
  });
}

// --- for clients ---

void Model::conclude() {
  check_windows();
  for (QueueRow& queue : queues_) {
    for (const std::uint32_t id : queue.messages) {
      ModelMessage& message = messages_[id];
      if (message.gone == ModelMessage::Gone::yes) continue;
      if (surely_alive(message))
        trace_->broken("an acknowledged send is kept",
                       "message {} (seq {} of queue {}) did not come", id, message.seq,
                       raw(queue.id));
      if (message.wanders) ++queue.unseen_hops;
      lose(message, "did not come in the end");
    }
    tidy(queue);
  }
}

std::size_t Model::owed(const QueueRow& queue) const {
  return static_cast<std::size_t>(std::ranges::count_if(
      queue.messages, [&](std::uint32_t id) { return surely_alive(messages_[id]); }));
}

bool Model::any_wanders() const {
  return std::ranges::any_of(queues_, [&](const QueueRow& queue) {
    return queue.may_move || std::ranges::any_of(queue.messages, [&](std::uint32_t id) {
             return messages_[id].wanders && messages_[id].gone != ModelMessage::Gone::yes;
           });
  });
}

Instant Model::last_ready(const QueueRow& queue) const {
  Instant last;
  for (const std::uint32_t id : queue.messages) {
    const ModelMessage& message = messages_[id];
    if (message.gone != ModelMessage::Gone::yes) last = std::max(last, message.view.from_high);
  }
  for (const auto& [seq, index] : queue.replays.copies)
    if (!copies_[index].gone) last = std::max(last, copies_[index].until);
  return last;
}

}  // namespace pawl::sim

#include "tests/core/world.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace pawl::test {
namespace {

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace

World::World(const ShardLimits& limits) : limits_(limits) { recover(); }

// --- requests ------------------------------------------------------------------------------------------

Ask& World::make(Op op, QueueId queue) {
  Ask& ask = asks_.emplace_back();
  ask.request.op = op;
  ask.request.queue = queue;
  return ask;
}

Ask& World::create(const std::string& name, std::vector<AttributeChange> changes) {
  Ask& ask = make(Op::create_queue, QueueId::none);
  ask.spec = {.account = "000000000000", .name = name, .changes = std::move(changes), .tags = {}};
  ask.request.spec = &ask.spec;
  turn(&ask);
  return ask;
}

Ask& World::set(QueueId queue, std::vector<AttributeChange> changes) {
  Ask& ask = make(Op::set_attributes, queue);
  ask.changes = std::move(changes);
  ask.request.changes = ask.changes;
  turn(&ask);
  return ask;
}

Ask& World::send(QueueId queue, const std::vector<std::string>& bodies, Duration delay) {
  Ask& ask = make(Op::send, queue);
  for (const std::string& body : bodies) {
    SendEntry entry;
    entry.content.body = ask.bodies.emplace_back(body);
    entry.delay = delay;
    ask.sends.push_back(entry);
  }
  ask.request.sends = ask.sends;
  turn(&ask);
  return ask;
}

Ask& World::receive(QueueId queue, const ReceiveParams& params) {
  Ask& ask = make(Op::receive, queue);
  ask.deliveries.resize(params.max);
  ask.request.receive = params;
  ask.request.deliveries = ask.deliveries;
  turn(&ask);
  return ask;
}

Ask& World::receipts(Op op, QueueId queue, const std::vector<ReceiptHandle>& handles,
                     Duration visibility) {
  Ask& ask = make(op, queue);
  for (const ReceiptHandle& handle : handles)
    ask.receipts.push_back({.handle = handle, .visibility = visibility});
  ask.request.receipts = ask.receipts;
  turn(&ask);
  return ask;
}

Ask& World::plain(Op op, QueueId queue) {
  Ask& ask = make(op, queue);
  turn(&ask);
  return ask;
}

// --- turns -------------------------------------------------------------------------------------------------

void World::turn(Ask* ask) {
  if (gathering_ && ask != nullptr) return gathered_.push_back(ask);
  if (ask == nullptr) return settle(one_turn({}));
  settle(one_turn({&ask, 1}));
}

void World::go() {
  gathering_ = false;
  settle(one_turn(std::exchange(gathered_, {})));
}

void World::settle(bool more) {
  int rounds = 0;
  while (more || shard_->wants_match() || shard_->next_deadline() <= now_) {
    more = one_turn({});
    if (++rounds == 100'000) {
      ADD_FAILURE() << "the shard does not come to rest at " << now_.ms;
      return;
    }
  }
}

bool World::one_turn(std::span<Ask* const> asks) {
  effects_.clear();
  const bool more = shard_->expire(now_, effects_);
  for (Ask* const ask : asks) shard_->apply(ask->request, now_, effects_);
  shard_->match(now_, effects_);
  write(effects_);
  if (!holding_) commit();
  release_answers();
  return more;
}

void World::write(Effects& effects) {
  Frame frame;
  for (const ConfigRecord& record : effects.configs) frame.records.emplace_back(record);
  for (const HeadRecord& record : effects.heads) frame.records.emplace_back(record);
  for (SendRecord& record : effects.sends) {
    record.position = next_position_++;
    const std::string body(record.content->body);
    bodies_[record.position] = body;
    live_.insert(record.position);
    SendRecord stored = record;
    stored.content = nullptr;
    frame.records.emplace_back(StoredSend{stored, body});
  }
  for (const ReceiveRecord& record : effects.receives) frame.records.emplace_back(record);
  for (const RemoveRecord& record : effects.removes) frame.records.emplace_back(record);
  for (const PurgeRecord& record : effects.purges) frame.records.emplace_back(record);
  EXPECT_EQ(frame.records.empty(), !effects.has_records());
  if (!frame.records.empty()) {
    appended_ += frame.records.size();
    frame.end = appended_;
    frames_.push_back(std::move(frame));
  }
  shard_->appended(effects, appended_);
  for (const Reply& reply : effects.replies) {
    static_assert(offsetof(Ask, request) == 0);
    Ask* const ask = reinterpret_cast<Ask*>(reply.request);
    for (std::uint32_t i = 0; i < ask->request.delivered; ++i) {
      EXPECT_TRUE(live_.contains(ask->deliveries[i].position))
          << "handed out what the log no longer keeps: " << ask->deliveries[i].position;
    }
    pending_.push_back({ask, reply.after_flush ? appended_ : 0});
  }
  collect_freed(effects.freed);
}

void World::collect_freed(const std::vector<LogPos>& freed) {
  for (const LogPos position : freed)
    EXPECT_EQ(live_.erase(position), 1u) << "given back twice: " << position;
}

void World::release_answers() {
  std::erase_if(pending_, [this](const Pending& pending) {
    if (pending.lsn > durable_) return false;
    answer(*pending.ask);
    return true;
  });
}

void World::answer(Ask& ask) {
  EXPECT_FALSE(ask.answered) << "answered twice";
  EXPECT_EQ(ask.request.waiter, 0u) << "answered while it waits";
  ask.answered = true;
  ask.answered_at = now_;
}

void World::advance(Duration by) {
  const Instant target = now_ + by;
  turn(nullptr);
  while (shard_->next_deadline() <= target) {
    now_ = std::max(now_, shard_->next_deadline());
    turn(nullptr);
  }
  jump(target - now_);
}

void World::jump(Duration by) {
  now_ = now_ + by;
  turn(nullptr);
}

void World::jump_one_turn(Duration by) {
  now_ = now_ + by;
  one_turn({});
}

// --- the disk ------------------------------------------------------------------------------------------------

void World::flush() {
  holding_ = false;
  turn(nullptr);
}

void World::flush_one() {
  const auto next =
      std::ranges::find_if(frames_, [this](const Frame& f) { return f.end > durable_; });
  if (next == frames_.end()) return;
  durable_ = next->end;
  shard_->committed(durable_, now_);
  turn(nullptr);
}

void World::commit() {
  durable_ = appended_;
  shard_->committed(durable_, now_);
}

void World::crash(Duration down) {
  while (!frames_.empty() && frames_.back().end > durable_) frames_.pop_back();
  appended_ = durable_;
  holding_ = false;
  pending_.clear();
  now_ = now_ + down;
  recover();
  turn(nullptr);
}

void World::recover() {
  shard_ = std::make_unique<Shard>(
      ShardIdentity{.secret = test_secret(), .nonce_seed = ++starts_ * 1'000'000}, limits_, now_);
  live_.clear();
  std::vector<LogPos> freed;
  for (const Frame& frame : frames_) {
    for (const StoredRecord& stored : frame.records) {
      std::visit(Overloaded{
                     [&](const StoredSend& send) {
                       Content content{.body = send.body};
                       SendRecord record = send.record;
                       record.content = &content;
                       live_.insert(record.position);
                       shard_->restore(record);
                     },
                     [&](const RemoveRecord& record) { shard_->restore(record, freed); },
                     [&](const PurgeRecord& record) { shard_->restore(record, freed); },
                     [&](const auto& record) { shard_->restore(record); },
                 },
                 stored);
    }
  }
  shard_->finish_recovery(now_, freed);
  collect_freed(freed);
}

void World::rotate() {
  flush();
  const auto needed = std::ranges::find_if(frames_, [this](const Frame& frame) {
    return std::ranges::any_of(frame.records, [this](const StoredRecord& stored) {
      const auto* send = std::get_if<StoredSend>(&stored);
      return send != nullptr && live_.contains(send->record.position);
    });
  });
  frames_.erase(frames_.begin(), needed);
  effects_.clear();
  shard_->snapshot(effects_);
  write(effects_);
  turn(nullptr);
}

std::size_t World::records() const {
  std::size_t count = 0;
  for (const Frame& frame : frames_) count += frame.records.size();
  return count;
}

}  // namespace pawl::test

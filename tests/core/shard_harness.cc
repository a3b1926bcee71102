// SPDX-License-Identifier: Apache-2.0
#include "tests/core/shard_harness.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/base/check.h"

namespace pawl::test {
namespace {

template <typename... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <typename... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

}  // namespace

ShardHarness::ShardHarness(const ShardLimits& limits) : limits_(limits) { recover(); }

// --- requests ---

Ask& ShardHarness::make(Op op, QueueId queue) {
  Ask& ask = asks_.emplace_back();
  ask.request.op = op;
  ask.request.queue = queue;
  return ask;
}

Ask& ShardHarness::create(const std::string& name, std::vector<AttributeChange> changes) {
  return create("000000000000", name, std::move(changes));
}

Ask& ShardHarness::create(const std::string& account, const std::string& name,
                          std::vector<AttributeChange> changes) {
  Ask& ask = make(Op::create_queue, QueueId::none);
  ask.spec = {.account = account, .name = name, .changes = std::move(changes), .tags = {}};
  ask.request.spec = &ask.spec;
  turn(&ask);
  return ask;
}

Ask& ShardHarness::set(QueueId queue, std::vector<AttributeChange> changes) {
  Ask& ask = make(Op::set_attributes, queue);
  ask.changes = std::move(changes);
  ask.request.changes = ask.changes;
  turn(&ask);
  return ask;
}

Ask& ShardHarness::send(QueueId queue, const std::vector<std::string>& bodies, Duration delay) {
  std::vector<GroupedMessage> messages;
  for (const std::string& body : bodies) messages.push_back({body});
  return send_grouped(queue, std::move(messages), delay);
}

Ask& ShardHarness::send_grouped(QueueId queue, std::vector<GroupedMessage> messages, Duration delay,
                                Duration time_to_live) {
  Ask& ask = make(Op::send, queue);
  ask.messages = std::move(messages);
  for (const GroupedMessage& message : ask.messages) {
    SendEntry entry;
    entry.content.body = message.body;
    entry.content.group = message.group;
    entry.content.dedup_id = message.dedup_id;
    entry.delay = delay;
    entry.time_to_live = time_to_live;
    ask.sends.push_back(entry);
  }
  ask.request.sends = ask.sends;
  turn(&ask);
  return ask;
}

Ask& ShardHarness::send_once(QueueId queue, const ProducerParams& producer, std::uint64_t first,
                             const std::vector<std::string>& bodies, Duration delay) {
  Ask& ask = make(Op::send, queue);
  for (const std::string& body : bodies) ask.messages.push_back({body});
  for (const GroupedMessage& message : ask.messages)
    ask.sends.push_back({.content = {.body = message.body}, .delay = delay, .sequence = first++});
  ask.request.producer = producer;
  ask.request.sends = ask.sends;
  turn(&ask);
  return ask;
}

Ask& ShardHarness::receive(QueueId queue, const ReceiveParams& params) {
  Ask& ask = make(Op::receive, queue);
  ask.deliveries.resize(params.max);
  ask.text = params.attempt;
  ask.request.receive = params;
  ask.request.receive.attempt = ask.text;
  ask.request.deliveries = ask.deliveries;
  turn(&ask);
  return ask;
}

Ask& ShardHarness::receipts(Op op, QueueId queue, const std::vector<ReceiptHandle>& handles,
                            Duration visibility, const std::string& attempt) {
  std::vector<ReceiptEntry> entries;
  for (const ReceiptHandle& handle : handles)
    entries.push_back({.handle = handle, .visibility = visibility});
  return receipts(op, queue, std::move(entries), attempt);
}

Ask& ShardHarness::receipts(Op op, QueueId queue, std::vector<ReceiptEntry> entries,
                            const std::string& attempt) {
  Ask& ask = make(op, queue);
  ask.text = attempt;
  ask.request.receive.attempt = ask.text;
  ask.receipts = std::move(entries);
  ask.request.receipts = ask.receipts;
  turn(&ask);
  return ask;
}

Ask& ShardHarness::plain(Op op, QueueId queue) {
  Ask& ask = make(op, queue);
  turn(&ask);
  return ask;
}

Ask& ShardHarness::start_move(QueueId queue, const std::string& destination, std::uint32_t rate) {
  Ask& ask = make(Op::start_move, queue);
  ask.text = destination;
  ask.request.move.destination = ask.text;
  ask.request.move.rate = rate;
  turn(&ask);
  return ask;
}

Ask& ShardHarness::cancel_move(QueueId queue, std::uint32_t number) {
  Ask& ask = make(Op::cancel_move, queue);
  ask.request.move.number = number;
  turn(&ask);
  return ask;
}

// --- turns ---

void ShardHarness::turn(Ask* ask) {
  if (gathering_ && ask != nullptr) return gathered_.push_back(ask);
  if (ask == nullptr) return settle(one_turn({}));
  settle(one_turn({&ask, 1}));
}

void ShardHarness::go() {
  gathering_ = false;
  settle(one_turn(std::exchange(gathered_, {})));
}

void ShardHarness::settle(bool more) {
  int rounds = 0;
  while (more || !travelling_.empty() || !delayed_.empty() || shard_->armed(ShardPart::match) ||
         shard_->next_deadline() <= now_) {
    more = one_turn({});
    if (++rounds == 100'000) {
      ADD_FAILURE() << "the shard does not come to rest at " << now_.ms;
      return;
    }
  }
}

bool ShardHarness::one_turn(std::span<Ask* const> asks) {
  effects_.clear();
  for (Transfer* const transfer : std::exchange(travelling_, std::exchange(delayed_, {})))
    shard_->apply(transfer->request, now_, effects_);
  const bool more = shard_->expire(now_, now_, effects_);
  for (Ask* const ask : asks) shard_->apply(ask->request, now_, effects_);
  shard_->match(now_, effects_);
  write(effects_);
  holding_ ? shard_->committed(durable_, now_) : commit();
  release_answers();
  return more;
}

void ShardHarness::write(Effects& effects) {
  Frame frame;
  for (const ConfigRecord& record : effects.configs) frame.records.emplace_back(record);
  for (const HeadRecord& record : effects.heads) frame.records.emplace_back(record);
  for (SendRecord& record : effects.sends) {
    record.position = next_position_++;
    const Content& content = *record.content;
    StoredSend stored{record, std::string(content.body), std::string(content.group),
                      std::string(content.dedup_id), std::string(content.origin)};
    stored.record.content = nullptr;
    sends_[record.position] = stored;
    live_.insert(record.position);
    frame.records.emplace_back(std::move(stored));
  }
  for (const NumberRecord& record : effects.numbers) frame.records.emplace_back(record);
  for (const ReceiveRecord& record : effects.receives) frame.records.emplace_back(record);
  for (const ForgetTransferRecord& record : effects.forgotten_transfers)
    frame.records.emplace_back(record);
  for (const DeleteRecord& record : effects.deletes) frame.records.emplace_back(record);
  for (const PurgeRecord& record : effects.purges) frame.records.emplace_back(record);
  for (const TaskRecord& record : effects.tasks) frame.records.emplace_back(record);
  EXPECT_EQ(frame.records.empty(), !effects.has_records());
  if (!frame.records.empty()) {
    appended_ += frame.records.size();
    frame.end = appended_;
    frames_.push_back(std::move(frame));
  }
  shard_->appended(effects, appended_);
  carry(effects.transfers);
  for (const Reply& reply : effects.replies) {
    const Request& request = *reply.request;
    for (const Delivery& delivery : request.deliveries.first(request.delivered)) {
      EXPECT_TRUE(live_.contains(delivery.position))
          << "handed out what the log no longer keeps: " << delivery.position;
    }
    const bool waits = reply.after_flush && request.durability == Durability::fsync;
    pending_.push_back({reply.request, waits ? appended_ : 0});
  }
  collect_freed(effects.freed);
}

void ShardHarness::collect_freed(const std::vector<LogPos>& freed) {
  for (const LogPos position : freed) {
    const auto held = live_.find(position);
    ASSERT_NE(held, live_.end()) << "given back twice: " << position;
    live_.erase(held);
  }
}

void ShardHarness::carry(const std::vector<Transfer*>& transfers) {
  for (Transfer* const transfer : transfers) {
    EXPECT_TRUE(live_.contains(transfer->position)) << "moved what the log no longer keeps";
    if (damaged_.contains(transfer->position)) {
      transfer->request.error = Errc::corrupt;
      transfer->stage = Transfer::Stage::commit;
      travelling_.push_back(transfer);
      continue;
    }
    const StoredSend& stored = sends_.at(transfer->position);
    transfer->sent = stored.record.sent;
    transfer->id = stored.record.carried.id;
    {
      const BrokerMemory scope;  // as the loop of a shard does
      transfer->keep(stored.content());
    }
    shard_->address(*transfer);
    (slow_.contains(transfer->position) ? delayed_ : travelling_).push_back(transfer);
  }
}

void ShardHarness::release_answers() {
  std::erase_if(pending_, [this](const Pending& pending) {
    if (pending.lsn > durable_) return false;
    answer(*pending.request);
    return true;
  });
}

void ShardHarness::pass_on(Transfer& transfer) {
  using Stage = Transfer::Stage;
  transfer.stage = transfer.stage == Stage::accept   ? Stage::commit
                   : transfer.stage == Stage::commit ? Stage::forget
                                                     : Stage::done;
  travelling_.push_back(&transfer);
}

void ShardHarness::answer(Request& request) {
  if (request.op == Op::transfer) return pass_on(*request.transfer);
  static_assert(offsetof(Ask, request) == 0);
  Ask& ask = reinterpret_cast<Ask&>(request);
  EXPECT_FALSE(ask.answered) << "answered twice";
  EXPECT_EQ(request.waiter, 0u) << "answered while it waits";
  ask.answered = true;
  ask.answered_at = now_;
}

void ShardHarness::advance(Duration by) {
  const Instant target = now_ + by;
  turn(nullptr);
  while (shard_->next_deadline() <= target) {
    now_ = std::max(now_, shard_->next_deadline());
    turn(nullptr);
  }
  jump(target - now_);
}

void ShardHarness::jump(Duration by) {
  now_ = now_ + by;
  turn(nullptr);
}

void ShardHarness::jump_one_turn(Duration by) {
  now_ = now_ + by;
  one_turn({});
}

// --- the disk ---

void ShardHarness::flush() {
  holding_ = false;
  turn(nullptr);
}

void ShardHarness::flush_one() {
  const auto next =
      std::ranges::find_if(frames_, [this](const Frame& f) { return f.end > durable_; });
  if (next == frames_.end()) return;
  durable_ = next->end;
  shard_->committed(durable_, now_);
  turn(nullptr);
}

void ShardHarness::commit() {
  durable_ = appended_;
  shard_->committed(durable_, now_);
}

void ShardHarness::crash(Duration down) {
  while (!frames_.empty() && frames_.back().end > durable_) frames_.pop_back();
  appended_ = durable_;
  holding_ = false;
  pending_.clear();
  travelling_.clear();
  delayed_.clear();
  now_ = now_ + down;
  recover();
  turn(nullptr);
}

void ShardHarness::recover() {
  const Instant upgraded =
      shard_ && upgraded_.ms == 0 ? shard_->upgraded() : std::exchange(upgraded_, Instant{});
  shard_.make({.secret = test_secret(),
               .nonce_seed = ++starts_ * 1'000'000,
               .receipt_key = test_receipt_key(),
               .upgraded = upgraded},
              limits_, now_);
  live_.clear();
  slices_.clear();
  slicing_ = false;
  std::vector<LogPos> freed;
  for (const StoredRecord& stored : checkpoint_) restore(stored, freed);
  for (const Frame& frame : frames_) {
    for (const StoredRecord& stored : frame.records) restore(stored, freed);
  }
  shard_->finish_recovery(now_, now_, freed);
  collect_freed(freed);
  for (const UnsettledTransfer& unsettled : shard_->unsettled_transfers())
    travelling_.push_back(shard_->resume_transfer(unsettled, ShardId{}).request.transfer);
}

void ShardHarness::restore(const StoredRecord& stored, std::vector<LogPos>& freed) {
  std::visit(Overloaded{
                 [&](const StoredSend& send) {
                   const Content content = send.content();
                   SendRecord record = send.record;
                   record.content = &content;
                   live_.insert(record.position);
                   shard_->restore(record, freed);
                 },
                 [&](const CheckpointRecord& record) {
                   if (const auto* index_entries = std::get_if<IndexEntriesRecord>(&record)) {
                     for (const auto& entry : index_entries->entries) live_.insert(entry.position);
                   } else if (const auto* tracked = std::get_if<TrackedMessagesRecord>(&record)) {
                     for (const auto& entry : tracked->entries) live_.insert(entry.position);
                   }
                   shard_->restore(record);
                 },
                 [&](const DeleteRecord& record) { shard_->restore(record, freed); },
                 [&](const PurgeRecord& record) { shard_->restore(record, freed); },
                 [&](const TaskRecord& record) { shard_->restore(record, freed); },
                 [&](const auto& record) { shard_->restore(record); },
             },
             stored);
}

bool ShardHarness::slice() {
  if (!std::exchange(slicing_, true)) {
    slices_.clear();
    slicing_from_ = appended_;
    shard_->begin_checkpoint();
  }
  CheckpointSlice slice;
  slicing_ = shard_->checkpoint_slice(slice);
  for (const auto& record : slice.configs) slices_.emplace_back(record);
  for (const auto& record : slice.heads) slices_.emplace_back(record);
  for (const auto& record : slice.purges) slices_.emplace_back(record);
  for (const auto& record : slice.tasks) slices_.emplace_back(record);
  for (const auto& record : slice.records) slices_.emplace_back(record);
  collect_freed(slice.freed);
  if (slicing_) return true;
  flush();
  checkpoint_ = std::move(slices_);
  std::erase_if(frames_, [this](const Frame& frame) { return frame.end <= slicing_from_; });
  return false;
}

const SendRecord& ShardHarness::newest(QueueId queue, const std::string& body) const {
  const SendRecord* found = nullptr;
  for (const auto& [position, stored] : sends_) {
    if (stored.record.queue == queue && stored.body == body) found = &stored.record;
  }
  CHECK(found != nullptr, "no message {}", body);
  return *found;
}

void ShardHarness::set_aside(QueueId queue, const std::string& body) {
  shard_->set_aside(queue, newest(queue, body).seq);
  turn(nullptr);
}

void ShardHarness::slow(QueueId queue, const std::string& body) {
  slow_.insert(newest(queue, body).position);
}

void ShardHarness::damage(QueueId queue, const std::string& body) {
  damaged_.insert(newest(queue, body).position);
}

void ShardHarness::rotate() {
  while (slice()) {
  }
}

void ShardHarness::forget_asks() {
  rotate();
  EXPECT_TRUE(pending_.empty() && shard_->waiting() == 0);
  asks_.clear();
}

std::size_t ShardHarness::records() const {
  std::size_t count = 0;
  for (const Frame& frame : frames_) count += frame.records.size();
  return count;
}

}  // namespace pawl::test

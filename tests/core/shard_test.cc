// SPDX-License-Identifier: Apache-2.0
// The shard as a state machine: its turns, its memory limits, its stop, positions of its messages.
// The rules about messages are in the files shard_*_test.cc.
#include "core/shard/shard.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/core/secret.h"

namespace pawl::test {
namespace {

// A shard whose log places each send 64 bytes behind the one before and is durable at once.
class BareShard {
 public:
  explicit BareShard(Instant start = Instant{1'000'000}) : now(start) {
    const QueueSpec spec{.account = "a", .name = "q", .changes = {}, .tags = {}};
    Request create{.op = Op::create_queue};
    create.spec = &spec;
    turn(&create);
    queue = create.config->id;
  }

  void turn(Request* request) {
    effects.clear();
    shard.expire(now, now, effects);
    if (request != nullptr) shard.apply(*request, now, effects);
    shard.match(now, effects);
    for (SendRecord& record : effects.sends) record.position = position += 64;
    shard.appended(effects, ++lsn);
    shard.committed(lsn, now);
  }
  void send(std::size_t count, Duration delay = {}) {
    std::vector<SendEntry> entries(count);
    for (SendEntry& entry : entries) entry = {.content = {.body = "x"}, .delay = delay};
    Request request{.op = Op::send, .queue = queue};
    request.sends = entries;
    turn(&request);
  }
  void receive(Duration wait = {}, std::uint32_t max = 1) {
    received = {.op = Op::receive, .queue = queue};
    received.receive = {.max = max, .visibility = seconds(30), .wait = wait};
    received.deliveries = deliveries;
    turn(&received);
  }
  void delete_received() {
    ReceiptEntry entry{.handle = deliveries[0].handle};
    Request request{.op = Op::delete_message, .queue = queue};
    request.receipts = {&entry, 1};
    turn(&request);
  }

  Instant now;
  Shard shard{
      {.secret = test_secret(), .receipt_key = test_receipt_key()},
      {},
      now
  };
  Effects effects;  // of the last turn
  QueueId queue = QueueId::none;
  LogPos position = 0;  // of the last send
  Lsn lsn = 0;
  Request received;
  std::array<Delivery, 4> deliveries;
};

TEST(Shard, MakesTheSameDecisionsFromTheSameRequests) {
  BareShard first, second;
  const auto both = [&](auto&& step) {
    step(first);
    step(second);
    ASSERT_EQ(first.effects.sends.size(), second.effects.sends.size());
    ASSERT_EQ(first.effects.receives.size(), second.effects.receives.size());
    for (std::size_t i = 0; i < first.effects.receives.size(); ++i) {
      const ReceiveRecord &a = first.effects.receives[i], &b = second.effects.receives[i];
      EXPECT_EQ(a.seq, b.seq);
      EXPECT_EQ(a.nonce, b.nonce);
      EXPECT_EQ(a.receive_count, b.receive_count);
      EXPECT_EQ(a.deadline, b.deadline);
    }
    EXPECT_EQ(first.effects.deletes.size(), second.effects.deletes.size());
    EXPECT_EQ(first.effects.freed, second.effects.freed);
    EXPECT_EQ(first.deliveries[0].handle, second.deliveries[0].handle);
  };
  std::size_t receives = 0;
  for (int i = 0; i < 200; ++i) {
    both([&](BareShard& it) { it.send(1 + i % 3, milliseconds(i % 5 == 0 ? 1000 : 0)); });
    both([](BareShard& it) { it.receive(); });
    receives += first.effects.receives.size();
    if (i % 3 == 0) both([](BareShard& it) { it.delete_received(); });
    both([&](BareShard& it) {
      it.now = it.now + milliseconds(700);
      it.turn(nullptr);
    });
  }
  EXPECT_GT(receives, 150u);
}

TEST(Shard, HasNothingToDoBeforeItsNextDeadline) {
  BareShard it;
  it.send(1);
  it.receive();             // in flight for 30 s
  it.send(1, seconds(90));  // delayed
  it.receive(seconds(20));  // a long poll
  const Instant end = it.now + seconds(100);
  bool answered = false;
  int turns = 0;
  while (it.shard.next_deadline() < end) {
    ASSERT_LT(++turns, 1000);
    const Instant due = it.shard.next_deadline();
    if (due > it.now) {
      Effects early;
      EXPECT_FALSE(it.shard.expire(due - milliseconds(1), due - milliseconds(1), early));
      EXPECT_FALSE(early.has_records());
      EXPECT_TRUE(early.replies.empty());
      EXPECT_FALSE(it.shard.armed(ShardPart::match));
      it.now = due;
    }
    it.turn(nullptr);
    answered = answered || !it.effects.replies.empty();
  }
  EXPECT_TRUE(answered);
  it.receive({}, 4);
  EXPECT_EQ(it.received.delivered, 2u) << "the deadlines of both messages were among them";
}

TEST(Shard, AnswersEachLongPollEmptyWhenTheServerStops) {
  BareShard it;
  std::array<Request, 3> polls;
  for (Request& poll : polls) {
    poll = {.op = Op::receive, .queue = it.queue};
    poll.receive = {.max = 1, .wait = seconds(20)};
    poll.deliveries = it.deliveries;
    it.turn(&poll);
  }
  EXPECT_EQ(it.shard.waiting(), 3u);
  Effects effects;
  it.shard.release_waiters(effects);
  ASSERT_EQ(effects.replies.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(effects.replies[i].request, &polls[i]) << "in the order of arrival";
    EXPECT_EQ(polls[i].error, Errc::ok);
    EXPECT_EQ(polls[i].delivered, 0u);
  }
  EXPECT_EQ(it.shard.waiting(), 0u);
  it.send(1);
  EXPECT_EQ(it.effects.replies.size(), 1u) << "the send's alone";
}

TEST(Shard, CancelsALongPollOnce) {
  BareShard it;
  it.receive(seconds(20));
  EXPECT_TRUE(it.shard.cancel(it.received));
  EXPECT_FALSE(it.shard.cancel(it.received));
  EXPECT_EQ(it.shard.waiting(), 0u);
  it.receive();
  EXPECT_FALSE(it.shard.cancel(it.received)) << "a short poll does not wait";
}

TEST(Shard, KnowsThePositionOfAMessageUntilItIsDeleted) {
  BareShard it;
  it.send(2);
  EXPECT_EQ(it.shard.position_of(it.queue, 1), 64u);
  EXPECT_EQ(it.shard.position_of(it.queue, 2), 128u);
  EXPECT_EQ(it.shard.position_of(it.queue, 3), log_pos_none);
  EXPECT_EQ(it.shard.position_of(QueueId{999}, 1), log_pos_none);
  it.receive();
  EXPECT_EQ(it.shard.position_of(it.queue, 1), 64u) << "in flight";
  it.delete_received();
  EXPECT_EQ(it.shard.position_of(it.queue, 1), log_pos_none);
}

TEST(Shard, DeliversAndFreesARelocatedMessageAtItsNewPosition) {
  BareShard it;
  it.send(2);
  it.receive();
  it.shard.relocated(it.queue, 1, 6400);  // in flight
  it.shard.relocated(it.queue, 2, 6464);  // waits
  it.delete_received();
  EXPECT_EQ(it.effects.freed, std::vector<LogPos>{6400});
  it.receive();
  ASSERT_EQ(it.received.delivered, 1u);
  EXPECT_EQ(it.deliveries[0].position, 6464u);
  it.delete_received();
  EXPECT_EQ(it.effects.freed, std::vector<LogPos>{6464});
}

TEST(Shard, ListsTheQueuesThatHaveMessages) {
  BareShard it;
  EXPECT_FALSE(it.shard.has_queue(it.queue)) << "nothing of it is in the log yet";
  EXPECT_TRUE(it.shard.queues_with_messages().empty());
  it.send(3);
  EXPECT_TRUE(it.shard.has_queue(it.queue));
  const std::vector<std::pair<QueueId, std::uint64_t>> expected{
      {it.queue, 3}
  };
  EXPECT_EQ(it.shard.queues_with_messages(), expected);
  EXPECT_EQ(it.shard.messages(), 3u);
  EXPECT_EQ(it.shard.newest_queue_id(), raw(it.queue));
  EXPECT_EQ(it.shard.queue_ids_end(), raw(it.queue) + 1);
}

TEST(ShardLimits, FitIntoTheMemoryOfTheShard) {
  for (const std::uint64_t bytes : {std::uint64_t{64} << 10, std::uint64_t{64} << 20}) {
    SCOPED_TRACE(bytes);
    const ShardLimits limits = ShardLimits::for_memory(bytes);
    EXPECT_GT(limits.slots_max, 0u);
    EXPECT_LE(limits.slots_max * sizeof(Slot) + limits.dedup_max * Dedup::entry_bytes +
                  limits.attempts_bytes_max + limits.transfer_bytes_max + limits.spare_bytes,
              bytes);
    EXPECT_LE(limits.transfer_bytes_unread, limits.transfer_bytes_max / 8)
        << "messages that are not read yet do not fill it";
  }
}

TEST(ShardLimits, OfALargeMachineAreTheGreatestOnes) {
  const ShardLimits limits = ShardLimits::for_memory(std::uint64_t{1} << 40);
  const ShardLimits most;
  EXPECT_EQ(limits.slots_max, most.slots_max);
  EXPECT_EQ(limits.dedup_max, most.dedup_max);
  EXPECT_EQ(limits.attempts_bytes_max, most.attempts_bytes_max);
  EXPECT_EQ(limits.transfer_bytes_max, most.transfer_bytes_max);
  EXPECT_EQ(limits.transfer_bytes_unread, most.transfer_bytes_unread);
  EXPECT_EQ(limits.spare_bytes, most.spare_bytes);
}

}  // namespace
}  // namespace pawl::test

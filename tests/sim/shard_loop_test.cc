// SPDX-License-Identifier: Apache-2.0
// The turn of a shard: cancelled long polls, changes of the directory, responses that leave before
// the flush, and the allowed lag of the log.
#include "net/engine/shard_loop.h"

#include <vector>

#include "tests/sim/shard_loop_fixture.h"

namespace pawl::sim {
namespace {

TEST_F(ShardLoopTest, ALongPollThatIsCancelledBeforeItsTurnIsAnsweredAtOnce) {
  for (const std::uint8_t owner : {std::uint8_t{0}, std::uint8_t{1}}) {
    SCOPED_TRACE(owner == 0 ? "own queue" : "queue of another shard");
    start(2);
    Request receive;
    std::vector<Delivery> deliveries(1);
    receive.op = Op::receive;
    receive.queue = make_queue(ShardId{owner});
    receive.receive.wait = seconds(20);
    receive.deliveries = deliveries;
    world->submit(receive, zero, ShardId{owner});
    EXPECT_FALSE(world->cancel(receive, zero, ShardId{owner}));
    run(10'000);
    EXPECT_TRUE(is_answered(receive));
    EXPECT_EQ(world->loop(owner).shard().waiting(), 0u);
  }
}

TEST_F(ShardLoopTest, ARefusedCreateNamesAQueueThatEveryShardKnows) {
  start(2);
  QueueSpec plain{.account = "0", .name = "q", .changes = {}, .tags = {}};
  QueueSpec other = plain;
  other.changes.push_back({Attribute::visibility_timeout, 7, {}});
  Request first, second;
  first.op = second.op = Op::create_queue;
  first.spec = &plain;
  second.spec = &other;
  world->submit(first, zero, control_shard);
  world->submit(second, zero, control_shard);
  // The other shard is busy with something else.
  world->stall(1, 20'000);
  run(10'000);
  EXPECT_FALSE(is_answered(first) || is_answered(second));
  run(20'000);
  ASSERT_TRUE(is_answered(first) && is_answered(second));
  EXPECT_EQ(second.error, Errc::queue_exists);
  EXPECT_NE(world->loop(1).shard().directory().find(second.config->id), nullptr);
}

class DurabilityTest : public ShardLoopTest {
 protected:
  void start_with(Durability durability) {
    Plan plan = calm_plan(1);
    plan.disk.delay_us_min = plan.disk.delay_us_max = 2000;
    plan.log.segment_bytes = 1 << 20;  // holds all sends while the disk is slow
    plan.log.small_segments = false;
    start(plan);
    queue = make_queue(zero);
    AttributeChange change{.attribute = Attribute::durability,
                           .number = static_cast<std::int64_t>(durability)};
    Request set;
    set.op = Op::set_attributes;
    set.queue = queue;
    set.changes = {&change, 1};
    world->submit(set, zero, control_shard);
    run(100'000);
    ASSERT_TRUE(is_answered(set));
    send();  // reserves message numbers
    run(100'000);
    ASSERT_TRUE(is_answered(sends.front()->request));
    sends.clear();
  }
  Send& send() { return ShardLoopTest::send(queue, "x"); }

  QueueId queue{};
};

TEST_F(DurabilityTest, AnAnswerSaysWhatItMeans) {
  start_with(Durability::async);
  Send& early = send();
  run(50);
  ASSERT_TRUE(is_answered(early.request));
  EXPECT_EQ(early.request.durability, Durability::async);
  EXPECT_TRUE(world->loop(0).log().pending());
  EXPECT_EQ(world->loop(0).stats().early_async, 1u);
}

TEST_F(DurabilityTest, AsyncWaitsWhenTheLogIsFarBehind) {
  start_with(Durability::async);
  world->disk(0).set_delay(400'000);
  Send& first = send();
  run(90'000);
  Send& in_time = send();
  run(5'000);
  EXPECT_TRUE(is_answered(first.request) && is_answered(in_time.request));
  run(10'000);
  Send& late = send();
  run(100'000);
  EXPECT_FALSE(is_answered(late.request)) << "the log is 100 ms behind";
  run(400'000);
  ASSERT_TRUE(is_answered(late.request));
  EXPECT_EQ(late.request.durability, Durability::fsync);
  const LoopStats& stats = world->loop(0).stats();
  EXPECT_EQ(stats.late_async, 1u);
  EXPECT_GE(stats.async_behind_max, 85);
  EXPECT_LT(stats.async_behind_max, ShardLoop::async_window.ms);
}

TEST_F(DurabilityTest, MemoryNeverWaits) {
  start_with(Durability::memory);
  world->disk(0).set_delay(400'000);
  for (int i = 0; i < 30; ++i) {
    Send& sent = send();
    run(10'000);
    EXPECT_TRUE(is_answered(sent.request)) << i;
    EXPECT_EQ(sent.request.durability, Durability::memory);
  }
}

TEST_F(DurabilityTest, WhatIsOnTheDiskAlreadyIsCalledSo) {
  start_with(Durability::memory);
  Receipt none{.queue = queue, .seq = 99};
  ReceiptEntry entry{.handle = seal(world->receipt_key(), none)};
  Request deletion;
  deletion.op = Op::delete_message;
  deletion.queue = queue;
  deletion.receipts = {&entry, 1};
  world->submit(deletion, zero, zero);
  run(100);
  ASSERT_TRUE(is_answered(deletion));
  EXPECT_EQ(deletion.durability, Durability::fsync);
}

}  // namespace
}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
// Transfers of messages between queues of two shards.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/queue/transfer.h"
#include "tests/sim/two_shards_fixture.h"

namespace pawl::sim {
namespace {

TEST_F(TwoShards, ADeadLetterWakesWhoWaitsOnTheOtherShard) {
  make_dead_letters({"a"});
  std::vector<Delivery> deliveries(1);
  Request poll;
  poll.op = Op::receive;
  poll.queue = target;
  poll.receive.wait = seconds(20);
  poll.deliveries = deliveries;
  EXPECT_FALSE(ask(poll, one));
  received.clear();
  Request nudge;
  std::vector<Delivery> other_deliveries(1);
  nudge.op = Op::receive;
  nudge.queue = source;
  nudge.receive.wait = Duration{0};
  nudge.deliveries = other_deliveries;
  EXPECT_TRUE(ask(nudge, zero));
  ASSERT_TRUE(answers.contains(&poll));
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].body, "a");
  EXPECT_EQ(received[0].count, 2u);
  EXPECT_EQ(received[0].origin.substr(0, 8), "0/source");
  EXPECT_EQ(received[0].id, message_id(world.secret(), source, 1));
  EXPECT_EQ(transfers(), 0u);
  EXPECT_TRUE(world.loop(1).shard().unsettled_transfers().empty());
}

TEST_F(TwoShards, ADeadLetterPastTheRetentionOfItsTargetIsGoneAndStaysSo) {
  set(target, {Attribute::message_retention_period, 60, {}});
  send({"a"});
  EXPECT_EQ(receive(source, zero).size(), 1u);
  run(61'000'000);
  // The target's shard is busy: the message arrives and expires in one turn.
  Request nudge;
  std::vector<Delivery> deliveries(1);
  nudge.op = Op::receive;
  nudge.queue = source;
  nudge.receive.wait = Duration{0};
  nudge.deliveries = deliveries;
  world.stall(1, 50'000);
  EXPECT_FALSE(ask(nudge, zero));
  run(200'000);
  EXPECT_TRUE(answers.contains(&nudge));
  EXPECT_TRUE(receive(target, one).empty());
  EXPECT_EQ(count(target, one).visible, 0u);
  EXPECT_EQ(world.loop(1).shard().messages(), 0u);
  EXPECT_EQ(world.loop(0).shard().messages(), 0u);
}

// A dead letter has more parts than the message that was published.
TEST_F(TwoShards, TheLargestPublishedBodyFitsAsADeadLetterToo) {
  const QueueId dead_letters = make_queue(name_on(zero, "letters"), {});
  const QueueId worn = make_queue(name_on(one, "worn"), wearing_out(name_on(zero, "letters")));
  std::string body(world.loop(1).log().max_record_bytes(), 'x');
  Request publish;
  publish.op = Op::fan_out;
  do {
    body.pop_back();
    SendEntry entry;
    entry.content = {.body = body, .notification = "note"};
    FanOutTarget to{
        .queue = worn, .subscription = {1, 1}
    };
    publish.error = Errc::ok;
    publish.sends = {&entry, 1};
    publish.targets = {&to, 1};
    ASSERT_TRUE(ask(publish, one));
  } while (publish.error == Errc::too_large);
  ASSERT_EQ(publish.error, Errc::ok);
  ASSERT_EQ(receive(worn, one).size(), 1u);
  run(1'100'000);
  EXPECT_TRUE(receive(worn, one).empty());
  const std::vector<Received> letters = receive(dead_letters, zero);
  ASSERT_EQ(letters.size(), 1u);
  EXPECT_EQ(letters[0].body, body);
}

// A deleted queue had accepted the message; the source's delete may be on the disk or not.
TEST_F(TwoShards, WhatWentWithItsQueueDoesNotComeBackToItsSource) {
  const std::string dead_letters_name = name_on(zero, "letters");
  const QueueId worn = make_queue(name_on(one, "worn"), wearing_out(dead_letters_name));
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    const QueueId dead_letters = make_queue(dead_letters_name, {});
    send(worn, one, {"a"});
    EXPECT_EQ(receive(worn, one).size(), 1u);
    run(1'100'000);
    world.disk(1).set_delay(10'000'000);
    Request nudge;
    std::vector<Delivery> deliveries(1);
    nudge.op = Op::receive;
    nudge.queue = worn;
    nudge.receive.wait = seconds(1);
    nudge.deliveries = deliveries;
    submit(nudge, one);
    run(20'000);
    ASSERT_EQ(count(dead_letters, zero).visible, 1u);
    drop(dead_letters);
    ASSERT_TRUE(world.loop(1).log().pending());
    world.crash(Crash::power);
    world.disk(1).set_delay(1000);
    ASSERT_EQ(world.start(0), Start::up) << world.complaint();
    run(1'100'000);
    ASSERT_EQ(count(worn, one).visible, 0u);
    EXPECT_TRUE(world.loop(0).shard().unsettled_transfers().empty());
    EXPECT_EQ(transfers(), 0u);
  }
}

TEST_F(TwoShards, WhatComesBackFromAMoveHasTheDelayThatItsQueueHasByThen) {
  const std::string there_name = name_on(one, "there");
  const QueueId there = make_queue(there_name, {
                                                   {Attribute::fifo_queue, 1, {}}
  });
  const QueueId here = make_queue(name_on(zero, "here"), {
                                                             {Attribute::fifo_queue, 1, {}}
  });
  send(here, zero, {"a"}, "g");
  world.stall(1, 50'000);
  const std::string destination = "0/" + there_name;
  Request move;
  move.op = Op::start_move;
  move.queue = here;
  move.move.destination = destination;
  ASSERT_TRUE(ask(move, zero));
  ASSERT_EQ(transfers(), 1u);
  AttributeChange delay{Attribute::delay_seconds, 10, {}};
  Request set, drop;
  set.op = Op::set_attributes;
  set.queue = here;
  set.changes = {&delay, 1};
  submit(set, control_shard);
  drop.op = Op::delete_queue;
  drop.queue = there;
  submit(drop, control_shard);
  run(100'000);
  ASSERT_TRUE(answers.contains(&set) && answers.contains(&drop));
  ASSERT_EQ(transfers(), 0u);
  EXPECT_EQ(count(here, zero).delayed, 1u);
  EXPECT_TRUE(receive(here, zero).empty());
  run(10'000'000);
  EXPECT_EQ(receive(here, zero).size(), 1u);
}

TEST_F(TwoShards, AStopEndsOnlyWhenNothingIsUnderWay) {
  make_dead_letters({"a", "b"});
  std::vector<Delivery> deliveries(10);
  Request nudge;
  nudge.op = Op::receive;
  nudge.queue = source;
  nudge.receive.max = 10;
  nudge.receive.wait = seconds(20);
  nudge.deliveries = deliveries;
  submit(nudge, zero);
  ASSERT_TRUE(world.turn(0));
  EXPECT_EQ(transfers(), 2u);
  world.loop(0).begin_drain();
  world.loop(1).begin_drain();
  EXPECT_FALSE(world.loop(0).drained());
  for (std::uint32_t shard : {0u, 1u}) world.wake(shard);
  run(20'000);
  EXPECT_TRUE(answers.contains(&nudge));
  EXPECT_TRUE(world.loop(0).drained() && world.loop(1).drained());
  EXPECT_EQ(transfers(), 0u);
  EXPECT_EQ(world.loop(1).shard().messages(), 2u);
}

Plan little_memory() {
  Plan plan = calm_plan(2);
  plan.memory = 512 << 10;
  return plan;
}

class TwoFullShards : public TwoShards {
 protected:
  TwoFullShards() : TwoShards(little_memory()) {}

  // Sends until the memory accepts no more.
  void fill(QueueId queue, ShardId owner) {
    std::vector<SendEntry> entries(1000);
    for (SendEntry& entry : entries) entry.content.body = "x";
    for (int i = 0; i < 1000; ++i) {
      Request request;
      request.op = Op::send;
      request.queue = queue;
      request.sends = entries;
      ASSERT_TRUE(ask(request, owner, 200'000));
      if (request.error == Errc::no_memory) return;
    }
    FAIL() << "a million messages and it is not full";
  }
  // Starts transfers of dead letters by a short poll of each queue. Returns the maximum that was
  // under way in one shard.
  std::size_t move_some(QueueId worn) {
    std::vector<Delivery> deliveries(10), other_deliveries(10);
    Request first, second;
    first.op = second.op = Op::receive;
    first.queue = source;
    second.queue = worn;
    first.deliveries = deliveries;
    second.deliveries = other_deliveries;
    first.receive.wait = second.receive.wait = Duration{0};
    submit(first, zero);
    submit(second, one);
    std::size_t most = 0;
    for (int i = 0; i < 60'000 && !(answers.contains(&first) && answers.contains(&second)); ++i) {
      run(100);
      for (std::uint32_t shard = 0; shard < 2; ++shard)
        most = std::max(most, world.loop(shard).shard().transfers());
    }
    EXPECT_TRUE(answers.contains(&first) && answers.contains(&second));
    return most;
  }
};

// Messages in flight in another queue fill the memory beyond the limit of transfers: each was
// received singly, so it has a slot. Dead letters still move between queues of the shard: they free
// as much as they take.
TEST_F(TwoFullShards, DeadLettersLeaveAFullShardForAnotherQueueOfIt) {
  const std::string back_name = name_on(zero, "back");
  const QueueId back = make_queue(back_name, {});
  const QueueId worn = make_queue(name_on(zero, "worn"), wearing_out(back_name));
  const QueueId filler = make_queue(name_on(zero, "filler"), {});
  send(worn, zero, std::vector<std::string>(10, "dead"));
  EXPECT_EQ(receive(worn, zero).size(), 10u);
  fill(filler, zero);
  for (int i = 0; i < 1'100; ++i) EXPECT_EQ(receive(filler, zero, 1).size(), 1u);
  ASSERT_GT(world.loop(0).shard().memory().sum(), little_memory().memory * 15 / 16);
  for (int round = 0; round < 5 && count(back, zero).visible < 10; ++round) {
    run(1'100'000);
    EXPECT_TRUE(receive(worn, zero).empty());
  }
  EXPECT_EQ(count(back, zero).visible, 10u);
}

// Transfers are limited at their source, and neither shard blocks the other for ever.
TEST_F(TwoFullShards, TransfersBothWaysTakeTheirShareOfTheMemoryAndArrive) {
  const std::string back_name = name_on(zero, "back");
  const QueueId back = make_queue(back_name, {});
  const QueueId worn = make_queue(name_on(one, "worn"), wearing_out(back_name));
  const QueueId fillers[] = {make_queue(name_on(zero, "filler"), {}),
                             make_queue(name_on(one, "filler"), {})};
  const std::vector<std::string> bodies(10, std::string(4000, 'x'));
  for (int i = 0; i < 4; ++i) {
    send(source, zero, bodies);
    send(worn, one, bodies);
    EXPECT_EQ(receive(source, zero).size(), bodies.size());
    EXPECT_EQ(receive(worn, one).size(), bodies.size());
  }
  fill(fillers[0], zero);
  fill(fillers[1], one);
  run(1'100'000);
  std::size_t most = 0;
  const auto arrived = [&] { return count(target, one).visible + count(back, zero).visible; };
  for (int round = 0; round < 20 && arrived() < 80; ++round) {
    most = std::max(most, move_some(worn));
    run(1'100'000);  // transfers without space in the target's log are tried again
  }
  EXPECT_EQ(count(target, one).visible, 40u);
  EXPECT_EQ(count(back, zero).visible, 40u);
  EXPECT_GE(most, 2u);
  EXPECT_LE(most * 4000, little_memory().memory / 16);
  EXPECT_EQ(transfers(), 0u);
  EXPECT_EQ(world.loop(0).shard().memory().transfers, 0u);
}

TEST_F(TwoShards, NothingIsLostOrDoubledWheneverTheProcessDies) {
  const std::vector<std::string> bodies{"a", "b", "c"};
  send(bodies);
  EXPECT_EQ(receive(source, zero).size(), bodies.size());
  for (std::uint64_t us = 0; us < 3'000; us += 60) {
    SCOPED_TRACE(us);
    run(1'100'000);
    auto deliveries = std::make_unique<std::vector<Delivery>>(10);
    auto nudge = std::make_unique<Request>();
    nudge->op = Op::receive;
    nudge->queue = source;
    nudge->receive.max = 10;
    nudge->receive.wait = seconds(1);
    nudge->deliveries = *deliveries;
    submit(*nudge, zero);
    run(us);
    world.crash(us % 120 == 0 ? Crash::power : Crash::process);
    ASSERT_EQ(world.start(0), Start::up) << world.complaint();
    run(1'100'000);
    receive(source, zero);  // moves the messages that have not moved yet
    run(20'000);
    EXPECT_EQ(count(source, zero).visible, 0u);
    EXPECT_EQ(transfers(), 0u);
    EXPECT_TRUE(world.loop(1).shard().unsettled_transfers().empty());
    std::vector<Received> moved = receive(target, one);
    std::vector<std::string> found;
    for (const Received& r : moved) found.push_back(r.body);
    std::ranges::sort(found);
    ASSERT_EQ(found, bodies);
    delete_messages(target, one, moved);
    send(bodies);
    EXPECT_EQ(receive(source, zero).size(), bodies.size());
  }
}

}  // namespace
}  // namespace pawl::sim

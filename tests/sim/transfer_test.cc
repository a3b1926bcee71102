// Messages on their way between queues of two shards.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/transfer.h"
#include "tests/sim/shard_loop_fixture.h"

namespace pawl::sim {
namespace {

constexpr ShardId one{1};

struct Received {
  std::string body, origin;
  std::uint32_t count = 0;
  MessageId id;
  ReceiptHandle handle{};
};

// Two shards, a queue on each: the dead letters of `source` go to `target`.
class TwoShards : public testing::Test, public Audience {
 protected:
  void answered(ShardId, Request& request) override {
    answers.insert(&request);
    if (request.op != Op::receive) return;
    for (const Delivery& d : request.deliveries.first(request.delivered)) {
      received.push_back({std::string(d.content.body), std::string(d.content.origin),
                          d.receive_count, d.id, d.handle});
    }
  }
  void turned(const Turn&) override {}

  void SetUp() override {
    ASSERT_EQ(world.start(0), Start::up);
    const std::string target_name = name_on(one, "target");
    target = make_queue(target_name, {});
    source = make_queue(name_on(zero, "source"), wearing_out(target_name));
  }
  void run(std::uint64_t us) {
    for (const std::uint64_t end = world.now_us() + us; world.now_us() < end; world.advance(20)) {
      for (std::uint32_t shard = 0; shard < world.shards(); ++shard) {
        if (world.runnable(shard)) {
          ASSERT_TRUE(world.turn(shard));
        }
      }
    }
  }
  void submit(Request& request, ShardId to) {
    answers.erase(&request);  // of an earlier one at the same place
    world.submit(request, zero, to);
  }
  bool ask(Request& request, ShardId to, std::uint64_t patience_us = 20'000) {
    submit(request, to);
    run(patience_us);
    return answers.contains(&request);
  }
  // That name, or one that begins so, of a queue on that shard.
  static std::string name_on(ShardId owner, std::string name) {
    while (place("0", name, 2) != owner) name += "x";
    return name;
  }
  QueueId make_queue(const std::string& name, std::vector<AttributeChange> changes) {
    QueueSpec spec{.account = "0", .name = name, .changes = std::move(changes), .tags = {}};
    Request create;
    create.op = Op::create_queue;
    create.spec = &spec;
    EXPECT_TRUE(ask(create, control_shard));
    return create.config->id;
  }
  static std::vector<AttributeChange> wearing_out(const std::string& target_name) {
    return {
        {Attribute::max_receive_count,  1,  {}                },
        {Attribute::dead_letter_target, -1, "0/" + target_name},
        {Attribute::visibility_timeout, 1,  {}                }
    };
  }
  void set(QueueId queue, AttributeChange change) {
    Request request;
    request.op = Op::set_attributes;
    request.queue = queue;
    request.changes = {&change, 1};
    EXPECT_TRUE(ask(request, control_shard));
  }
  void send(const std::vector<std::string>& bodies) { send(source, zero, bodies); }
  void send(QueueId queue, ShardId owner, const std::vector<std::string>& bodies,
            std::string_view group = {}) {
    std::vector<SendEntry> entries(bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i)
      entries[i].content = {.body = bodies[i], .group = group, .dedup_id = group};
    Request request;
    request.op = Op::send;
    request.queue = queue;
    request.sends = entries;
    EXPECT_TRUE(ask(request, owner));
  }
  // What a short poll gets.
  std::vector<Received> receive(QueueId queue, ShardId owner) {
    std::vector<Delivery> room(10);
    Request request;
    request.op = Op::receive;
    request.queue = queue;
    request.receive.max = 10;
    request.receive.wait = Duration{0};
    request.deliveries = room;
    received.clear();
    EXPECT_TRUE(ask(request, owner));
    return received;
  }
  QueueCounts count(QueueId queue, ShardId owner) {
    Request request;
    request.op = Op::count;
    request.queue = queue;
    EXPECT_TRUE(ask(request, owner));
    return request.counts;
  }
  // Messages that the next receive moves instead of delivering.
  void make_dead_letters(const std::vector<std::string>& bodies) {
    send(bodies);
    EXPECT_EQ(receive(source, zero).size(), bodies.size());
    run(1'100'000);
  }
  std::size_t transfers() {
    return world.loop(0).shard().transfers() + world.loop(1).shard().transfers();
  }

  Trace trace{false};
  World world{calm_plan(2), trace, *this};
  QueueId source{}, target{};
  std::set<const Request*> answers;
  std::vector<Received> received;
};

TEST_F(TwoShards, ADeadLetterWakesWhoWaitsOnTheOtherShard) {
  make_dead_letters({"a"});
  std::vector<Delivery> room(1);
  Request poll;
  poll.op = Op::receive;
  poll.queue = target;
  poll.receive.wait = seconds(20);
  poll.deliveries = room;
  EXPECT_FALSE(ask(poll, one));
  received.clear();
  Request nudge;
  std::vector<Delivery> other_room(1);
  nudge.op = Op::receive;
  nudge.queue = source;
  nudge.receive.wait = Duration{0};
  nudge.deliveries = other_room;
  EXPECT_TRUE(ask(nudge, zero));
  ASSERT_TRUE(answers.contains(&poll));
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(received[0].body, "a");
  EXPECT_EQ(received[0].count, 2u);
  EXPECT_EQ(received[0].origin.substr(0, 8), "0/source");
  EXPECT_EQ(received[0].id, message_id(world.secret(), source, 1));
  EXPECT_EQ(transfers(), 0u);
  EXPECT_TRUE(world.loop(1).shard().unsettled().empty());
}

TEST_F(TwoShards, ADeadLetterPastTheRetentionOfItsTargetIsGoneAndStaysSo) {
  set(target, {Attribute::message_retention_period, 60, {}});
  send({"a"});
  EXPECT_EQ(receive(source, zero).size(), 1u);
  run(61'000'000);
  // The target's shard is busy: the message and its end come in one turn.
  Request nudge;
  std::vector<Delivery> room(1);
  nudge.op = Op::receive;
  nudge.queue = source;
  nudge.receive.wait = Duration{0};
  nudge.deliveries = room;
  world.stall(1, 50'000);
  EXPECT_FALSE(ask(nudge, zero));
  run(200'000);
  EXPECT_TRUE(answers.contains(&nudge));
  EXPECT_TRUE(receive(target, one).empty());
  EXPECT_EQ(count(target, one).visible, 0u);
  EXPECT_EQ(world.loop(1).shard().messages(), 0u);
  EXPECT_EQ(world.loop(0).shard().messages(), 0u);
}

// A queue that was deleted had taken it; that its source has let go may be on the disk or not.
TEST_F(TwoShards, WhatWentWithItsQueueDoesNotComeBackToItsSource) {
  const std::string letters_name = name_on(zero, "letters");
  const QueueId worn = make_queue(name_on(one, "worn"), wearing_out(letters_name));
  for (int round = 0; round < 8; ++round) {
    SCOPED_TRACE(round);
    const QueueId letters = make_queue(letters_name, {});
    send(worn, one, {"a"});
    EXPECT_EQ(receive(worn, one).size(), 1u);
    run(1'100'000);
    world.disk(1).set_delay(10'000'000);
    Request nudge;
    std::vector<Delivery> room(1);
    nudge.op = Op::receive;
    nudge.queue = worn;
    nudge.receive.wait = seconds(1);
    nudge.deliveries = room;
    submit(nudge, one);
    run(20'000);
    ASSERT_EQ(count(letters, zero).visible, 1u);
    Request drop;
    drop.op = Op::delete_queue;
    drop.queue = letters;
    ASSERT_TRUE(ask(drop, control_shard));
    ASSERT_TRUE(world.loop(1).log().pending());
    world.crash(Crash::power);
    world.disk(1).set_delay(1000);
    ASSERT_EQ(world.start(0), Start::up) << world.complaint();
    run(1'100'000);
    ASSERT_EQ(count(worn, one).visible, 0u);
    EXPECT_TRUE(world.loop(0).shard().unsettled().empty());
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
  std::vector<Delivery> room(10);
  Request nudge;
  nudge.op = Op::receive;
  nudge.queue = source;
  nudge.receive.max = 10;
  nudge.receive.wait = seconds(20);
  nudge.deliveries = room;
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

TEST_F(TwoShards, NothingIsLostOrDoubledWheneverTheProcessDies) {
  const std::vector<std::string> bodies{"a", "b", "c"};
  send(bodies);
  EXPECT_EQ(receive(source, zero).size(), bodies.size());
  for (std::uint64_t us = 0; us < 3'000; us += 60) {
    SCOPED_TRACE(us);
    run(1'100'000);
    auto room = std::make_unique<std::vector<Delivery>>(10);
    auto nudge = std::make_unique<Request>();
    nudge->op = Op::receive;
    nudge->queue = source;
    nudge->receive.max = 10;
    nudge->receive.wait = seconds(1);
    nudge->deliveries = *room;
    submit(*nudge, zero);
    run(us);
    world.crash(us % 120 == 0 ? Crash::power : Crash::process);
    ASSERT_EQ(world.start(0), Start::up) << world.complaint();
    run(1'100'000);
    receive(source, zero);  // what was not moved is now
    run(20'000);
    EXPECT_EQ(count(source, zero).visible, 0u);
    EXPECT_EQ(transfers(), 0u);
    EXPECT_TRUE(world.loop(1).shard().unsettled().empty());
    std::vector<Received> moved = receive(target, one);
    std::vector<std::string> found;
    for (const Received& r : moved) found.push_back(r.body);
    std::ranges::sort(found);
    ASSERT_EQ(found, bodies);
    std::vector<ReceiptEntry> entries;
    for (const Received& r : moved) entries.push_back({.handle = r.handle});
    Request remove;
    remove.op = Op::remove;
    remove.queue = target;
    remove.receipts = entries;
    EXPECT_TRUE(ask(remove, one));
    send(bodies);
    EXPECT_EQ(receive(source, zero).size(), bodies.size());
  }
}

}  // namespace
}  // namespace pawl::sim

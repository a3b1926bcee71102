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
    target = make_queue("target", one, {});
    source = make_queue("source", zero,
                        {
                            {Attribute::max_receive_count,  1,  {}         },
                            {Attribute::dead_letter_target, -1, target_name},
                            {Attribute::visibility_timeout, 1,  {}         }
    });
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
  // A queue of that name, or of one that begins so, on that shard.
  QueueId make_queue(std::string name, ShardId owner, std::vector<AttributeChange> changes) {
    while (place("0", name, 2) != owner) name += "x";
    if (owner == one) target_name = "0/" + name;
    QueueSpec spec{.account = "0", .name = name, .changes = std::move(changes), .tags = {}};
    Request create;
    create.op = Op::create_queue;
    create.spec = &spec;
    EXPECT_TRUE(ask(create, control_shard));
    return create.config->id;
  }
  void set(QueueId queue, AttributeChange change) {
    Request request;
    request.op = Op::set_attributes;
    request.queue = queue;
    request.changes = {&change, 1};
    EXPECT_TRUE(ask(request, control_shard));
  }
  void send(const std::vector<std::string>& bodies) {
    std::vector<SendEntry> entries(bodies.size());
    for (std::size_t i = 0; i < bodies.size(); ++i) entries[i].content.body = bodies[i];
    Request request;
    request.op = Op::send;
    request.queue = source;
    request.sends = entries;
    EXPECT_TRUE(ask(request, zero));
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
  std::string target_name;
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

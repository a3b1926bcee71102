// SPDX-License-Identifier: Apache-2.0
// Fixture with two shards and a queue on each; requests run one after the other.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/sim/shard_loop_fixture.h"

namespace pawl::sim {

inline constexpr ShardId one{1};

struct Received {
  std::string body, origin;
  std::uint32_t count = 0;
  MessageId id;
  ReceiptHandle handle{};
};

// Two shards with a queue on each; the dead letters of `source` go to `target`.
class TwoShards : public testing::Test, public BrokerObserver {
 protected:
  explicit TwoShards(const Plan& plan = calm_plan(2)) : world(plan, trace, *this) {}

  void on_response(ShardId, Request& request) override {
    answers.insert(&request);
    if (request.op != Op::receive) return;
    for (const Delivery& d : request.deliveries.first(request.delivered)) {
      received.push_back({std::string(d.content.body), std::string(d.content.origin),
                          d.receive_count, d.id, d.handle});
    }
  }
  void on_turn(const Turn&) override {}

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
    answers.erase(&request);  // an earlier request may have had the same address
    world.submit(request, zero, to);
  }
  bool ask(Request& request, ShardId to, std::uint64_t patience_us = 20'000) {
    submit(request, to);
    run(patience_us);
    return answers.contains(&request);
  }
  // Returns the name, extended until its queue belongs to that shard.
  static std::string name_on(ShardId owner, std::string name) {
    while (shard_of("0", name, 2) != owner) name += "x";
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
  void purge(QueueId queue, ShardId owner, std::uint64_t patience_us = 20'000) {
    Request request;
    request.op = Op::purge;
    request.queue = queue;
    EXPECT_TRUE(ask(request, owner, patience_us));
  }
  void drop(QueueId queue) {
    Request request;
    request.op = Op::delete_queue;
    request.queue = queue;
    EXPECT_TRUE(ask(request, control_shard));
  }
  void delete_messages(QueueId queue, ShardId owner, const std::vector<Received>& messages) {
    std::vector<ReceiptEntry> entries;
    for (const Received& message : messages) entries.push_back({.handle = message.handle});
    Request request;
    request.op = Op::delete_message;
    request.queue = queue;
    request.receipts = entries;
    EXPECT_TRUE(ask(request, owner));
  }
  // Returns the messages of a short poll.
  std::vector<Received> receive(QueueId queue, ShardId owner, std::uint32_t max = 10) {
    std::vector<Delivery> deliveries(max);
    Request request;
    request.op = Op::receive;
    request.queue = queue;
    request.receive.max = max;
    request.receive.wait = Duration{0};
    request.deliveries = deliveries;
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
  // Makes messages that the next receive moves instead of delivering.
  void make_dead_letters(const std::vector<std::string>& bodies) {
    send(bodies);
    EXPECT_EQ(receive(source, zero).size(), bodies.size());
    run(1'100'000);
  }
  std::size_t transfers() {
    return world.loop(0).shard().transfers() + world.loop(1).shard().transfers();
  }

  Trace trace{false};
  SimulatedBroker world;
  QueueId source{}, target{};
  std::set<const Request*> answers;
  std::vector<Received> received;
};

}  // namespace pawl::sim

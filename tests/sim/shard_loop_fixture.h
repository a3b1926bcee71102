// SPDX-License-Identifier: Apache-2.0
// Fixture for tests of the shard loop: a broker without faults, and the owner of the requests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "net/engine/shard_loop.h"
#include "tests/sim/plan.h"
#include "tests/sim/simulated_broker.h"

namespace pawl::sim {

inline constexpr ShardId zero{0};

inline Plan calm_plan(std::uint32_t shards) {
  Plan plan;
  plan.seed = 1;
  plan.shards = shards;
  plan.extra_turns = 0;
  plan.log.segment_bytes = 64 << 10;
  plan.log.extent_bytes = 16 << 10;
  return plan;
}

// A broker and the owner of its requests.
class ShardLoopTest : public testing::Test, public BrokerObserver {
 protected:
  void on_response(ShardId, Request& request) override { answers.insert(&request); }
  void on_turn(const Turn&) override {}

  void start(std::uint32_t shards) { start(calm_plan(shards)); }
  void start(const Plan& plan) {
    world = std::make_unique<SimulatedBroker>(plan, trace, *this);
    ASSERT_EQ(world->start(0), Start::up);
  }
  bool is_answered(const Request& request) const { return answers.contains(&request); }
  void run(std::uint64_t us) {
    for (const std::uint64_t end = world->now_us() + us; world->now_us() < end;
         world->advance(10)) {
      for (std::uint32_t shard = 0; shard < world->shards(); ++shard)
        if (world->runnable(shard)) {
          EXPECT_TRUE(world->turn(shard));
        }
    }
  }
  // Creates a queue that the shard owns; one for each prefix.
  QueueId make_queue(ShardId owner, const std::string& prefix = "q") {
    for (int n = 0;; ++n) {
      QueueSpec spec{.account = "0", .name = prefix + std::to_string(n), .changes = {}, .tags = {}};
      if (shard_of(spec.account, spec.name, world->shards()) != owner) continue;
      Request create;
      create.op = Op::create_queue;
      create.spec = &spec;
      world->submit(create, zero, control_shard);
      run(10'000);
      EXPECT_TRUE(is_answered(create));
      return create.config->id;
    }
  }

  struct Send {
    std::string body;
    SendEntry entry;
    Request request;
  };
  Send& send(QueueId queue, std::string body) {
    Send& made = make_send(queue, std::move(body));
    world->submit(made.request, zero, zero);
    return made;
  }
  Send& make_send(QueueId queue, std::string body) {
    Send& made = *sends.emplace_back(std::make_unique<Send>());
    made.body = std::move(body);
    made.entry.content.body = made.body;
    made.request.op = Op::send;
    made.request.queue = queue;
    made.request.sends = {&made.entry, 1};
    return made;
  }

  Trace trace{false};
  std::unique_ptr<SimulatedBroker> world;
  std::unordered_set<const Request*> answers;
  std::vector<std::unique_ptr<Send>> sends;  // sends to queues of shard 0
};

}  // namespace pawl::sim

// What the simulator found in net/shard_loop, as small as it gets.
#include "net/shard_loop.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/sim/plan.h"
#include "tests/sim/world.h"

namespace pawl::sim {
namespace {

constexpr ShardId zero{0};

Plan calm_plan(std::uint32_t shards) {
  Plan plan;
  plan.seed = 1;
  plan.shards = shards;
  plan.extra_turns = 0;
  plan.log.segment_bytes = 64 << 10;
  plan.log.extent_bytes = 16 << 10;
  return plan;
}

// A broker and who asks it.
class ShardLoopTest : public testing::Test, public Audience {
 protected:
  void answered(ShardId, Request& request) override { answers.push_back(&request); }
  void turned(const Turn&) override {}

  void start(std::uint32_t shards) {
    world = std::make_unique<World>(calm_plan(shards), trace, *this);
    ASSERT_EQ(world->start(0), Start::up);
  }
  bool is_answered(const Request& request) const {
    return std::ranges::find(answers, &request) != answers.end();
  }
  void run(std::uint64_t us) {
    for (const std::uint64_t end = world->now_us() + us; world->now_us() < end;
         world->advance(10)) {
      for (std::uint32_t shard = 0; shard < world->shards(); ++shard)
        if (world->runnable(shard)) {
          EXPECT_TRUE(world->turn(shard));
        }
    }
  }
  // A queue that the shard owns.
  QueueId make_queue(ShardId owner) {
    for (int n = 0;; ++n) {
      QueueSpec spec{.account = "0", .name = "q" + std::to_string(n), .changes = {}, .tags = {}};
      if (place(spec.account, spec.name, world->shards()) != owner) continue;
      Request create;
      create.op = Op::create_queue;
      create.spec = &spec;
      world->submit(create, zero, control_shard);
      run(10'000);
      EXPECT_TRUE(is_answered(create));
      return create.config->id;
    }
  }

  Trace trace{false};
  std::unique_ptr<World> world;
  std::vector<Request*> answers;
};

TEST_F(ShardLoopTest, ALongPollThatIsCancelledBeforeItsTurnIsAnsweredAtOnce) {
  for (const std::uint8_t owner : {std::uint8_t{0}, std::uint8_t{1}}) {
    SCOPED_TRACE(owner == 0 ? "own queue" : "queue of another shard");
    start(2);
    Request receive;
    std::vector<Delivery> room(1);
    receive.op = Op::receive;
    receive.queue = make_queue(ShardId{owner});
    receive.receive.wait = seconds(20);
    receive.deliveries = room;
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

}  // namespace
}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
// Queue creation, change and deletion through the control shard, and their effects on other shards.
#include <gtest/gtest.h>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

std::vector<AttributeChange> change(Attribute attribute, std::int64_t number) {
  return {
      {.attribute = attribute, .number = number, .text = {}}
  };
}

TEST(CreateQueue, TwiceGivesTheSameQueue) {
  ShardHarness world;
  const QueueId first = world.create("q", {}).request.config->id;
  Ask& again = world.create("q", {});
  EXPECT_EQ(again.request.error, Errc::ok);
  EXPECT_EQ(again.request.config->id, first);
}

TEST(CreateQueue, ComparesOnlyWhatIsAskedForWithWhatIsNow) {
  run("queue q visibility=10 delay=5 | queue q | queue q delay=5 | queue q retention=4d | "
      "queue q delay=6 -> queue_exists | set q delay=6 | queue q delay=6 visibility=10");
}

TEST(CreateQueue, NamesTheFirstAttributeThatDiffers) {
  ShardHarness world;
  world.create("q", {});
  std::vector<AttributeChange> changes = change(Attribute::visibility_timeout, 30);
  changes.push_back({.attribute = Attribute::delay_seconds, .number = 9, .text = {}});
  changes.push_back({.attribute = Attribute::policy, .number = -1, .text = "{}"});
  Ask& ask = world.create("q", changes);
  EXPECT_EQ(ask.request.error, Errc::queue_exists);
  EXPECT_EQ(ask.request.differing, Attribute::delay_seconds);
}

TEST(CreateQueue, IsAnsweredWhenItIsDurable) {
  run("hold | queue q -> pending | queue q -> pending | flush | queue q | send q a");
}

TEST(CreateQueue, ThatWasNotDurableIsForgottenByACrash) {
  run("hold | queue q -> pending | send q a -> pending | crash | receive q -> no_such_queue | "
      "stored -> 0 | queue q | receive q -> none");
}

TEST(CreateQueue, SetsTheTimesOfTheQueue) {
  ShardHarness world;
  Ask& created = world.create("q", {});
  const Instant then = world.now();
  EXPECT_EQ(created.request.config->created, then);
  world.advance(seconds(5));
  Ask& changed = world.set(created.request.config->id, change(Attribute::delay_seconds, 1));
  EXPECT_EQ(changed.request.config->created, then);
  EXPECT_EQ(changed.request.config->modified, then + seconds(5));
  EXPECT_EQ(changed.request.config->number(Attribute::delay_seconds), 1);
  EXPECT_EQ(created.request.config->number(Attribute::delay_seconds), 0) << "immutable once made";
}

TEST(CreateQueue, IsRefusedWhenTheDirectoryIsFull) {
  Shard shard({.secret = test_secret(), .receipt_key = test_receipt_key()}, {}, Instant{1000});
  for (std::uint32_t id = 1; id <= Directory::queues_max; ++id) {
    QueueConfig config;
    config.id = QueueId{id};
    config.name = std::to_string(id);
    shard.restore(ConfigRecord{std::make_shared<QueueConfig>(config), false});
  }
  const auto create = [&shard](const std::string& name) {
    const QueueSpec spec{.name = name};
    Request request;
    request.op = Op::create_queue;
    request.spec = &spec;
    Effects effects;
    shard.apply(request, Instant{1000}, effects);
    return request.error;
  };
  EXPECT_EQ(create("one too many"), Errc::directory_full);
  EXPECT_EQ(create("1"), Errc::ok) << "it is there already";
  shard.restore(ConfigRecord{*shard.directory().find(QueueId{7}), true});
  EXPECT_EQ(create("one too many"), Errc::ok);
}

// AWS does the same; pawl does with --strict-sqs.
TEST(CreateQueue, WaitsAfterADeleteOfTheNameWhenAskedTo) {
  const auto create = [](ShardHarness& world, const std::string& account, const std::string& name) {
    return world.create(account, name, {}).request.error;
  };
  ShardHarness world({.deleted_name_wait = seconds(60)});
  ASSERT_EQ(create(world, "1", "q"), Errc::ok);
  ASSERT_EQ(create(world, "sns/1", "t"), Errc::ok);
  world.plain(Op::delete_queue, (*world.shard().directory().find("1", "q"))->id);
  world.plain(Op::delete_queue, (*world.shard().directory().find("sns/1", "t"))->id);
  EXPECT_EQ(create(world, "1", "q"), Errc::queue_deleted_recently);
  EXPECT_EQ(create(world, "2", "q"), Errc::ok) << "another account's";
  EXPECT_EQ(create(world, "sns/1", "t"), Errc::ok) << "a topic's name is free at once";
  world.advance(milliseconds(20'000));
  world.crash();
  EXPECT_EQ(create(world, "1", "q"), Errc::queue_deleted_recently);
  world.rotate();
  world.crash();
  EXPECT_EQ(create(world, "1", "q"), Errc::queue_deleted_recently);
  world.advance(milliseconds(39'998));
  EXPECT_EQ(create(world, "1", "q"), Errc::queue_deleted_recently);
  world.advance(milliseconds(2));
  EXPECT_EQ(create(world, "1", "q"), Errc::ok);
  EXPECT_EQ(create(world, "1", "q"), Errc::ok) << "it is there";

  ShardHarness usual;
  ASSERT_EQ(create(usual, "1", "q"), Errc::ok);
  usual.plain(Op::delete_queue, (*usual.shard().directory().find("1", "q"))->id);
  EXPECT_EQ(create(usual, "1", "q"), Errc::ok);
}

TEST(CreateQueue, TakesAllQueuesWithTheLongestNames) {
  QueueConfig config;
  config.account = std::string(12, '0');
  config.name = std::string(80, 'n');
  EXPECT_LE(Directory::bytes_of(config) * Directory::queues_max, Directory::bytes_max);
}

TEST(CreateQueue, IsRefusedToAnAccountThatHasItsShareAndToNoOther) {
  ShardHarness world({.account_queues_max = 2});
  const auto create = [&](const std::string& account, const std::string& name) {
    return world.create(account, name, {}).request.error;
  };
  EXPECT_EQ(create("1", "a"), Errc::ok);
  EXPECT_EQ(create("sns/1", "topic"), Errc::ok);
  EXPECT_EQ(create("1", "b"), Errc::directory_full);
  EXPECT_EQ(create("sns/1", "another"), Errc::directory_full);
  EXPECT_EQ(create("1", "a"), Errc::ok) << "it is there";
  EXPECT_EQ(create("2", "a"), Errc::ok);
  world.rotate();
  world.crash();
  EXPECT_EQ(create("1", "b"), Errc::directory_full);
  const QueueId a = (*world.shard().directory().find("1", "a"))->id;
  world.plain(Op::delete_queue, a);
  EXPECT_EQ(create("1", "b"), Errc::ok);
}

TEST(CreateQueue, AndSetAttributesAreRefusedWhenTheCheckpointWouldGrowTooLarge) {
  ShardHarness world({.directory_bytes_max = 2100});
  Ask& first = world.create("q", {});
  const std::vector<AttributeChange> policy = {
      {.attribute = Attribute::policy, .number = -1, .text = std::string(1500, 'p')}
  };
  EXPECT_EQ(world.set(first.request.config->id, policy).request.error, Errc::ok);
  EXPECT_EQ(world.set(first.request.config->id, policy).request.error, Errc::ok) << "not larger";
  Ask& second = world.create("p", {});
  EXPECT_EQ(second.request.error, Errc::ok);
  Ask& refused = world.set(second.request.config->id, policy);
  EXPECT_EQ(refused.request.error, Errc::directory_full);
  EXPECT_TRUE(refused.request.config->text(Attribute::policy).empty());
  EXPECT_EQ(world.create("r", policy).request.error, Errc::directory_full);
  EXPECT_EQ(world.shard().directory().size(), 2u);
  EXPECT_EQ(world
                .set(first.request.config->id,
                     {
                         {Attribute::policy, -1, ""}
  })
                .request.error,
            Errc::ok);
  EXPECT_EQ(world.create("r", policy).request.error, Errc::ok);
}

// Queue ids are not reused, because handles and records of a deleted queue contain its id.
TEST(CreateQueue, IsRefusedWhenEveryQueueIdWasUsed) {
  ShardHarness world;
  world.shard().restore(HeadRecord{QueueId::none, queue_ids_max});
  const Ask& last = world.create("last", {});
  ASSERT_EQ(last.request.error, Errc::ok);
  EXPECT_EQ(raw(last.request.config->id), queue_ids_max);
  EXPECT_EQ(world.create("q", {}).request.error, Errc::queue_ids_used_up);
  EXPECT_EQ(world.create("last", {}).request.error, Errc::ok) << "it is there";
  world.rotate();
  world.crash();
  EXPECT_EQ(world.create("q", {}).request.error, Errc::queue_ids_used_up);
  world.plain(Op::delete_queue, last.request.config->id);
  EXPECT_EQ(world.create("q", {}).request.error, Errc::queue_ids_used_up);
}

// A repaired log states 0 if it knows no queue.
TEST(CreateQueue, BeginsWithIdOneBehindARepairThatKnowsNoQueue) {
  ShardHarness world;
  world.shard().restore(HeadRecord{QueueId::none, 0});
  EXPECT_EQ(raw(world.create("first", {}).request.config->id), 1u);
}

TEST(CreateQueue, PlacesTheQueueOnOneOfTheShards) {
  Shard control({.shards = 4, .secret = test_secret(), .receipt_key = test_receipt_key()}, {},
                Instant{1000});
  std::array<int, 4> owned{};
  for (int i = 0; i < 400; ++i) {
    const QueueSpec spec{.account = "a", .name = "queue" + std::to_string(i)};
    Request request;
    request.op = Op::create_queue;
    request.spec = &spec;
    Effects effects;
    control.apply(request, Instant{1000}, effects);
    ASSERT_LT(raw(request.config->owner), 4u);
    ++owned[raw(request.config->owner)];
  }
  for (const int count : owned) EXPECT_GT(count, 60);
}

TEST(OtherShard, ServesOnlyTheQueuesItOwns) {
  Shard shard(
      {.id = ShardId{1}, .shards = 2, .secret = test_secret(), .receipt_key = test_receipt_key()},
      {}, Instant{1000});
  QueueConfig config;
  config.id = QueueId{1};
  config.owner = ShardId{0};
  config.name = "elsewhere";
  shard.put_config(std::make_shared<QueueConfig>(config), Instant{1000});
  config.id = QueueId{2};
  config.owner = ShardId{1};
  config.name = "here";
  shard.put_config(std::make_shared<QueueConfig>(config), Instant{1000});
  const auto count = [&shard](QueueId queue) {
    Request request;
    request.op = Op::count;
    request.queue = queue;
    Effects effects;
    shard.apply(request, Instant{1000}, effects);
    EXPECT_EQ(effects.replies.size(), 1u);
    return request.error;
  };
  EXPECT_EQ(count(QueueId{1}), Errc::no_such_queue);
  EXPECT_EQ(count(QueueId{2}), Errc::ok);
  Effects effects;
  shard.drop_queue(QueueId{2}, effects);
  EXPECT_EQ(count(QueueId{2}), Errc::no_such_queue);
}

TEST(OtherShard, RefusesHandlesOfTheSameQueueOnAnotherShard) {
  Script script;
  script.run("queue q | send q a | receive q -> a#1");
  const ReceiptHandle handle = seal(
      test_receipt_key(), {.shard = ShardId{1}, .queue = script.queue("q"), .seq = 1, .nonce = 0});
  Ask& ask = script.world().receipts(Op::delete_message, script.queue("q"), {handle});
  EXPECT_EQ(ask.receipts[0].error, Errc::receipt_invalid);
}

TEST(OtherShard, PutsNoQueuesOfTheDirectoryIntoItsCheckpoint) {
  Shard shard(
      {.id = ShardId{1}, .shards = 2, .secret = test_secret(), .receipt_key = test_receipt_key()},
      {}, Instant{1000});
  QueueConfig config;
  config.id = QueueId{2};
  config.owner = ShardId{1};
  shard.put_config(std::make_shared<QueueConfig>(config), Instant{1000});
  shard.restore(HeadRecord{QueueId{2}, 17});
  CheckpointSlice slice;
  shard.begin_checkpoint();
  EXPECT_FALSE(shard.checkpoint_slice(slice));
  EXPECT_TRUE(slice.configs.empty());
  ASSERT_EQ(slice.heads.size(), 2u);
  EXPECT_EQ(slice.heads[0].queue, QueueId::none) << "so that no slice is empty";
  EXPECT_EQ(slice.heads[1].next_seq, 17u);
}

}  // namespace
}  // namespace pawl::test

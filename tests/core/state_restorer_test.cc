// SPDX-License-Identifier: Apache-2.0
// Recovery: the state that a restart restores, and the state it must not restore.
#include <gtest/gtest.h>

#include "tests/core/script.h"

namespace pawl::test {

TEST(Recovery, OfAnEmptyLogIsAnEmptyBroker) {
  run("restart | queue q | receive q -> none | stored -> 0");
}

TEST(Recovery, BringsBackMessagesInOrder) {
  run("queue q | send q a b c | restart | count q -> 3/0/0 | receive q max=10 -> a#1 b#1 c#1");
}

TEST(Recovery, BringsBackMessagesInFlightWithTheirDeadline) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 10s | restart | "
      "count q -> 0/1/0 | advance 19999ms | receive q -> none | advance 1ms | receive q -> a#2");
}

TEST(Recovery, ShowsMessagesWhoseDeadlinePassedMeanwhile) {
  run("queue q visibility=30 | send q a b c d | receive q max=3 -> a#1 b#1 c#1 | restart 30s | "
      "count q -> 4/0/0 | receive q max=10 -> a#2 d#1 b#2 c#2");
}

TEST(Recovery, BringsBackDelays) {
  run("queue q | send q a delay=10 | restart 4s | count q -> 0/0/1 | advance 5999ms | "
      "receive q -> none | advance 1ms | receive q -> a#1 | restart | advance 30s | "
      "receive q -> a#2");
}

TEST(Recovery, ShowsDelayedMessagesWhoseTimeCameMeanwhile) {
  run("queue q | send q a delay=10 | restart 10s | count q -> 1/0/0 | receive q -> a#1");
}

TEST(Recovery, BringsBackChangesOfVisibility) {
  run("queue q visibility=30 | send q a b | receive q max=2 -> a#1 b#1 | change q 60s a#1 | "
      "change q 0 b#1 | restart | receive q max=2 -> b#2 | advance 30s | receive q -> b#3 | "
      "advance 30s | receive q max=2 -> a#2 b#4");
}

TEST(Recovery, KeepsHandlesValid) {
  run("queue q visibility=30 | send q a b | receive q max=2 -> a#1 b#1 | restart | "
      "change q 60s a#1 | delete q b#1 | advance 59s | receive q -> none | advance 1s | "
      "receive q -> a#2");
}

TEST(Recovery, TellsTheLatestHandleOfAFifoQueueFromOlderOnes) {
  run("queue q fifo=1 visibility=30 | send q A:a | receive q -> a#1 | advance 30s | "
      "receive q -> a#2 | restart | change q 0 a#1 -> receipt_expired | receive q -> none | "
      "change q 0 a#2 | receive q -> a#3");
}

TEST(Recovery, AfterADeliveryThatWasNotDurableDeliversAgain) {
  run("queue q | send q a | hold | receive q -> a#1 | crash | count q -> 1/0/0 | receive q -> a#1");
}

TEST(Recovery, AfterADeliveryThatWasNotDurableAcceptsItsHandle) {
  run("queue q visibility=30 | send q a b | hold | receive q max=2 -> a#1 b#1 | crash | "
      "change q 30s a#1 | delete q b#1 | receive q -> none | stored -> 1 | advance 30s | "
      "receive q -> a#2");
}

TEST(Recovery, AfterADeliveryThatWasNotDurableAcceptsTheHandleOfADelayedMessageToo) {
  run("queue q visibility=30 | send q a delay=5 | advance 5s | hold | receive q -> a#1 | crash | "
      "count q -> 1/0/0 | change q 30s a#1 | receive q -> none | advance 30s | receive q -> a#2");
}

TEST(Recovery, DoesNotBringBackDeletedMessages) {
  run("queue q | send q a b c | receive q max=2 -> a#1 b#1 | delete q a#1 b#1 | restart | "
      "stored -> 1 | advance 30s | receive q max=10 -> c#1");
}

TEST(Recovery, BringsBackQueuesAndTheirAttributes) {
  run("queue q visibility=5 delay=3 | set q delay=0 | queue p | drop p | restart | "
      "queue q visibility=5 delay=0 | queue q visibility=6 -> queue_exists | send q a | "
      "receive q -> a#1 | advance 5s | receive q -> a#2 | send p x -> no_such_queue");
}

TEST(Recovery, NeverGivesAQueueIdTwice) {
  Script script;
  script.run("queue q | queue p | drop p | rotate | restart | queue r");
  EXPECT_EQ(script.queue("q"), QueueId{1});
  EXPECT_EQ(script.queue("r"), QueueId{3});
}

TEST(Recovery, NeverGivesAQueueIdTwiceWithoutACheckpointEither) {
  Script script;
  script.run("queue q | queue p | drop p | restart | queue r");
  EXPECT_EQ(script.queue("r"), QueueId{3});
}

TEST(Recovery, CountsTheTwelveHoursFromTheDelivery) {
  run("queue q visibility=12h | send q a | receive q -> a#1 | advance 1h | restart | "
      "change q 12h a#1 -> visibility_beyond_max | change q 11h a#1");
}

TEST(Recovery, FromACheckpointAloneGoesOnWithTheNumbers) {
  Script script;
  script.run(
      "queue q visibility=5 | send q a b | receive q max=2 -> a#1 b#1 | delete q a#1 b#1 | "
      "rotate");
  EXPECT_EQ(script.world().records(), 0u) << "nothing else is needed";
  script.run("restart | receive q -> none");
  Ask& next = script.world().send(script.queue("q"), {"c"});
  EXPECT_EQ(next.sends[0].seq, 3u);
  script.run(
      "delete q a#1 | receive q -> c#1 | advance 5s | receive q -> c#2 | rotate | rotate | "
      "restart | advance 5s | receive q -> c#3");
}

TEST(Recovery, KeepsAMessageThatIsOlderThanTheCheckpoint) {
  run("queue q | send q a | rotate | send q b | receive q max=2 -> a#1 b#1 | delete q b#1 | "
      "rotate | restart | advance 30s | receive q max=2 -> a#2 | stored -> 1");
}

TEST(Recovery, AgainAndAgainComesToTheSame) {
  run("queue q visibility=30 | send q a b c | send q d delay=60 | receive q max=2 -> a#1 b#1 | "
      "delete q a#1 | restart | restart | restart | count q -> 1/1/1 | advance 60s | "
      "receive q max=10 -> b#2 c#1 d#1 | stored -> 3");
}

TEST(Recovery, ToleratesRecordsOfMessagesThatAreGone) {
  ShardHarness world;
  Ask& created = world.create("q", {});
  const QueueId queue = created.request.config->id;
  Shard shard({.secret = test_secret(), .receipt_key = test_receipt_key()}, {}, world.now());
  std::vector<LogPos> freed;
  shard.restore(ConfigRecord{created.request.config, false});
  shard.restore(ReceiveRecord{.queue = queue, .seq = 7, .nonce = 1, .receive_count = 1});
  shard.restore(DeleteRecord{.queue = queue, .seq = 7}, freed);
  shard.restore(PurgeRecord{.queue = queue, .below = 5}, freed);
  shard.finish_recovery(world.now(), world.now(), freed);
  EXPECT_TRUE(freed.empty());
  EXPECT_EQ(shard.messages(), 0u);
}

TEST(Recovery, OfAQueueThatIsNotInTheDirectoryFreesItsRecords) {
  Shard shard(
      {.id = ShardId{1}, .shards = 2, .secret = test_secret(), .receipt_key = test_receipt_key()},
      {}, Instant{1000});
  const Content content{.body = "x"};
  std::vector<LogPos> freed;
  for (Seq seq = 1; seq <= 3; ++seq) {
    shard.restore(SendRecord{.queue = QueueId{9},
                             .seq = seq,
                             .sent = Instant{1000},
                             .deliver_at = Instant{1000},
                             .content = &content,
                             .position = 100 + seq},
                  freed);
  }
  shard.restore(ReceiveRecord{.queue = QueueId{9}, .seq = 2, .nonce = 1, .receive_count = 1});
  shard.finish_recovery(Instant{2000}, Instant{2000}, freed);
  EXPECT_EQ(freed, (std::vector<LogPos>{101, 102, 103}));
  EXPECT_EQ(shard.messages(), 0u);
}

}  // namespace pawl::test

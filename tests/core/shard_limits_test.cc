// SPDX-License-Identifier: Apache-2.0
// Behaviour at each limit: the error is clear, and no state is lost.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/cycle.h"
#include "tests/core/script.h"

namespace pawl::test {

TEST(InFlightLimit, RefusesAShortPollAtTheLimit) {
  static_assert(in_flight_max == 120'000);
  run("queue q visibility=12h | fill q 120001 | take q 119000 | receive q visibility=1 -> x#1 | "
      "take q 999 | count q -> 1/120000/0 | receive q -> over_in_flight | "
      "advance 1s | receive q max=10 -> x#2 | receive q -> over_in_flight");
}

TEST(InFlightLimit, LetsALongPollWaitUntilADelete) {
  run("queue q visibility=12h | fill q 119999 | take q 119999 | send q last next | "
      "receive q max=10 -> last#1 | receive q wait=20 as w | w -> pending | delete q last#1 | "
      "w -> next#1");
}

TEST(InFlightLimit, LetsALongPollWaitUntilAVisibilityTimeoutEnds) {
  run("queue q visibility=12h | fill q 119999 | take q 119999 | send q last next | "
      "receive q visibility=5 -> last#1 | receive q wait=20 as w | advance 5s | w -> last#2");
}

TEST(InFlightLimit, KeepsALongPollWaitingWhenMoreIsSent) {
  run("queue q visibility=12h | fill q 120000 | take q 120000 | receive q wait=20 as w | "
      "send q more | w -> pending | purge q | send q new | w -> new#1");
}

TEST(InFlightLimit, AnswersALongPollEmptyWhenItsTimeIsUp) {
  run("queue q visibility=12h | fill q 120001 | take q 120000 | receive q wait=20 as w | "
      "advance 20s | w -> none");
}

TEST(InFlightLimit, HoldsForEachQueueAlone) {
  run("queue q | queue p | fill q 120000 | take q 120000 | receive q -> over_in_flight | "
      "send p a | receive p -> a#1");
}

TEST(InFlightLimit, EndsWithAPurge) {
  run("queue q | fill q 120000 | take q 120000 | purge q | count q -> 0/0/0 | send q a | "
      "receive q -> a#1");
}

TEST(Memory, CountsGroupsWhileTheyAreThere) {
  Script script;
  script.run("queue q fifo=1 | send q A:a");
  ShardHarness& world = script.world();
  const std::uint64_t one = world.shard().memory().slots;
  for (int i = 0; i < 500; ++i) {
    const std::string name = std::to_string(i);
    world.send_grouped(script.queue("q"), {
                                              {.body = name, .group = name, .dedup_id = name}
    });
  }
  EXPECT_GE(world.shard().memory().slots, one + 500 * sizeof(Group));
  script.run("purge q | advance 1s");
  EXPECT_LT(world.shard().memory().slots, one) << "there is no group";
  script.run("send q A:e");
  EXPECT_EQ(world.shard().memory().slots, one);
}

TEST(Memory, OfAPurgedFifoQueueIsGivenBackBitByBit) {
  ShardLimits limits;
  limits.retired_a_turn = 100;
  Script script(limits);
  script.run("queue q fifo=1 visibility=0");
  ShardHarness& world = script.world();
  const QueueId q = script.queue("q");
  for (int i = 0; i < 1000; ++i)
    world.send_grouped(q, {
                              {.body = "x", .group = "A", .dedup_id = std::to_string(i)}
    });
  Effects effects;
  Request purge{.op = Op::purge, .queue = q};
  world.shard().apply(purge, world.now(), effects);
  for (int turn = 0; world.shard().deduplicated() > 0; ++turn) {
    const std::uint64_t before = world.shard().deduplicated();
    world.shard().expire(world.now(), world.now(), effects);
    ASSERT_GE(world.shard().deduplicated() + limits.retired_a_turn, before) << turn;
    ASSERT_LT(turn, 100);
  }
}

TEST(Memory, OfReceiveAttemptsIsGivenBackWhenTheyAreOver) {
  Script script;
  script.run("queue q fifo=1 visibility=12h | send q A:a B:b C:c");
  ShardHarness& world = script.world();
  const std::uint64_t sent = world.shard().memory().dedup;
  script.run("receive q attempt=x -> a#1 | receive q attempt=y -> b#1");
  EXPECT_EQ(world.shard().memory().dedup, sent + 2 * (Attempts::attempt_bytes + sizeof(Attempted)));
  script.run("advance 301s");
  EXPECT_EQ(world.shard().memory().dedup, sent) << "nobody has asked for the queue since";
}

TEST(Memory, OfReceiveAttemptsHasALimit) {
  ShardLimits limits;
  limits.attempts_bytes_max = Attempts::attempt_bytes;
  run("queue q fifo=1 visibility=12h | queue p fifo=1 visibility=12h | send q A:a B:b | send p A:c "
      "B:d | "
      "receive q attempt=x -> a#1 | receive p attempt=x -> c#1 | receive q attempt=x -> a#1 | "
      "receive p attempt=x -> d#1 | advance 300s | receive p attempt=y -> none",
      limits);
}

TEST(Memory, IsNotHeldByWhatIsLongGone) {
  Script script;
  script.run("queue q visibility=12h retention=14d | send q a | receive q -> a#1");
  ShardHarness& world = script.world();
  const QueueId q = script.queue("q");
  const std::uint64_t before = world.shard().memory().index;
  for (int i = 0; i < 20'000; ++i) {
    world.send(q, {"x"});
    const Ask& got = world.receive(q, {.max = 1, .wait = Duration{0}});
    ASSERT_EQ(got.request.delivered, 1u);
    world.receipts(Op::delete_message, q, {got.deliveries[0].handle});
    world.advance(milliseconds(1000));
  }
  EXPECT_LE(world.shard().memory().index, before + 16'384) << "20 pages, 68 times of sending";
}

TEST(Memory, OfADeletedQueueIsNotCountedAfterRecovery) {
  Script script;
  script.run("queue q | fill q 5000 | queue p | rotate");
  ShardHarness& world = script.world();
  script.run("drop q | restart | send p a");
  EXPECT_LE(world.shard().memory().index, 2048u);
}

TEST(SlotLimit, RefusesADelayedMessageAndTakesTheRestOfTheBatch) {
  ShardLimits limits;
  limits.slots_max = 2;
  Script script(limits);
  script.run(
      "queue q | send q a b c delay=5 -> ok ok overloaded | count q -> 0/0/2 | send q d | "
      "advance 5s | receive q max=10 -> a#1 b#1");
}

TEST(SlotLimit, RefusesADeliveryAndKeepsTheMessage) {
  ShardLimits limits;
  limits.slots_max = 2;
  run("queue q | send q a b c | receive q max=3 -> a#1 b#1 | receive q -> overloaded | "
      "receive q wait=20 -> overloaded | delete q a#1 | receive q -> c#1",
      limits);
}

TEST(SlotLimit, RefusesALongPollAndIsNotRememberedByIt) {
  ShardLimits limits;
  limits.slots_max = 1;
  run("queue q | queue p | send p x | receive p -> x#1 | receive q wait=20 as u | "
      "receive q wait=20 as v | send q a | u -> overloaded | v -> overloaded | delete p x#1 | "
      "receive q wait=20 -> a#1",
      limits);
}

TEST(SlotLimit, RefusesAChangeOfVisibilityOfAMessageThatLostItsSlotInACrash) {
  ShardLimits limits;
  limits.slots_max = 1;
  run("queue q | queue p | send q a | hold | receive q -> a#1 | crash | send p b delay=5 | "
      "change q 5s a#1 -> overloaded | advance 5s | receive p -> b#1 | delete p b#1 | "
      "change q 5s a#1 | receive q -> none",
      limits);
}

// Recovery ignores the slot limit: a checkpoint may list messages that the log deletes later.
TEST(SlotLimit, IsNoneForWhatALogBringsBack) {
  ShardLimits limits;
  limits.slots_max = 4;
  Shard shard({}, limits, Instant{1000});
  QueueConfig config;
  config.id = QueueId{1};
  config.account = "a";
  config.name = "q";
  shard.restore(ConfigRecord{std::make_shared<QueueConfig>(config), false});
  std::vector<LogPos> freed;
  const Content content{.body = "x"};
  for (Seq seq = 1; seq <= 10; ++seq) {
    SendRecord record{config.id, seq, Instant{1000}, Instant{900'000}, &content};
    record.position = seq * 100;
    shard.restore(record, freed);
  }
  for (Seq seq = 1; seq <= 5; ++seq) shard.restore(DeleteRecord{config.id, seq}, freed);
  shard.finish_recovery(Instant{2000}, Instant{2000}, freed);
  Effects effects;
  Request count{.op = Op::count, .queue = config.id};
  shard.apply(count, Instant{2000}, effects);
  EXPECT_EQ(count.counts.delayed, 5u);
  // A new message is refused until it fits.
  std::vector<SendEntry> entries(1);
  entries[0].content.body = "y";
  entries[0].delay = seconds(5);
  Request send{.op = Op::send, .queue = config.id, .sends = entries};
  shard.apply(send, Instant{2000}, effects);
  EXPECT_EQ(entries[0].error, Errc::overloaded);
}

TEST(DeduplicationLimit, RefusesASendAndForgetsNothing) {
  ShardLimits limits;
  limits.dedup_max = 2;
  run("queue q fifo=1 | queue p fifo=1 | send q A:a | advance 100s | send p A:b A:c -> ok "
      "overloaded | "
      "send q A:a -> same_as_1 | send q A:d -> overloaded | advance 199s | send q A:a -> same_as_1 "
      "| "
      "send q A:d -> overloaded | advance 1s | send q A:a A:d -> ok overloaded | restart | "
      "send p A:b -> same_as_1 | send q A:a A:d -> same_as_2 overloaded | advance 300s | send q "
      "A:d",
      limits);
}

TEST(DeduplicationLimit, IsWonBackByAPurgeAndTheEndOfAQueue) {
  ShardLimits limits;
  limits.dedup_max = 2;
  Script script(limits);
  script.run(
      "queue q fifo=1 | queue p fifo=1 | send q A:a | send p A:b | send q A:c -> overloaded | "
      "purge q | "
      "send q A:c | drop p | send q A:d | send q A:e -> overloaded");
  EXPECT_EQ(script.world().shard().deduplicated(), 2u);
}

TEST(DeduplicationLimit, AStandardQueueHasNone) {
  ShardLimits limits;
  limits.dedup_max = 0;
  run("queue q | send q a A:b | receive q max=10 -> b#1 a#1", limits);
}

TEST(Deduplication, OfAnIdleQueueIsFreedWhenItsTimeIsOver) {
  Script script;
  script.run("queue q fifo=1");
  for (int i = 0; i < 10; ++i) {
    std::vector<GroupedMessage> messages;
    for (int n = 0; n < 1000; ++n) messages.push_back({"x", "A", std::to_string(1000 * i + n)});
    ASSERT_TRUE(script.world().send_grouped(script.queue("q"), messages).answered);
  }
  script.run("advance 1s | send q A:last | restart | advance 298s");
  EXPECT_EQ(script.world().shard().deduplicated(), 10'001u);
  script.world().jump_one_turn(seconds(1));
  EXPECT_GT(script.world().shard().deduplicated(), 1u) << "not all of them in one turn";
  script.run("advance 5ms");
  EXPECT_EQ(script.world().shard().deduplicated(), 1u);
  script.run("advance 1s");
  EXPECT_EQ(script.world().shard().deduplicated(), 0u);
  script.run("send q A:last | advance 301s");
  EXPECT_EQ(script.world().shard().deduplicated(), 0u);
}

// A message in transfer is a copy in memory.
TEST(TransferLimit, OfBytesStartsFewerMovesAtATime) {
  ShardLimits limits;
  limits.transfer_bytes_max = 100'000;
  limits.transfer_bytes_unread = 20'000;
  for (const char* task : {"", "move q to=d"}) {
    SCOPED_TRACE(task);
    Script script(limits);
    script.run("queue d | queue q visibility=30 max_receive=1 dlq=d");
    ShardHarness& world = script.world();
    const QueueId q = script.queue("q");
    for (int i = 0; i < 4; ++i)
      world.send(q, std::vector<std::string>(10, std::string(20'000, 'x')));
    for (int i = 0; i < 4; ++i) world.receive(q, {.max = 10, .wait = Duration{0}});
    script.run("advance 30s | hold");
    if (*task != 0) {
      script.run("move q to=d -> pending | flush_one");
    } else {
      script.run("receive q wait=20 as w");
    }
    EXPECT_GE(world.shard().transfers(), 3u);
    EXPECT_LE(world.shard().memory().transfers, limits.transfer_bytes_max);
    for (int i = 0; i < 400 && world.shard().transfers() > 0; ++i) {
      world.flush_one();
      ASSERT_LE(world.shard().memory().transfers, limits.transfer_bytes_max);
    }
    script.run("flush | advance 1s | flush | count q -> 0/0/0 | count d -> 40/0/0");
    EXPECT_EQ(world.shard().memory().transfers, 0u);
  }
}

TEST(TransferLimit, OfBytesLetsOneMessageGoAtLeastAndDoesNotHoldFreshOnesBack) {
  ShardLimits limits;
  limits.transfer_bytes_max = 10;
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a b c | "
      "receive q max=3 -> a#1 b#1 c#1 | advance 31s | send q x y | hold | "
      "receive q max=3 -> x#1 y#1 | flush | receive q -> none | receive q -> none | count d -> "
      "3/0/0",
      limits);
}

TEST(WaiterLimit, RefusesALongPollWhenTooManyWait) {
  ShardLimits limits;
  limits.waiters_max = 2;
  run("queue q | receive q wait=20 as u | receive q wait=20 as v | "
      "receive q wait=20 -> overloaded | receive q wait=0 -> none | cancel u | "
      "receive q wait=20 as w | send q a b | v -> a#1 | w -> b#1",
      limits);
}

TEST(RetiredLimit, APurgeReclaimsMessagesIncrementally) {
  ShardLimits limits;
  limits.retired_a_turn = 1;  // one index page
  Script script(limits);
  script.run(
      "queue q | fill q 5000 | send q a delay=5 | stored -> 5001 | take q 2000 | purge q | "
      "stored -> 0 | count q -> 0/0/0 | advance 1h | send q b | receive q max=10 -> b#1");
}

TEST(RetiredLimit, TimersOfMessagesThatAreNotYetReclaimedAreIgnored) {
  Cycle cycle;
  for (int i = 0; i < 3000; ++i) cycle.send(10);
  for (int i = 1; i < 3000; ++i) ASSERT_EQ(cycle.receive(10, {}, seconds(30)), 10u);
  ASSERT_EQ(cycle.receive(10, {}, milliseconds(5)), 10u);  // due before their page is freed
  Request purge;
  purge.op = Op::purge;
  purge.queue = cycle.queue();
  cycle.turn(&purge);
  ASSERT_EQ(purge.error, Errc::ok);
  for (int i = 0; i < 20; ++i) cycle.turn(nullptr);
  EXPECT_EQ(cycle.freed(), 30'000u);
  EXPECT_EQ(cycle.shard().messages(), 0u);
  EXPECT_EQ(cycle.receive(1), 0u);
}

TEST(RetentionLimit, MessagesPastRetentionGoBitByBit) {
  ShardLimits limits;
  limits.retired_a_turn = 10;
  Script script(limits);
  script.run("queue q retention=60 | fill q 25 | advance 1s | advance 1s | send q last");
  script.world().jump_one_turn(seconds(58));
  EXPECT_EQ(script.world().stored(), 16u);
  script.run("advance 1ms | stored -> 6 | advance 1ms | stored -> 1 | receive q max=10 -> last#1");
}

}  // namespace pawl::test

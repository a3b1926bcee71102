// SPDX-License-Identifier: Apache-2.0
// Leases seen from outside: a message of a batch behaves like one that was received alone.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/cycle.h"
#include "tests/core/script.h"

namespace pawl::test {
namespace {

// Live timers besides the one of the queue's retention.
std::size_t timers_of(Script& script) {
  const TimerWheel& timers = script.world().shard().timers();
  return timers.size() - timers.stale() - 1;
}

TEST(ShardLeases, HaveOneTimerForTenMessages) {
  Script script;
  script.run("queue q visibility=30 | fill q 45 | take q 40");
  EXPECT_EQ(timers_of(script), 4u);
  script.run("count q -> 5/40/0 | advance 30s | count q -> 45/0/0");
  EXPECT_EQ(timers_of(script), 0u);
  script.run("take q 45 | count q -> 0/45/0");
  EXPECT_GE(timers_of(script), 40u) << "received again: each message has a slot";
}

TEST(ShardLeases, AreNoneForMessagesReceivedSingly) {
  Script script;
  script.run("queue q visibility=30 | send q a b | receive q -> a#1 | receive q -> b#1");
  EXPECT_EQ(timers_of(script), 2u);
  const std::uint64_t slots = script.world().shard().memory().slots;
  script.run("send q c d | receive q max=2 -> c#1 d#1");
  EXPECT_EQ(timers_of(script), 3u);
  EXPECT_GT(script.world().shard().memory().slots, slots) << "the first lease";
}

TEST(ShardLeases, AreNoneForASingleFreshMessageOfAReceive) {
  Script script;
  script.run(
      "queue q visibility=30 | send q a b delay=1 | send q c | advance 1s | "
      "receive q max=3 -> a#1 b#1 c#1");
  EXPECT_EQ(timers_of(script), 3u);
  script.run("advance 30s | receive q max=10 -> a#2 b#2 c#2");
}

TEST(ShardLeases, HoldFreshMessagesBetweenReturnedOnes) {
  Script script;
  script.run(
      "queue q visibility=2 | send q p q | receive q max=2 -> p#1 q#1 | advance 2s | "
      "send q a b c | receive q max=5 -> p#2 a#1 q#2 b#1 c#1");
  EXPECT_EQ(timers_of(script), 3u);
  script.run(
      "change q 9 b#1 | advance 2s | receive q max=5 -> p#3 q#3 a#2 c#2 | "
      "advance 7s | receive q max=9 -> p#4 q#4 a#3 b#2 c#3");
}

TEST(ShardLeases, OfALargeReceiveHoldTenEach) {
  Script script;
  script.run("queue q visibility=30 | fill q 25");
  script.world().receive(script.queue("q"), {.max = 25, .wait = Duration{0}});
  EXPECT_EQ(timers_of(script), 3u);
  script.run("count q -> 0/25/0 | advance 30s | count q -> 25/0/0");
}

TEST(ShardLeases, LetAMessageChangeItsVisibilityAlone) {
  run("queue q visibility=30 | send q a b c | receive q max=3 -> a#1 b#1 c#1 | advance 10s | "
      "change q 60 b#1 | advance 20s | receive q max=3 -> a#2 c#2 | advance 39999ms | "
      "receive q max=3 -> a#3 c#3 | advance 1ms | receive q max=3 -> b#2");
  run("queue q visibility=30 | send q a b | receive q max=2 -> a#1 b#1 | change q 0 a#1 | "
      "receive q max=2 -> a#2 | change q 0 b#1 | receive q max=2 -> b#2");
}

TEST(ShardLeases, KeepAMessageWhoseChangeOfVisibilityIsRefused) {
  Script script;
  script.run(
      "queue q visibility=30 | send q a b | receive q max=2 -> a#1 b#1 | advance 1s | "
      "change q 12h a#1 -> visibility_beyond_max | count q -> 0/2/0 | advance 29s | "
      "receive q max=2 -> a#2 b#2");
}

TEST(ShardLeases, GiveAnUndeliveredMessageBackAsItWas) {
  run("queue q visibility=30 | send q a b c | receive q max=3 -> a#1 b#1 c#1 | "
      "undeliver q a#1 c#1 | count q -> 2/1/0 | receive q max=3 -> a#1 c#1 | advance 30s | "
      "receive q max=3 -> a#2 b#2 c#2 | undeliver q b#1 | count q -> 0/3/0");
}

TEST(ShardLeases, EndWithAnyOrderOfDeletes) {
  Script script;
  script.run(
      "queue q visibility=30 | send q a b c d | receive q max=4 -> a#1 b#1 c#1 d#1 | "
      "delete q c#1 | delete q a#1 d#1 | count q -> 0/1/0 | stored -> 1");
  EXPECT_EQ(timers_of(script), 1u);
  script.run("delete q b#1 | stored -> 0 | count q -> 0/0/0");
  EXPECT_EQ(timers_of(script), 0u);
  script.run(
      "send q e f | receive q max=2 -> e#1 f#1 | advance 29999ms | receive q -> none | "
      "advance 1ms | receive q max=2 -> e#2 f#2");
}

TEST(ShardLeases, BecomeDeadLettersOneByOne) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a b c | "
      "receive q max=3 -> a#1 b#1 c#1 | delete q b#1 | advance 30s | receive q max=3 -> none | "
      "count q -> 0/0/0 | receive d max=3 -> a#2 c#2");
}

TEST(ShardLeases, AreRecoveredAsTheirMessages) {
  const char* const before =
      "queue q visibility=30 | send q a b c d | receive q max=3 -> a#1 b#1 c#1 | delete q b#1";
  for (const char* restart : {"restart", "rotate | restart"}) {
    SCOPED_TRACE(restart);
    run(std::string(before) + " | " + restart +
        " | count q -> 1/2/0 | change q 60 c#1 | advance 30s | receive q max=4 -> a#2 d#1 | "
        "advance 30s | receive q max=4 -> a#3 c#2 d#2 | delete q a#1 c#1 d#1 | stored -> 0");
  }
}

TEST(ShardLeases, KeepTheirRelocatedMessages) {
  Script script;
  script.run("queue q visibility=30 | send q a b | receive q max=2 -> a#1 b#1");
  Shard& shard = script.world().shard();
  const QueueId q = script.queue("q");
  const LogPos first = shard.position_of(q, 1), second = shard.position_of(q, 2);
  EXPECT_EQ(script.world().body_at(first), "a");
  EXPECT_EQ(script.world().body_at(second), "b");
  shard.relocated(q, 1, second);
  shard.relocated(q, 2, first);
  EXPECT_EQ(shard.position_of(q, 1), second);
  EXPECT_EQ(timers_of(script), 1u) << "the lease goes on";
  script.run("advance 30s | receive q max=2 -> b#2 a#2");
}

TEST(ShardLeases, AreSetAsideWithTheirState) {
  run("queue q visibility=30 | send q a b c | receive q max=3 -> a#1 b#1 c#1 | set_aside q b | "
      "count q -> 0/2/0 | advance 30s | receive q max=3 -> a#2 c#2 | rotate | restart | "
      "receive q max=3 -> b#2 | delete q b#1 a#2 c#2 | stored -> 0");
}

TEST(ShardLeases, EndWithTheRetentionOfTheirMessages) {
  Script script;
  script.run(
      "queue q retention=60 | send q a b | advance 30s | send q c | "
      "receive q max=3 visibility=12h -> a#1 b#1 c#1 | advance 31s | stored -> 1 | "
      "count q -> 0/1/0 | advance 30s | stored -> 0 | count q -> 0/0/0");
  const TimerWheel& timers = script.world().shard().timers();
  EXPECT_EQ(timers.size(), timers.stale());
}

TEST(ShardLeases, CountAsMemoryOfTheirQueue) {
  Script script;
  script.run("queue q visibility=30 | fill q 20");
  const QueueId q = script.queue("q");
  const auto bytes = [&] { return script.world().plain(Op::count, q).request.counts.state_bytes; };
  const std::uint64_t waiting = bytes();
  script.run("take q 20");
  EXPECT_EQ(bytes(), waiting + 2 * Leases::lease_bytes);
  script.run("advance 30s");
  EXPECT_GE(bytes(), waiting + 20 * ShardState::slot_bytes);
  script.run("purge q");
  EXPECT_LT(bytes(), waiting);
}

TEST(ShardLeases, OfAPurgedQueueAreFreedWhateverTheirTimersDo) {
  ShardLimits limits;
  limits.retired_a_turn = 1;  // one index page
  Script script(limits);
  script.run("queue q visibility=30 | fill q 3000");
  for (int i = 0; i < 3; ++i)
    script.world().receive(script.queue("q"), {.max = 1000, .visibility = milliseconds(5)});
  script.run(
      "count q -> 0/3000/0 | purge q | advance 5ms | count q -> 0/0/0 | stored -> 0 | "
      "fill q 20 | take q 20 | count q -> 0/20/0");
  EXPECT_EQ(timers_of(script), 2u);
  script.run("advance 30s | count q -> 20/0/0");
}

TEST(ShardLeases, OfADeletedQueueAreFreed) {
  Script script;
  script.run(
      "queue q visibility=30 | fill q 100 | take q 100 | drop q | advance 31s | "
      "stored -> 0 | queue p visibility=30 | fill p 20 | take p 20 | count p -> 0/20/0");
}

// A lease reserves a slot for each of its messages and one more.
TEST(ShardLeases, KeepSlotsForAllTheirMessagesAtTheLimit) {
  ShardLimits limits;
  limits.slots_max = 11;
  const std::string begin =
      "queue q visibility=30 | queue p | send q a b c d e f g h i j k | "
      "receive q max=10 -> a#1 b#1 c#1 d#1 e#1 f#1 g#1 h#1 i#1 j#1 | "
      "send p x delay=5 -> overloaded | receive q -> overloaded | ";
  run(begin + "advance 30s | count q -> 11/0/0 | take q 10 | count q -> 1/10/0", limits);
  run(begin +
          "change q 60 j#1 b#1 | send p x delay=5 -> overloaded | undeliver q c#1 | "
          "send p x delay=5 -> overloaded | count q -> 2/9/0 | advance 30s | count q -> 9/2/0 | "
          "delete q a#1 b#1 c#1 d#1 e#1 f#1 g#1 h#1 i#1 j#1 | count q -> 1/0/0",
      limits);
}

TEST(ShardLeases, LeaveTheLastSlotsToSingleMessages) {
  ShardLimits limits;
  limits.slots_max = 3;
  Script script(limits);
  script.run(
      "queue q visibility=30 | send q a b c d | receive q max=4 -> a#1 b#1 c#1 | "
      "receive q -> overloaded | delete q a#1 | receive q max=4 -> d#1 | advance 30s | "
      "receive q max=4 -> b#2 c#2 d#2");
}

// The timers of a turn end when they have returned timer_visits_a_turn messages, not leases.
TEST(ShardLeases, ReturnABoundedNumberOfMessagesInATurn) {
  ShardLimits limits;
  limits.timer_visits_a_turn = 15;
  Script script(limits);
  script.run("queue q visibility=30 | fill q 50 | take q 50");
  ShardHarness& world = script.world();
  Effects effects;
  const Instant due = world.now() + seconds(30);
  EXPECT_TRUE(world.shard().expire(due, due, effects));
  Request count{.op = Op::count, .queue = script.queue("q")};
  world.shard().apply(count, due, effects);
  EXPECT_EQ(count.counts.visible, 20u) << "two leases of ten";
}

}  // namespace
}  // namespace pawl::test

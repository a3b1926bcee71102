// SPDX-License-Identifier: Apache-2.0
#include "core/shard/reclaimer.h"

#include <gtest/gtest.h>

#include "tests/core/script.h"
#include "tests/core/shard_parts.h"

namespace pawl::test {
namespace {

TEST(Reclaimer, FreesABoundedPartInEachTurn) {
  ShardParts parts(ShardLimits{.retired_a_turn = 1});
  Queue& queue = parts.make_queue("q");
  const std::size_t messages = 3 * SeqIndex::page_entries;
  for (std::size_t i = 0; i < messages; ++i) parts.add_message(queue);
  parts.reclaimer.retire(queue, parts.effects);
  EXPECT_EQ(queue.index.size(), 0u);
  EXPECT_EQ(queue.low, queue.next_seq);
  int turns = 0;
  while (!parts.reclaimer.idle()) {
    const std::size_t before = parts.effects.freed.size();
    parts.reclaimer.reclaim(parts.effects);
    EXPECT_LE(parts.effects.freed.size() - before, SeqIndex::page_entries) << "a page";
    ++turns;
  }
  EXPECT_GE(turns, 3);
  EXPECT_EQ(parts.effects.freed.size(), messages);
  EXPECT_EQ(parts.reclaimer.memory(), 0u);
}

TEST(Reclaimer, FreesSlotsTimersAndMessagesSetAside) {
  ShardParts parts;
  Queue& queue = parts.make_queue("q");
  const std::uint32_t row = parts.add_tracked(queue, Slot::State::visible);
  parts.states.hide(queue, row, Slot::State::in_flight, ShardParts::start, seconds(30));
  parts.states.set_aside(queue.id, parts.add_message(queue));
  parts.reclaimer.retire(queue, parts.effects);
  EXPECT_EQ(queue.in_flight + queue.slots + queue.set_aside.size(), 0u);
  EXPECT_GT(parts.reclaimer.memory(), 0u);
  while (!parts.reclaimer.idle()) parts.reclaimer.reclaim(parts.effects);
  EXPECT_EQ(parts.effects.freed.size(), 2u);
  EXPECT_EQ(parts.state.kept_bytes, 0u);
}

TEST(Reclaimer, PurgesAQueueOnceAMinute) {
  ShardParts parts;
  Queue& queue = parts.make_queue("q");
  parts.add_message(queue);
  Request first, second, third;
  parts.reclaimer.purge(queue, first, ShardParts::start, parts.effects);
  parts.reclaimer.purge(queue, second, ShardParts::start + milliseconds(59'999), parts.effects);
  parts.reclaimer.purge(queue, third, ShardParts::start + seconds(60), parts.effects);
  EXPECT_EQ(first.error, Errc::ok);
  EXPECT_EQ(second.error, Errc::purge_in_progress);
  EXPECT_EQ(third.error, Errc::ok);
  ASSERT_EQ(parts.effects.purges.size(), 2u);
  EXPECT_EQ(parts.effects.purges[0].below, 2u);
  EXPECT_TRUE(parts.effects.replies[0].after_flush);
  EXPECT_FALSE(parts.effects.replies[1].after_flush);
}

TEST(Purge, DeletesVisibleInFlightAndDelayedMessages) {
  run("queue q | send q a b | send q c delay=10 | receive q -> a#1 | count q -> 1/1/1 | purge q | "
      "count q -> 0/0/0 | stored -> 0 | advance 1h | receive q -> none");
}

TEST(Purge, MakesHandlesStale) {
  run("queue q | send q a | receive q -> a#1 | purge q | delete q a#1 | "
      "change q 5s a#1 -> message_gone");
}

TEST(Purge, AgainWithinAMinuteIsRefused) {
  run("queue q | send q a | purge q | send q b | advance 59999ms | purge q -> purge_in_progress | "
      "receive q visibility=0 -> b#1 | advance 1ms | purge q | receive q -> none");
}

TEST(Purge, OfAnotherQueueIsNotRefused) { run("queue q | queue p | purge q | purge p"); }

TEST(Purge, LeavesWhatIsSentLater) {
  run("queue q | send q a | purge q | send q b | restart | receive q max=10 -> b#1");
}

TEST(Purge, TakesWhatWasSentAndNotYetDurable) {
  run("queue q | hold | send q a -> pending | send q b delay=5 -> pending | purge q -> pending | "
      "send q c -> pending | flush | receive q max=10 -> c#1 | stored -> 1 | restart | "
      "advance 1h | receive q max=10 -> c#2");
}

TEST(Purge, TakesWhatWasSentInTheSameTurnAndLeavesWhatCameAfterIt) {
  Script script;
  script.run(
      "queue q | gather | send q a -> pending | send q b delay=5 -> pending | "
      "purge q -> pending | send q c -> pending | send q d delay=5 -> pending | go | "
      "stored -> 2 | count q -> 1/0/1 | receive q max=10 visibility=1 -> c#1 | restart | "
      "stored -> 2 | advance 5s | receive q max=10 -> c#2 d#1");
}

TEST(Purge, IsRememberedByARestart) {
  run("queue q | send q a | receive q -> a#1 | send q b | purge q | restart | "
      "receive q max=10 -> none | stored -> 0 | purge q -> purge_in_progress");
}

TEST(Purge, ThatWasNotDurableIsForgottenByACrash) {
  run("queue q | send q a | hold | purge q -> pending | crash | receive q -> a#1 | purge q");
}

TEST(DeleteQueue, TakesEverythingInItAlong) {
  run("queue q | send q a b | send q c delay=10 | receive q -> a#1 | drop q | stored -> 0 | "
      "advance 1h | receive q -> no_such_queue");
}

TEST(DeleteQueue, LeavesOtherQueuesAlone) {
  run("queue q | queue p | send q a | send p b | receive p -> b#1 | drop q | advance 30s | "
      "receive p -> b#2 | stored -> 1");
}

TEST(DeleteQueue, TakesWhatWasSentAndNotYetDurable) {
  run("queue q | hold | send q a -> pending | send q b delay=5 -> pending | drop q -> pending | "
      "flush | stored -> 0 | restart | stored -> 0");
}

TEST(DeleteQueue, TakesWhatWasSentInTheSameTurn) {
  run("queue q | gather | send q a -> pending | send q b delay=5 -> pending | drop q -> pending | "
      "go | stored -> 0 | restart | stored -> 0");
}

TEST(DeleteQueue, ThatWasNotDurableIsForgottenByACrash) {
  run("queue q | send q a | hold | drop q -> pending | crash | receive q -> a#1");
}

TEST(DeleteQueue, AndCreatingItAgainGivesAnEmptyQueueThatRefusesOldHandles) {
  run("queue q | send q a b | receive q -> a#1 | drop q | queue q | receive q max=10 -> none | "
      "send q c | delete q a#1 -> receipt_invalid | restart | receive q max=10 -> c#1");
}

TEST(Delete, OfWhatWasReceivedInTheSameTurnHolds) {
  run("queue q visibility=5 | send q a b | receive q -> a#1 | advance 5s | gather | "
      "receive q max=10 -> pending | delete q a#1 -> pending | go | stored -> 1 | restart | "
      "advance 5s | receive q max=10 -> b#2");
}

TEST(DeleteQueue, LeavesNoTimerGarbageUncounted) {
  Script script;
  script.run(
      "queue q retention=60 visibility=30 | send q a | send q c delay=5 | "
      "receive q -> a#1 | receive q wait=20 as w | drop q");
  EXPECT_EQ(script.world().shard().timers().stale(), script.world().shard().timers().size());
  script.run("advance 1h");
  EXPECT_EQ(script.world().shard().timers().size(), 0u);
  EXPECT_EQ(script.world().shard().timers().stale(), 0u);
}

}  // namespace
}  // namespace pawl::test

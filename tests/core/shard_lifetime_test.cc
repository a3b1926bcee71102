// SPDX-License-Identifier: Apache-2.0
// The ends of messages and queues: purge, retention, deletion of the queue.
#include <gtest/gtest.h>

#include "tests/core/script.h"

namespace pawl::test {

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

TEST(Retention, EndsAMessageThatIsVisible) {
  run("queue q retention=60 | send q a | advance 59999ms | count q -> 1/0/0 | advance 1ms | "
      "count q -> 0/0/0 | stored -> 0");
}

TEST(Retention, EndsAMessageThatIsInFlight) {
  run("queue q retention=60 visibility=12h | send q a | receive q -> a#1 | advance 60s | "
      "count q -> 0/0/0 | stored -> 0 | delete q a#1 | change q 1s a#1 -> message_gone");
}

TEST(Retention, EndsAMessageThatIsDelayed) {
  run("queue q retention=60 | send q a delay=15m | advance 60s | count q -> 0/0/0 | advance 1h | "
      "receive q -> none");
}

TEST(Retention, DoesNotGoOnWhenTheMessageIsReceived) {
  run("queue q retention=60 visibility=10 | send q a | advance 40s | receive q -> a#1 | "
      "advance 20s | receive q -> none");
}

TEST(Retention, EndsEachMessageInItsTurn) {
  run("queue q retention=60 | send q a | advance 10s | send q b | advance 10s | send q c | "
      "advance 40s | receive q max=10 visibility=0 -> b#1 c#1 | advance 10s | "
      "receive q max=10 visibility=0 -> c#2 | advance 10s | receive q max=10 -> none");
}

TEST(Retention, MadeShorterEndsOldMessagesAtOnce) {
  run("queue q | send q a | advance 100s | send q b | set q retention=100 | advance 1ms | "
      "receive q max=10 visibility=0 -> b#1 | advance 100s | receive q -> none");
}

TEST(Retention, MadeLongerKeepsOldMessages) {
  run("queue q retention=60 | send q a | advance 59s | set q retention=120 | advance 60s | "
      "receive q visibility=0 -> a#1 | advance 1s | receive q -> none");
}

TEST(Retention, OfMessagesThatWereDeletedWritesNothing) {
  Script script;
  script.run("queue q retention=60 | send q a b | receive q max=2 -> a#1 b#1 | delete q a#1 b#1");
  const std::size_t before = script.world().records();
  script.run("advance 5m");
  EXPECT_EQ(script.world().records(), before);
}

TEST(Retention, MadeLongerAfterTheEndDoesNotBringMessagesBackAtARestart) {
  run("queue q retention=60 | send q a | advance 60s | set q retention=1h | restart | "
      "receive q -> none | stored -> 0");
}

TEST(Retention, GoesOnAcrossARestart) {
  run("queue q retention=60 | send q a | advance 30s | restart | advance 29s | "
      "receive q visibility=0 -> a#1 | advance 1s | receive q -> none");
}

TEST(Retention, ThatEndedWhileTheServerWasDownHolds) {
  run("queue q retention=60 | send q a b delay=5 | send q c | receive q -> c#1 | restart 1h | "
      "receive q -> none | stored -> 0");
}

TEST(Retention, OfFourteenDaysEndsOnTimeToAGrain) {
  run("queue q retention=14d | send q a | advance 13d | receive q visibility=0 -> a#1 | "
      "advance 1d | receive q -> none | stored -> 0");
}

TEST(Retention, StartsAgainAfterTheQueueWasEmpty) {
  run("queue q retention=60 | send q a | receive q -> a#1 | delete q a#1 | advance 5m | "
      "send q b | advance 59s | receive q visibility=0 -> b#1 | advance 1s | receive q -> none");
}

TEST(Retention, StartsAgainAfterAPurge) {
  run("queue q retention=60 | send q a | advance 30s | purge q | send q b | advance 30s | "
      "receive q visibility=0 -> b#1 | advance 30s | receive q -> none");
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

}  // namespace pawl::test

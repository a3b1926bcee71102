// SPDX-License-Identifier: Apache-2.0
// FIFO queues: order within groups, deduplication, ReceiveRequestAttemptId.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <string>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

// --- order: each group is delivered up to its first unavailable message ---

TEST(FifoOrder, IsThatOfTheSendsWithinAGroup) {
  run("queue q fifo=1 | send q A:a | send q A:b A:c | send q A:d | receive q max=10 -> a#1 b#1 c#1 "
      "d#1");
}

TEST(FifoOrder, AGroupWithItsHeadInFlightWaitsAndOthersDoNot) {
  run("queue q fifo=1 | send q A:a A:b B:c | receive q -> a#1 | receive q max=10 -> c#1 | "
      "receive q -> none | send q A:d B:e | receive q -> none | count q -> 3/2/0");
}

TEST(FifoOrder, DeletingAllThatIsInFlightReleasesTheGroup) {
  run("queue q fifo=1 | send q A:a A:b A:c | receive q max=2 -> a#1 b#1 | receive q -> none | "
      "delete q a#1 b#1 | receive q -> c#1");
}

TEST(FifoOrder, APartialDeleteThatLeavesOneInFlightAtTheHeadKeepsTheGroupWaiting) {
  run("queue q fifo=1 visibility=30 | send q A:a A:b A:c | receive q max=2 -> a#1 b#1 | "
      "delete q b#1 | receive q -> none | delete q a#1 | receive q -> c#1");
  run("queue q fifo=1 visibility=30 | send q A:a A:b A:c | receive q max=2 -> a#1 b#1 | "
      "delete q a#1 | receive q -> none | delete q b#1 | receive q -> c#1");
}

TEST(FifoOrder, AMessageMadeVisibleEarlyIsDeliveredAgainWhileLaterOnesAreInFlight) {
  run("queue q fifo=1 visibility=30 | send q A:a A:b A:c | receive q max=2 -> a#1 b#1 | "
      "change q 0 a#1 | receive q max=10 -> a#2 | receive q max=10 -> none");
}

TEST(FifoOrder, AMessageBehindOneInFlightStaysWithheldWhenItsOwnTimeoutHasRunOut) {
  run("queue q fifo=1 visibility=30 | send q A:a A:b | receive q max=2 -> a#1 b#1 | "
      "change q 5 b#1 | advance 5s | receive q max=10 -> none | advance 25s | "
      "receive q max=10 -> a#2 b#2");
}

TEST(FifoOrder, NewMessagesOfAWaitingGroupWait) {
  run("queue q fifo=1 visibility=30 | send q A:a | receive q -> a#1 | send q A:b | receive q -> "
      "none | "
      "advance 30s | receive q max=10 -> a#2 b#1");
}

TEST(FifoOrder, AReceiveTakesAllItMayOfOneGroupAndThenOfTheNext) {
  run("queue q fifo=1 | send q A:a1 B:b1 A:a2 C:c1 B:b2 A:a3 | receive q max=4 -> a1#1 a2#1 a3#1 "
      "b1#1 | "
      "receive q max=10 -> c1#1");
}

TEST(FifoOrder, GroupsTakeTurnsInTheOrderInWhichTheyBecameAvailable) {
  run("queue q fifo=1 | send q A:a1 B:b1 A:a2 B:b2 | receive q -> a1#1 | receive q -> b1#1 | "
      "delete q b1#1 | delete q a1#1 | receive q -> b2#1 | receive q -> a2#1");
}

TEST(FifoOrder, ADeliveryWithoutAVisibilityTimeoutIsBackAtTheHead) {
  run("queue q fifo=1 | send q A:a A:b | receive q max=10 visibility=0 -> a#1 b#1 | "
      "receive q max=10 -> a#2 b#2");
}

TEST(FifoOrder, ADeliveryThatReachedNobodyGoesFirstAndDoesNotCount) {
  run("queue q fifo=1 | send q A:a A:b A:c | receive q max=2 -> a#1 b#1 | undeliver q a#1 b#1 | "
      "receive q max=10 -> a#1 b#1 c#1");
}

TEST(FifoOrder, NobodyIsToldThatALimitIsReached) {
  run("queue q fifo=1 | send q A:a | receive q -> a#1 | receive q -> none");
}

// --- handles ---

TEST(FifoHandles, ExpireWithTheVisibilityTimeout) {
  run("queue q fifo=1 visibility=30 | send q A:a | receive q -> a#1 | advance 29999ms | "
      "change q 30s a#1 | advance 29999ms | change q 30s a#1 | advance 30s | "
      "change q 30s a#1 -> receipt_expired | delete q a#1 -> receipt_expired | receive q -> a#2 | "
      "delete q a#1 -> receipt_expired | delete q a#2 | delete q a#1 a#2 | stored -> 0");
}

TEST(FifoHandles, DeleteWhenTheTimeoutWasMadeLonger) {
  run("queue q fifo=1 visibility=30 | send q A:a | receive q -> a#1 | change q 60s a#1 | "
      "advance 31s | delete q a#1 | stored -> 0");
}

// --- delay: only the queue has one ---

// --- a change of the deduplication scope ---

// Earlier versions cleared the window at each change: none of these sends was a duplicate.
TEST(DeduplicationScopeChange, TakesEffectAfterOneWindow) {
  run("queue q fifo=1 scope=0 | send q A:a:x | set q scope=1 | send q B:b:x -> same_as_1 | "
      "advance 299s | send q B:b:x -> same_as_1 | send q A:c:y | advance 1s | send q B:d:y -> "
      "same_as_2");
  run("queue q fifo=1 scope=1 | send q A:a:x | set q scope=0 | send q B:b:x | "
      "send q A:c:x -> same_as_1 | advance 299s | send q A:c:x -> same_as_1");
}

TEST(DeduplicationScopeChange, BreaksNoWindow) {
  run("queue q fifo=1 scope=0 | set q scope=1 | advance 290s | send q A:a:x | advance 20s | "
      "send q B:b:x -> same_as_1 | send q A:c:z | send q B:d:z | advance 279s | "
      "send q B:e:x -> same_as_1 | advance 1s | send q B:f:x");
}

TEST(DeduplicationScopeChange, OfAChangeThatHasNotTakenEffectKeepsTheScopeInForce) {
  run("queue q fifo=1 scope=0 | set q scope=1 | advance 400s | set q scope=0 | send q A:a:x | "
      "send q B:b:x | advance 299s | send q C:c:x | send q A:d:x -> same_as_1");
}

TEST(DeduplicationScopeChange, TakenBackBeforeItTakesEffectIsAsIfItHadNotBeen) {
  run("queue q fifo=1 scope=0 | set q scope=1 | advance 100s | set q scope=0 | send q A:a:x | "
      "send q B:b:x -> same_as_1 | advance 299s | send q B:c:x -> same_as_1 | advance 1s | "
      "send q B:d:x | send q A:e:x -> same_as_2");
}

TEST(DeduplicationScopeChange, SurvivesARestartAndACheckpoint) {
  run("queue q fifo=1 scope=0 | send q A:a:x | set q scope=1 | rotate | restart 1s | "
      "send q B:b:x -> same_as_1 | advance 300s | send q A:c:x | send q B:d:x");
}

TEST(FifoDelay, OfTheQueueHoldsTheGroupBack) {
  run("queue q fifo=1 delay=10 | send q A:a | advance 5s | send q A:b | count q -> 0/0/2 | "
      "advance 5s | receive q max=10 -> a#1 | delete q a#1 | receive q -> none | advance 5s | "
      "receive q -> b#1");
}

TEST(FifoDelay, OfAMessageIsNotHeeded) {
  run("queue q fifo=1 | send q A:a delay=10 | receive q -> a#1");
}

TEST(FifoDelay, ThatIsChangedCountsForWhatIsInTheQueue) {
  run("queue q fifo=1 delay=10 | send q A:a A:b | set q delay=20 | advance 10s | receive q -> none "
      "| "
      "set q delay=15 | advance 5s | receive q -> a#1 | set q delay=100 | count q -> 0/1/1 | "
      "advance 30s | receive q max=10 -> a#2 | restart | count q -> 0/1/1 | set q delay=0 | "
      "count q -> 1/1/0");
}

TEST(FifoDelay, ThatIsMadeLongerBeforeTheMessageIsDurableHolds) {
  run("queue q fifo=1 | hold | send q A:a -> pending | set q delay=10 -> pending | flush | receive "
      "q -> none | "
      "advance 10s | receive q -> a#1");
}

// --- long polls ---

TEST(FifoWaiting, IsEndedByWhateverReleasesTheGroup) {
  struct Case {
    const char* name;
    const char* steps;
    const char* got;
  };
  const Case cases[] = {
      {"delete of the head",    "delete q a#1",                       "b#1"},
      {"timeout of the head",   "advance 30s",                        "a#2"},
      {"visibility 0",          "change q 0 a#1",                     "a#2"},
      {"undelivered",           "undeliver q a#1",                    "a#1"},
      {"a new group",           "send q B:c",                         "c#1"},
      {"retention of the head", "change q 12h a#1 | advance 59500ms", "b#1"},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    run(fmt::format(
        "queue q fifo=1 visibility=30 retention=60 | send q A:a | advance 2s | send q A:b | "
        "receive q -> a#1 | receive q wait=20m as w | {} | w -> {}",
        c.steps, c.got));
  }
}

TEST(FifoWaiting, IsEndedByTheEndOfADelay) {
  run("queue q fifo=1 delay=5 | send q A:a | receive q wait=20 as w | advance 5s | w -> a#1");
  run("queue q fifo=1 delay=50 | send q A:a | receive q wait=20 as w | set q delay=0 | w -> a#1");
}

TEST(FifoWaiting, IsEndedByAPurgeOnlyWhenSomethingIsSentAfterIt) {
  run("queue q fifo=1 | send q A:a A:b | receive q -> a#1 | receive q wait=20 as w | purge q | "
      "w -> pending | send q A:c | w -> c#1 | stored -> 1");
}

TEST(FifoWaiting, ServesWhoHasWaitedLongest) {
  run("queue q fifo=1 | receive q wait=20 as v | receive q wait=20 as w | send q A:a | v -> a#1 | "
      "w -> pending | delete q a#1 | send q A:b | w -> b#1");
}

// --- crash ---

TEST(FifoCrash, AnAnswerLeavesOnlyWhenItsRecordIsDurable) {
  run("queue q fifo=1 | send q A:a A:b | hold | receive q as w | w -> pending | flush | w -> a#1 | "
      "restart | receive q -> none");
}

TEST(FifoCrash, KeepsOrderAndWhatIsInFlight) {
  run("queue q fifo=1 visibility=30 | send q A:a B:x A:b A:c | receive q -> a#1 | restart | "
      "receive q max=10 -> x#1 | delete q a#1 | receive q max=10 -> b#1 c#1 | restart 30s | "
      "receive q max=10 -> x#2 b#2 c#2");
}

TEST(FifoCrash, KeepsOrderWhenALaterMessageCameBackFirst) {
  run("queue q fifo=1 visibility=30 | send q A:a A:b | receive q max=2 -> a#1 b#1 | change q 5 b#1 "
      "| "
      "restart 10s | receive q max=10 -> none | advance 20s | receive q max=10 -> a#2 b#2");
}

// --- deduplication ---

TEST(Deduplication, AnswersADuplicateWithTheNumberOfTheFirst) {
  run("queue q fifo=1 | send q A:a:x | send q A:b:x -> same_as_1 | send q B:c:x -> same_as_1 | "
      "receive q max=10 -> a#1 | delete q a#1 | send q A:d:x -> same_as_1 | receive q -> none | "
      "stored -> 0");
}

TEST(Deduplication, WithinABatchTakesTheFirst) {
  run("queue q fifo=1 | send q A:a:x A:b:y A:c:x -> ok ok same_as_1 | count q -> 2/0/0");
}

TEST(Deduplication, EndsFiveMinutesAfterTheFirst) {
  run("queue q fifo=1 | send q A:a:x | advance 200s | send q A:b:x -> same_as_1 | advance 99999ms "
      "| "
      "send q A:c:x -> same_as_1 | advance 1ms | send q A:d:x | send q A:e:x -> same_as_2");
}

TEST(Deduplication, ByGroupTellsGroupsApart) {
  run("queue q fifo=1 scope=1 | send q A:a:x | send q B:b:x | send q A:c:x -> same_as_1 | "
      "send q B:d:x -> same_as_2");
}

TEST(Deduplication, HoldsAcrossARestart) {
  run("queue q fifo=1 | send q A:a:x | receive q -> a#1 | delete q a#1 | restart 299999ms | "
      "send q A:b:x -> same_as_1 | restart 1ms | send q A:c:x");
}

TEST(Deduplication, HoldsWhenTheLogHasMovedOn) {
  run("queue q fifo=1 | send q A:a:x | receive q -> a#1 | delete q a#1 | rotate | restart | "
      "send q A:b:x -> same_as_1 | advance 300s | rotate | restart | send q A:c:x");
}

TEST(Deduplication, EndsWithAPurge) {
  run("queue q fifo=1 | send q A:a:x | purge q | send q A:b:x | send q A:c:x -> same_as_2 | "
      "restart | send q A:d:x -> same_as_2 | receive q max=10 -> b#1");
}

TEST(Deduplication, OfADuplicateIsAnsweredWhenTheFirstIsDurable) {
  Script script;
  script.run("queue q fifo=1 | hold");
  Ask& first = script.world().send_grouped(script.queue("q"), {
                                                                  {"a", "A", "x"}
  });
  Ask& second = script.world().send_grouped(script.queue("q"), {
                                                                   {"b", "A", "x"}
  });
  EXPECT_FALSE(first.answered || second.answered);
  script.run("flush");
  EXPECT_TRUE(first.answered && second.answered);
  EXPECT_TRUE(second.sends[0].duplicate);
}

TEST(Deduplication, OfWhatACrashTookBackDoesNotHold) {
  run("queue q fifo=1 | hold | send q A:a:x -> pending | crash | send q A:b:x | receive q max=10 "
      "-> b#1");
}

TEST(Fifo, WantsAGroupAndWhatToDeduplicateBy) {
  run("queue q fifo=1 | send q a -> invalid | send q A:b -> ok");
}

TEST(Fifo, OutOfSlotsRefusesWhatIsSentAndForgetsIt) {
  run("queue q fifo=1 | send q A:a A:b | send q B:c:x -> overloaded | receive q -> a#1 | delete q "
      "a#1 | "
      "send q B:c:x | receive q max=10 -> b#1 c#1",
      {.slots_max = 2});
}

// --- ReceiveRequestAttemptId ---

TEST(Attempt, ThatIsRepeatedGetsTheSameMessagesAgain) {
  Script script;
  script.run(
      "queue q fifo=1 visibility=30 | send q A:a A:b B:c | receive q max=2 attempt=x -> a#1 b#1");
  const ReceiptHandle first = script.handle("a#1");
  script.run("advance 20s | receive q max=2 attempt=x -> a#1 b#1 | count q -> 1/2/0");
  EXPECT_EQ(script.handle("a#1"), first);
  script.run(
      "advance 29999ms | count q -> 1/2/0 | delete q a#1 | advance 1ms | count q -> 2/0/0 | "
      "receive q attempt=y -> c#1");
}

TEST(Attempt, IsNotRetryableOnceAMessageIsNoLongerAsItWas) {
  struct Case {
    const char* name;
    const char* steps;
  };
  const Case cases[] = {
      {"deleted",        "delete q b#1"                                       },
      {"changed",        "change q 60 b#1"                                    },
      {"let go",         "change q 0 a#1"                                     },
      {"given back",     "undeliver q b#1"                                    },
      {"visible again",  "advance 30s"                                        },
      {"received again", "advance 30s | receive q max=10 attempt=y -> a#2 b#2"},
      {"past retention", "change q 12h a#1 b#1 | advance 62s"                 },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    run(
        fmt::format("queue q fifo=1 visibility=30 retention=60 | send q A:a A:b | "
                    "receive q max=2 attempt=x -> a#1 b#1 | {} | "
                    "receive q max=2 attempt=x -> attempt_not_retryable",
                    c.steps));
  }
}

TEST(Attempt, WithoutTheMessagesThatItReturnedIsRetryable) {
  run("queue q fifo=1 visibility=30 | send q A:a A:b B:c | "
      "receive q max=3 attempt=x -> a#1 b#1 c#1 | undeliver q attempt=x b#1 c#1 | "
      "receive q max=3 attempt=x -> a#1 | delete q a#1 | "
      "receive q max=3 attempt=x -> attempt_not_retryable | "
      "receive q max=3 attempt=y -> c#1 b#1 | undeliver q attempt=y c#1 b#1 | "
      "receive q max=3 attempt=y -> attempt_not_retryable");
}

TEST(Attempt, LastsFiveMinutes) {
  run("queue q fifo=1 visibility=1h | send q A:a B:b | receive q attempt=x -> a#1 | advance "
      "299999ms | "
      "receive q attempt=x -> a#1 | advance 1ms | receive q attempt=x -> b#1");
}

TEST(Attempt, ThatGotNothingIsANewOne) {
  run("queue q fifo=1 | receive q attempt=x -> none | send q A:a | receive q attempt=x -> a#1 | "
      "receive q attempt=x -> a#1");
}

TEST(Attempt, OfALongPollIsKnown) {
  run("queue q fifo=1 | receive q wait=20 attempt=x as w | send q A:a B:b | w -> a#1 | "
      "receive q wait=20 attempt=x -> a#1 | receive q -> b#1");
}

TEST(Attempt, ThatWaitsTwiceGetsTheSameMessagesTwice) {
  const std::string two =
      "queue q fifo=1 visibility=30 | receive q wait=20 attempt=x as u | receive q wait=20 as "
      "other "
      "| receive q wait=20 attempt=x as v | receive q wait=20 attempt=y as w | ";
  run(two +
      "send q A:a | u -> a#1 | v -> a#1 | other -> pending | w -> pending | delete q a#1 | "
      "send q A:b B:c C:d | other -> b#1 | w -> c#1 | receive q -> d#1");
  run(two +
      "cancel other | send q A:a B:b C:c | u -> a#1 | v -> a#1 | w -> b#1 | receive q -> c#1 | "
      "advance 20s | receive q attempt=x -> a#1 | count q -> 0/3/0");
  run("queue q fifo=1 | receive q max=2 wait=20 attempt=x as u | receive q wait=20 attempt=x as v "
      "| "
      "send q A:a A:b | u -> a#1 b#1 | v -> attempt_not_retryable");
}

TEST(Attempt, IsForgottenByAPurgeAndARestart) {
  run("queue q fifo=1 visibility=30 | send q A:a | receive q attempt=x -> a#1 | purge q | send q "
      "B:b | "
      "receive q attempt=x -> b#1 | send q C:c | restart | receive q attempt=x -> c#1");
}

TEST(Attempt, RepeatedIsDurableTimeAndAll) {
  run("queue q fifo=1 visibility=30 | send q A:a | receive q attempt=x -> a#1 | advance 20s | "
      "receive q attempt=x -> a#1 | restart 10s | receive q -> none | advance 20s | receive q -> "
      "a#2");
}

TEST(Attempt, OfAStandardQueueMeansNothing) {
  run("queue q | send q a b | receive q attempt=x -> a#1 | receive q attempt=x -> b#1");
}

TEST(FifoOrder, AChangeOfVisibilityIsDurableWhenItIsAnswered) {
  run("queue q fifo=1 visibility=10 | send q A:a | receive q -> a#1 | hold | change q 600 a#1 -> "
      "pending | flush | crash | advance 11s | receive q -> none | advance 590s | receive q -> "
      "a#2");
}

}  // namespace
}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
// Send, delay, receive, long polls.
#include <gtest/gtest.h>

#include "tests/core/script.h"

namespace pawl::test {

TEST(Receive, FromAnEmptyQueueAnswersAtOnceWithNothing) { run("queue q | receive q -> none"); }

TEST(Receive, GivesWhatThereIsUpToMax) {
  run("queue q | send q a b c | receive q -> a#1 | receive q max=10 -> b#1 c#1 | "
      "receive q max=10 -> none");
}

TEST(Receive, FromAQueueThatDoesNotExistIsRefused) {
  run("queue q | drop q | receive q -> no_such_queue | send q a -> no_such_queue | "
      "delete q -> no_such_queue | change q 1s -> no_such_queue | purge q -> no_such_queue | "
      "count q -> no_such_queue | set q delay=1 -> no_such_queue | drop q -> no_such_queue");
}

TEST(Receive, KeepsTheOrderOfSending) {
  run("queue q | send q a | send q b c | send q d | receive q max=10 -> a#1 b#1 c#1 d#1");
}

TEST(Receive, GivesOlderMessagesThatCameBackBeforeNewerFreshOnes) {
  run("queue q visibility=1 | send q p q | receive q max=2 -> p#1 q#1 | advance 2s | "
      "send q a b c | receive q max=5 -> p#2 q#2 a#1 b#1 c#1");
}

TEST(Receive, LetsMessagesThatHaveJustComeBackAlternateWithFreshOnes) {
  run("queue q visibility=1 | send q p q | receive q max=2 -> p#1 q#1 | advance 1s | "
      "send q a b c | receive q max=5 -> p#2 a#1 q#2 b#1 c#1");
  run("queue q visibility=1 | send q p q | receive q max=2 -> p#1 q#1 | advance 1999ms | "
      "send q a b c | receive q max=5 -> p#2 a#1 q#2 b#1 c#1");
}

TEST(Receive, GivesFreshMessagesBeforeNewerOnesThatCameBack) {
  run("queue q | send q a delay=5 | send q b | receive q -> b#1 | change q 0 b#1 | advance 5s | "
      "receive q max=2 -> a#1 b#2");
}

TEST(Receive, HandsOutFreshMessagesAtHalfTheRateBesideAHundredThatNobodyCanProcess) {
  Script script;
  script.run("queue q | fill q 100");
  const QueueId q = script.queue("q");
  ShardHarness& world = script.world();
  for (int i = 0; i < 10; ++i)
    world.receive(q, {.max = 10, .visibility = seconds(30), .wait = Duration{0}});
  script.run("advance 30s | fill q 100");
  std::uint32_t fresh = 0;
  for (int i = 0; i < 20; ++i) {
    const Ask& ask = world.receive(q, {.max = 10, .visibility = seconds(0), .wait = Duration{0}});
    ASSERT_EQ(ask.request.delivered, 10u);
    std::vector<ReceiptHandle> done;
    for (const Delivery& delivery : ask.deliveries)
      if (delivery.receive_count == 1) done.push_back(delivery.handle);
    fresh += static_cast<std::uint32_t>(done.size());
    world.receipts(Op::delete_message, q, done);
  }
  EXPECT_EQ(fresh, 100u);
}

TEST(Receive, GivesAMessageThatComesBackItsOldPlace) {
  run("queue q | send q a b c d | receive q max=4 -> a#1 b#1 c#1 d#1 | change q 0 c#1 a#1 | "
      "receive q max=4 -> a#2 c#2");
}

TEST(Receive, CountsVisibleInFlightAndDelayedApart) {
  run("queue q visibility=30 | send q a b c d delay=0 | send q e f delay=10 | "
      "receive q max=3 -> a#1 b#1 c#1 | count q -> 1/3/2 | advance 10s | count q -> 3/3/0 | "
      "delete q a#1 | count q -> 3/2/0 | advance 20s | count q -> 5/0/0");
}

TEST(Send, OfNothingIsAnswered) { run("queue q | hold | send q | count q -> 0/0/0"); }

TEST(Send, IsAnsweredAndHandedOutOnlyWhenItIsDurable) {
  run("queue q | hold | send q a -> pending | receive q -> none | count q -> 0/0/0 | flush | "
      "receive q -> a#1");
}

TEST(Send, IsHandedOutAsFarAsItIsDurable) {
  run("queue q | hold | send q a b -> pending | send q c -> pending | send q d -> pending | "
      "flush_one | receive q max=10 -> a#1 b#1 | flush_one | receive q max=10 -> c#1 | flush | "
      "receive q max=10 -> d#1");
}

TEST(Send, ThatWasNotDurableIsForgottenByACrash) {
  run("queue q | send q a | hold | send q b -> pending | crash | receive q max=10 -> a#1 | "
      "stored -> 1");
}

TEST(Send, GivesEachMessageTheNextNumber) {
  Script script;
  script.run("queue q");
  Ask& first = script.world().send(script.queue("q"), {"a", "b"});
  Ask& second = script.world().send(script.queue("q"), {"c"});
  EXPECT_EQ(first.sends[0].seq, 1u);
  EXPECT_EQ(first.sends[1].seq, 2u);
  EXPECT_EQ(second.sends[0].seq, 3u);
}

TEST(Send, SkipsEntriesThatWereRefusedBefore) {
  Script script;
  script.run("queue q");
  Ask ask;
  ask.request.op = Op::send;
  ask.request.queue = script.queue("q");
  ask.sends.resize(3);
  ask.sends[0].content.body = "a";
  ask.sends[1].error = Errc::too_large;
  ask.sends[2].content.body = "c";
  ask.request.sends = ask.sends;
  script.world().turn(&ask);
  EXPECT_TRUE(ask.answered);
  EXPECT_EQ(ask.sends[1].error, Errc::too_large);
  EXPECT_EQ(ask.sends[2].seq, 2u);
  script.run("receive q max=10 -> a#1 c#1");
}

TEST(Delay, HidesAMessageUntilItsTime) {
  run("queue q | send q a delay=10 | count q -> 0/0/1 | advance 9999ms | receive q -> none | "
      "advance 1ms | receive q -> a#1");
}

TEST(Delay, OfTheQueueIsUsedUnlessTheMessageHasItsOwn) {
  run("queue q delay=10 | send q a | send q b delay=0 | send q c delay=5 | "
      "receive q max=10 -> b#1 | advance 5s | receive q max=10 -> c#1 | advance 5s | "
      "receive q max=10 -> a#1");
}

TEST(Delay, ChangedLaterAppliesToNewMessagesOnly) {
  run("queue q delay=10 | send q a | set q delay=0 | send q b | receive q max=2 -> b#1 | "
      "advance 10s | receive q max=2 -> a#1");
}

TEST(Delay, CountsFromAcceptanceAlsoWhenTheDiskIsSlow) {
  run("queue q | hold | send q a delay=10 -> pending | advance 9s | flush | count q -> 0/0/1 | "
      "receive q -> none | advance 1s | receive q -> a#1");
}

TEST(Delay, ThatEndsWhenTheMessageBecomesDurableShowsItThen) {
  run("queue q | hold | send q a delay=5 -> pending | advance 5s | flush | receive q -> a#1");
}

TEST(Delay, ThatEndsBeforeTheMessageIsDurableDoesNotShowItEarly) {
  run("queue q | hold | send q a delay=1 -> pending | advance 5s | receive q -> none | flush | "
      "receive q -> a#1");
}

TEST(LongPoll, AnswersAtOnceWhenThereIsAMessage) {
  run("queue q | send q a | receive q wait=20 -> a#1");
}

TEST(LongPoll, IsAnsweredEmptyWhenItsTimeIsUpAndNotBefore) {
  run("queue q | receive q wait=20 as w | advance 19999ms | w -> pending | advance 1ms | "
      "w -> none");
}

TEST(LongPoll, UsesTheQueuesTimeUnlessItHasItsOwn) {
  run("queue q wait=20 | receive q as w | receive q wait=5 as v | receive q wait=0 -> none | "
      "advance 5s | v -> none | w -> pending | advance 15s | w -> none");
}

TEST(LongPoll, WakesOnASend) {
  run("queue q | receive q wait=20 as w | advance 3s | send q a | w -> a#1");
}

TEST(LongPoll, WakesOnlyWhenWhatWasSentIsDurable) {
  run("queue q | receive q wait=20 as w | hold | send q a -> pending | w -> pending | flush | "
      "w -> a#1");
}

TEST(LongPoll, WakesAtTheEndOfADelay) {
  run("queue q | send q a delay=7 | receive q wait=20 as w | advance 6999ms | w -> pending | "
      "advance 1ms | w -> a#1");
}

TEST(LongPoll, WakesAtTheEndOfAVisibilityTimeout) {
  run("queue q visibility=7 | send q a | receive q -> a#1 | receive q wait=20 as w | "
      "advance 6999ms | w -> pending | advance 1ms | w -> a#2");
}

TEST(LongPoll, WakesWhenTheVisibilityIsSetToZero) {
  run("queue q | send q a | receive q -> a#1 | receive q wait=20 as w | change q 0 a#1 | w -> a#2");
}

TEST(LongPoll, WakesWhenADeliveryIsTakenBack) {
  run("queue q | send q a | receive q -> a#1 | receive q wait=20 as w | undeliver q a#1 | "
      "w -> a#1");
}

TEST(LongPoll, TakesWhatThereIsAndDoesNotWaitForMore) {
  run("queue q | receive q wait=20 max=10 as w | send q a b | w -> a#1 b#1");
}

TEST(LongPoll, IsServedInTheOrderOfArrival) {
  run("queue q | receive q wait=20 as u | receive q wait=5 as v | receive q wait=20 as w | "
      "send q a | u -> a#1 | v -> pending | send q b c | v -> b#1 | w -> c#1");
}

TEST(LongPoll, ThatTimedOutIsPassedOver) {
  run("queue q | receive q wait=1 as u | receive q wait=20 as v | advance 1s | u -> none | "
      "send q a | v -> a#1");
}

TEST(LongPoll, ThatWasCancelledIsPassedOver) {
  run("queue q | receive q wait=20 as u | receive q wait=20 as v | receive q wait=20 as w | "
      "cancel v | cancel v -> not waiting | send q a b | u -> a#1 | w -> b#1 | v -> pending | "
      "cancel u -> not waiting | advance 20s | v -> pending");
}

TEST(LongPoll, ThatWasCancelledLeavesItsTimerAsGarbage) {
  Script script;
  script.run("queue q | receive q wait=20 as u | receive q wait=10 as v | cancel v");
  EXPECT_EQ(script.world().shard().timers().size(), 2u);
  EXPECT_EQ(script.world().shard().timers().stale(), 1u);
  EXPECT_EQ(script.world().shard().waiting(), 1u);
}

TEST(LongPoll, OfOneQueueDoesNotWakeOnAnother) {
  run("queue q | queue p | receive q wait=20 as w | send p a | w -> pending | receive p -> a#1");
}

TEST(LongPoll, ComesBeforeAShortPollOfTheSameTurn) {
  Script script;
  script.run("queue q | receive q wait=20 as w | hold | send q a -> pending");
  // The flush completes, and a short poll arrives before the turn ends.
  ShardHarness& world = script.world();
  world.commit();
  Ask& late = world.receive(script.queue("q"), {.max = 1, .wait = seconds(0)});
  EXPECT_EQ(late.request.delivered, 0u);
  script.run("w -> a#1");
}

TEST(LongPoll, ThatAsksForNoVisibilityDoesNotStopLaterOnesFromWaking) {
  run("queue q | receive q wait=20 visibility=0 as w | send q a | w -> a#1 | receive q -> a#2 | "
      "receive q wait=20 as v | send q b | v -> b#1");
}

TEST(LongPoll, ThatAsksForNoVisibilityLeavesTheMessageToTheNext) {
  run("queue q | queue p | receive q wait=20 visibility=0 as u | receive q wait=20 as v | "
      "receive q wait=20 as w | send q a | u -> a#1 | v -> a#2 | w -> pending");
}

TEST(LongPoll, OfADeletedQueueEndsWithNoSuchQueue) {
  run("queue q | receive q wait=20 as u | receive q wait=20 as v | drop q | "
      "u -> no_such_queue | v -> no_such_queue | advance 20s");
}

TEST(LongPoll, SurvivesAPurge) {
  run("queue q | send q a | receive q -> a#1 | receive q wait=20 as w | purge q | w -> pending | "
      "send q b | w -> b#1");
}

}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
// Receipts, visibility and delete: the project document sqs.md, "Message life cycle".
#include <gtest/gtest.h>

#include "core/queue/queue.h"
#include "tests/core/script.h"

namespace pawl::test {

TEST(Visibility, AnExpiredDeliveryGivesTheMessageBack) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | receive q -> none | advance 30s | "
      "receive q -> a#2");
}

TEST(Visibility, EndsAtTheDeadlineAndNotAMillisecondBefore) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 29999ms | receive q -> none | "
      "advance 1ms | receive q -> a#2");
}

TEST(Visibility, EndsAlsoForAShardThatSleptThroughTheDeadline) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | jump 3h | receive q -> a#2");
}

TEST(Visibility, OfTheRequestOverridesTheQueues) {
  run("queue q visibility=30 | send q a | receive q visibility=5 -> a#1 | advance 4999ms | "
      "receive q -> none | advance 1ms | receive q visibility=12h -> a#2 | advance 43199s | "
      "receive q -> none | advance 1s | receive q -> a#3");
}

TEST(Visibility, OfZeroShowsTheMessageAtOnceAndCounts) {
  run("queue q | send q a b | receive q max=10 visibility=0 -> a#1 b#1 | count q -> 2/0/0 | "
      "receive q max=10 visibility=0 -> a#2 b#2 | receive q max=10 -> a#3 b#3");
}

TEST(Visibility, OfAQueueChangedLaterDoesNotMoveMessagesInFlight) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | set q visibility=1 | advance 29s | "
      "receive q -> none | advance 1s | receive q -> a#2 | advance 1s | receive q -> a#3");
}

TEST(ChangeVisibility, CountsFromNowAndReplacesTheDeadline) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 20s | change q 30s a#1 | "
      "advance 29999ms | receive q -> none | advance 1ms | receive q -> a#2");
}

TEST(ChangeVisibility, MayShorten) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | change q 2s a#1 | advance 2s | "
      "receive q -> a#2 | advance 28s | receive q -> none");
}

TEST(ChangeVisibility, ToZeroShowsTheMessageAtOnce) {
  run("queue q | send q a | receive q -> a#1 | change q 0 a#1 | count q -> 1/0/0 | "
      "receive q -> a#2");
}

TEST(ChangeVisibility, HasNoEffectOnLaterDeliveries) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | change q 1s a#1 | advance 1s | "
      "receive q -> a#2 | advance 29s | receive q -> none | advance 1s | receive q -> a#3");
}

TEST(ChangeVisibility, EndsTwelveHoursAfterTheDelivery) {
  run("queue q | send q a | receive q -> a#1 | change q 12h a#1 | advance 1ms | "
      "change q 12h a#1 -> visibility_beyond_max | advance 999ms | change q 43199s a#1 | "
      "advance 1s | change q 43199s a#1 -> visibility_beyond_max | change q 43198s a#1 | "
      "receive q -> none");
}

TEST(ChangeVisibility, RefusedLeavesTheDeadlineAsItWas) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 10s | "
      "change q 12h a#1 -> visibility_beyond_max | advance 20s | receive q -> a#2");
}

TEST(ChangeVisibility, OfAMessageThatIsVisibleAgainHidesIt) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 30s | change q 30s a#1 | "
      "receive q -> none | count q -> 0/1/0 | advance 30s | receive q -> a#2");
}

// AWS does the same: the project document sqs.md, section 9.4.
TEST(ChangeVisibility, WithAnOldHandleWorksOnTheMessage) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 30s | receive q -> a#2 | "
      "change q 0 a#1 | count q -> 1/0/0 | receive q -> a#3 | change q 100s a#1 | advance 99s | "
      "receive q -> none | advance 1s | receive q -> a#4 | delete q a#2 | stored -> 0");
}

TEST(ChangeVisibility, WithAnOldHandleHoldsAcrossARestart) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 30s | receive q -> a#2 | "
      "change q 100s a#1 | restart | advance 99s | receive q -> none | advance 1s | "
      "receive q -> a#3");
}

TEST(ChangeVisibility, WithAnOldHandleOfAFifoQueueIsRefused) {
  run("queue q fifo=1 visibility=30 | send q A:a | receive q -> a#1 | advance 30s | "
      "receive q -> a#2 | change q 0 a#1 -> receipt_expired | receive q -> none");
}

TEST(ChangeVisibility, OfADeletedMessageIsRefused) {
  run("queue q | send q a | receive q -> a#1 | delete q a#1 | change q 5s a#1 -> message_gone");
}

TEST(ChangeVisibility, AnswersEachEntryOfABatch) {
  run("queue q | queue p | send q a b c | send p x | receive p -> x#1 | "
      "receive q max=3 -> a#1 b#1 c#1 | delete q b#1 | "
      "change q 0 a#1 b#1 x#1 c#1 -> ok message_gone receipt_invalid ok | "
      "receive q max=3 -> a#2 c#2");
}

TEST(Delete, OfAMessageInFlightDeletesIt) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | delete q a#1 | count q -> 0/0/0 | "
      "stored -> 0 | advance 30s | receive q -> none");
}

TEST(Delete, TwiceSucceeds) {
  run("queue q | send q a | receive q -> a#1 | delete q a#1 | delete q a#1 | delete q a#1 a#1");
}

TEST(Delete, AfterTheVisibilityTimeoutDeletesTheMessage) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 30s | delete q a#1 | "
      "receive q -> none | stored -> 0");
}

TEST(Delete, WithAnOldHandleDeletesTheMessageForTheNewHolderToo) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 30s | receive q -> a#2 | "
      "delete q a#1 | advance 30s | receive q -> none | delete q a#2");
}

TEST(Delete, AfterTheVisibilityWasExtendedDeletesTheMessage) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | change q 60s a#1 | advance 45s | "
      "delete q a#1 | advance 60s | receive q -> none");
}

TEST(Delete, WithTheHandleOfAnotherQueueIsRefusedForThatEntryAlone) {
  run("queue q | queue p | send q a b | send p x | receive q max=2 -> a#1 b#1 | receive p -> x#1 | "
      "delete q a#1 x#1 b#1 -> ok receipt_invalid ok | stored -> 1 | delete p x#1");
}

TEST(Delete, LeavesAnEntryAloneThatWasRefusedBefore) {
  Script script;
  script.run("queue q | send q a | receive q -> a#1");
  Ask ask;
  ask.request.op = Op::delete_message;
  ask.request.queue = script.queue("q");
  ask.receipts = {
      {.handle = script.handle("a#1"), .error = Errc::receipt_invalid}
  };
  ask.request.receipts = ask.receipts;
  script.world().turn(&ask);
  EXPECT_EQ(ask.receipts[0].error, Errc::receipt_invalid);
  script.run("stored -> 1 | count q -> 0/1/0");
}

TEST(Delete, OfNothingIsAnswered) { run("queue q | delete q | change q 5s | undeliver q"); }

TEST(Delete, WaitsForTheLogAlsoWhenTheDeleteBeforeItIsNotDurable) {
  Script script;
  script.run(
      "queue q | send q a | receive q -> a#1 | hold | delete q a#1 -> pending | "
      "delete q a#1 -> pending | crash | advance 30s | receive q -> a#2");
}

TEST(Delete, ThatWasAnsweredIsNeverUndone) {
  run("queue q | send q a b | receive q max=2 -> a#1 b#1 | delete q a#1 | crash | advance 30s | "
      "receive q max=2 -> b#2");
}

TEST(Undeliver, GivesBackTheMessageAndItsCount) {
  run("queue q | send q a | receive q -> a#1 | undeliver q a#1 | count q -> 1/0/0 | "
      "receive q -> a#1 | advance 30s | receive q -> a#2 | undeliver q a#2 | receive q -> a#2");
}

TEST(Undeliver, KeepsTheOrder) {
  run("queue q | send q a b c | receive q -> a#1 | undeliver q a#1 | "
      "receive q max=3 -> a#1 b#1 c#1");
}

TEST(Undeliver, WithAnOldHandleChangesNothing) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 30s | receive q -> a#2 | "
      "undeliver q a#1 | receive q -> none | delete q a#2 | undeliver q a#2 | stored -> 0");
}

TEST(Undeliver, HoldsAcrossARestart) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | undeliver q a#1 | restart | "
      "receive q -> a#1");
}

TEST(Undeliver, OfTheFirstDeliveryForgetsWhenItWas) {
  Script script;
  script.run("queue q | send q a | receive q -> a#1 | undeliver q a#1 | advance 5s");
  Ask& again = script.world().receive(script.queue("q"), {.max = 1});
  ASSERT_EQ(again.request.delivered, 1u);
  EXPECT_EQ(again.deliveries[0].first_received, script.world().now());
}

TEST(Receive, SaysWhenTheMessageWasReceivedFirst) {
  Script script;
  script.run("queue q visibility=30 | send q a | advance 3s");
  const Instant first = script.world().now();
  script.run("receive q -> a#1 | advance 30s | receive q -> a#2 | restart | advance 30s");
  Ask& third = script.world().receive(script.queue("q"), {.max = 1});
  ASSERT_EQ(third.request.delivered, 1u);
  EXPECT_EQ(third.deliveries[0].receive_count, 3u);
  EXPECT_EQ(third.deliveries[0].first_received, first);
}

TEST(Receive, GivesANewHandleEachTime) {
  Script script;
  script.run("queue q | send q a | receive q visibility=0 -> a#1 | receive q visibility=0 -> a#2");
  EXPECT_NE(script.handle("a#1"), script.handle("a#2"));
}

}  // namespace pawl::test

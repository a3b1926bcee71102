// SPDX-License-Identifier: Apache-2.0
// Dead letters: the time of the move, the attributes kept, and that none is lost or duplicated.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <string>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

// --- the time of the move ---

TEST(DeadLetter, IsMovedAtTheReceiveAfterTheLastOne) {
  for (const char* fifo : {"0", "1"}) {
    SCOPED_TRACE(fifo);
    run(fmt::format(
        "queue d fifo={0} | queue q fifo={0} visibility=30 max_receive=1 dlq=d | send q A:a | "
        "receive q -> a#1 | advance 30s | count q -> 1/0/0 | count d -> 0/0/0 | "
        "receive q -> none | count q -> 0/0/0 | count d -> 1/0/0 | receive d -> a#2 | "
        "delete d a#2 | stored -> 0",
        fifo));
    run(fmt::format(
        "queue d fifo={0} | queue q fifo={0} visibility=30 max_receive=3 dlq=d | send q A:a | "
        "receive q -> a#1 | advance 30s | receive q -> a#2 | advance 30s | receive q -> a#3 | "
        "advance 30s | receive q -> none | receive d -> a#4",
        fifo));
  }
}

TEST(DeadLetter, IsPassedOverForTheNextMessage) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | advance "
      "30s | "
      "send q b | receive q max=10 -> b#1 | count q -> 0/1/0 | count d -> 1/0/0");
}

TEST(DeadLetter, IsNotOneThatWasGivenBackOrDeleted) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | "
      "undeliver q a#1 | "
      "receive q -> a#1 | delete q a#1 | receive q -> none | receive d -> none | stored -> 0");
}

TEST(DeadLetter, StaysDeliverableWithoutATarget) {
  struct Case {
    const char* name;
    const char* before;
    const char* options;
  };
  const Case cases[] = {
      {"never made",      "queue x",          "dlq=d"},
      {"deleted",         "queue d | drop d", "dlq=d"},
      {"of another type", "queue d fifo=1",   "dlq=d"},
      {"no policy",       "queue d",          "dlq=" },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    run(
        fmt::format("{} | queue q visibility=30 max_receive=1 {} | send q a | receive q -> a#1 | "
                    "advance 30s | receive q -> a#2 | advance 30s | receive q -> a#3",
                    c.before, c.options));
  }
}

TEST(DeadLetter, FollowsThePolicyOfTheMoment) {
  run("queue d | queue e | queue q visibility=30 max_receive=5 dlq=d | send q a | receive q -> a#1 "
      "| "
      "advance 30s | receive q -> a#2 | set q max_receive=2 dlq=e | advance 30s | receive q -> "
      "none | "
      "receive e -> a#3 | receive d -> none");
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | "
      "set q max_receive=0 dlq= | advance 30s | receive q -> a#2");
}

TEST(DeadLetter, GoesWhenItsTargetIsMadeAgain) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | drop d | send q a | receive q -> a#1 "
      "| "
      "advance 30s | receive q -> a#2 | queue d | advance 30s | receive q -> none | receive d -> "
      "a#3");
}

TEST(DeadLetter, OfADeadLetterQueueWithItsOwnPolicyGoesOn) {
  run("queue e | queue d visibility=30 max_receive=3 dlq=e | queue q visibility=30 max_receive=1 "
      "dlq=d | "
      "send q a | receive q -> a#1 | advance 30s | receive q -> none | receive d -> a#2 | advance "
      "30s | "
      "receive d -> a#3 | advance 30s | receive d -> none | receive e -> a#4 | delete e a#4 | "
      "stored -> 0");
}

TEST(DeadLetter, OfAQueueThatIsItsOwnDeadLetterQueueMovesBehindTheOthersOnceADelivery) {
  for (const char* fifo : {"0", "1"}) {
    SCOPED_TRACE(fifo);
    Script script;
    script.run(fmt::format(
        "queue q fifo={} visibility=30 max_receive=2 dlq=q | send q A:a | receive q -> a#1 | "
        "advance 30s | receive q -> a#2 | send q A:b | advance 30s",
        fifo));
    script.run(*fifo == '1' ? "receive q -> b#1 | delete q b#1 | receive q -> a#3"
                            : "receive q max=10 -> b#1 | delete q b#1 | receive q -> a#3");
    script.run("count q -> 0/1/0 | advance 30s | receive q wait=20 -> a#4 | restart | advance 30s");
    script.run("receive q -> a#5 | delete q a#5 | count q -> 0/0/0 | stored -> 0");
  }
}

TEST(DeadLetter, OfAQueueThatIsItsOwnDeadLetterQueueKeepsItsIdAndItsAge) {
  Script script;
  script.run(
      "queue q visibility=30 retention=60 max_receive=1 dlq=q | send q a | "
      "receive q -> a#1 | advance 30s");
  const Ask& ask = script.world().receive(script.queue("q"), {.max = 1, .wait = seconds(1)});
  ASSERT_EQ(ask.request.delivered, 1u);
  const StoredSend& stored = script.world().sent_at(ask.deliveries[0].position);
  EXPECT_EQ(stored.record.carried.id, message_id(test_secret(), script.queue("q"), 1));
  EXPECT_EQ(stored.record.seq, 2u);
  EXPECT_EQ(stored.origin, "000000000000/q");
  script.run("advance 30s | receive q -> none | stored -> 0");
}

TEST(DeadLetter, IsNotDelayedAgain) {
  run("queue d delay=60 | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 "
      "| "
      "advance 30s | receive q -> none | receive d -> a#2");
}

// --- the attributes kept ---

TEST(DeadLetter, KeepsItsIdTimesGroupAndSaysWhereItCameFrom) {
  for (const bool fifo : {false, true}) {
    SCOPED_TRACE(fifo);
    Script script;
    script.run(fmt::format(
        "queue d fifo={0} visibility=5 | queue q fifo={0} visibility=30 max_receive=2 dlq=d | "
        "send q A:other | receive q -> other#1 | delete q other#1",
        fifo ? 1 : 0));
    const Instant sent = script.world().now();
    script.run(
        "send q A:a | advance 1s | receive q -> a#1 | advance 30s | receive q -> a#2 | advance 30s "
        "| "
        "receive q -> none | advance 7s");
    const Ask& ask = script.world().receive(script.queue("d"), {});
    ASSERT_EQ(ask.request.delivered, 1u);
    const Delivery& delivery = ask.deliveries[0];
    EXPECT_EQ(delivery.receive_count, 3u);
    EXPECT_EQ(delivery.first_received, sent + seconds(1));
    const StoredSend& stored = script.world().sent_at(delivery.position);
    EXPECT_EQ(stored.record.sent, sent);
    EXPECT_EQ(stored.record.carried.id, message_id(test_secret(), script.queue("q"), 2));
    EXPECT_EQ(stored.group, "A");
    EXPECT_EQ(stored.origin, "000000000000/q");
    const std::array<char, 36> uuid = uuid_text(stored.record.carried.id);
    EXPECT_EQ(stored.dedup_id, fifo ? std::string(uuid.data(), uuid.size()) : "");
    script.run("restart 5s");
    EXPECT_EQ(script.world().receive(script.queue("d"), {}).deliveries[0].first_received,
              sent + seconds(1));
  }
}

TEST(DeadLetter, ThatIsMovedTwiceKeepsTheFirstId) {
  Script script;
  script.run(
      "queue e | queue d visibility=30 max_receive=2 dlq=e | queue q visibility=30 max_receive=1 "
      "dlq=d | "
      "send q a | receive q -> a#1 | advance 30s | receive q -> none | receive d -> a#2 | "
      "advance 30s | receive d -> none");
  const Ask& ask = script.world().receive(script.queue("e"), {});
  ASSERT_EQ(ask.request.delivered, 1u);
  const StoredSend& stored = script.world().sent_at(ask.deliveries[0].position);
  EXPECT_EQ(stored.record.carried.id, message_id(test_secret(), script.queue("q"), 1));
  EXPECT_EQ(stored.origin, "000000000000/d");
}

// --- retention ---

TEST(DeadLetter, OfAStandardQueueGoesByWhenItWasSent) {
  for (const char* restart : {"", "| restart "}) {
    SCOPED_TRACE(restart);
    run(fmt::format(
        "queue d retention=120 | queue q visibility=30 max_receive=1 dlq=d | send q a | "
        "receive q -> a#1 | advance 60s | receive q -> none {}| advance 59s | "
        "count d -> 1/0/0 | advance 1s | count d -> 0/0/0 | stored -> 0",
        restart));
  }
}

TEST(DeadLetter, OfAFifoQueueGoesByWhenItCame) {
  for (const char* restart : {"", "| restart "}) {
    SCOPED_TRACE(restart);
    run(fmt::format(
        "queue d fifo=1 retention=120 | queue q fifo=1 visibility=30 max_receive=1 dlq=d | "
        "send q A:a | receive q -> a#1 | advance 60s | receive q -> none {}| advance 119s | "
        "count d -> 1/0/0 | advance 2s | count d -> 0/0/0 | stored -> 0",
        restart));
  }
}

TEST(DeadLetter, OlderThanTheRetentionOfItsTargetIsGone) {
  run("queue d retention=60 | queue q visibility=30 max_receive=1 dlq=d | send q a | send q A:b | "
      "receive q max=2 -> b#1 a#1 | advance 100s | receive q -> none | count d -> 0/0/0 | "
      "receive d -> none | stored -> 0 | restart | receive d -> none | receive q -> none");
}

TEST(DeadLetter, OldOnesGoAtTheirTimeHoweverTheyArrived) {
  run("queue d retention=100 | queue q visibility=200 max_receive=1 dlq=d | send q a | advance 10s "
      "| "
      "send q b | receive q max=2 -> a#1 b#1 | change q 50 b#1 | advance 50s | receive q -> none | "
      "change q 0 a#1 | receive q -> none | count d -> 2/0/0 | advance 40s | receive d max=10 -> "
      "b#2 | "
      "advance 10s | count d -> 0/0/0 | stored -> 0");
}

// --- order ---

TEST(DeadLetter, FreesItsGroup) {
  run("queue d fifo=1 | queue q fifo=1 visibility=30 max_receive=1 dlq=d | send q A:a A:b | "
      "receive q -> a#1 | advance 30s | receive q -> b#1 | receive d -> a#2");
}

TEST(DeadLetter, LeavesTheRestOfTheGroupInOrder) {
  run("queue d fifo=1 | queue q fifo=1 visibility=30 max_receive=1 dlq=d | send q A:a A:b A:c B:x "
      "| "
      "receive q max=2 -> a#1 b#1 | advance 30s | receive q max=10 -> x#1 | receive q max=10 -> "
      "c#1 | "
      "receive d max=10 -> a#2 b#2");
}

TEST(DeadLetter, IsNotDeduplicatedInItsTarget) {
  run("queue d fifo=1 | queue q fifo=1 visibility=30 max_receive=1 dlq=d | send q A:a | send d "
      "A:z:a | "
      "receive q -> a#1 | advance 30s | receive q -> none | receive d max=10 -> z#1 a#2");
}

// --- waiting receives ---

TEST(DeadLetter, WakesWhoWaitsForItsTarget) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | "
      "receive d wait=20m as w | advance 30s | receive q -> none | w -> a#2");
}

TEST(DeadLetter, GoneFromTheHeadOfItsGroupWakesWhoWaits) {
  run("queue d fifo=1 | queue q fifo=1 visibility=30 max_receive=1 dlq=d | send q A:a A:b | "
      "receive q -> a#1 | receive q wait=20m as w | advance 30s | w -> b#1");
}

TEST(DeadLetter, OfAllThatIsThereEndsAShortPollWhenTheyAreGone) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | "
      "advance 30s | hold | receive q as w | count q -> 0/0/0 | w -> pending | flush_one | "
      "w -> none | count d -> 1/0/0");
}

TEST(DeadLetter, ThatTakesTooLongDoesNotHoldAShortPoll) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | advance "
      "30s | "
      "hold | receive q as w | advance 4999ms | w -> pending | advance 1ms | w -> none");
}

TEST(DeadLetter, OfLongPollsWaitsForMessages) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | advance "
      "30s | "
      "receive q wait=20 as w | count d -> 1/0/0 | w -> pending | send q b | w -> b#1");
}

// --- limits ---

TEST(DeadLetter, BeyondWhatMayBeUnderWayWaitsForItsTurn) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a b c d e | "
      "receive q max=10 -> a#1 b#1 c#1 d#1 e#1 | advance 30s | receive q max=10 wait=10 as w | "
      "count d -> 5/0/0 | w -> pending | send q f | w -> f#1",
      {.transfers_max = 2});
}

TEST(DeadLetter, OfOneQueueDoesNotLeaveAnotherWaitingForEver) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | queue r visibility=30 max_receive=1 "
      "dlq=d | "
      "send q a | send r b | receive q -> a#1 | receive r -> b#1 | advance 30s | send r c | hold | "
      "receive q wait=60 as v | receive r wait=60 -> c#1 | receive r wait=60 as w | flush | "
      "count d -> 2/0/0 | w -> pending",
      {.transfers_max = 1});
}

TEST(DeadLetter, ThatItsFullTargetRefusesStaysAndIsRetried) {
  run("queue d delay=900 | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 "
      "| "
      "advance 30s | send d b | receive q -> none | count d -> 0/0/1 | advance 1s | count q -> "
      "1/0/0 | "
      "drop d | receive q -> a#2",
      {.slots_max = 2});
}

// Each try reads a message: with many of them it would be a shard's whole work.
TEST(DeadLetter, ThatItsFullTargetRefusesAgainWaitsLonger) {
  run("queue d delay=900 | queue q visibility=30 max_receive=1 dlq=d dead_at=1 | send q a | "
      "receive q -> a#1 | send d b | advance 30s | count d -> 0/0/1 | advance 1s | drop d | "
      "queue d | advance 1s | count d -> 0/0/0 | advance 1s | peek d -> a:visible#1",
      {.slots_max = 2});
}

TEST(DeadLetter, OfMoreThanAReceiveLooksAtAreMovedInSteps) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | fill q 100 | take q 100 | advance 30s "
      "| "
      "hold | receive q as w | flush_one | count d -> 64/0/0 | w -> pending | flush | w -> none | "
      "count d -> 100/0/0");
}

// --- deletion, purge and expiry during the move ---

TEST(DeadLetter, WhoseSourceIsDeletedOnTheWayArrives) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | advance "
      "30s | "
      "hold | receive q wait=20 as w | drop q -> pending | flush | w -> no_such_queue | receive d "
      "-> a#2 | "
      "delete d a#2 | stored -> 0");
}

TEST(DeadLetter, WhoseSourceIsPurgedOnTheWayArrives) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a b | receive q max=2 -> a#1 "
      "b#1 | "
      "change q 60 b#1 | advance 30s | hold | receive q wait=20 as w | purge q -> pending | "
      "flush | w -> pending | send q c | w -> c#1 | receive d -> a#2 | delete d a#2 | delete q c#1 "
      "| "
      "count q -> 0/0/0 | stored -> 0");
}

TEST(DeadLetter, WhoseTargetIsDeletedOnTheWayComesBack) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | advance "
      "30s | "
      "hold | gather | receive q wait=20 as w | drop d -> pending | go | flush | w -> a#2 | delete "
      "q a#2 | "
      "stored -> 0");
}

TEST(DeadLetter, WhoseTargetIsPurgedBeforeTheSourceKnowsIsGone) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | advance "
      "30s | "
      "hold | receive q as w | purge d -> pending | flush | w -> none | count q -> 0/0/0 | "
      "count d -> 0/0/0 | stored -> 0 | restart | receive q -> none | stored -> 0");
}

TEST(DeadLetter, WhoseTargetIsDeletedBeforeTheSourceKnowsIsGone) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | advance "
      "30s | "
      "hold | receive q as w | drop d -> pending | flush | w -> none | count q -> 0/0/0 | stored "
      "-> 0");
}

TEST(DeadLetter, PastRetentionOnTheWayIsGoneFromItsSourceOnce) {
  run("queue d | queue q visibility=30 retention=60 max_receive=1 dlq=d | send q a | receive q -> "
      "a#1 | "
      "advance 58s | hold | receive q wait=20 as w | advance 4s | w -> pending | flush | "
      "count q -> 0/0/0 | receive d -> a#2 | delete d a#2 | stored -> 0");
}

TEST(DeadLetter, OnItsWayIsNotAnybodysToChangeOrDelete) {
  run("queue d fifo=1 | queue q fifo=1 visibility=30 max_receive=1 dlq=d | send q A:a | receive q "
      "-> a#1 | "
      "advance 30s | hold | receive q as w | delete q a#1 -> pending | change q 30 a#1 -> "
      "receipt_expired | "
      "flush | receive d -> a#2");
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a | receive q -> a#1 | advance "
      "30s | "
      "hold | receive q as w | change q 30 a#1 -> message_gone | undeliver q a#1 | flush | receive "
      "d -> a#2");
}

}  // namespace
}  // namespace pawl::test

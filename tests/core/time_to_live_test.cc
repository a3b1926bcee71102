// SPDX-License-Identifier: Apache-2.0
// Time to live: messages that expire, and dead letters that come of it.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

void run(std::string_view steps, const ShardLimits& limits = {}) { Script(limits).run(steps); }

TEST(TimeToLive, EndsAWaitingMessage) {
  run("queue q | send q a ttl=1500ms | send q b | advance 1499ms | count q -> 2/0/0 | "
      "advance 1ms | count q -> 1/0/0 | receive q -> b#1 | stored -> 1");
}

TEST(TimeToLive, IsTheShorterOfMessageAndQueue) {
  run("queue q ttl=5 | send q a ttl=1m | send q b ttl=2 | send q c | advance 2s | "
      "count q -> 2/0/0 | advance 3s | count q -> 0/0/0");
}

TEST(TimeToLive, BeginsWhenTheMessageBecomesVisible) {
  run("queue q | send q a delay=10s ttl=5s | advance 14s | count q -> 1/0/0 | advance 1s | "
      "count q -> 0/0/0");
  run("queue q max_delay=1d | send q a delay=10s ttl=5s | plan q 60s 1 | advance 64s | "
      "count q -> 1/0/0 | advance 1s | count q -> 0/0/0");
}

TEST(TimeToLive, IsNotProlongedByANewDeliveryTime) {
  run("queue q max_delay=1d | send q a ttl=10s | advance 5s | plan q 1h 1 | advance 5s | "
      "count q -> 0/0/0");
  run("queue q max_delay=1d | send q a delay=1s ttl=10s | advance 2s | plan q 1h 1 | crash | "
      "rotate | crash | advance 8s | count q -> 0/0/1 | advance 1s | count q -> 0/0/0");
}

TEST(TimeToLive, WaitsForTheEndOfALease) {
  run("queue q visibility=20 | send q a ttl=5s | receive q -> a#1 | advance 5s | "
      "count q -> 0/1/0 | advance 15s | count q -> 0/0/0 | stored -> 0");
  run("queue q visibility=20 | send q a ttl=5s | receive q -> a#1 | advance 5s | delete q a#1 | "
      "count q -> 0/0/0");
  run("queue q visibility=20 | send q a ttl=5s | receive q -> a#1 | advance 5s | "
      "change q 30 a#1 | advance 29s | count q -> 0/1/0 | change q 0 a#1 | count q -> 0/0/0");
  run("queue q visibility=20 | send q a ttl=5s | receive q -> a#1 | advance 5s | snooze q 0 a#1 | "
      "count q -> 0/0/0");
  run("queue q visibility=20 | send q a ttl=5s | receive q -> a#1 | advance 5s | "
      "undeliver q a#1 | count q -> 0/0/0");
}

TEST(TimeToLive, EndsAMessageThatWaitsAfterItsReturn) {
  run("queue q visibility=20 backoff=none:60000 | send q a ttl=30s | receive q -> a#1 | "
      "change q 0 a#1 | advance 29s | count q -> 0/0/1 | advance 1s | count q -> 0/0/0");
}

TEST(TimeToLive, EndsMessagesThatWereReceivedTogether) {
  run("queue q visibility=20 | send q a b c d e ttl=5s | receive q max=5 -> a#1 b#1 c#1 d#1 e#1 | "
      "advance 5s | delete q c#1 | count q -> 0/4/0 | advance 15s | count q -> 0/0/0 | "
      "stored -> 0");
}

TEST(TimeToLive, GoesOnAcrossRestarts) {
  run("queue q visibility=20 | send q a ttl=30s | send q b ttl=40s delay=5s | advance 10s | crash "
      "| "
      "rotate | crash | advance 19s | count q -> 2/0/0 | advance 1s | count q -> 1/0/0 | crash 14s "
      "| "
      "count q -> 1/0/0 | advance 1s | count q -> 0/0/0 | stored -> 0");
  run("queue q | send q a ttl=30s | send q b ttl=30s delay=10s | rotate | crash 1m | "
      "count q -> 0/0/0 | stored -> 0");
}

TEST(TimeToLive, RemembersAnEndInFlightAcrossRestarts) {
  run("queue q visibility=20 | send q a ttl=5s | receive q -> a#1 | advance 6s | crash | "
      "advance 13s | count q -> 0/1/0 | advance 1s | count q -> 0/0/0");
  run("queue q visibility=20 | send q a ttl=5s | receive q -> a#1 | advance 6s | rotate | crash | "
      "advance 13s | count q -> 0/1/0 | advance 1s | count q -> 0/0/0 | stored -> 0");
  run("queue q visibility=20 | send q a ttl=5s | receive q -> a#1 | rotate | advance 6s | restart "
      "| "
      "change q 0 a#1 | count q -> 0/0/0");
}

TEST(TimeToLive, BeginsWhileACheckpointIsWritten) {
  for (int slices = 0; slices < 12; ++slices) {
    SCOPED_TRACE(slices);
    Script script({.slice_entries = 1});
    script.run("queue q max_delay=1d | send q a delay=10s ttl=5s | send q b delay=12s ttl=5s");
    for (int i = 0; i < slices; ++i) (void)script.answer("slice");
    script.run("advance 10s");
    for (int i = 0; i < 40 && script.answer("slice") == "more"; ++i) {
    }
    script.run(
        "restart | advance 4s | count q -> 2/0/0 | advance 1s | count q -> 1/0/0 | "
        "advance 2s | count q -> 0/0/0");
  }
}

TEST(TimeToLive, EndsAReceiveAttempt) {
  run("queue q fifo=1 visibility=20 | send q g:a ttl=5s | receive q attempt=x -> a#1 | advance 6s "
      "| "
      "receive q attempt=x visibility=0 -> attempt_not_retryable | advance 14s | count q -> 0/0/0");
}

TEST(TimeToLive, FreesAGroup) {
  run("queue q fifo=1 visibility=20 | send q g:a ttl=5s | send q g:b | receive q -> a#1 | "
      "receive q -> none | advance 20s | receive q -> b#1");
  run("queue q fifo=1 | send q g:a ttl=5s | send q g:b | advance 5s | receive q -> b#1");
  run("queue q fifo=1 | send q g:a | send q g:b ttl=5s | send q g:c | advance 5s | "
      "receive q max=10 -> a#1 c#1");
  run("queue q fifo=1 delay=10 | send q g:a ttl=5s | send q g:b | crash | advance 14s | "
      "count q -> 2/0/0 | advance 1s | receive q -> b#1");
}

// --- x-dlq-on-expiry ---

TEST(DeadLetterOnExpiry, MovesAMessageThatWaited) {
  run("queue d visibility=5 | queue q dlq=d dlq_on_expiry=1 | send q a ttl=5s | advance 5s | "
      "count q -> 0/0/0 | receive d -> a#1 | advance 5s | receive d -> a#2 | stored -> 1");
}

TEST(DeadLetterOnExpiry, MovesAMessageThatComesBack) {
  run("queue d | queue q dlq=d dlq_on_expiry=1 visibility=20 | send q a ttl=5s | receive q -> a#1 "
      "| "
      "advance 6s | count d -> 0/0/0 | advance 14s | count q -> 0/0/0 | receive d -> a#2");
  run("queue d | queue q dlq=d dlq_on_expiry=1 visibility=20 | send q a ttl=5s | receive q -> a#1 "
      "| "
      "advance 6s | rotate | crash | advance 14s | receive q -> none | receive d -> a#2");
}

TEST(DeadLetterOnExpiry, HasNotCountedADeliveryThatWasGivenBack) {
  for (const char* const back : {"snooze q 0 a#1", "undeliver q a#1"})
    run(
        fmt::format("queue d | queue q dlq=d dlq_on_expiry=1 visibility=20 | send q a ttl=5s | "
                    "receive q -> a#1 | advance 6s | {} | receive d -> a#1",
                    back));
}

TEST(DeadLetterOnExpiry, CoversTheRetention) {
  run("queue d retention=60 | queue q dlq=d dlq_on_expiry=1 retention=60 visibility=20 | "
      "send q a b | advance 59s | receive q -> a#1 | advance 2s | count q -> 0/1/0 | "
      "count d -> 1/0/0 | advance 18s | count q -> 0/0/0 | count d -> 2/0/0 | advance 41s | "
      "count d -> 1/0/0 | advance 20s | count d -> 0/0/0 | stored -> 0");
}

TEST(DeadLetterOnExpiry, BeginsTheRetentionAnewAcrossRestarts) {
  run("queue d retention=60 | queue q dlq=d dlq_on_expiry=1 retention=60 | send q a | "
      "advance 61s | crash | advance 58s | count d -> 1/0/0 | rotate | crash | advance 2s | "
      "count d -> 0/0/0 | stored -> 0");
}

TEST(DeadLetterOnExpiry, DeletesWithoutADeadLetterQueue) {
  run("queue q dlq_on_expiry=1 retention=60 | send q a ttl=5s | send q b | advance 5s | "
      "count q -> 1/0/0 | advance 60s | count q -> 0/0/0 | stored -> 0");
  run("queue q dlq=q dlq_on_expiry=1 | send q a ttl=5s | advance 5s | count q -> 0/0/0");
  run("queue d | queue q dlq=d dlq_on_expiry=1 visibility=20 | send q a ttl=5s | receive q -> a#1 "
      "| "
      "advance 6s | drop d | advance 14s | count q -> 0/0/0 | stored -> 0");
}

TEST(DeadLetterOnExpiry, MovesManyInTurn) {
  for (const char* const clock : {"ttl=5", "retention=60"}) {
    Script script({.transfers_max = 3});
    script.run(
        fmt::format("queue d | queue q dlq=d dlq_on_expiry=1 {} | fill q 500 | "
                    "advance 70s | count q -> 0/0/0 | count d -> 500/0/0 | stored -> 500",
                    clock));
  }
}

TEST(DeadLetterOnExpiry, KeepsTheOrderOfAGroup) {
  run("queue d fifo=1 | queue q fifo=1 dlq=d dlq_on_expiry=1 ttl=5 | send q g:a g:b g:c | "
      "advance 6s | receive d max=3 -> a#1 b#1 c#1 | count q -> 0/0/0");
}

TEST(DeadLetterOnExpiry, GoesOnWithWhatWasBeingDeleted) {
  ShardLimits limits;
  limits.retired_a_turn = 8;
  run("queue d | queue q retention=60 | fill q 20 | advance 60s | set q dlq=d dlq_on_expiry=1 | "
      "advance 10s | count q -> 0/0/0",
      limits);
}

TEST(TimeToLive, DoesNotPostponeTheRetention) {
  ShardLimits limits;
  limits.retired_a_turn = 8;
  run("queue q retention=60 | fill q 20 | advance 30s | send q z | advance 30s | send q y ttl=1d | "
      "advance 10s | count q -> 2/0/0",
      limits);
}

TEST(TimeToLive, BeginsWithADeliveryNowAcrossARestart) {
  run("queue q max_delay=1d | send q a delay=1h ttl=10s | plan q 0 1 | crash | advance 10s | "
      "count q -> 0/0/0");
}

TEST(DeadLetterOnExpiry, SurvivesACheckpointWhileItMoves) {
  for (int slices = 0; slices < 14; ++slices) {
    SCOPED_TRACE(slices);
    Script script({.slots_max = 1, .slice_entries = 1});
    script.run("queue d | queue q dlq=d dlq_on_expiry=1 | send q a ttl=5s");
    for (int i = 0; i < slices; ++i) (void)script.answer("slice");
    script.run("advance 5s");
    for (int i = 0; i < 40 && script.answer("slice") == "more"; ++i) {
    }
    script.run("restart | receive q -> none");
  }
}

TEST(TimeToLive, BeginsWhenALowerDelayShowsTheMessage) {
  run("queue q fifo=1 delay=60 | send q g:a ttl=5s | advance 30s | set q delay=0 | advance 4s | "
      "count q -> 1/0/0 | advance 1s | count q -> 0/0/0");
}

TEST(DeadLetterOnExpiry, KeepsTheOrderOfAGroupWhenFewMayMove) {
  run("queue d fifo=1 | queue q fifo=1 dlq=d dlq_on_expiry=1 ttl=5 | send q g:a g:b g:c g:d | "
      "advance 6s | receive d max=4 -> a#1 b#1 c#1 d#1",
      {.transfers_max = 1});
}

TEST(DeadLetterOnExpiry, KeepsTheOrderOfAGroupIfOneIsReadLater) {
  const std::string queues = "queue d fifo=1 | queue q fifo=1 dlq=d dlq_on_expiry=1 ttl=5 | ";
  run(queues +
      "send q g:a g:b g:c h:d | slow q a | advance 6s | receive d max=4 -> d#1 a#1 b#1 c#1");
  run(queues +
      "send q g:a g:b g:c | damage q a | advance 6s | receive d max=3 -> none | "
      "advance 8s | receive d max=3 -> b#1 c#1");
}

TEST(DeadLetterOnExpiry, KeepsTheOrderOfAGroupAcrossACrash) {
  for (const std::size_t most : {1u, 2u, 100u}) {
    for (const char* durable : {"", "flush_one |", "flush_one | flush_one |"}) {
      SCOPED_TRACE(durable);
      run(fmt::format("queue d fifo=1 | queue q fifo=1 dlq=d dlq_on_expiry=1 ttl=5 | "
                      "send q g:a g:b g:c g:d | hold | advance 6s | {} crash | advance 1s | "
                      "receive d max=4 -> a#1 b#1 c#1 d#1 | count q -> 0/0/0",
                      durable),
          {.transfers_max = most});
    }
  }
}

TEST(TimeToLive, EndsForAMessageThatIsSetAside) {
  run("queue q | send q a ttl=5s | rotate | set_aside q a | advance 6s | rotate | restart | "
      "advance 1s | count q -> 0/0/0");
}

TEST(TimeToLive, CostsNoMemoryOnceItsMessagesAreDeleted) {
  Script script;
  script.run("queue q visibility=600");
  const std::uint64_t before = script.world().shard().memory().index;
  for (int i = 0; i < 50; ++i)
    script.run(
        "send q a b c d ttl=1d | receive q max=4 -> a#1 b#1 c#1 d#1 | "
        "delete q a#1 b#1 c#1 d#1");
  EXPECT_LT(script.world().shard().memory().index, before + 1000);
}

TEST(DeadLetterOnExpiry, LetsNoShortPollWait) {
  run("queue d | queue q dlq=d dlq_on_expiry=1 | send q a ttl=5s | hold | advance 5s | "
      "receive q -> none");
}

TEST(RetentionFromMove, BeginsAnewAtEachMove) {
  run("queue d retention=60 from_move=1 visibility=1 | queue q retention=60 dlq=d max_receive=1 "
      "visibility=1 | send q a | advance 50s | receive q -> a#1 | advance 1s | receive q -> none | "
      "advance 30s | receive d -> a#2 | crash | rotate | crash | advance 28s | count d -> 1/0/0 | "
      "advance 3s | count d -> 0/0/0 | stored -> 0");
  run("queue d retention=60 visibility=1 | queue q retention=60 dlq=d max_receive=1 visibility=1 | "
      "send q a | advance 50s | receive q -> a#1 | advance 1s | receive q -> none | advance 10s | "
      "count d -> 0/0/0");
}

}  // namespace
}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/move_tasks.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

// Steps that move `count` messages of q to its dead-letter queue d.
std::string dead_letters(const char* messages, int count, const char* attributes = "") {
  return fmt::format(
      "queue d {1} | queue q visibility=1 max_receive=1 dlq=d {1} | send q {0} | take q {2} | "
      "advance 1s | receive q -> none | count d -> {2}/0/0",
      messages, attributes, count);
}

TEST(MoveTasks, TakesDeadLettersBackToWhereTheyCameFrom) {
  Script script;
  script.run(dead_letters("a b A:c", 3));
  script.run("move d | moves d -> 1:completed:3/3 | count d -> 0/0/0 | count q -> 3/0/0");
  const Ask& ask = script.world().receive(script.queue("q"), {.max = 10});
  ASSERT_EQ(ask.request.delivered, 3u);
  for (const Delivery& delivery : ask.deliveries) {
    if (delivery.seq == 0) continue;
    EXPECT_EQ(delivery.receive_count, 1u) << "a new message";
    EXPECT_GT(delivery.seq, 3u);
    const StoredSend& stored = script.world().sent_at(delivery.position);
    EXPECT_EQ(stored.record.carried.id, MessageId{});
    EXPECT_EQ(stored.record.sent, script.world().now());
    EXPECT_EQ(stored.origin, "");
    EXPECT_EQ(stored.group, stored.body == "c" ? "A" : "");
  }
}

TEST(MoveTasks, TakesThemElsewhereWhenToldTo) {
  run("queue d | queue t | send d a b | move d to=t | moves d -> 1:completed:2/2 | "
      "receive t max=10 -> a#1 b#1 | delete t a#1 b#1 | stored -> 0");
}

TEST(MoveTasks, GivesThemTheirWholeRetention) {
  run("queue d retention=100 | queue t retention=60 | send d a | advance 90s | move d to=t | "
      "advance 59s | count t -> 1/0/0 | advance 2s | count t -> 0/0/0 | stored -> 0");
}

TEST(MoveTasks, TakesTheOldestFirst) {
  run("queue d | queue t | send d a b c | receive d max=2 -> a#1 b#1 | change d 0 b#1 a#1 | "
      "move d to=t rate=1 | count t -> 1/0/0 | receive t -> a#1 | advance 1s | receive t -> b#1 | "
      "advance 1s | receive t -> c#1 | moves d -> 1:completed:3/3");
}

TEST(MoveTasks, KeepsTheOrderOfGroups) {
  run("queue d fifo=1 | queue t fifo=1 | send d A:a1 B:b1 A:a2 A:a3 B:b2 | move d to=t | "
      "moves d -> 1:completed:5/5 | receive t max=3 -> a1#1 a2#1 a3#1 | receive t max=3 -> b1#1 "
      "b2#1");
}

TEST(MoveTasks, LeavesWhatIsInFlightAlone) {
  run("queue d visibility=30 | queue t | send d a b c | receive d -> a#1 | move d to=t | "
      "moves d -> 1:completed:2/2 | delete d a#1 | count t -> 2/0/0 | stored -> 2");
}

TEST(MoveTasks, IsNotHeldUpByTheLimitOfWhatIsUnderWay) {
  run("queue d | queue t | fill d 1000 | move d to=t | moves d -> 1:completed:1000/1000 | "
      "count t -> 1000/0/0 | count d -> 0/0/0");
}

TEST(MoveTasks, GoesAtItsRate) {
  struct Case {
    int rate;
    const char* after;
    int moved;
  };
  const Case cases[] = {
      {1,   "999ms",  1   },
      {1,   "1s",     2   },
      {1,   "9s",     10  },
      {3,   "1s",     4   },
      {500, "1s",     501 },
      {500, "1999ms", 1000},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{} a second, after {}", c.rate, c.after));
    run(
        fmt::format("queue d | queue t | fill d 2000 | move d to=t rate={0} | advance {1} | "
                    "moves d -> 1:running:{2}/2000 | count t -> {2}/0/0",
                    c.rate, c.after, c.moved));
  }
}

TEST(MoveTasks, CatchesUpATenthOfASecondAtMost) {
  run("queue d | queue t | fill d 1000 | move d to=t rate=100 | jump 10s | count t -> 12/0/0");
}

TEST(MoveTasks, CanBeCancelled) {
  run("queue d | queue t | fill d 10 | move d to=t rate=1 | advance 2s | "
      "move d to=t -> task_running | stop_move d 1 -> 3 | stop_move d 1 -> task_ended | "
      "stop_move d 2 -> no_such_task | advance 20s | moves d -> 1:cancelled:3/10 | "
      "count d -> 7/0/0 | count t -> 3/0/0 | move d to=t | moves d -> 2:completed:7/7 "
      "1:cancelled:3/10");
}

TEST(MoveTasks, CancelledWithMessagesUnderWayCountsThem) {
  run("queue d | queue t | fill d 100 | hold | move d to=t -> pending | flush_one | "
      "stop_move d 1 -> pending | flush | moves d -> 1:cancelled:64/100 | count d -> 36/0/0 | "
      "count t -> 64/0/0");
}

// A crash may lose the start record; messages moved before it would be in no count.
TEST(MoveTasks, MovesNothingBeforeItsStartIsDurable) {
  run("queue d | queue t | fill d 10 | hold | move d to=t -> pending | advance 1s | "
      "count d -> 10/0/0 | crash | moves d -> | count d -> 10/0/0");
  run("queue d | queue t | fill d 10 | hold | move d to=t -> pending | count d -> 10/0/0 | "
      "flush_one | count d -> 0/0/0 | flush | moves d -> 1:completed:10/10 | count t -> 10/0/0");
  run("queue d | hold | move d -> pending | moves d -> 1:running:0/0 | flush_one | "
      "moves d -> 1:completed:0/0");
}

TEST(MoveTasks, MovesNothingBeforeItsStartIsDurableThoughAnOlderOnesMessagesLand) {
  run("queue d | queue t | fill d 100 | hold | move d to=t -> pending | flush_one | "
      "stop_move d 1 -> pending | move d to=t -> pending | flush_one | count d -> 36/0/0 | "
      "flush | moves d -> 2:completed:36/36 1:cancelled:64/100 | count t -> 100/0/0");
}

TEST(MoveTasks, CanBeCancelledOrLoseItsQueueBeforeItsStartIsDurable) {
  run("queue d | queue t | fill d 10 | hold | move d to=t -> pending | stop_move d 1 -> pending | "
      "flush | advance 1s | moves d -> 1:cancelled:0/10 | count d -> 10/0/0");
  run("queue d | queue t | fill d 10 | hold | move d to=t -> pending | drop d -> pending | flush | "
      "advance 1s | count t -> 0/0/0 | stored -> 0");
}

TEST(MoveTasks, FailsWhenItCannotGoOn) {
  run("queue d | send d a | move d | moves d -> 1:failed:0/1:source_unknown | receive d -> a#1");
  run("queue d | send d a | move d to=x | moves d -> 1:failed:0/1:no_such_queue | receive d -> "
      "a#1");
  run("queue d | queue t fifo=1 | send d a | move d to=t | moves d -> 1:failed:0/1:no_such_queue");
  run("queue d | queue t | fill d 3 | move d to=t rate=1 | drop t | advance 1s | "
      "moves d -> 1:failed:1/3:no_such_queue | count d -> 2/0/0");
}

TEST(MoveTasks, WaitsWhileItsTargetIsFull) {
  run("queue d | queue t | send t x y delay=20 | send d a b | move d to=t | advance 19s | "
      "moves d -> 1:running:0/2 | advance 1s | receive t max=10 -> x#1 y#1 | delete t x#1 y#1 | "
      "advance 1s | moves d -> 1:completed:2/2 | receive t max=10 -> a#1 b#1",
      {.slots_max = 4});
}

TEST(MoveTasks, WakesWhoWaitsForTheTarget) {
  run("queue d | queue t delay=60 | send d a | receive t wait=20 as w | move d to=t | w -> a#1");
}

TEST(MoveTasks, GoesOnAfterARestart) {
  run("queue d | queue t | fill d 10 | move d to=t rate=1 | advance 2s | rotate | restart 5s | "
      "moves d -> 1:running:4/10 | advance 20s | moves d -> 1:completed:10/10 | count t -> 10/0/0 "
      "| "
      "count d -> 0/0/0 | restart | moves d -> 1:completed:10/10 | count t -> 10/0/0");
}

}  // namespace
}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
// Messages with unreadable bodies: their queues continue without them until the next startup.
#include <gtest/gtest.h>

#include <string>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

TEST(SetAside, IsNotHandedOutBeforeTheNextStart) {
  run("queue q visibility=30 | send q a b c | set_aside q b | count q -> 2/0/0 | "
      "receive q max=10 -> a#1 c#1 | delete q a#1 c#1 | stored -> 1 | advance 30s | "
      "receive q -> none | restart | count q -> 1/0/0 | receive q -> b#1 | delete q b#1 | "
      "stored -> 0");
}

TEST(SetAside, IsNotInFlightNorDelayed) {
  run("queue q visibility=30 | send q a b | send q c delay=60 | receive q max=10 -> a#1 b#1 | "
      "count q -> 0/2/1 | set_aside q a | set_aside q c | count q -> 0/1/0 | advance 60s | "
      "count q -> 1/0/0 | receive q max=10 -> b#2");
}

TEST(SetAside, KeepsItsCountAndTimesInTheLog) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 30s | receive q -> a#2 | "
      "set_aside q a | restart | count q -> 0/1/0 | advance 30s | receive q -> a#3");
}

TEST(SetAside, LetsItsGroupGoOn) {
  run("queue q fifo=1 visibility=30 | send q A:a A:b A:c | receive q -> a#1 | "
      "receive q as w wait=20 -> pending | set_aside q a | w -> b#1 | advance 30s | "
      "receive q max=10 -> b#2 c#1 | restart | stored -> 3");
}

TEST(SetAside, ComesBackInTheOrderOfItsGroup) {
  run("queue q fifo=1 visibility=30 | send q A:a A:b A:c | set_aside q b | restart | "
      "receive q max=10 -> a#1 b#1 c#1");
}

TEST(SetAside, IsNamedByCheckpoints) {
  run("queue q visibility=30 | send q a b c | set_aside q b | rotate | stored -> 3 | rotate | "
      "restart | receive q max=10 -> a#1 b#1 c#1 | delete q a#1 b#1 c#1 | stored -> 0");
}

TEST(SetAside, OfAGroupIsNamedByCheckpoints) {
  run("queue q fifo=1 visibility=30 | send q A:a A:b A:c | set_aside q b | rotate | restart | "
      "count q -> 3/0/0 | receive q max=10 -> a#1 b#1 c#1 | delete q a#1 b#1 c#1 | stored -> 0");
}

TEST(SetAside, IsInACheckpointAsItWas) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 30s | receive q -> a#2 | "
      "set_aside q a | rotate | restart | count q -> 0/1/0 | advance 30s | receive q -> a#3");
}

TEST(SetAside, GoesWithAPurgeAndWithItsQueue) {
  for (const char* end : {"purge q", "drop q"}) {
    SCOPED_TRACE(end);
    run("queue q | send q a b | set_aside q a | " + std::string(end) +
        " | advance 1s | stored -> 0 | restart | stored -> 0");
    run("queue q | send q a b | set_aside q a | rotate | " + std::string(end) +
        " | advance 1s | restart | advance 1s | stored -> 0");
  }
}

TEST(SetAside, GoesByItsRetention) {
  run("queue q retention=60 | send q a | set_aside q a | rotate | stored -> 1 | advance 70s | "
      "send q b | rotate | stored -> 1 | restart | receive q max=10 -> b#1");
}

TEST(SetAside, ADeleteByAnOldHandleHolds) {
  run("queue q visibility=30 | send q a | receive q -> a#1 | advance 30s | set_aside q a | "
      "delete q a#1 | restart | count q -> 0/0/0 | receive q -> none | stored -> 0");
}

TEST(SetAside, OfAQueueThatHasGoneIsNothing) {
  run("queue q | queue p | send q a | drop q | set_aside q a | stored -> 0 | restart | "
      "stored -> 0");
}

TEST(SetAside, ADeadLetterThatCannotBeReadIsAndLetsTheRestPass) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | send q a b | "
      "receive q max=10 -> a#1 b#1 | advance 30s | damage q a | receive q -> none | "
      "count q -> 0/0/0 | count d -> 1/0/0 | receive d -> b#2 | stored -> 2 | restart | "
      "count q -> 1/0/0 | stored -> 2");
}

TEST(SetAside, ATaskGoesOnWithoutWhatCannotBeRead) {
  run("queue d | queue t | send d a b c | damage d b | move d to=t | advance 1s | "
      "moves d -> 1:completed:2/3 | count d -> 0/0/0 | count t -> 2/0/0");
}

}  // namespace
}  // namespace pawl::test

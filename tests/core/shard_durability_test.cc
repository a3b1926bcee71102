// SPDX-License-Identifier: Apache-2.0
// Queues that answer before their records are durable: durability=1 is async, 2 is memory.
#include <gtest/gtest.h>

#include "tests/core/script.h"

namespace pawl::test {

TEST(Durability, AnAsyncQueueIsAnsweredBeforeTheFlushAndServedAfterIt) {
  run("queue q durability=1 | send q a | hold | send q b | receive q max=10 -> a#1 | "
      "delete q a#1 | flush | receive q max=10 -> b#1");
}

TEST(Durability, AMemoryQueueIsServedAtOnce) {
  run("queue q durability=2 | send q a | hold | send q b | receive q max=10 -> a#1 b#1 | "
      "delete q a#1 b#1 | count q -> 0/0/0 | flush | crash | count q -> 0/0/0 | stored -> 0");
}

TEST(Durability, AMemoryQueueWakesALongPollAtOnce) {
  run("queue q durability=2 | send q a | receive q -> a#1 | hold | "
      "receive q wait=20 as w -> pending | send q b | w -> b#1");
}

TEST(Durability, DelaysHoldInAMemoryQueue) {
  run("queue q durability=2 | send q a | hold | send q b delay=5 | receive q max=10 -> a#1 | "
      "count q -> 0/1/1 | advance 5s | receive q max=10 -> b#1");
}

TEST(Durability, TheFirstAnswersWaitUntilTheirNumbersAreReserved) {
  run("queue q durability=1 | hold | send q a -> pending | flush | receive q -> a#1");
  run("queue q durability=2 | hold | send q a -> pending | receive q -> none | flush | "
      "receive q -> a#1");
}

TEST(Durability, WhatWasOnlyRememberedIsGoneAfterACrash) {
  run("queue q durability=2 | send q a | hold | send q b | receive q max=10 -> a#1 b#1 | crash | "
      "receive q max=10 -> a#1");
  run("queue q durability=1 | send q a | receive q visibility=1 -> a#1 | hold | delete q a#1 | "
      "crash | advance 1s | receive q -> a#2");
}

TEST(Durability, ANumberThatWasLostIsNotUsedAgain) {
  run("queue q durability=2 | send q a | hold | send q b | receive q max=10 -> a#1 b#1 | crash | "
      "send q c | delete q b#1 | receive q max=10 -> a#1 c#1");
}

TEST(Durability, ACheckpointSaysWhichNumbersAreReserved) {
  run("queue q durability=2 | send q a | rotate | hold | send q b | "
      "receive q max=10 -> a#1 b#1 | crash | send q c | delete q b#1 | "
      "receive q max=10 -> a#1 c#1");
}

TEST(Durability, NumbersAreReservedAgainAfterRecovery) {
  run("queue q durability=1 | send q a | restart | hold | send q b -> pending | flush | hold | "
      "send q c | flush | receive q max=10 -> a#1 b#1 c#1");
}

TEST(Durability, BeforeNumbersRunOutMoreAreReserved) {
  Script script;
  script.run("queue q durability=1 | fill q 300000 | hold | send q last | flush");
  EXPECT_EQ(script.world().shard().messages(), 300'001u);
}

TEST(Durability, EverythingElseIsOnTheDiskBeforeItsAnswer) {
  run("queue q durability=2 | send q a | hold | purge q -> pending");
  run("queue q durability=2 | hold | set q visibility=1 -> pending");
  run("queue q durability=2 fifo=1 | send q g:a | hold | receive q as w -> pending | flush | "
      "w -> a#1");
}

TEST(Durability, ItCanBeChanged) {
  run("queue q | send q a | set q durability=1 | send q b | hold | send q c | flush | "
      "set q durability=0 | hold | send q d -> pending | flush | "
      "receive q max=10 -> a#1 b#1 c#1 d#1");
}

TEST(Durability, ADuplicateIsAnsweredAsItsQueueIs) {
  run("queue q durability=1 fifo=1 | send q g:a | hold | send q g:b | send q g:b -> same_as_2");
}

}  // namespace pawl::test

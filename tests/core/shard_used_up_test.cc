// SPDX-License-Identifier: Apache-2.0
// Queues whose message numbers are used up: they accept no message, and lose none that they hold or
// that is in transfer to them.
#include <gtest/gtest.h>

#include "tests/core/script.h"

namespace pawl::test {

TEST(UsedUp, ABatchIsTakenAsFarAsNumbersGo) {
  Script script;
  script.run(
      "queue q | numbers_left q 2 | send q a b c -> ok ok message_numbers_used_up | "
      "send q d -> message_numbers_used_up | receive q max=10 -> a#1 b#1 | delete q a#1 | "
      "change q 0 b#1 | receive q -> b#2 | delete q b#2 | stored -> 0 | "
      "send q e -> message_numbers_used_up | send q g:f -> message_numbers_used_up | "
      "send q h delay=5 -> message_numbers_used_up | purge q | count q -> 0/0/0");
}

TEST(UsedUp, TheNewestMessageHasTheNumberBeforeTheLast) {
  Script script;
  script.run("queue q | numbers_left q 1");
  const Ask& ask = script.world().send(script.queue("q"), {"a"});
  EXPECT_EQ(ask.sends[0].seq, seq_newest_max);
}

TEST(UsedUp, ItStaysUsedUpAfterRecovery) {
  run("queue q | numbers_left q 2 | rotate | send q a | restart | send q b | restart | "
      "send q c -> message_numbers_used_up | rotate | restart | "
      "send q c -> message_numbers_used_up | receive q max=10 -> a#1 b#1 | delete q a#1 b#1 | "
      "rotate | restart | send q c -> message_numbers_used_up | stored -> 0");
}

TEST(UsedUp, APurgeAndTheRetentionTakeTheLastMessages) {
  run("queue q | numbers_left q 2 | rotate | send q a b | purge q | restart | count q -> 0/0/0 | "
      "send q c -> message_numbers_used_up | rotate | restart | "
      "send q c -> message_numbers_used_up | stored -> 0");
  run("queue q retention=60 | numbers_left q 2 | rotate | send q a b | advance 62s | "
      "count q -> 0/0/0 | send q c -> message_numbers_used_up | rotate | restart | "
      "send q c -> message_numbers_used_up | stored -> 0");
}

TEST(UsedUp, ADuplicateIsStillAnswered) {
  run("queue q fifo=1 | numbers_left q 1 | rotate | send q g:a | "
      "send q g:a -> same_as_281474976710654 | send q g:b -> message_numbers_used_up | "
      "send q g:a g:b -> same_as_281474976710654 message_numbers_used_up | restart | "
      "send q g:a -> same_as_281474976710654 | send q g:b -> message_numbers_used_up | "
      "receive q max=10 -> a#1");
}

TEST(UsedUp, NumbersAreReservedUpToTheLast) {
  for (const char* durability : {"1", "2"}) {
    Script script;
    script.run(std::string("queue q durability=") + durability +
               " | numbers_left q 3 | rotate | send q a | hold | send q b c d -> ok ok "
               "message_numbers_used_up | flush | rotate | receive q max=10 -> a#1 b#1 c#1 | "
               "send q d -> message_numbers_used_up");
  }
  // A restart continues after the reserved numbers, which were the last ones.
  run("queue q durability=1 | numbers_left q 3 | rotate | send q a | restart | "
      "send q b -> message_numbers_used_up | rotate | restart | "
      "send q b -> message_numbers_used_up | receive q max=10 -> a#1");
}

// --- dead letters ---

TEST(UsedUp, DeadLettersForItStayAndAreDelivered) {
  for (const char* fifo : {"0", "1"}) {
    SCOPED_TRACE(fifo);
    Script script;
    script.run(std::string("queue d fifo=") + fifo + " | queue q visibility=30 max_receive=1 " +
               "dlq=d fifo=" + fifo +
               " | numbers_left d 1 | rotate | send q g:a g:b | receive q max=10 -> a#1 b#1 | "
               "advance 30s | receive q max=10 -> b#2 | count q -> 0/1/0 | count d -> 1/0/0 | "
               "advance 30s | receive q max=10 -> b#3 | restart | advance 30s | "
               "receive q max=10 -> b#4 | delete q b#4 | receive d max=10 -> a#2 | delete d a#2 | "
               "stored -> 0");
  }
}

TEST(UsedUp, DeadLettersGoToTheNextTarget) {
  run("queue d | queue e | queue q visibility=30 max_receive=1 dlq=d | numbers_left d 0 | "
      "send q a | receive q -> a#1 | advance 30s | receive q -> a#2 | "
      "set q dlq=e | advance 30s | receive q -> none | receive e -> a#3");
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | numbers_left d 0 | send q a | "
      "receive q -> a#1 | advance 30s | receive q -> a#2 | drop d | queue d | "
      "advance 30s | receive q -> none | receive d -> a#3");
}

TEST(UsedUp, AMessageOnItsWayCanBeDeleted) {
  run("queue d | queue q visibility=30 max_receive=1 dlq=d | numbers_left d 0 | send q a b | "
      "receive q max=2 -> a#1 b#1 | advance 30s | gather | receive q max=2 -> pending | "
      "delete q a#1 -> pending | go | count q -> 0/1/0 | stored -> 1 | advance 30s | receive q -> "
      "b#3");
}

TEST(UsedUp, ItsOwnDeadLettersAreDeliveredInIt) {
  run("queue q visibility=30 max_receive=1 dlq=q | numbers_left q 1 | send q a | "
      "receive q -> a#1 | advance 30s | receive q -> a#2 | advance 30s | receive q -> a#3");
}

// --- move tasks ---

TEST(UsedUp, AMoveTaskIntoItFails) {
  run("queue d | queue t | numbers_left t 2 | rotate | send d a b c | move d to=t | "
      "moves d -> 1:failed:2/3:message_numbers_used_up | receive t max=10 -> a#1 b#1 | "
      "receive d max=10 -> c#1 | restart | moves d -> 1:failed:2/3:message_numbers_used_up | "
      "move d to=t | rotate | restart | "
      "moves d -> 2:completed:0/0 1:failed:2/3:message_numbers_used_up");
  run("queue d fifo=1 | queue t fifo=1 | numbers_left t 1 | send d g:a g:b | move d to=t | "
      "moves d -> 1:failed:1/2:message_numbers_used_up | receive d -> b#1");
}

TEST(UsedUp, ARedriveToASourceFails) {
  run("queue d | queue q visibility=1 max_receive=1 dlq=d | send q a | receive q -> a#1 | "
      "advance 1s | receive q -> none | count d -> 1/0/0 | numbers_left q 0 | move d | "
      "moves d -> 1:failed:0/1:message_numbers_used_up | receive d -> a#2");
}

}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
// The end of messages by retention.
#include <gtest/gtest.h>

#include "tests/core/script.h"

namespace pawl::test {

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

}  // namespace pawl::test

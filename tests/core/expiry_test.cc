// SPDX-License-Identifier: Apache-2.0
// Retention that counts from the delivery time: queues with x-max-delay.
#include "core/shard/expiry.h"

#include <gtest/gtest.h>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

void run(std::string_view steps) { Script().run(steps); }

TEST(RetentionFromDelivery, KeepsAMessageThatIsDelayedForLonger) {
  run("queue q retention=60 max_delay=10d | send q a delay=1d | send q b | advance 61s | "
      "peek q -> a:delayed+86339000 | advance 86339s | count q -> 1/0/0 | advance 59999ms | "
      "count q -> 1/0/0 | advance 1ms | count q -> 0/0/0 | stored -> 0");
}

TEST(Retention, MayLastTwoYears) {
  run("queue q retention=732d | send q a | advance 700d | send q b | crash | advance 31d | "
      "count q -> 2/0/0 | advance 2d | count q -> 1/0/0 | advance 698d | rotate | crash | "
      "count q -> 1/0/0 | advance 2d | count q -> 0/0/0 | stored -> 0");
}

TEST(RetentionFromDelivery, GoesOnAcrossARestart) {
  run("queue q retention=60 max_delay=10d | send q a delay=5m | send q b | advance 61s | crash | "
      "peek q -> a:delayed+239000 | rotate | crash | advance 239s | count q -> 1/0/0 | "
      "advance 30s | restart | advance 29s | count q -> 1/0/0 | advance 1s | count q -> 0/0/0");
  run("queue q retention=60 max_delay=10d visibility=20 | send q a delay=5m | advance 5m | "
      "advance 10s | receive q -> a#1 | rotate | crash | advance 49s | count q -> 1/0/0 | "
      "advance 1s | count q -> 0/0/0");
}

TEST(RetentionFromDelivery, EndsNeighboursInTime) {
  run("queue q retention=60 max_delay=10d | send q a | send q b delay=5m | send q c | "
      "advance 60s | count q -> 0/0/1 | advance 1s | send q d | advance 60s | count q -> 0/0/1 | "
      "crash | peek q -> b:delayed+179000 | rotate | crash | advance 179s | count q -> 1/0/0");
}

TEST(RetentionFromDelivery, FollowsANewDeliveryTime) {
  run("queue q retention=60 max_delay=10d | send q a | plan q 5m 1 | advance 5m | "
      "count q -> 1/0/0 | plan q 2m 1 | advance 61s | crash | advance 59s | count q -> 1/0/0 | "
      "advance 59s | count q -> 1/0/0 | advance 1s | count q -> 0/0/0");
  run("queue q retention=60 max_delay=10d | send q a delay=5m | plan q 0 1 | advance 60s | "
      "count q -> 0/0/0");
}

TEST(RetentionFromDelivery, FollowsANewDeliveryTimeAcrossACheckpoint) {
  run("queue q retention=60 max_delay=10d visibility=100 | send q a delay=1s | advance 1s | rotate "
      "| "
      "plan q 50s 1 | crash | advance 50s | receive q -> a#1 | advance 10s | count q -> 0/1/0 | "
      "advance 50s | count q -> 0/0/0");
}

TEST(RetentionFromDelivery, IsNotProlongedByDeliveriesThatDoNotCount) {
  Script script;
  script.run("queue q retention=60 max_delay=10d | send q a delay=1s | advance 1s | rotate");
  const std::uint64_t before = script.world().shard().memory().index;
  for (int i = 0; i < 9; ++i)
    script.run(
        "receive q -> a#1 | snooze q 1 a#1 | advance 1s | receive q -> a#1 | undeliver q a#1");
  EXPECT_EQ(script.world().shard().memory().index, before);
  script.run("advance 50s | count q -> 1/0/0 | advance 1s | count q -> 0/0/0");
}

TEST(RetentionFromDelivery, GoesOnForAMessageThatWasReceived) {
  run("queue q retention=60 max_delay=10d visibility=1 | send q a | receive q -> a#1 | advance 1s "
      "| "
      "plan q 5m 1 | advance 60s | count q -> 0/0/0");
}

TEST(RetentionFromDelivery, KeepsAnUnreadableMessageForTheNextStart) {
  run("queue q retention=60 max_delay=10d | send q a delay=5m | set_aside q a | send q b | "
      "advance 61s | rotate | crash | peek q -> a:delayed+239000");
}

TEST(RetentionFromDelivery, OfADeadLetterCountsFromItsFirstReceive) {
  run("queue d retention=60 | queue q retention=60 max_delay=10d visibility=1 max_receive=1 dlq=d "
      "| "
      "send q a delay=5m | advance 5m | receive q -> a#1 | advance 1s | receive q -> none | "
      "count d -> 1/0/0 | crash | count d -> 1/0/0 | advance 58s | count d -> 1/0/0 | advance 1s | "
      "count d -> 0/0/0");
}

TEST(RetentionFromDelivery, FollowsTheDelayOfAFifoQueue) {
  run("queue q fifo=1 retention=60 max_delay=10d delay=5m | send q g:a | advance 61s | "
      "set q delay=2m | advance 59s | count q -> 1/0/0 | advance 59s | count q -> 1/0/0 | "
      "advance 1s | count q -> 0/0/0");
  run("queue q fifo=1 retention=60 max_delay=10d | send q g:a delay=5m | set q delay=1m | crash | "
      "advance 299s | count q -> 0/0/1 | advance 1s | receive q -> a#1");
}

TEST(RetentionFromDelivery, IsNotThatOfOtherQueues) {
  run("queue q retention=60 | send q a delay=15m | advance 60s | count q -> 0/0/0");
}

}  // namespace
}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/returns.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

TEST(Returns, WaitAfterAReturnAsLongAsThePolicySays) {
  run("queue q visibility=30 backoff=none:1000,4000 | send q a | receive q -> a#1 | "
      "change q 0 a#1 | peek q -> a:delayed#1+1000 | count q -> 0/0/1 | receive q -> none | "
      "advance 999ms | receive q -> none | advance 1ms | receive q -> a#2 | change q 0 a#2 | "
      "advance 3999ms | receive q -> none | advance 1ms | receive q -> a#3 | change q 0 a#3 | "
      "peek q -> a:delayed#3+4000");
}

TEST(Returns, WaitAfterALeaseRanOut) {
  // One message in a slot, then two in a lease.
  run("queue q visibility=30 backoff=none:1000 | send q a | receive q max=1 -> a#1 | advance 30s | "
      "peek q -> a:delayed#1+1000 | advance 1s | receive q -> a#2");
  run("queue q visibility=30 backoff=none:1000 | send q a b | receive q max=2 -> a#1 b#1 | "
      "advance 30s | peek q -> a:delayed#1+1000 b:delayed#1+1000 | receive q -> none | "
      "advance 1s | receive q max=2 -> a#2 b#2");
}

TEST(Returns, TakeTheConsumersOwnValueInstead) {
  run("queue q visibility=30 backoff=none:60000 | send q a | receive q -> a#1 | change q 5 a#1 | "
      "peek q -> a:in_flight#1+5000 | advance 5s | receive q -> a#2 | restart | advance 30s | "
      "peek q -> a:delayed#2+60000");
  run("queue q visibility=30 backoff=none:60000 | send q a | receive q -> a#1 | change q 5 a#1 | "
      "restart | advance 5s | peek q -> a:visible#1 | restart | advance 1ms | peek q -> "
      "a:visible#1");
}

TEST(Returns, LeaveAMessageWaitingThatIsReturnedAgain) {
  run("queue q visibility=30 backoff=none:9000 | send q a | receive q -> a#1 | change q 0 a#1 | "
      "advance 5s | change q 0 a#1 | peek q -> a:delayed#1+4000 | delete q a#1 | peek q -> none");
}

TEST(Returns, HoldTheGroupOfAWaitingMessage) {
  run("queue q fifo=1 visibility=30 backoff=none:2000 | send q A:a A:b B:c | receive q -> a#1 | "
      "change q 0 a#1 | receive q max=9 -> c#1 | advance 2s | receive q max=1 -> a#2 | "
      "delete q a#2 | receive q -> b#1");
}

TEST(Returns, SurviveARestart) {
  // From the records of the log, and from a checkpoint.
  const char* steps[] = {"restart", "slice -> ok | restart"};
  for (const std::string step : steps)
    run("queue q visibility=30 backoff=none:9000 | send q a b | receive q max=2 -> a#1 b#1 | "
        "change q 0 a#1 | advance 1s | " +
        step + " | peek q -> a:delayed#1+8000 b:in_flight#1+29000 | advance 8s | receive q -> a#2");
}

TEST(Returns, WaitAfterALeaseThatEndedBehindARestart) {
  run("queue q visibility=30 backoff=none:9000 | send q a | receive q -> a#1 | hold | "
      "advance 30s | peek q -> a:delayed#1+9000 | crash | advance 1ms | "
      "peek q -> a:delayed#1+8999 | undeliver q a#1 | peek q -> a:delayed#1+8999");
}

TEST(Returns, MoveASpentMessageWithItsLastLease) {
  run("queue d | queue q visibility=30 max_receive=2 dlq=d dead_at=1 | send q a | "
      "receive q -> a#1 | advance 30s | peek q -> a:visible#1 | receive q -> a#2 | advance 30s | "
      "peek q -> none | peek d -> a:visible#2");
  run("queue d | queue q visibility=30 max_receive=1 dlq=d dead_at=1 | send q a b | "
      "receive q max=2 -> a#1 b#1 | change q 0 b#1 | peek d -> b:visible#1 | advance 30s | "
      "peek d -> b:visible#1 a:visible#1 | peek q -> none");
}

TEST(Returns, MoveASpentMessageReturnedDuringAStop) {
  Script script;
  script.run(
      "queue d | queue q visibility=30 max_receive=1 dlq=d dead_at=1 | send q a | "
      "receive q -> a#1");
  Effects effects;
  script.world().shard().release_waiters(effects);
  script.run("change q 0 a#1 | restart | advance 10ms | count q -> 0/0/0 | peek d -> a:visible#1");
}

TEST(Returns, MoveASpentMessageLaterIfTooManyMove) {
  std::string script =
      "queue d | queue q visibility=30 max_receive=1 dlq=d dead_at=1 | fill q 600 | take q 600 | "
      "advance 30s";
  for (int i = 0; i < 10; ++i) script += " | advance 10ms";
  run(script + " | count q -> 0/0/0 | count d -> 600/0/0");
}

}  // namespace
}  // namespace pawl::test

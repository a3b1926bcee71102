// SPDX-License-Identifier: Apache-2.0
// Delayed messages in the groups of a FIFO queue: x-fifo-delay.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

const std::string passing = "queue q fifo=1 max_delay=1d pass=1 visibility=30 | ";

// `RESTART` stands for each way to start again, and for none.
void run_across(const std::string& steps) {
  for (const char* const again : {"", "crash", "rotate | crash", "restart", "rotate"}) {
    SCOPED_TRACE(again);
    std::string text = passing + steps;
    const std::string step = *again == 0 ? "gather | go" : again;
    for (std::size_t at = 0; (at = text.find("RESTART", at)) != std::string::npos;)
      text.replace(at, 7, step);
    run(text);
  }
}

TEST(DelayInAGroup, BlocksTheGroupByDefault) {
  run("queue q fifo=1 max_delay=1d | send q g:a delay=10s | send q g:b | receive q -> none | "
      "peek q -> a:delayed+10000 b:visible<1 | advance 10s | receive q max=10 -> a#1 b#1");
}

TEST(DelayInAGroup, LetsLaterMessagesPass) {
  run_across(
      "send q g:a delay=10s | send q g:b | send q g:c | RESTART | "
      "peek q -> a:delayed+10000 b:visible c:visible | receive q max=10 -> b#1 c#1 | "
      "advance 10s | RESTART | count q -> 1/2/0 | receive q -> none | "
      "peek q -> a:visible<2 b:in_flight#1+20000 c:in_flight#1+20000<2 | delete q b#1 | "
      "receive q -> none | delete q c#1 | receive q -> a#1");
}

TEST(DelayInAGroup, PlacesAMessageByItsTime) {
  run_across(
      "send q g:a delay=10s | send q g:b delay=5s | send q g:c | advance 7s | send q g:d | "
      "advance 3s | RESTART | send q g:e | count q -> 5/0/0 | RESTART | "
      "receive q max=10 -> c#1 | delete q c#1 | receive q max=10 -> b#1 d#1 | "
      "delete q b#1 d#1 | RESTART | receive q max=10 -> a#1 e#1");
}

TEST(DelayInAGroup, PlacesMessagesOfOneTimeByNumber) {
  run_across(
      "send q g:a delay=5s | send q g:b delay=5s | advance 5s | send q g:c | RESTART | "
      "receive q max=10 -> a#1 b#1 c#1");
}

TEST(DelayInAGroup, OfTheQueueKeepsTheOrderOfSending) {
  run_across(
      "set q delay=5 | send q g:a | advance 1s | send q g:b delay=1s | advance 1s | send q g:c | "
      "RESTART | advance 5s | RESTART | receive q max=10 -> b#1 | delete q b#1 | "
      "receive q max=10 -> a#1 c#1");
}

TEST(DelayInAGroup, HoldsOneGroupNoMoreThanAnother) {
  run_across(
      "send q g:a delay=10s | send q h:b | send q g:c | send q h:d delay=20s | RESTART | "
      "receive q max=10 -> b#1 c#1 | delete q b#1 c#1 | receive q -> none | advance 10s | "
      "RESTART | receive q max=10 -> a#1 | advance 10s | receive q max=10 -> d#1");
}

// The group waits for a message that was delivered, whatever hides it.
TEST(DelayInAGroup, DoesNotPassAMessageThatWasDelivered) {
  run_across(
      "set q backoff=none:5000 | send q g:a | send q g:b | receive q -> a#1 | change q 0 a#1 | "
      "count q -> 1/0/1 | RESTART | receive q -> none | advance 5s | receive q max=10 -> a#2 b#1");
  run_across(
      "send q g:a | send q g:b | receive q -> a#1 | snooze q 5s a#1 | RESTART | "
      "receive q -> none | advance 5s | receive q max=10 -> a#1 b#1");
  run_across(
      "send q g:a | send q g:b | receive q -> a#1 | snooze q 0 a#1 | plan q 5s 1 | RESTART | "
      "receive q -> none | advance 5s | receive q max=10 -> a#1 b#1");
}

// Two messages that were delivered come back in the order of their deliveries.
TEST(DelayInAGroup, IsNotPassedByAMessageThatComesBack) {
  run_across(
      "send q g:a delay=5s | send q g:b | receive q -> b#1 | advance 5s | change q 0 b#1 | "
      "RESTART | receive q max=10 -> b#2 | advance 30s | RESTART | receive q max=10 -> b#3 | "
      "delete q b#3 | receive q -> a#1");
}

TEST(DelayInAGroup, MayBeEndedOrSetByTheId) {
  run_across(
      "send q g:a delay=10s | send q g:b | advance 1s | plan q 0 1 | RESTART | "
      "receive q max=10 -> b#1 | delete q b#1 | receive q -> a#1");
  run_across(
      "send q g:a | send q g:b | send q g:c | plan q 10s 1 | RESTART | receive q -> b#1 | "
      "delete q b#1 | plan q 20s 3 | plan q 10s 1 | advance 10s | RESTART | receive q -> a#1 | "
      "delete q a#1 | receive q -> none | advance 10s | receive q -> c#1");
  run_across(
      "send q g:a delay=10s | send q g:b delay=20s | plan q 30s 1 | RESTART | advance 20s | "
      "receive q -> b#1 | delete q b#1 | advance 10s | RESTART | receive q -> a#1");
}

TEST(DelayInAGroup, EndsWithACancel) {
  run_across(
      "send q g:a delay=10s | cancel_id q 1 | send q g:b | receive q -> b#1 | delete q b#1 | "
      "RESTART | stored -> 0");
  run_across(
      "send q g:a delay=10s | send q g:b | send q g:c | cancel_id q 1 | RESTART | cancel_id q 2 | "
      "advance 10s | receive q max=10 -> c#1 | delete q c#1 | stored -> 0");
  run_across(
      "send q g:a delay=10s | send q h:b delay=10s | purge q | RESTART | send q g:c | "
      "receive q -> c#1 | advance 10s | count q -> 0/1/0");
}

TEST(DelayInAGroup, EndsWithTheLifeOfItsMessage) {
  run_across(
      "send q g:a delay=10s ttl=5s | send q g:b | receive q -> b#1 | advance 10s | RESTART | "
      "count q -> 1/1/0 | advance 5s | count q -> 0/1/0 | delete q b#1 | receive q -> none");
  run("queue q fifo=1 max_delay=1d pass=1 retention=60 visibility=100 | send q g:a delay=50s | "
      "send q g:b | receive q -> b#1 | advance 62s | count q -> 1/0/0 | receive q -> a#1 | "
      "advance 62s | count q -> 0/0/0 | send q g:c | receive q -> c#1");
}

TEST(DelayInAGroup, OfTheQueueMayChange) {
  run_across(
      "set q delay=10 | send q g:a | advance 1s | send q g:b delay=4s | advance 10s | "
      "RESTART | peek q -> a:visible<2 b:visible | set q delay=0 | RESTART | "
      "receive q max=10 -> a#1 b#1");
  run_across(
      "send q g:a | send q g:b delay=1s | advance 2s | set q delay=100 | RESTART | "
      "count q -> 1/0/1 | receive q -> b#1 | delete q b#1 | advance 98s | receive q -> a#1");
  run_across(
      "set q delay=100 | send q g:a | advance 1s | send q g:b delay=2s | advance 5s | "
      "set q delay=0 | RESTART | receive q max=10 -> a#1 b#1");
}

TEST(DelayInAGroup, OfTheQueueMayChangeBeforeTheSwitch) {
  run_across(
      "set q pass=0 delay=10 | send q g:a | advance 1s | send q g:b delay=4s | advance 10s | "
      "set q delay=0 | set q pass=1 | RESTART | receive q max=10 -> a#1 b#1");
  run_across(
      "set q delay=10 | send q g:a ttl=60s | advance 1s | send q g:b delay=2s | advance 3s | "
      "set q delay=2 | RESTART | receive q max=10 -> a#1 b#1");
}

// A change holds for all messages of the queue.
TEST(DelayInAGroup, MayBeSwitched) {
  run_across(
      "send q g:a delay=10s | send q g:b | set q pass=0 | RESTART | receive q -> none | "
      "set q pass=1 | RESTART | receive q -> b#1 | delete q b#1 | set q pass=0 delay=5 | "
      "send q g:c | RESTART | advance 5s | receive q -> none | advance 5s | RESTART | "
      "receive q max=10 -> a#1 c#1");
  run_across(
      "send q g:a delay=5s | send q g:b | advance 5s | set q pass=0 | RESTART | "
      "receive q max=10 -> a#1 b#1");
}

TEST(DelayInAGroup, KeepsThePlacesOfDeadLetters) {
  for (const char* const again : {"advance 0s", "crash", "rotate | crash"}) {
    SCOPED_TRACE(again);
    run(fmt::format(
        "queue d fifo=1 max_delay=1d pass=1 | queue q fifo=1 dlq=d max_receive=1 visibility=5 | "
        "send d g:x delay=3s | send q g:a | receive q -> a#1 | advance 5s | send d g:y | "
        "receive q -> none | advance 1s | send d g:z | count d -> 4/0/0 | {} | "
        "receive d max=10 -> x#1 y#1 a#2 z#1",
        again));
  }
}

TEST(DelayInAGroup, LetsAMoveTaskPass) {
  run(passing +
      "queue t fifo=1 | send q g:a delay=10s | send q g:b | send q g:c | move q to=t | "
      "advance 1s | count q -> 0/0/1 | receive t max=10 -> b#1 c#1 | advance 9s | "
      "receive q -> a#1");
}

TEST(DelayInAGroup, IsSlicedIntoACheckpoint) {
  for (int slices = 0; slices < 14; ++slices) {
    SCOPED_TRACE(slices);
    Script script({.slice_entries = 1});
    script.run(passing +
               "send q g:a delay=10s | send q g:b | send q g:c delay=4s | send q g:d delay=12s");
    for (int i = 0; i < slices; ++i) (void)script.answer("slice");
    script.run("receive q -> b#1 | advance 10s");
    for (int i = 0; i < 40 && script.answer("slice") == "more"; ++i) {
    }
    script.run(
        "restart | send q g:e | advance 2s | delete q b#1 | receive q max=10 -> c#1 | "
        "delete q c#1 | receive q max=10 -> a#1 e#1 | delete q a#1 e#1 | receive q -> d#1");
  }
}

TEST(DelayInAGroup, IsHeldByAWaitingReceive) {
  run(passing +
      "send q g:a delay=10s | receive q wait=20s as w | advance 5s | send q g:b | w -> b#1 | "
      "delete q b#1 | receive q wait=20s as v | advance 4s | v -> pending | advance 1s | v -> a#1");
}

}  // namespace
}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
// A transfer is atomic: whenever the power fails, the message is in one queue or the other.
// Deletes of messages in transfer: shard_moving_delete_test.cc.
#include "core/queue/transfer.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

// The bodies of all messages in the queues, sorted.
std::vector<std::string> contents(Script& script, const std::vector<const char*>& queues) {
  std::vector<std::string> bodies;
  for (const char* name : queues) {
    const Ask& ask = script.world().receive(script.queue(name), {.max = 100});
    EXPECT_TRUE(ask.answered);
    for (const Delivery& delivery : ask.request.deliveries.first(ask.request.delivered))
      bodies.push_back(script.world().body_at(delivery.position));
  }
  std::ranges::sort(bodies);
  return bodies;
}

TEST(TransferCrash, LosesAndDoublesNothingWhateverIsDurable) {
  for (int first = 0; first < 9; ++first) {
    for (int second = 0; second < 9; ++second) {
      SCOPED_TRACE(fmt::format("crashes after {} and {} flushes", first, second));
      Script script;
      script.run(
          "queue d | queue q visibility=1 max_receive=1 dlq=d | send q a b A:c | take q 3 | "
          "advance 1s | hold | receive q max=2 wait=1 as w");
      for (int i = 0; i < first; ++i) script.run("flush_one");
      script.run("crash | hold | receive q max=2 wait=1 as w");
      for (int i = 0; i < second; ++i) script.run("flush_one");
      script.run("crash | advance 2s | receive q -> none | stored -> 3");
      EXPECT_EQ(contents(script, {"d", "q"}), (std::vector<std::string>{"a", "b", "c"}));
      EXPECT_TRUE(script.world().shard().unsettled_transfers().empty());
      EXPECT_EQ(script.world().shard().transfers(), 0u);
    }
  }
}

TEST(TransferCrash, OfATaskCountsEveryMessageOnce) {
  for (int first = 0; first < 12; ++first) {
    for (int second = 0; second < 12; ++second) {
      SCOPED_TRACE(fmt::format("crashes after {} and {} flushes", first, second));
      Script script;
      script.run(
          "queue d | queue t | send d a b A:c A:d | hold | move d to=t -> pending | flush_one");
      for (int i = 0; i < first; ++i) script.run("flush_one");
      script.run("crash | hold");
      for (int i = 0; i < second; ++i) script.run("flush_one");
      script.run(
          "crash | advance 2s | moves d -> 1:completed:4/4 | stored -> 4 | count d -> 0/0/0");
      EXPECT_EQ(contents(script, {"d", "t"}), (std::vector<std::string>{"a", "b", "c", "d"}));
    }
  }
}

TEST(TransferCrash, BringsNothingBackThatWasDeletedInItsTarget) {
  for (int flushes = 0; flushes < 8; ++flushes) {
    SCOPED_TRACE(flushes);
    Script script;
    script.run(
        "queue d visibility=1 | queue q visibility=1 max_receive=1 dlq=d | send q a | take q 1 | "
        "advance 1s | hold | receive q wait=1 as w | flush_one | receive d -> a#2");
    const Ask& deletion =
        script.world().receipts(Op::delete_message, script.queue("d"), {script.handle("a#2")});
    for (int i = 0; i < flushes; ++i) script.run("flush_one");
    const bool answered = deletion.answered;
    EXPECT_TRUE(answered || flushes < 7);
    script.run("crash | advance 2s");
    const bool gone = contents(script, {"d", "q"}).empty();
    EXPECT_TRUE(gone || !answered);
    script.run(gone ? "stored -> 0" : "stored -> 1");
  }
}

TEST(TransferCrash, OfAFifoQueueKeepsTheOrderOfWhatIsBehind) {
  for (int flushes = 0; flushes < 8; ++flushes) {
    SCOPED_TRACE(flushes);
    Script script;
    script.run(
        "queue d fifo=1 | queue q fifo=1 visibility=1 max_receive=2 dlq=d | send q A:a A:b A:c | "
        "receive q -> a#1 | advance 1s | receive q -> a#2 | advance 1s | hold | receive q wait=1 "
        "as w");
    for (int i = 0; i < flushes; ++i) script.run("flush_one");
    script.run("crash 2s");
    const Ask& rest = script.world().receive(script.queue("q"), {.max = 10});
    ASSERT_EQ(rest.request.delivered, 2u);
    EXPECT_EQ(script.world().body_at(rest.deliveries[0].position), "b");
    EXPECT_EQ(script.world().body_at(rest.deliveries[1].position), "c");
    script.run("receive d max=10 -> a#3 | stored -> 3");
  }
}

}  // namespace
}  // namespace pawl::test

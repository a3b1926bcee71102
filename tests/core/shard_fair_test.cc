// SPDX-License-Identifier: Apache-2.0
// Standard queues whose messages have groups: tenants do not delay each other.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

// A queue, and single deliveries from it.
class Fair : public testing::Test {
 protected:
  void SetUp() override { script.run("queue q visibility=12h"); }
  void send(const std::string& tenant, std::size_t count) {
    for (std::size_t left = count; left > 0;) {
      const std::size_t batch = std::min<std::size_t>(left, 1000);
      script.world().send_grouped(script.queue("q"),
                                  std::vector<GroupedMessage>(batch, {tenant, tenant}));
      left -= batch;
    }
  }
  // The tenants of the next messages, one letter each; `-` is an empty receive.
  std::string next(std::uint32_t count, Duration visibility = queue_default) {
    std::string tenants;
    for (; count > 0; --count) {
      const Ask& ask = script.world().receive(script.queue("q"), {.visibility = visibility});
      tenants += ask.request.delivered == 0
                     ? "-"
                     : script.world().body_at(ask.deliveries[0].position).substr(0, 1);
    }
    return tenants;
  }

  Script script;
};

TEST_F(Fair, ABacklogOfOneTenantDoesNotDelayAnother) {
  send("a", 10'000);
  send("b", 1);
  EXPECT_EQ(next(2).find('b') != std::string::npos, true);
  send("b", 1);
  EXPECT_NE(next(2).find('b'), std::string::npos);
}

TEST_F(Fair, TenantsTakeTurns) {
  send("a", 3);
  send("b", 2);
  send("c", 1);
  EXPECT_EQ(next(7), "abcaba-");
}

TEST_F(Fair, MessagesWithoutAGroupTakeTurnsWithThem) {
  send("a", 3);
  script.run("send q x x x x");
  EXPECT_EQ(next(8), "axaxaxx-");
}

TEST_F(Fair, MessagesWithoutAGroupThatCameBackAreNotStarved) {
  script.run("send q old | receive q -> old#1 | change q 0 old#1");
  send("a", 100);
  script.run("fill q 100");
  EXPECT_NE(next(16).find('o'), std::string::npos);
}

TEST_F(Fair, ANoisyTenantIsServedWhenNobodyElseHasAnything) {
  send("a", 40);
  EXPECT_EQ(next(30), std::string(30, 'a'));
  send("b", 3);
  EXPECT_EQ(next(5), "bbbaa") << "a has 30 in flight, more than a tenth";
}

TEST_F(Fair, ATenantIsNotNoisyBelowThirtyInFlight) {
  send("a", 40);
  EXPECT_EQ(next(29), std::string(29, 'a'));
  send("b", 3);
  EXPECT_EQ(next(2), "ab");
}

TEST_F(Fair, ATenantIsNotNoisyWithATenthOfAllInFlight) {
  script.run("fill q 270 | take q 270");
  send("a", 40);
  EXPECT_EQ(next(30), std::string(30, 'a'));
  send("b", 3);
  EXPECT_EQ(next(2), "ab") << "30 of 300";
  EXPECT_EQ(next(2), "bb") << "31 of 303";
}

TEST_F(Fair, OfNoisyTenantsTheOneWithTheFewestInFlightIsFirst) {
  send("a", 50);
  EXPECT_EQ(next(40), std::string(40, 'a'));
  send("b", 50);
  EXPECT_EQ(next(33), std::string(30, 'b') + "bbb");
}

TEST_F(Fair, ATenantIsQuietAgainWhenItsMessagesAreDone) {
  send("a", 40);
  const Ask& ask = script.world().receive(script.queue("q"), {.max = 30});
  std::vector<ReceiptHandle> handles;
  for (const Delivery& delivery : ask.deliveries) handles.push_back(delivery.handle);
  send("b", 10);
  EXPECT_EQ(next(2), "bb");
  script.world().receipts(Op::delete_message, script.queue("q"), handles);
  EXPECT_EQ(next(2), "ab");
}

TEST_F(Fair, MessagesThatComeBackDoNotStarveTheFreshOnesOfTheirTenant) {
  send("a", 4);
  EXPECT_EQ(next(7, Duration{0}), "aaaaaaa") << "each of them once at least";
  for (int i = 0; i < 8; ++i) script.run("send q a:fresh");
  EXPECT_EQ(std::ranges::count(next(8, Duration{0}), 'f'), 4) << "they take turns";
}

TEST_F(Fair, OfATenantTheOldestMessageIsNext) {
  script.run(
      "send q T:a T:b | receive q visibility=1 -> a#1 | receive q visibility=1 -> b#1 | "
      "advance 2s | send q T:c T:d | receive q max=4 -> a#2 b#2 c#1 d#1");
}

TEST_F(Fair, NothingIsHeldBackByAMessageInFlight) {
  script.run("send q T:a T:b | receive q -> a#1 | receive q -> b#1");
}

TEST_F(Fair, TheSameContentIsNotADuplicate) {
  script.run("send q T:a T:a | receive q max=10 -> a#1 a#1");
}

TEST_F(Fair, TenantsSurviveARestart) {
  send("a", 2000);
  send("b", 1);
  script.run("send q x | restart | count q -> 2002/0/0");
  const std::string three = next(4);
  EXPECT_NE(three.find('b'), std::string::npos);
  EXPECT_NE(three.find('x'), std::string::npos);
}

TEST_F(Fair, WhateverMakesAMessageOfATenantAvailableEndsALongPoll) {
  script.run(
      "receive q wait=20 as w | send q T:a | w -> a#1 | receive q wait=20 as w | change q 0 a#1 | "
      "w -> a#2 | receive q wait=20 as w | undeliver q a#2 | w -> a#2 | change q 5 a#2 | "
      "receive q wait=20 as w | advance 5s | w -> a#3 | receive q wait=20 as w | "
      "send q T:b delay=5 | advance 5s | w -> b#1 | delete q a#3 b#1 | stored -> 0");
}

TEST_F(Fair, APurgeTakesThemAll) {
  script.run(
      "send q T:a T:b U:c | receive q max=10 -> a#1 c#1 b#1 | receive q wait=20 as w | purge q | "
      "count q -> 0/0/0 "
      "| "
      "stored -> 0 | send q T:d | w -> d#1 | advance 12h | receive q -> d#2");
}

}  // namespace
}  // namespace pawl::test

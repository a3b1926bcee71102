// SPDX-License-Identifier: Apache-2.0
#include "core/shard/peek.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

TEST(Peek, NamesTheMessageThatHasPassedADelayedOne) {
  run("queue q fifo=1 max_delay=1d pass=1 | send q A:a delay=1s | send q A:b A:c | advance 2s | "
      "peek q -> a:visible<3 b:visible c:visible | receive q max=3 -> b#1 c#1 | delete q b#1 c#1 | "
      "peek q -> a:visible | receive q -> a#1");
}

TEST(Peek, ShowsEveryStateInTheOrderOfTheSends) {
  run("queue q visibility=30 | peek q -> none | send q a b c | send q d delay=5 | "
      "receive q max=2 -> a#1 b#1 | advance 1s | "
      "peek q -> a:in_flight#1+29000 b:in_flight#1+29000 c:visible d:delayed+4000 | "
      "advance 29s | peek q -> a:visible#1 b:visible#1 c:visible d:visible");
}

TEST(Peek, ShowsAMessageOfALeaseAsOneOfASlot) {
  run("queue q visibility=30 | send q a b | receive q max=2 -> a#1 b#1 | change q 60 b#1 | "
      "peek q -> a:in_flight#1+30000 b:in_flight#1+60000 | delete q a#1 | "
      "peek q -> b:in_flight#1+60000");
}

TEST(Peek, ShowsWhatIsNotDurableYet) {
  run("queue q | hold | send q a as w | send q b delay=5 as w2 | "
      "peek q -> a:not_durable b:not_durable | flush | peek q -> a:visible b:delayed+5000");
}

TEST(Peek, ShowsWhatMovesAndWhatCannotBeRead) {
  run("queue d | queue q dlq=d max_receive=1 visibility=0 | send q a b c | set_aside q b | "
      "peek q -> a:visible 2:unreadable c:visible | receive q -> a#1 | peek q -> a:visible#1 "
      "2:unreadable c:visible | hold | receive q max=1 -> c#1 | "
      "peek q -> a:moving#1 2:unreadable c:visible#1");
}

TEST(Peek, NamesTheMessageThatOneOfAGroupWaitsFor) {
  run("queue q fifo=1 visibility=30 | send q A:a B:b A:c A:d | peek q -> a:visible b:visible "
      "c:visible d:visible | receive q -> a#1 | "
      "peek q -> a:in_flight#1+30000 b:visible c:visible<1 d:visible<1");
  // The first is back, the second is not: the third waits for the second.
  run("queue q fifo=1 visibility=30 | send q A:a A:b A:c | receive q max=2 -> a#1 b#1 | "
      "change q 0 a#1 | peek q -> a:visible#1 b:in_flight#1+30000 c:visible<2");
}

TEST(Peek, NamesTheConsumerOfAMessageInFlight) {
  // In leases, in slots, after a second receive, and not once it is back.
  run("queue q visibility=30 | send q a b c | receive q max=2 by=7 -> a#1 b#1 | "
      "receive q max=2 by=8 -> c#1 | peek q -> a:in_flight#1+30000@7 b:in_flight#1+30000@7 "
      "c:in_flight#1+30000@8 | change q 0 b#1 | peek q -> a:in_flight#1+30000@7 b:visible#1 "
      "c:in_flight#1+30000@8 | receive q by=9 -> b#2 | "
      "peek q -> a:in_flight#1+30000@7 b:in_flight#2+30000@9 c:in_flight#1+30000@8");
}

TEST(Peek, TellsTheTenantOfAVisibleMessage) {
  std::string sends = "queue q visibility=30 | send q B:b";
  std::string got;
  for (std::uint32_t i = 0; i < Groups::noisy_in_flight; ++i) {
    sends += " A:m" + std::to_string(i);
    got += " m" + std::to_string(i) + "#1";
  }
  run(sends + " A:last | receive q max=1 -> b#1 | delete q b#1 | receive q max=29 ->" +
      got.substr(0, got.rfind(' ')) +
      " | peek q from=31 -> m29:visible&29 last:visible&29 | "
      "receive q max=1 -> m29#1 | peek q from=32 -> last:visible&30!");
}

TEST(Peek, TellsUntilWhenAMessageDeduplicatesOthers) {
  run("queue q fifo=1 visibility=30 | send q A:a | advance 10s | send q A:b | "
      "peek q dedup=1 -> a:visible=290000 b:visible=300000 | advance 290s | "
      "peek q dedup=1 -> a:visible b:visible=10000");
}

TEST(Peek, LooksAtSoManyMessagesOfAGroupAndNoFurther) {
  std::string sends = "queue q fifo=1 visibility=30 | send q A:a A:b";
  for (std::uint32_t i = 0; i <= group_looks_max; ++i) sends += " A:m" + std::to_string(i);
  const std::string last = std::to_string(2 + group_looks_max);
  run(sends + " | receive q max=2 -> a#1 b#1 | change q 0 a#1 | peek q looks=1 from=" + last +
      " -> m" + std::to_string(group_looks_max - 1) +
      ":visible<2 next=" + std::to_string(3 + group_looks_max) + " | peek q from=" +
      std::to_string(3 + group_looks_max) + " -> m" + std::to_string(group_looks_max) + ":visible");
}

TEST(Peek, GoesOnInSlicesOfLooksAndOfSpace) {
  run("queue q visibility=30 | send q a b c d e | peek q looks=2 -> a:visible b:visible next=3 | "
      "peek q from=3 looks=2 -> c:visible d:visible next=5 | peek q from=5 looks=2 -> e:visible | "
      "peek q space=3 -> a:visible b:visible c:visible next=4 | peek q from=9 -> none");
}

TEST(Peek, ListsTheStatesThatAreAskedFor) {
  const std::string visible = std::to_string(PeekSlice::bit(PeekedMessage::State::visible));
  run("queue q visibility=30 | send q a b c | receive q -> a#1 | peek q states=" + visible +
      " -> b:visible c:visible | peek q space=1 states=" + visible + " -> b:visible next=3");
}

TEST(Peek, ShowsNothingThatIsPurgedOrOfAQueueThatIsNotThere) {
  run("queue q | send q a b | purge q | peek q -> none | send q c | peek q -> c:visible | drop q | "
      "peek q -> no_such_queue");
}

TEST(Peek, TellsBelowWhichNumberAllWerePurgedOrAreExpired) {
  run("queue q retention=60 | send q a b | receive q -> a#1 | delete q a#1 | "
      "peek q gone=1 -> b:visible expired<0 gone<1 | advance 61s | "
      "peek q gone=1 -> expired<3 gone<3 | send q c | purge q | advance 5s | "
      "peek q gone=1 -> expired<3 gone<4 purged-5000 | restart | "
      "peek q gone=1 -> expired<0 gone<4 purged-5000");
  run("queue d retention=100 | queue q visibility=0 max_receive=1 dlq=d | send q a | "
      "receive q -> a#1 | receive q -> none | peek d gone=1 -> a:visible#1 expired<0 gone<1 "
      "by_age");
}

TEST(Peek, EndsASliceBeforeAMessage) {
  PeekSlice slice;
  for (const Seq seq : {3, 5, 8}) slice.messages.push_back({.seq = seq});
  end_before(slice, 5);
  EXPECT_EQ(slice.messages.size(), 1u);
  EXPECT_EQ(slice.next, 5u);
  EXPECT_DEATH(end_before(slice, 5), "has no message 5");
}

// Two brokers do the same, and one of them is peeked at in every step: both tell and keep the same.
TEST(Peek, ChangesNothing) {
  const std::string steps[] = {
      "queue q visibility=30 | queue f fifo=1 visibility=30",
      "send q a b c d e | send q x delay=3 | send f A:1 B:2 A:3",
      "receive q max=3 -> a#1 b#1 c#1 | receive f -> 1#1",
      "undeliver q a#1 | change q 0 b#1 | delete q c#1 | receive q max=2 -> a#1 b#2",
      "advance 40s | count q -> 5/0/0 | receive f max=3 -> 2#1 1#2 3#1",
      "rotate | restart | receive q max=9 -> a#2 b#3 d#1 e#1 x#1",
  };
  Script quiet, peeked;
  for (const std::string& step : steps) {
    quiet.run(step);
    peeked.run(step);
    for (const char* peek : {"peek q", "peek q space=1", "peek f", "peek f from=2"})
      peeked.answer(peek);
    EXPECT_EQ(quiet.world().records(), peeked.world().records());
    EXPECT_EQ(quiet.world().shard().memory().sum(), peeked.world().shard().memory().sum());
    EXPECT_EQ(quiet.world().shard().next_deadline(), peeked.world().shard().next_deadline());
  }
}

}  // namespace
}  // namespace pawl::test

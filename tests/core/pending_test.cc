// SPDX-License-Identifier: Apache-2.0
// Messages that are delayed for so long that they have no slot. Here that is from an hour on.
#include "core/shard/pending.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

constexpr std::string_view queue = "queue q max_delay=400d visibility=12h | ";

ShardLimits an_hour() {
  ShardLimits limits;
  limits.calendar_horizon = seconds(3600);
  limits.calendar_bits = 16;  // 66 s
  return limits;
}

void run(std::string_view steps, const ShardLimits& limits = an_hour()) {
  Script(limits).run(std::string(queue) + std::string(steps));
}

std::uint64_t slots(Script& script) { return script.world().shard().memory().slots; }

TEST(Pending, MessagesAreDeliveredAtTheirTimes) {
  run("send q a delay=3h | send q b delay=2h | send q c | count q -> 1/0/2 | "
      "peek q -> a:delayed+10800000 b:delayed+7200000 c:visible | receive q max=10 -> c#1 | "
      "advance 7199999ms | receive q -> none | advance 1ms | receive q -> b#1 | advance 3599999ms "
      "| receive q -> none | advance 1ms | receive q -> a#1 | delete q a#1 b#1 c#1 | stored -> 0");
  run("send q a delay=2h | jump 3h | receive q -> a#1");
  run("send q a delay=2h | receive q wait=20 as w | advance 19s | cancel w | advance 7170s | "
      "receive q wait=20 as w | advance 10999ms | w -> pending | advance 1ms | w -> a#1");
}

TEST(Pending, MessagesNeedNoSlot) {
  ShardLimits limits = an_hour();
  limits.slots_max = 1;
  Script script(limits);
  script.run(std::string(queue) +
             "send q a b c d e delay=2h | count q -> 0/0/5 | send q f delay=5");
  script.run("send q g delay=5 -> overloaded");
}

// They stay pending until there is a slot, and are late, never early.
TEST(Pending, MessagesWaitForSlots) {
  ShardLimits limits = an_hour();
  limits.slots_max = 1;
  run("queue p | send p x | receive p visibility=12h -> x#1 | send q a b delay=2h | advance 3h | "
      "count q -> 0/0/2 | receive q -> none | crash | count q -> 0/0/2 | delete p x#1 | "
      "advance 1s | receive q -> b#1 | delete q b#1 | advance 1s | receive q -> a#1",
      limits);
}

TEST(Pending, LeavesSlotsToOthers) {
  ShardLimits limits = an_hour();
  limits.slots_max = 16;
  run("queue p | send q a b c d e f g h i j k l m n o p r s t delay=2h | send p x | advance 61m | "
      "receive p -> x#1",
      limits);
}

TEST(Pending, ALateMessageHasItsWholeRetention) {
  ShardLimits limits = an_hour();
  limits.slots_max = 1;
  run("queue p | send p x | receive p visibility=12h -> x#1 | set q retention=60 | "
      "send q a delay=2h | advance 3h | delete p x#1 | advance 2s | receive q -> a#1",
      limits);
}

TEST(Pending, KeepsNoCalendarWithoutMessages) {
  Script script(an_hour());
  script.run("queue q max_delay=400d | send q a b delay=20h");
  EXPECT_NE(script.world().shard().memory().timers % TimerWheel::chunk_bytes, 0u);
  script.run("plan q 0 1 2 | receive q max=9 -> a#1 b#1 | delete q a#1 b#1 | crash");
  EXPECT_EQ(script.world().shard().memory().timers % TimerWheel::chunk_bytes, 0u);
}

TEST(Pending, MessagesAreThereAfterACrash) {
  for (const std::string restart : {"crash", "rotate | crash", "rotate | crash | rotate | crash"}) {
    run("send q a b delay=2h | send q c delay=3h | send q d | " + restart +
        " | count q -> 1/0/3 | peek q -> a:delayed+7200000 b:delayed+7200000 c:delayed+10800000 "
        "d:visible | advance 61s | count q -> 1/0/3 | " +
        restart +
        " | advance 7138999ms | count q -> 1/0/3 | advance 1ms | receive q max=9 -> a#1 b#1 d#1 "
        "| " +
        restart + " | count q -> 0/3/1");
    run("send q a delay=2h | " + restart + " | crash 3h | receive q -> a#1");
    run("send q a delay=2h | advance 2h | " + restart + " | receive q -> a#1");
  }
}

TEST(Pending, MessagesAreNotDeliveredBeforeTheyAreDurable) {
  run("hold | send q a delay=2h -> pending | peek q -> a:not_durable | count q -> 0/0/0 | jump 3h "
      "| "
      "receive q -> none | count q -> 0/0/0 | flush | receive q -> a#1");
}

TEST(Pending, MessagesAreCancelled) {
  run("send q a b delay=2h | cancel_id q 1 -> ok | count q -> 0/0/1 | stored -> 1 | "
      "cancel_id q 1 -> gone | advance 2h | receive q max=9 -> b#1 | cancel_id q 2 even=1 -> ok");
  for (const std::string restart : {"crash", "rotate | crash", "slice | crash"})
    run("send q a b delay=2h | " + restart + " | cancel_id q 1 -> ok | " + restart +
        " | count q -> 0/0/1 | stored -> 1 | advance 2h | receive q max=9 -> b#1");
}

TEST(Pending, MessagesAreRescheduled) {
  for (const std::string restart : {"advance 0", "crash", "rotate | crash"}) {
    run("send q a b delay=2h | plan q 0 1 | receive q -> a#1 | " + restart +
        " | count q -> 0/1/1 | advance 2h | receive q max=9 -> b#1");
    run("send q a b delay=2h | plan q 5 1 | " + restart +
        " | count q -> 0/0/2 | advance 5s | receive q -> a#1 | delete q a#1 | " + restart +
        " | advance 7195s | receive q max=9 -> b#1");
    run("send q a b delay=2h | plan q 4h 1 | " + restart +
        " | count q -> 0/0/2 | advance 2h | receive q max=9 -> b#1 | delete q b#1 | " + restart +
        " | advance 7199s | receive q -> none | advance 1s | receive q -> a#1");
  }
}

TEST(Pending, RetentionCountsFromTheDeliveryTime) {
  run("set q retention=60 | send q a delay=2h | advance 2h | advance 59s | count q -> 1/0/0 | "
      "advance 1s | "
      "count q -> 0/0/0 | stored -> 0");
  for (const std::string restart : {"crash", "rotate | crash"}) {
    run("set q retention=60 | send q a delay=2h | advance 2h | advance 10s | receive q -> a#1 | " +
        restart +
        " | advance 49s | count q -> 0/1/0 | advance 1s | count q -> 0/0/0 | stored -> 0");
    run("set q retention=60 | send q a delay=2h | rotate | advance 2h | advance 10s | receive q -> "
        "a#1 | " +
        restart +
        " | advance 49s | count q -> 0/1/0 | advance 1s | count q -> 0/0/0 | stored -> 0");
    // Another time: the first one is not its age any more.
    run("set q retention=60 | send q a delay=2h | advance 2h | plan q 50s 1 | " + restart +
        " | advance 50s | receive q -> a#1 | advance 59s | count q -> 0/1/0 | advance 1s | "
        "count q -> 0/0/0");
    run("set q retention=60 | send q a delay=2h | advance 2h | rotate | plan q 50s 1 | advance 50s "
        "| receive q -> a#1 | "
        "crash | advance 59s | count q -> 0/1/0 | advance 1s | count q -> 0/0/0");
  }
}

TEST(Pending, MessagesArePurgedAndDeleted) {
  for (const std::string restart : {"advance 0", "crash", "rotate | crash"}) {
    run("send q a b delay=2h | purge q | count q -> 0/0/0 | stored -> 0 | send q c delay=3h | " +
        restart + " | advance 2h | receive q -> none | advance 1h | receive q -> c#1");
    run("send q a b delay=2h | drop q | stored -> 0 | queue q max_delay=1h | " + restart +
        " | advance 3h | receive q -> none");
  }
}

TEST(Pending, IsNoMessageWithAGroupOrOfAQueueWithoutLongDelays) {
  Script script(an_hour());
  script.run(std::string(queue) + "queue f fifo=1 max_delay=1d");
  const std::uint64_t before = slots(script);
  script.run("send q a delay=2h");
  EXPECT_EQ(slots(script), before);
  script.run("send q g:b delay=2h | send f g:c delay=2h | peek f -> c:delayed+7200000");
  EXPECT_GT(slots(script), before);
  script.run("rotate | crash | advance 2h | receive q max=9 -> b#1 a#1 | receive f -> c#1");
}

// A message of a checkpoint of before, which has a slot in it, is pending after the start.
TEST(Pending, BeginsAtAStart) {
  Shard shard({}, an_hour(), Instant{1000});
  QueueConfig config;
  config.id = QueueId{1};
  config.account = "a";
  config.name = "q";
  config.apply({Attribute::max_delay, 86'400, {}});
  shard.restore(ConfigRecord{std::make_shared<QueueConfig>(config), false});
  TrackedMessagesRecord tracked{.queue = config.id, .entries = {}};
  for (Seq seq = 1; seq <= 2000; ++seq)
    tracked.entries.push_back({.seq = seq,
                               .position = seq * 100,
                               .deadline = Instant{9'000'000},
                               .since = Instant{500},
                               .aged_apart = true});
  shard.restore(CheckpointRecord{tracked});
  std::vector<LogPos> freed;
  shard.finish_recovery(Instant{2000}, Instant{2000}, freed);
  EXPECT_LE(shard.memory().timers, 20'000u);
  Request count{.op = Op::count, .queue = config.id};
  Effects effects;
  shard.apply(count, Instant{2000}, effects);
  EXPECT_EQ(count.counts.delayed, 2000u);
  for (int ms = 0; ms < 9; ++ms)
    shard.expire(Instant{9'000'000 + ms}, Instant{9'000'000 + ms}, effects);
  shard.apply(count, Instant{9'000'008}, effects);
  EXPECT_EQ(count.counts.visible, 2000u);
}

// The checkpoint and the messages change in turns.
TEST(Pending, MessagesChangeDuringACheckpoint) {
  ShardLimits limits = an_hour();
  limits.slice_entries = 1;
  for (int slices = 1; slices < 14; ++slices) {
    Script script(limits);
    script.run(std::string(queue) + "send q a b c d delay=2h | send q e | send q f delay=3h");
    for (int i = 0; i < slices && script.answer("slice") == "more"; ++i) {
    }
    script.run("cancel_id q 1 -> ok | plan q 5 2 | plan q 4h 3 | send q g delay=3h");
    while (script.answer("slice") == "more") {
    }
    script.run(
        "crash | count q -> 1/0/5 | advance 5s | receive q max=9 -> b#1 e#1 | "
        "delete q b#1 e#1 | advance 7195s | receive q max=9 -> d#1 | delete q d#1 | "
        "advance 1h | receive q max=9 -> f#1 g#1 | delete q f#1 g#1 | advance 1h | "
        "receive q max=9 -> c#1 | delete q c#1 | stored -> 0");
  }
}

// Messages get slots between two slices: the first has them as pending, a later one as delayed.
TEST(Pending, MessagesComeNearDuringACheckpoint) {
  ShardLimits limits = an_hour();
  limits.slice_entries = 1;
  for (int slices = 1; slices < 14; ++slices) {
    Script script(limits);
    script.run(std::string(queue) + "send q a b c d delay=2h | advance 58m");
    for (int i = 0; i < slices && script.answer("slice") == "more"; ++i) {
    }
    script.run("advance 2m");
    while (script.answer("slice") == "more") {
    }
    script.run(
        "crash | count q -> 0/0/4 | advance 3599999ms | receive q -> none | advance 1ms | "
        "receive q max=9 -> a#1 b#1 c#1 d#1");
  }
}

TEST(Pending, AVisibleMessageBehindManyIsFoundAtOnce) {
  Script script(an_hour());
  const auto bytes = [&] {
    const ShardMemory memory = script.world().shard().memory();
    return memory.index + memory.slots + memory.timers;
  };
  script.run(std::string(queue) + "send q a | receive q -> a#1 | delete q a#1 | set q delay=2h");
  const std::uint64_t before = bytes();
  script.run("fill q 100000 | count q -> 0/0/100000 | send q a delay=0 | receive q -> a#1");
  EXPECT_LE(bytes() - before, 100'000u * 16);
}

}  // namespace
}  // namespace pawl::test

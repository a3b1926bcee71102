// SPDX-License-Identifier: Apache-2.0
// Checkpoints: recovery from one restores the state, whatever happened while it was written.
#include <gtest/gtest.h>

#include <string>

#include "tests/core/script.h"

namespace pawl::test {
namespace {

// Runs with checkpoint slices of two messages, sends or queues.
void run_sliced(std::string_view steps) {
  ShardLimits limits;
  limits.slice_entries = 2;
  Script script(limits);
  script.run(steps);
}

TEST(Checkpoint, HasMessagesInEveryState) {
  run_sliced(
      "queue q visibility=30 | send q a b c d e | receive q max=2 -> a#1 b#1 | delete q a#1 | "
      "send q f delay=60 | rotate | restart | count q -> 3/1/1 | advance 30s | count q -> 4/0/1 | "
      "receive q max=10 -> b#2 c#1 d#1 e#1 | advance 30s | receive q max=10 -> b#3 f#1 c#2 d#2 e#2 "
      "| "
      "delete q b#1 c#1 d#1 e#1 f#1 | stored -> 0 | restart | count q -> 0/0/0");
}

TEST(Checkpoint, KeepsReceiptHandlesAndCounts) {
  run_sliced(
      "queue q visibility=30 | send q a | receive q -> a#1 | advance 30s | receive q -> a#2 | "
      "rotate | "
      "restart | change q 100 a#2 | advance 99s | receive q -> none | advance 1s | receive q -> "
      "a#3 | "
      "delete q a#2 | stored -> 0");
}

TEST(Checkpoint, IsTrueOfWhatIsSentAndDeletedMeanwhile) {
  run_sliced(
      "queue q visibility=30 | send q a b c d e f g h | slice -> more | slice -> more | send q i j "
      "| "
      "receive q max=10 -> a#1 b#1 c#1 d#1 e#1 f#1 g#1 h#1 i#1 j#1 | delete q a#1 d#1 h#1 i#1 | "
      "slice -> more | send q k | rotate | restart | count q -> 1/6/0 | "
      "advance 30s | receive q max=10 -> b#2 k#1 c#2 e#2 f#2 g#2 j#2");
}

TEST(Checkpoint, IsTrueOfWhatIsPurgedMeanwhile) {
  run_sliced(
      "queue q | send q a b c d e | slice -> more | slice -> more | purge q | send q f | slice | "
      "restart | receive q max=10 -> f#1 | stored -> 1");
}

TEST(Checkpoint, IsTrueOfQueuesThatComeAndGoMeanwhile) {
  run_sliced(
      "queue q | queue p | queue r | send q a b | send p c d | send r e | slice -> more | drop p | "
      "queue s | send s f | slice -> more | drop q | rotate | restart | "
      "receive r max=10 -> e#1 | receive s max=10 -> f#1 | stored -> 2");
}

TEST(Checkpoint, ThatIsNotCompleteCountsForNothing) {
  run_sliced(
      "queue q | send q a b c | rotate | send q d e f | slice -> more | slice -> more | crash | "
      "receive q max=10 -> a#1 b#1 c#1 d#1 e#1 f#1 | rotate | crash | count q -> 0/6/0");
}

TEST(Checkpoint, KeepsTheOrderOfGroups) {
  run_sliced(
      "queue q fifo=1 visibility=30 | send q A:a A:b B:c A:d B:e | receive q -> a#1 | slice -> "
      "more | "
      "send q A:f | slice -> more | slice -> more | send q B:g | rotate | restart | "
      "receive q max=10 -> c#1 e#1 g#1 | advance 30s | receive q max=10 -> c#2 e#2 g#2 a#2 b#1 d#1 "
      "f#1");
}

TEST(Checkpoint, KeepsTenantsApart) {
  run_sliced(
      "queue q | send q A:a A:b A:c B:d e | rotate | restart | receive q -> a#1 | receive q -> e#1 "
      "| "
      "receive q -> d#1 | receive q max=10 -> b#1 c#1");
}

TEST(Checkpoint, RemembersWhatIsDeduplicated) {
  run_sliced(
      "queue q fifo=1 | send q A:a:x A:b:y A:c:z | receive q -> a#1 | delete q a#1 | slice -> more "
      "| "
      "send q A:d:w | slice -> more | slice -> more | slice -> more | slice | restart | "
      "send q A:e:x -> same_as_1 | send q A:e:z -> same_as_3 | send q A:e:w -> same_as_4 | "
      "advance 300s | send q A:e:x | receive q max=10 -> b#1 c#1 d#1 e#1");
}

TEST(Checkpoint, RemembersWhenMessagesWereSent) {
  run_sliced(
      "queue q retention=60 | send q a | advance 20s | send q b | slice -> more | advance 20s | "
      "send q c | rotate | restart | advance 21s | receive q visibility=0 max=10 -> b#1 c#1 | "
      "advance 20s | receive q visibility=0 max=10 -> c#2 | advance 22s | stored -> 0");
}

TEST(Checkpoint, RemembersTheAgeOfDeadLetters) {
  run_sliced(
      "queue d retention=100 | queue q visibility=30 max_receive=1 dlq=d | send q a | "
      "receive q -> a#1 | advance 30s | receive q -> none | count d -> 1/0/0 | rotate | restart | "
      "advance 69s | count d -> 1/0/0 | advance 3s | count d -> 0/0/0 | stored -> 0");
}

TEST(Checkpoint, RemembersTheAgeOfManyDeadLetters) {
  Script script;
  script.run(
      "queue d retention=100 | queue q visibility=30 max_receive=1 dlq=d | fill q 100 | take q 100 "
      "|"
      "advance 30s | receive q -> none | count d -> 100/0/0");
  script.run("rotate | restart | advance 80s | count d -> 0/0/0 | stored -> 0");
}

// Message e is sent between two slices of d, so no bucket of the checkpoint counts it.
TEST(Checkpoint, RemembersTheAgeOfMessagesSentAmongItsDeadLetters) {
  run_sliced(
      "queue d retention=100 | queue q visibility=30 max_receive=1 dlq=d | send q a b c | "
      "receive q max=10 -> a#1 b#1 c#1 | advance 30s | receive q -> none | count d -> 3/0/0 | "
      "slice -> more | advance 40s | send d e | rotate | restart | advance 99s | "
      "receive d visibility=0 max=10 -> e#1 | advance 3s | count d -> 0/0/0 | stored -> 0");
}

TEST(Checkpoint, RemembersTasks) {
  run_sliced(
      "queue d | queue t | fill d 10 | move d to=t rate=1 | advance 2s | slice -> more | "
      "advance 2s | rotate | restart | advance 20s | moves d -> 1:completed:10/10 | count t -> "
      "10/0/0");
}

// A slice of a few queues with many send times each is no longer than others.
TEST(Checkpoint, HasSlicesThatCountTheTimesOfSending) {
  ShardLimits limits;
  limits.slice_entries = 64;
  ShardHarness world(limits);
  std::vector<QueueId> queues;
  for (int i = 0; i < 20; ++i)
    queues.push_back(world.create("q" + std::to_string(i), {}).request.config->id);
  for (int minute = 0; minute < 60; ++minute) {
    for (const QueueId queue : queues) world.send(queue, {"x"});
    world.advance(seconds(120));
  }
  world.shard().begin_checkpoint();
  std::size_t all = 0;
  for (bool more = true; more;) {
    CheckpointSlice slice;
    more = world.shard().checkpoint_slice(slice);
    std::size_t buckets = 0;
    for (const CheckpointRecord& record : slice.records)
      if (const auto* times = std::get_if<TimesRecord>(&record)) buckets += times->buckets.size();
    EXPECT_LE(buckets, 64u + 60u);
    all += buckets;
  }
  EXPECT_EQ(all, 20u * 60u);
}

// Send times are kept for existing messages only, not for the whole retention.
TEST(Checkpoint, OfAQueueThatIsEmptyNowAndThenIsSmall) {
  Script script;
  script.run("queue q visibility=30");
  ShardHarness& world = script.world();
  const QueueId q = script.queue("q");
  for (int minute = 0; minute < 600; ++minute) {
    world.send(q, {"x"});
    const Ask& got = world.receive(q, {.max = 1, .wait = Duration{0}});
    ASSERT_EQ(got.request.delivered, 1u);
    world.receipts(Op::delete_message, q, {got.deliveries[0].handle});
    world.advance(seconds(60));
  }
  CheckpointSlice slice;
  world.shard().begin_checkpoint();
  while (world.shard().checkpoint_slice(slice)) {
  }
  std::size_t buckets = 0;
  for (const CheckpointRecord& record : slice.records)
    if (const auto* times = std::get_if<TimesRecord>(&record)) buckets += times->buckets.size();
  EXPECT_LE(buckets, 2u);
}

}  // namespace
}  // namespace pawl::test

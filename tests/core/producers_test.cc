// SPDX-License-Identifier: Apache-2.0
#include "core/queue/producers.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "tests/core/script.h"
#include "tests/sim/random.h"

namespace pawl::test {
namespace {

constexpr std::optional<Seq> unknown = std::nullopt;

void accept(AcceptedRuns& runs, std::uint64_t sequence, Seq seq, std::size_t most = 1024) {
  ASSERT_TRUE(runs.make_room(sequence, most)) << sequence;
  runs.add(sequence, seq);
}

// --- the runs of one producer ---

TEST(AcceptedRuns, JoinMessagesThatFollowEachOther) {
  AcceptedRuns runs(1);
  accept(runs, 1, 10);
  accept(runs, 2, 11);
  accept(runs, 3, 20);
  EXPECT_EQ(runs.runs(), (std::vector<AcceptedRuns::Run>{
                             {1, 3, 10},
                             {3, 4, 20}
  }));
  EXPECT_EQ(runs.find(2), 11u);
  EXPECT_EQ(runs.find(3), 20u);
  EXPECT_EQ(runs.find(4), unknown);
}

TEST(AcceptedRuns, HaveGapsForRefusedMessages) {
  AcceptedRuns runs(1);
  accept(runs, 1, 10);
  accept(runs, 3, 11);
  EXPECT_EQ(runs.find(2), unknown);
  accept(runs, 2, 12);
  EXPECT_EQ(runs.find(1), 10u);
  EXPECT_EQ(runs.find(2), 12u);
  EXPECT_EQ(runs.find(3), 11u);
}

TEST(AcceptedRuns, EndAtTheFloor) {
  AcceptedRuns runs(1);
  for (std::uint64_t i = 1; i <= 6; ++i) accept(runs, i, 9 + i);
  runs.raise_floor(4);
  EXPECT_EQ(runs.runs(), (std::vector<AcceptedRuns::Run>{
                             {4, 7, 13}
  }));
  EXPECT_EQ(runs.find(3), 0u) << "settled, its number is not known any more";
  EXPECT_EQ(runs.find(5), 14u);
  runs.raise_floor(2);
  EXPECT_EQ(runs.floor(), 4u) << "a floor never falls";
  runs.raise_floor(100);
  EXPECT_TRUE(runs.runs().empty());
  EXPECT_EQ(runs.find(99), 0u);
  EXPECT_EQ(runs.find(100), unknown);
}

TEST(AcceptedRuns, LoseNumbersRatherThanMessages) {
  AcceptedRuns runs(1);
  for (std::uint64_t i = 2; i <= 9; ++i) accept(runs, i, 10 * i, 4);
  ASSERT_LE(runs.runs().size(), 4u);
  for (std::uint64_t i = 2; i <= 9; ++i) {
    const auto seq = runs.find(i);
    ASSERT_TRUE(seq) << i;
    EXPECT_TRUE(*seq == 0 || *seq == 10 * i) << i << " " << *seq;
  }
  EXPECT_EQ(runs.find(1), unknown);
  EXPECT_EQ(runs.find(10), unknown);
}

TEST(AcceptedRuns, RefuseOneMoreGap) {
  AcceptedRuns runs(1);
  for (std::uint64_t i = 1; i <= 4; ++i) accept(runs, 10 * i, i, 4);
  EXPECT_FALSE(runs.make_room(50, 4));
  accept(runs, 11, 100, 4);  // widens a run
  accept(runs, 19, 101, 4);
  accept(runs, 1, 102, 4);  // raises the floor
  EXPECT_EQ(runs.floor(), 2u);
  EXPECT_EQ(runs.runs().size(), 4u);
  for (const std::uint64_t i : {1u, 10u, 11u, 19u, 20u, 30u, 40u}) EXPECT_TRUE(runs.find(i)) << i;
  for (const std::uint64_t i : {2u, 9u, 12u, 18u, 21u, 41u}) EXPECT_FALSE(runs.find(i)) << i;
  runs.raise_floor(12);
  accept(runs, 50, 103, 4);
}

// Any order, any gaps: a sequence is known exactly if it was accepted or is below the floor.
TEST(AcceptedRuns, KnowExactlyTheAcceptedMessages) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    sim::Random random(seed);
    const std::size_t most = random.between(1, 12);
    AcceptedRuns runs(1);
    std::map<std::uint64_t, Seq> accepted;
    std::uint64_t floor = 1;
    Seq seq = 1;
    for (int step = 0; step < 400; ++step) {
      const std::uint64_t sequence = floor + random.below(40);
      if (random.chance(1, 20)) {
        floor += random.below(30);
        runs.raise_floor(floor);
        continue;
      }
      if (runs.find(sequence)) continue;
      seq += random.below(2);
      if (!runs.make_room(sequence, most)) continue;
      runs.add(sequence, ++seq);
      accepted[sequence] = seq;
      ASSERT_LE(runs.runs().size(), std::max<std::size_t>(most, 2));
      for (std::uint64_t i = floor; i < floor + 45; ++i) {
        const auto found = runs.find(i);
        ASSERT_EQ(found.has_value(), accepted.contains(i)) << i;
        ASSERT_TRUE(!found || *found == 0 || *found == accepted[i]) << i;
      }
    }
  }
}

// --- the table ---

class ProducersTest : public testing::Test {
 protected:
  void accept(std::uint64_t id, std::uint64_t sequence, Seq seq, Instant at,
              std::uint64_t floor = 1) {
    ASSERT_TRUE(producers_.make_room({id, sequence}, floor, UINT64_MAX));
    producers_.add({id, sequence}, floor, seq, at);
  }
  std::vector<Producers::Entry> copy(std::size_t most) const {
    std::vector<Producers::Entry> all;
    Producers::Cursor cursor;
    while (!producers_.copy_behind(cursor, most, all)) continue;
    return all;
  }

  std::uint64_t bytes_ = 0;
  Producers producers_{bytes_};
  const Instant start_{1'000'000};
};

TEST_F(ProducersTest, AreForgottenFiveMinutesAfterTheirLastMessage) {
  accept(7, 1, 100, start_);
  accept(8, 1, 101, start_ + seconds(1));
  accept(7, 2, 102, start_ + seconds(10));
  EXPECT_EQ(producers_.next_over(), start_ + seconds(301));
  EXPECT_TRUE(producers_.forget_over(start_ + seconds(301) - milliseconds(1), 10));
  EXPECT_EQ(producers_.size(), 2u);
  EXPECT_TRUE(producers_.forget_over(start_ + seconds(301), 10));
  EXPECT_EQ(producers_.find({8, 1}), unknown);
  EXPECT_EQ(producers_.find({7, 1}), 100u) << "the whole producer stays";
  EXPECT_TRUE(producers_.forget_over(start_ + seconds(310), 10));
  EXPECT_EQ(producers_.size(), 0u);
  EXPECT_EQ(bytes_, 0u);
  EXPECT_EQ(producers_.next_over(), never);
}

TEST_F(ProducersTest, AreForgottenAFewAtATime) {
  for (std::uint64_t id = 1; id <= 10; ++id) accept(id, 1, id, start_);
  EXPECT_FALSE(producers_.forget_over(never, 4));
  EXPECT_EQ(producers_.size(), 6u);
  EXPECT_TRUE(producers_.forget_over(never, 6));
}

TEST_F(ProducersTest, DoNotGrowAtTheLimitOfBytes) {
  accept(7, 1, 100, start_);
  const std::uint64_t full = bytes_;
  EXPECT_GE(full, Producers::producer_bytes);
  EXPECT_FALSE(producers_.make_room({8, 1}, 1, full)) << "a new producer";
  for (std::uint64_t i = 2; i <= 50; ++i) {
    ASSERT_TRUE(producers_.make_room({7, i}, 1, full)) << i;
    producers_.add({7, i}, 1, 100 + 2 * i, start_);
  }
  EXPECT_EQ(bytes_, full);
  for (std::uint64_t i = 1; i <= 50; ++i) EXPECT_TRUE(producers_.find({7, i})) << i;
  EXPECT_TRUE(producers_.make_room({8, 1}, 1, full + 1));
}

TEST_F(ProducersTest, OfACheckpointAreTheSameInSlicesOfAnySize) {
  sim::Random random(1);
  Seq seq = 0;
  for (std::uint64_t id = 1; id <= 20; ++id)
    for (std::uint64_t i = 1; i < 30; ++i)
      if (random.chance(1, 2)) accept(id, i, ++seq, start_ + seconds(static_cast<int>(id)));
  accept(21, 5, ++seq, start_ + seconds(30));
  ASSERT_TRUE(producers_.make_room({21, 9}, 9, UINT64_MAX));  // raises its floor: no run is left
  const auto all = copy(1000);
  for (std::size_t most = 1; most <= 9; ++most) EXPECT_EQ(copy(most), all) << most;

  std::uint64_t bytes = 0;
  Producers restored(bytes);
  for (const Producers::Entry& entry : all) restored.restore(entry);
  restored.sort();
  for (std::uint64_t id = 1; id <= 21; ++id)
    for (std::uint64_t i = 1; i < 30; ++i)
      ASSERT_EQ(restored.find({id, i}), producers_.find({id, i})) << id << " " << i;
  EXPECT_EQ(restored.next_over(), producers_.next_over());
}

TEST_F(ProducersTest, AcceptSliceBySliceWhileMessagesComeIn) {
  for (std::uint64_t i = 1; i <= 40; i += 2) accept(7, i, i, start_);
  std::vector<Producers::Entry> entries;
  Producers::Cursor cursor;
  ASSERT_FALSE(producers_.copy_behind(cursor, 10, entries));
  std::vector<std::uint64_t> later;
  for (std::uint64_t i = 2; i <= 40; i += 2) {
    accept(7, i, 100 + i, start_);
    later.push_back(i);
  }
  while (!producers_.copy_behind(cursor, 10, entries)) continue;
  std::uint64_t bytes = 0;
  Producers restored(bytes);
  for (const Producers::Entry& entry : entries) restored.restore(entry);
  for (const std::uint64_t i : later) restored.restore({7, i}, 100 + i, start_);  // from the log
  for (std::uint64_t i = 1; i <= 40; ++i) ASSERT_TRUE(restored.find({7, i})) << i;
  EXPECT_EQ(restored.find({7, 41}), unknown);
}

// Floors are not in the log: many gaps may be left until the next send.
TEST_F(ProducersTest, AreRestoredBeyondTheirLimits) {
  for (std::uint64_t i = 1; i <= 10 * Producers::runs_max; i += 2)
    producers_.restore({7, i}, i, start_);
  for (std::uint64_t i = 1; i <= 10 * Producers::runs_max; ++i)
    ASSERT_EQ(producers_.find({7, i}).has_value(), i % 2 == 1) << i;
  EXPECT_FALSE(producers_.make_room({7, 20'000}, 1, UINT64_MAX));
  ASSERT_TRUE(producers_.make_room({7, 20'000}, 10'000, UINT64_MAX));
  producers_.add({7, 20'000}, 10'000, 77, start_);
  EXPECT_EQ(producers_.find({7, 10'001}), 10'001u);
}

// --- sends of a shard ---

TEST(SendOnce, AcceptsAResentMessageOnce) {
  run("queue q | once q a b by=7 first=1 | once q a b c by=7 first=1 -> same_as_1 same_as_2 ok | "
      "once q a by=8 first=1 | send q a | receive q max=10 -> a#1 b#1 c#1 a#1 a#1");
}

TEST(SendOnce, AcceptsAnyOrder) {
  run("queue q | once q c by=7 first=3 | once q a b c d by=7 first=1 -> ok ok same_as_1 ok | "
      "receive q max=10 -> c#1 a#1 b#1 d#1");
}

TEST(SendOnce, RemembersMessagesThatAreGone) {
  run("queue q | once q a b by=7 first=1 | receive q -> a#1 | delete q a#1 | purge q | "
      "once q a b by=7 first=1 -> same_as_1 same_as_2 | count q -> 0/0/0 | stored -> 0");
}

TEST(SendOnce, RemembersForFiveMinutesFromTheLastMessage) {
  run("queue q | once q a by=7 | advance 200s | once q b by=7 first=2 | advance 299s | "
      "once q a b by=7 -> same_as_1 same_as_2 | advance 1s | once q a by=7 | count q -> 3/0/0");
}

TEST(SendOnce, KnowsSettledMessagesWithoutTheirNumbers) {
  run("queue q | once q a b c by=7 | once q d by=7 first=4 floor=3 | "
      "once q a b c d by=7 -> same_as_0 same_as_0 same_as_3 same_as_4 | count q -> 4/0/0");
}

TEST(SendOnce, AcceptsARefusedMessageLater) {
  ShardLimits limits;
  limits.slots_max = 1;
  run("queue q | once q a by=7 delay=2 | once q b by=7 first=2 delay=2 -> overloaded | "
      "once q c by=7 first=3 | advance 2s | receive q max=2 visibility=0 -> a#1 | delete q a#1 | "
      "once q a b c by=7 delay=2 -> same_as_1 ok same_as_2 | advance 2s | count q -> 2/0/0",
      limits);
}

TEST(SendOnce, IsRefusedWhileTheTableIsFull) {
  ShardLimits limits;
  limits.producers_bytes_max = Producers::producer_bytes + 1;
  run("queue q | once q a by=7 | once q b by=8 -> overloaded | once q c by=7 first=2 | "
      "once q a c by=7 -> same_as_1 same_as_2 | send q d | advance 300s | once q b by=8 | "
      "count q -> 4/0/0",
      limits);
}

TEST(SendOnce, IsRememberedAfterARestart) {
  run("queue q | once q a b by=7 | receive q -> a#1 | delete q a#1 | restart | "
      "once q a b c by=7 -> same_as_1 same_as_2 ok | restart 300s | once q d by=7 | "
      "receive q max=10 -> b#1 c#1 d#1");
}

TEST(SendOnce, IsRememberedAfterARestartFromACheckpoint) {
  run("queue q | once q a b by=7 | once q x by=8 first=5 | receive q -> a#1 | delete q a#1 | "
      "rotate | once q c by=7 first=3 | restart | "
      "once q a b c d by=7 -> same_as_1 same_as_2 same_as_4 ok | once q x by=8 first=5 -> "
      "same_as_3 | rotate | restart 200s | once q d by=7 first=4 -> same_as_5 | advance 100s | "
      "once q x by=8 first=5 | count q -> 5/0/0");
}

TEST(SendOnce, IsNotRememberedIfItWasLostInACrash) {
  run("queue q | once q a by=7 | hold | once q b by=7 first=2 -> pending | crash | "
      "once q a b by=7 -> same_as_1 ok | receive q max=10 -> a#1 b#1");
}

TEST(SendOnce, AnswersADuplicateWhenTheOriginalIsDurable) {
  Script script;
  script.run("queue q | hold | once q a by=7 -> pending");
  Ask& again = script.world().send_once(script.queue("q"), {7, 1}, 1, {"a"});
  EXPECT_TRUE(again.sends[0].duplicate);
  EXPECT_FALSE(again.answered);
  script.run("flush");
  EXPECT_TRUE(again.answered);
}

TEST(SendOnce, EndsWithItsQueue) {
  Script script;
  script.run("queue q");
  const std::uint64_t before = script.world().shard().memory().dedup;
  for (std::uint64_t id = 1; id <= 100; ++id)
    script.world().send_once(script.queue("q"), {id, 1}, 1, {"a"});
  EXPECT_GT(script.world().shard().memory().dedup, before + 100 * Producers::producer_bytes);
  script.run("drop q | advance 1s");
  EXPECT_EQ(script.world().shard().memory().dedup, before);
}

}  // namespace
}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/send_history.h"

#include <gtest/gtest.h>

#include "tests/core/shard_parts.h"

namespace pawl::test {
namespace {

constexpr Instant start = ShardParts::start;

class SendHistoryTest : public testing::Test {
 protected:
  explicit SendHistoryTest(const ShardLimits& limits = {}) : parts(limits) {}

  void remember_send(Instant at) {
    const Seq seq = queue.next_seq++;
    history.fifo_of(queue).dedup.add({seq, 1}, seq, at);
  }
  void remember_attempt(std::uint64_t id, Instant at) {
    history.fifo_of(queue).attempts.put({id, 1}, {{.seq = 1}}, at);
  }
  bool remember_producer(std::uint64_t id, Instant at) {
    Producers& producers = history.producers_of(queue);
    const ProducerKey key{id, 1};
    if (!history.make_room(producers, key, 1)) return false;
    producers.add(key, 1, queue.next_seq++, at);
    return true;
  }
  // The queue's timer fires.
  void fire(Instant now) {
    ASSERT_TRUE(queue.forget_armed);
    queue.forget_armed = false;
    history.forget_expired(queue, now);
  }

  ShardParts parts;
  SendHistory& history = parts.history;
  Queue& queue = parts.make_queue("q");
};

TEST_F(SendHistoryTest, MakesTheEntriesOfAQueueOnce) {
  Fifo& fifo = history.fifo_of(queue);
  EXPECT_EQ(&history.fifo_of(queue), &fifo);
  EXPECT_EQ(queue.fifo.get(), &fifo);
  Producers& producers = history.producers_of(queue);
  EXPECT_EQ(&history.producers_of(queue), &producers);
}

TEST_F(SendHistoryTest, ArmsNoTimerWhileNothingIsRemembered) {
  history.arm(queue, start);
  EXPECT_FALSE(queue.forget_armed);
  history.fifo_of(queue);
  history.arm(queue, start);
  EXPECT_FALSE(queue.forget_armed);
}

TEST_F(SendHistoryTest, ArmsOneTimerForAllKinds) {
  remember_send(start);
  history.arm(queue, start);
  remember_attempt(1, start);
  history.arm(queue, start);
  ASSERT_TRUE(remember_producer(1, start));
  history.arm(queue, start);
  EXPECT_TRUE(queue.forget_armed);
  EXPECT_EQ(queue.forget_generation, 1u);
  EXPECT_EQ(parts.state.timers.size(), 1u);
}

TEST_F(SendHistoryTest, ForgetsEachKindWhenItsWindowIsOver) {
  remember_send(start);
  remember_attempt(1, start);
  ASSERT_TRUE(remember_producer(1, start));
  history.arm(queue, start);
  const Instant over = start + dedup_window;
  fire(over - milliseconds(1));
  EXPECT_EQ(queue.fifo->size(), 2u);
  EXPECT_EQ(queue.producers->size(), 1u);
  fire(over);
  EXPECT_EQ(queue.fifo->size(), 0u);
  EXPECT_EQ(queue.producers, nullptr) << "a standard queue has them only while it remembers one";
  EXPECT_FALSE(queue.forget_armed);
  EXPECT_EQ(parts.state.deduplicated, 0u);
  EXPECT_EQ(parts.state.attempts_bytes, 0u);
  EXPECT_EQ(parts.state.producers_bytes, 0u);
}

TEST_F(SendHistoryTest, ArmsTheTimerAgainWhileSomeAreLeft) {
  remember_send(start);
  remember_send(start + seconds(10));
  history.arm(queue, start);
  fire(start + dedup_window);
  EXPECT_EQ(queue.fifo->size(), 1u);
  EXPECT_TRUE(queue.forget_armed);
  EXPECT_EQ(queue.forget_generation, 2u);
}

class FewAtATime : public SendHistoryTest {
 protected:
  FewAtATime() : SendHistoryTest({.forgotten_a_turn = 3}) {}
};

TEST_F(FewAtATime, ForgetsABoundedNumberOfExpiredEntriesATurn) {
  for (int i = 0; i < 5; ++i) remember_send(start);
  history.arm(queue, start);
  fire(start + dedup_window);
  EXPECT_EQ(queue.fifo->size(), 2u);
  fire(start + dedup_window);
  EXPECT_EQ(queue.fifo->size(), 0u);
}

class LittleRoom : public SendHistoryTest {
 protected:
  LittleRoom()
      : SendHistoryTest({.dedup_max = 2, .attempts_bytes_max = 1, .producers_bytes_max = 1}) {}
};

TEST_F(LittleRoom, IsFullAtTheLimitOfEachKind) {
  remember_send(start);
  EXPECT_TRUE(history.has_room());
  remember_send(start);
  EXPECT_FALSE(history.has_room());
  EXPECT_TRUE(history.has_attempt_room());
  remember_attempt(1, start);
  EXPECT_FALSE(history.has_attempt_room());
  EXPECT_TRUE(remember_producer(1, start));
  EXPECT_FALSE(remember_producer(2, start));
}

TEST_F(LittleRoom, HasRoomAgainWhenAQueueIsDeleted) {
  remember_send(start);
  remember_send(start);
  queue.fifo.reset();
  EXPECT_TRUE(history.has_room());
}

}  // namespace
}  // namespace pawl::test

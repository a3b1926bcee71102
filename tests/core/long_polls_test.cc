// SPDX-License-Identifier: Apache-2.0
#include "core/shard/long_polls.h"

#include <gtest/gtest.h>

#include "tests/core/shard_parts.h"

namespace pawl::test {
namespace {

class LongPollsTest : public testing::Test {
 protected:
  void park(Request& request, bool awaits_moves = false, Duration wait = seconds(20)) {
    request.op = Op::receive;
    request.queue = queue_.id;
    parts_.polls.park(queue_, request, ShardParts::start, wait, awaits_moves);
  }

  ShardParts parts_;
  Queue& queue_ = parts_.make_queue("q.fifo", {
                                                  {Attribute::fifo_queue, 1, {}}
  });
  LongPolls& polls_ = parts_.polls;
  Request first_, second_, third_;
};

TEST_F(LongPollsTest, WaitInOrderOfArrival) {
  for (Request* const request : {&first_, &second_, &third_}) park(*request);
  EXPECT_EQ(polls_.waiting(), 3u);
  EXPECT_TRUE(polls_.cancel(second_));
  EXPECT_EQ(polls_.unpark(queue_, queue_.waiters.first), &first_);
  EXPECT_EQ(polls_.unpark(queue_, queue_.waiters.first), &third_);
  EXPECT_TRUE(queue_.waiters.empty());
  EXPECT_EQ(polls_.waiting(), 0u);
}

TEST_F(LongPollsTest, AreCancelledOnce) {
  park(first_);
  EXPECT_TRUE(polls_.cancel(first_));
  EXPECT_FALSE(polls_.cancel(first_));
  EXPECT_FALSE(polls_.cancel(second_)) << "it has never waited";
}

TEST_F(LongPollsTest, ThatAwaitMovesAreOnBothLists) {
  park(first_);
  park(second_, true);
  ASSERT_FALSE(queue_.awaiting_moves.empty());
  EXPECT_EQ(&polls_.request(queue_.awaiting_moves.first), &second_);
  EXPECT_EQ(polls_.unpark(queue_, queue_.awaiting_moves.first), &second_);
  EXPECT_TRUE(queue_.awaiting_moves.empty());
  EXPECT_EQ(polls_.unpark(queue_, queue_.waiters.first), &first_);
}

TEST_F(LongPollsTest, AreAllAnsweredWithOneError) {
  park(first_);
  park(second_, true);
  polls_.answer_all(queue_, Errc::no_such_queue, parts_.effects);
  ASSERT_EQ(parts_.effects.replies.size(), 2u);
  EXPECT_EQ(parts_.effects.replies[0].request, &first_);
  EXPECT_EQ(second_.error, Errc::no_such_queue);
  EXPECT_FALSE(parts_.effects.replies[1].after_flush);
}

TEST_F(LongPollsTest, AreFoundByTheirAttempt) {
  first_.receive.attempt = "a";
  second_.receive.attempt = "b";
  third_.receive.attempt = "a";
  for (Request* const request : {&first_, &second_, &third_}) park(*request);
  const auto found =
      polls_.attempts().equal_range({queue_.id, text_key(parts_.state.identity.secret, "a")});
  std::vector<Request*> waiting;
  for (auto it = found.first; it != found.second; ++it)
    waiting.push_back(&polls_.request(it->second));
  EXPECT_EQ(waiting, (std::vector<Request*>{&first_, &third_}));
  polls_.cancel(first_);
  EXPECT_EQ(polls_.attempts().size(), 2u);
}

TEST_F(LongPollsTest, HaveATimerThatEndsWithThem) {
  park(first_, false, seconds(1));
  TimerEntry fired{};
  parts_.state.timers.expire(ShardParts::start + seconds(1), 1000, [&](const TimerEntry& entry) {
    fired = entry;
    return true;
  });
  ASSERT_EQ(fired.kind, timer_waiter);
  EXPECT_TRUE(polls_.live(fired));
  polls_.unpark(queue_, fired.subject);
  EXPECT_FALSE(polls_.live(fired));
  park(second_);  // takes the same row
  EXPECT_FALSE(polls_.live(fired)) << "the timer was of the first";
}

TEST_F(LongPollsTest, PutTheirQueueOnTheMatchListOnce) {
  polls_.want_match(queue_);
  EXPECT_FALSE(polls_.wants_match()) << "nobody waits";
  park(first_);
  polls_.want_match(queue_);
  polls_.want_match(queue_);
  EXPECT_EQ(polls_.match_list(), (std::vector<QueueId>{queue_.id}));
}

TEST(LongPolls, AreFullAtTheirLimit) {
  ShardParts parts(ShardLimits{.waiters_max = 1});
  Queue& queue = parts.make_queue("q");
  EXPECT_FALSE(parts.polls.full());
  Request request;
  request.queue = queue.id;
  parts.polls.park(queue, request, ShardParts::start, seconds(1), false);
  EXPECT_TRUE(parts.polls.full());
}

}  // namespace
}  // namespace pawl::test

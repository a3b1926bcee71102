// SPDX-License-Identifier: Apache-2.0
#include "core/shard/commit_queue.h"

#include <gtest/gtest.h>

#include "tests/core/shard_parts.h"

namespace pawl::test {
namespace {

class CommitQueueTest : public testing::Test {
 protected:
  // Sends a message; the log places it with the next appended().
  Seq send(bool at_once = false) {
    const Seq seq = queue_.next_seq++;
    parts_.effects.sends.push_back({.queue = queue_.id, .seq = seq, .position = 1'000 + seq});
    commits_.sent(queue_, seq, QueueCounter::sent, at_once, ShardParts::start);
    return seq;
  }
  void appended(Lsn lsn) {
    commits_.appended(parts_.effects, lsn);
    parts_.effects.sends.clear();
  }

  ShardParts parts_;
  Queue& queue_ = parts_.make_queue("q");
  CommitQueue& commits_ = parts_.commits;
};

TEST_F(CommitQueueTest, ShowsAMessageWhenItsRecordIsDurable) {
  send();
  commits_.committed(UINT64_MAX, ShardParts::start);
  EXPECT_EQ(queue_.visible(), 0u) << "the log has not placed it";
  appended(50);
  commits_.committed(49, ShardParts::start);
  EXPECT_EQ(queue_.visible(), 0u);
  commits_.committed(50, ShardParts::start);
  EXPECT_EQ(queue_.visible(), 1u);
}

TEST_F(CommitQueueTest, ShowsThoseOfEarlierTurnsFirst) {
  send();
  appended(50);
  send();
  appended(60);
  commits_.committed(55, ShardParts::start);
  EXPECT_EQ(queue_.visible(), 1u);
  commits_.committed(60, ShardParts::start);
  EXPECT_EQ(queue_.visible(), 2u);
}

TEST_F(CommitQueueTest, ShowsAtOnceFromTheNextTurnOn) {
  send(true);
  EXPECT_FALSE(commits_.idle());
  appended(50);
  EXPECT_EQ(queue_.visible(), 0u);
  commits_.committed(0, ShardParts::start);
  EXPECT_EQ(queue_.visible(), 1u);
  EXPECT_TRUE(commits_.idle());
}

TEST_F(CommitQueueTest, SkipsMessagesPurgedMeanwhile) {
  const Seq purged = send();
  appended(50);
  queue_.index.erase(purged);
  commits_.committed(50, ShardParts::start);
  EXPECT_EQ(queue_.visible(), 0u);
}

TEST_F(CommitQueueTest, FreesTheRecordOfAMessagePurgedInItsTurn) {
  const Seq seq = send();
  queue_.low = seq + 1;
  appended(50);
  EXPECT_EQ(parts_.effects.freed, (std::vector<LogPos>{1'000 + seq}));
}

TEST_F(CommitQueueTest, AllowsReservedNumbersWhenTheirRecordIsDurable) {
  commits_.reserved(queue_, 900);
  appended(50);
  commits_.committed(49, ShardParts::start);
  EXPECT_EQ(queue_.reserved_durable, 0u);
  commits_.committed(50, ShardParts::start);
  EXPECT_EQ(queue_.reserved_durable, 900u);
}

TEST_F(CommitQueueTest, BeginsATaskWhenItsStartIsDurable) {
  commits_.started(queue_, 3);
  appended(50);
  EXPECT_FALSE(commits_.any_begun());
  commits_.committed(50, ShardParts::start);
  ASSERT_TRUE(commits_.any_begun());
  EXPECT_EQ(commits_.take_begun(), (CommitQueue::Begun{
                                       {queue_.id, 3u}
  }));
  EXPECT_FALSE(commits_.any_begun());
}

}  // namespace
}  // namespace pawl::test

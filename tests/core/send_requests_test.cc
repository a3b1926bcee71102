// SPDX-License-Identifier: Apache-2.0
#include "core/shard/send_requests.h"

#include <gtest/gtest.h>

#include <array>

#include "tests/core/shard_parts.h"

namespace pawl::test {
namespace {

class SendRequestsTest : public testing::Test {
 protected:
  explicit SendRequestsTest(const ShardLimits& limits = {}) : parts_(limits) {}

  Request& send(Queue& queue, std::vector<SendEntry> entries) {
    entries_ = std::move(entries);
    request_ = Request{.op = Op::send, .queue = queue.id, .sends = entries_};
    sends_.send(queue, request_, ShardParts::start, parts_.effects);
    return request_;
  }
  static SendEntry entry(std::string_view group = {}, std::string_view dedup_id = {}) {
    return {
        .content = {.body = "b", .group = group, .dedup_id = dedup_id}
    };
  }

  ShardParts parts_;
  SendRequests sends_{parts_.state, parts_.states, parts_.history, parts_.commits,
                      parts_.schedules};
  std::vector<SendEntry> entries_;
  Request request_;
};

TEST_F(SendRequestsTest, NumberMessagesOfABatchInOrder) {
  Queue& queue = parts_.make_queue("q");
  send(queue, {entry(), entry(), entry()});
  EXPECT_EQ(entries_[0].seq, 1u);
  EXPECT_EQ(entries_[2].seq, 3u);
  ASSERT_EQ(parts_.effects.sends.size(), 3u);
  EXPECT_EQ(parts_.effects.sends[1].deliver_at, ShardParts::start);
  EXPECT_TRUE(parts_.effects.replies.at(0).after_flush);
}

TEST_F(SendRequestsTest, SkipEntriesThatTheCallerRefused) {
  Queue& queue = parts_.make_queue("q");
  SendEntry refused = entry();
  refused.error = Errc::too_large;
  send(queue, {refused, entry()});
  EXPECT_EQ(entries_[0].seq, 0u);
  EXPECT_EQ(entries_[1].seq, 1u);
}

TEST_F(SendRequestsTest, TakeTheirDelayFromTheQueueOrTheEntry) {
  Queue& queue = parts_.make_queue("q", {
                                            {Attribute::delay_seconds, 5, {}}
  });
  SendEntry own = entry();
  own.delay = seconds(0);
  send(queue, {entry(), own});
  EXPECT_EQ(parts_.effects.sends[0].deliver_at, ShardParts::start + seconds(5));
  EXPECT_EQ(parts_.effects.sends[1].deliver_at, ShardParts::start);
}

TEST_F(SendRequestsTest, ToAFifoQueueDropDuplicates) {
  Queue& queue = parts_.make_queue("q.fifo", {
                                                 {Attribute::fifo_queue, 1, {}}
  });
  send(queue, {entry("g", "1"), entry("h", "1"), entry("g", "2"), entry("g", "")});
  EXPECT_FALSE(entries_[0].duplicate);
  EXPECT_TRUE(entries_[1].duplicate);
  EXPECT_EQ(entries_[1].seq, entries_[0].seq);
  EXPECT_EQ(entries_[2].seq, 2u);
  EXPECT_EQ(entries_[3].error, Errc::invalid);
  EXPECT_EQ(parts_.effects.sends.size(), 2u);
  EXPECT_EQ(parts_.state.deduplicated, 2u);
}

TEST_F(SendRequestsTest, FanOutSendsOneContentToEachQueue) {
  Queue& first = parts_.make_queue("a");
  Queue& slow = parts_.make_queue("b", {
                                           {Attribute::delay_seconds, 5, {}}
  });
  Queue& hasty = parts_.make_queue("c", {
                                            {Attribute::durability, 1, {}}
  });
  std::array<FanOutTarget, 4> targets;
  targets[0] = {
      .queue = first.id, .subscription = {1, 1}
  };
  targets[1].queue = QueueId{999};
  targets[2].queue = slow.id;
  targets[3].queue = hasty.id;
  entries_ = {entry()};
  request_ = Request{.op = Op::fan_out, .sends = entries_};
  request_.targets = targets;
  sends_.fan_out(request_, ShardParts::start, parts_.effects);
  const auto& sends = parts_.effects.sends;
  ASSERT_EQ(sends.size(), 3u);
  for (const SendRecord& record : sends) EXPECT_EQ(record.content, &entries_[0].content);
  EXPECT_EQ(sends[0].subscription, (MessageId{1, 1}));
  EXPECT_EQ(sends[1].subscription, MessageId{});
  EXPECT_EQ(sends[1].deliver_at, ShardParts::start + seconds(5));
  EXPECT_EQ(targets[1].error, Errc::no_such_queue);
  EXPECT_EQ(targets[3].error, Errc::ok);
  EXPECT_EQ(request_.durability, Durability::fsync) << "the first queue demands it";
  EXPECT_TRUE(parts_.effects.replies.at(0).after_flush);
}

TEST_F(SendRequestsTest, FanOutToAStandardQueueDropsWhatItHas) {
  Queue& queue = parts_.make_queue("a");
  std::array<FanOutTarget, 1> targets;
  targets[0].queue = queue.id;
  const auto fan_out = [&](std::string_view dedup_by, Instant now) {
    entries_ = {entry()};
    entries_[0].dedup_by = dedup_by;
    request_ = Request{.op = Op::fan_out, .sends = entries_};
    request_.targets = targets;
    sends_.fan_out(request_, now, parts_.effects);
    return targets[0].duplicate;
  };
  EXPECT_FALSE(fan_out("m", ShardParts::start));
  EXPECT_TRUE(fan_out("m", ShardParts::start + seconds(299)));
  EXPECT_TRUE(parts_.effects.replies.back().after_flush) << "the first may not be durable yet";
  EXPECT_EQ(targets[0].seq, 1u);
  EXPECT_FALSE(fan_out("n", ShardParts::start + seconds(299)));
  EXPECT_FALSE(fan_out("m", ShardParts::start + seconds(300)));
  EXPECT_FALSE(fan_out("", ShardParts::start + seconds(300)));
  ASSERT_EQ(parts_.effects.sends.size(), 4u);
  EXPECT_NE(parts_.effects.sends[0].dedup, TextKey{});
  EXPECT_EQ(parts_.effects.sends[0].dedup, parts_.effects.sends[2].dedup);
  EXPECT_EQ(parts_.effects.sends[3].dedup, TextKey{});
}

class RoomForTwo : public SendRequestsTest {
 protected:
  RoomForTwo() : SendRequestsTest({.dedup_max = 2}) {}
};

TEST_F(RoomForTwo, ATopicGivesNumbersThatWaitForTheLogOnlyWhenAskedTo) {
  Queue& topic = parts_.make_queue("t.fifo");
  const auto take = [&](std::vector<std::string_view> names, Durability durability) {
    entries_.clear();
    for (const std::string_view name : names) entries_.push_back({.dedup_by = name});
    request_ = Request{.op = Op::take_numbers, .sends = entries_};
    request_.durability = durability;
    sends_.take_numbers(topic, request_, ShardParts::start, parts_.effects);
    return parts_.effects.replies.back().after_flush;
  };
  EXPECT_TRUE(take({"a"}, Durability::memory)) << "no reserved number is durable yet";
  ASSERT_EQ(parts_.effects.heads.size(), 1u);
  EXPECT_TRUE(parts_.effects.heads[0].reserved);
  parts_.commits.appended(parts_.effects, 50);
  parts_.commits.committed(50, ShardParts::start);
  EXPECT_FALSE(take({"b", "a", "b"}, Durability::memory));
  EXPECT_EQ(entries_[0].seq, 2u);
  EXPECT_FALSE(entries_[0].duplicate);
  EXPECT_EQ(entries_[1].seq, 1u);
  EXPECT_TRUE(entries_[1].duplicate);
  EXPECT_EQ(entries_[2].seq, 2u);
  EXPECT_TRUE(take({"b"}, Durability::fsync));
  ASSERT_EQ(parts_.effects.numbers.size(), 2u);
  EXPECT_EQ(parts_.effects.numbers[1].topic, topic.id);
  EXPECT_EQ(parts_.effects.numbers[1].seq, 2u);
  EXPECT_TRUE(parts_.effects.sends.empty());
  take({"c", "a"}, Durability::memory);
  EXPECT_EQ(entries_[0].error, Errc::overloaded);
  EXPECT_EQ(entries_[1].seq, 1u) << "what is known needs no room";
}

TEST_F(SendRequestsTest, AreRefusedWhenTheNumbersAreUsedUp) {
  Queue& queue = parts_.make_queue("q");
  queue.next_seq = seq_newest_max;
  send(queue, {entry(), entry()});
  EXPECT_EQ(entries_[0].error, Errc::ok);
  EXPECT_EQ(entries_[1].error, Errc::message_numbers_used_up);
}

TEST_F(SendRequestsTest, ToAnAsyncQueueReserveNumbersFirst) {
  Queue& queue = parts_.make_queue("q", {
                                            {Attribute::durability, 1, {}}
  });
  EXPECT_EQ(send(queue, {entry()}).durability, Durability::fsync);
  ASSERT_EQ(parts_.effects.heads.size(), 1u);
  EXPECT_TRUE(parts_.effects.heads[0].reserved);
  EXPECT_EQ(parts_.effects.heads[0].next_seq, queue.reserved);
  parts_.effects.sends[0].position = 1'000;  // the log has placed it
  parts_.commits.appended(parts_.effects, 50);
  parts_.commits.committed(50, ShardParts::start);
  EXPECT_EQ(send(queue, {entry()}).durability, Durability::async);
  EXPECT_EQ(parts_.effects.heads.size(), 1u) << "many numbers are left";
}

}  // namespace
}  // namespace pawl::test

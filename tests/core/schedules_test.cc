// SPDX-License-Identifier: Apache-2.0
#include "core/shard/schedules.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "core/shard/send_requests.h"
#include "tests/core/shard_parts.h"

namespace pawl::test {
namespace {

constexpr QueueId nightly{77};

class SchedulesTest : public testing::Test {
 protected:
  // One message for both queues, sent by the fire at `at`.
  std::size_t fire(Instant at) {
    const std::size_t before = parts_.effects.sends.size();
    entries_ = {{.content = {.body = "b"}}};
    targets_ = {FanOutTarget{.queue = first_.id}, FanOutTarget{.queue = second_.id}};
    request_ = Request{.op = Op::fan_out, .sends = entries_, .targets = targets_};
    request_.fire = {nightly, at};
    sends_.fan_out(request_, ShardParts::start, parts_.effects);
    return parts_.effects.sends.size() - before;
  }

  ShardParts parts_;
  Queue& first_ = parts_.make_queue("a");
  Queue& second_ = parts_.make_queue("b");
  SendRequests sends_{parts_.state, parts_.states, parts_.history, parts_.commits,
                      parts_.schedules};
  std::vector<SendEntry> entries_;
  std::array<FanOutTarget, 2> targets_;
  Request request_;
};

TEST_F(SchedulesTest, AFireReachesAQueueOnce) {
  EXPECT_EQ(fire(Instant{1000}), 2u);
  for (const SendRecord& record : parts_.effects.sends)
    EXPECT_EQ(record.fire, (Fire{nightly, Instant{1000}}));
  EXPECT_EQ(fire(Instant{1000}), 0u);
  EXPECT_TRUE(targets_[0].duplicate && targets_[1].duplicate);
  EXPECT_TRUE(parts_.effects.replies.back().after_flush) << "the first may not be durable yet";
  EXPECT_EQ(fire(Instant{2000}), 2u);
  EXPECT_EQ(parts_.schedules.newest(nightly), Instant{2000});
  EXPECT_EQ(parts_.schedules.newest(QueueId{78}), Instant{});
}

TEST_F(SchedulesTest, AQueueThatWasLeftOutGetsTheFireLater) {
  parts_.schedules.note(first_, {nightly, Instant{1000}}, 1);
  EXPECT_EQ(fire(Instant{1000}), 1u);
  EXPECT_TRUE(targets_[0].duplicate);
  EXPECT_FALSE(targets_[1].duplicate);
}

// A queue may be the dead-letter queue of two subscriptions.
TEST_F(SchedulesTest, TwoTargetsOfAFireMayBeOneQueue) {
  entries_ = {{.content = {.body = "b"}}};
  targets_ = {FanOutTarget{.queue = first_.id}, FanOutTarget{.queue = first_.id}};
  request_ = Request{.op = Op::fan_out, .sends = entries_, .targets = targets_};
  request_.fire = {nightly, Instant{1000}};
  sends_.fan_out(request_, ShardParts::start, parts_.effects);
  EXPECT_EQ(parts_.effects.sends.size(), 2u);
}

TEST_F(SchedulesTest, TheMessageIsThereUntilItIsDeleted) {
  const Seq seq = parts_.add_message(first_);
  EXPECT_FALSE(parts_.schedules.is_there(nightly, first_.id));
  parts_.schedules.note(first_, {nightly, Instant{1000}}, seq);
  EXPECT_TRUE(parts_.schedules.is_there(nightly, first_.id));
  first_.index.erase(seq);
  EXPECT_FALSE(parts_.schedules.is_there(nightly, first_.id));
}

TEST_F(SchedulesTest, ChangedSchedulesArmThePartUntilItRests) {
  EXPECT_FALSE(parts_.state.armed.has(ShardPart::schedules));
  auto config = std::make_shared<QueueConfig>();
  config->id = nightly;
  config->set_name("scheduler/0", "default/nightly");
  parts_.directory_requests.put_config(config, ShardParts::start);
  EXPECT_TRUE(parts_.state.armed.has(ShardPart::schedules));
  EXPECT_EQ(parts_.schedules.take_changed(), std::vector<QueueId>{nightly});
  parts_.directory_requests.drop_queue(nightly, parts_.effects);
  parts_.schedules.rest();
  EXPECT_TRUE(parts_.state.armed.has(ShardPart::schedules)) << "it is not read yet";
  EXPECT_EQ(parts_.schedules.take_changed(), std::vector<QueueId>{nightly});
  parts_.schedules.rest();
  EXPECT_FALSE(parts_.state.armed.has(ShardPart::schedules));
}

}  // namespace
}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
#include "core/shard/shard_state.h"

#include <gtest/gtest.h>

#include "tests/core/shard_parts.h"

namespace pawl::test {
namespace {

TEST(ShardState, HasNoQueueThatTheDirectoryLacks) {
  ShardParts parts;
  EXPECT_EQ(parts.state.find_queue(QueueId{7}), nullptr);
  EXPECT_TRUE(parts.state.queues->empty());
}

TEST(ShardState, MakesAQueueWhenItIsFirstUsed) {
  ShardParts parts;
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{3};
  parts.directory_requests.put_config(config, ShardParts::start);
  EXPECT_EQ(parts.state.existing_queue(3), nullptr);
  Queue* const queue = parts.state.find_queue(QueueId{3});
  ASSERT_NE(queue, nullptr);
  EXPECT_EQ(queue->config, config);
  EXPECT_EQ(parts.state.existing_queue(3), queue);
  EXPECT_EQ(parts.state.find_queue(QueueId{3}), queue);
}

TEST(ShardState, DoesNotMakeTheQueueOfAnotherShard) {
  ShardParts parts;
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{3};
  config->owner = ShardId{1};
  parts.directory_requests.put_config(config, ShardParts::start);
  EXPECT_EQ(parts.state.find_queue(QueueId{3}), nullptr);
}

TEST(ShardState, ForgetsAQueueThatIsDropped) {
  ShardParts parts;
  const QueueId id = parts.make_queue("q").id;
  const QueueId other = parts.make_queue("p").id;
  parts.directory_requests.drop_queue(other, parts.effects);
  EXPECT_NE(parts.state.find_queue(id), nullptr);
  parts.directory_requests.drop_queue(id, parts.effects);
  EXPECT_EQ(parts.state.find_queue(id), nullptr);
  EXPECT_TRUE(parts.state.queues->empty());
}

TEST(ShardState, LetsTestsChooseTheFirstNumberOfAQueue) {
  ShardParts parts(ShardLimits{.first_number = 500});
  EXPECT_EQ(parts.make_queue("q").next_seq, 500u);
}

TEST(ShardLimits, FollowALittleMemory) {
  const ShardLimits limits = ShardLimits::for_memory(16 << 20);
  EXPECT_EQ(limits.slots_max, (8u << 20) / sizeof(Slot));
  EXPECT_EQ(limits.dedup_max, (4u << 20) / Dedup::entry_bytes);
  EXPECT_EQ(limits.attempts_bytes_max, 1u << 20);
  EXPECT_EQ(limits.transfer_bytes_max, 1u << 20);
  EXPECT_EQ(limits.transfer_bytes_unread, 128u << 10);
  EXPECT_EQ(limits.spare_bytes, 256u << 10);
}

TEST(ShardLimits, AreNotRaisedByMuchMemory) {
  const ShardLimits usual, limits = ShardLimits::for_memory(std::uint64_t{1} << 40);
  EXPECT_EQ(limits.slots_max, usual.slots_max);
  EXPECT_EQ(limits.dedup_max, usual.dedup_max);
  EXPECT_EQ(limits.transfer_bytes_max, usual.transfer_bytes_max);
}

}  // namespace
}  // namespace pawl::test

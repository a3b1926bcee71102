// SPDX-License-Identifier: Apache-2.0
#include "core/shard/queue_list.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "core/shard/shard.h"
#include "tests/core/secret.h"
#include "tests/core/shard_harness.h"

namespace pawl::test {
namespace {

constexpr Instant now{1000};

class QueueListTest : public testing::Test {
 protected:
  void add(std::uint32_t id, std::uint32_t owner, const std::string& account = "a") {
    auto config = std::make_shared<QueueConfig>();
    config->id = QueueId{id};
    config->owner = ShardId{static_cast<std::uint8_t>(owner)};
    config->set_name(account, "q" + std::to_string(id));
    shard_.put_config(config, now);
  }
  // The ids of a slice from `from` on.
  std::vector<std::uint32_t> slice(QueueId from, std::uint32_t rows) {
    slice_.rows = rows;
    Request request{.op = Op::list_queues, .queue = from, .slice = &slice_};
    Effects effects;
    shard_.apply(request, now, effects);
    EXPECT_EQ(request.error, Errc::ok);
    EXPECT_EQ(effects.replies.size(), 1u);
    EXPECT_FALSE(effects.replies.front().after_flush);
    EXPECT_FALSE(effects.has_records());
    std::vector<std::uint32_t> ids;
    for (const ListedQueue& queue : slice_.queues) ids.push_back(raw(queue.config->id));
    return ids;
  }

  using Ids = std::vector<std::uint32_t>;
  Shard shard_{
      {.id = ShardId{1}, .shards = 2, .secret = test_secret(), .receipt_key = test_receipt_key()},
      {},
      now
  };
  QueueSlice slice_;
};

TEST_F(QueueListTest, HasEachQueueOfTheShardOnceAndNoTopic) {
  for (std::uint32_t id = 1; id <= 10; ++id) add(id, id % 2);
  add(11, 1, "sns/a");
  add(12, 1);
  Ids all;
  QueueId from = QueueId::none;
  int slices = 0;
  do {
    const Ids found = slice(from, 3);
    all.insert(all.end(), found.begin(), found.end());
    from = slice_.next;
    ++slices;
  } while (from != QueueId::none);
  EXPECT_EQ(all, (Ids{1, 3, 5, 7, 9, 12}));
  EXPECT_EQ(slices, 4) << "rows of other shards and of topics count";
}

TEST_F(QueueListTest, OfNoQueueIsOneEmptySlice) {
  EXPECT_EQ(slice(QueueId::none, QueueSlice::rows_max), Ids());
  EXPECT_EQ(slice_.next, QueueId::none);
}

TEST_F(QueueListTest, GoesOnBehindQueuesThatAreDeletedMeanwhile) {
  for (std::uint32_t id = 1; id <= 6; ++id) add(id, 1);
  EXPECT_EQ(slice(QueueId::none, 2), (Ids{1, 2}));
  Effects effects;
  for (const std::uint32_t gone : {1u, 3u}) shard_.drop_queue(QueueId{gone}, effects);
  add(7, 1);
  EXPECT_EQ(slice(slice_.next, 2), (Ids{4, 5}));
  EXPECT_EQ(slice(slice_.next, 2), (Ids{6, 7}));
  EXPECT_EQ(slice_.next, QueueId::none);
}

TEST_F(QueueListTest, MakesNoStateForAQueue) {
  for (std::uint32_t id = 1; id <= 100; ++id) add(id, 1);
  EXPECT_EQ(slice(QueueId::none, 512).size(), 100u);
  EXPECT_FALSE(shard_.has_queue(QueueId{1}));
  Effects effects;
  Request count{.op = Op::count, .queue = QueueId{1}};
  shard_.apply(count, now, effects);
  EXPECT_TRUE(shard_.has_queue(QueueId{1})) << "a count does";
}

TEST(QueueList, CountsAsACountDoes) {
  ShardHarness world;
  const QueueId q = world.create("q", {}).request.config->id;
  world.send(q, {"a", "b", "c"});
  world.receive(q, {.max = 2});
  QueueSlice slice;
  Request list{.op = Op::list_queues, .slice = &slice};
  Effects effects;
  world.shard().apply(list, world.now(), effects);
  ASSERT_EQ(slice.queues.size(), 1u);
  const QueueCounts& counts = slice.queues[0].counts;
  EXPECT_EQ(counts.visible, 1u);
  EXPECT_EQ(counts.in_flight, 2u);
  EXPECT_EQ(counts.delayed, 0u);
  EXPECT_EQ(counts.state_bytes, world.plain(Op::count, q).request.counts.state_bytes);
}

}  // namespace
}  // namespace pawl::test

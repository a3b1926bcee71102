// SPDX-License-Identifier: Apache-2.0
#include "net/admin/metrics_page.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>

namespace pawl {
namespace {

TEST(MetricsPage, AsksEachShardForFiguresAndWritesPieceByPiece) {
  const std::atomic<Stage> stage{Stage::draining};
  const ShardNumbers numbers[2];
  const AdminFacts facts{
      .numbers = {&numbers[0], &numbers[1]},
        .backend = "threads", .stage = &stage
  };
  const std::unique_ptr<ShardSlices> page = metrics_page({}, facts);
  EXPECT_EQ(page->content_type(), "text/plain; version=0.0.4; charset=utf-8");
  std::string body;
  const auto answer = [&](std::uint32_t shard, QueueId from, QueueId next) {
    const ShardSlices::Next asked = page->next();
    ASSERT_NE(asked.request, nullptr);
    EXPECT_EQ(asked.request->op, Op::list_queues);
    EXPECT_TRUE(asked.request->slice->wants_figures);
    EXPECT_EQ(raw(asked.shard), shard);
    EXPECT_EQ(asked.request->queue, from);
    asked.request->slice->next = next;
    asked.request->slice->others.visible = 3;  // of the shard so far
    asked.request->slice->shard.all.sums.counters[0] = 5;
    page->append(body);
    EXPECT_EQ(body, "") << "all shards are asked before anything is written";
  };
  answer(0, QueueId::none, QueueId{7});
  answer(0, QueueId{7}, QueueId::none);
  answer(1, QueueId::none, QueueId::none);
  EXPECT_EQ(page->next().request->slice->others.visible, 0u) << "each shard begins with none";
  int pieces = 0;
  for (ShardSlices::Next asked = page->next(); asked.request != nullptr; asked = page->next()) {
    EXPECT_EQ(asked.request->op, Op::none);
    const std::size_t before = body.size();
    page->append(body);
    EXPECT_GT(body.size(), before);
    ASSERT_LT(++pieces, 100);
  }
  EXPECT_TRUE(body.contains("\npawl_draining 1\n"));
  EXPECT_TRUE(body.contains("\npawl_global_messages_sent_total 10\n"));
  EXPECT_TRUE(body.contains("pawl_queue_messages{queue=\"__other__\",state=\"visible\"} 6\n"));
  EXPECT_GT(page->memory(), sizeof(MetricsPage));
}

}  // namespace
}  // namespace pawl

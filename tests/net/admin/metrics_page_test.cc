// SPDX-License-Identifier: Apache-2.0
#include "net/admin/metrics_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <string>

#include "tests/net/admin/page_answers.h"

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

class ChosenMetricsTest : public testing::Test {
 protected:
  std::string asked(std::string_view query, std::string_view accept = {}) {
    page_ = metrics_page({.path = "/metrics", .query = query, .accept = accept}, facts_);
    return page_->refusal() == nullptr ? answered(*page_, {"a", "b"}) : std::string();
  }
  // The answer of a query that is refused.
  std::string refused(std::string_view query, int status) {
    EXPECT_EQ(asked(query), "") << query;
    const AdminAnswer* const refusal = page_->refusal();
    EXPECT_NE(refusal, nullptr) << query;
    if (refusal == nullptr) return {};
    EXPECT_EQ(refusal->status, status) << query;
    return refusal->body;
  }
  static std::ptrdiff_t lines(const std::string& text) { return std::ranges::count(text, '\n'); }

  const std::atomic<Stage> stage_{Stage::serving};
  const ShardNumbers numbers_;
  const AdminFacts facts_{.numbers = {&numbers_}, .backend = "threads", .stage = &stage_};
  std::unique_ptr<ShardSlices> page_;
};

TEST_F(ChosenMetricsTest, AreOfTheQueuesAsked) {
  const std::string text = asked("queue=b");
  EXPECT_TRUE(text.contains("pawl_messages_sent_total{queue=\"b\",account=\"000000000000\"} 7\n"));
  for (const char* other :
       {"queue=\"a\"", "queue=\"__other__", "pawl_global_", "pawl_draining", "# EOF"})
    EXPECT_FALSE(text.contains(other)) << other;
  EXPECT_TRUE(asked("queue=b&queue=%61").contains("queue=\"a\""));
  EXPECT_TRUE(
      asked("queue=__other__").contains("pawl_messages_sent_total{queue=\"__other__\"} 0\n"));
}

TEST_F(ChosenMetricsTest, AreOfTheFamiliesAsked) {
  EXPECT_EQ(lines(asked("family=pawl_messages_sent_total")), 2 + 3);
  EXPECT_EQ(lines(asked("family=pawl_messages_sent")), 2 + 3) << "as OpenMetrics names it";
  EXPECT_EQ(lines(asked("family=pawl_messages_sent_total&queue=a&family=pawl_queue_messages")),
            2 * 2 + 1 + 3);
  EXPECT_EQ(asked("family=pawl_draining"),
            "# HELP pawl_draining 1 after SIGUSR2 or SIGTERM: new connections are refused.\n"
            "# TYPE pawl_draining gauge\npawl_draining 0\n");
  EXPECT_EQ(lines(asked("family=pawl_global_messages_sent_total")), 3);
}

TEST_F(ChosenMetricsTest, RefuseNamesThatAreUnknown) {
  EXPECT_TRUE(refused("queue=a&queue=c", 404).starts_with("no queue `c` has metrics of its own; "));
  const std::string family = refused("family=pawl_draining&family=pawl_x", 404);
  EXPECT_TRUE(family.starts_with("no family `pawl_x`; there are pawl_queue_messages ")) << family;
  EXPECT_TRUE(family.contains(" pawl_draining ")) << family;
  const std::string label = refused("family=pawl_draining&queue=a", 400);
  EXPECT_TRUE(label.starts_with("the family `pawl_draining` has no label queue; ")) << label;
  EXPECT_TRUE(refused("x=1", 400).starts_with("unknown parameter `x`; /metrics allows "));
}

TEST_F(ChosenMetricsTest, AreOpenMetricsByAccept) {
  const std::string text = asked("", "application/openmetrics-text; version=1.0.0");
  EXPECT_EQ(page_->content_type(), "application/openmetrics-text; version=1.0.0; charset=utf-8");
  EXPECT_TRUE(text.ends_with("\npawl_message_done_seconds_count 0\n# EOF\n"));
  EXPECT_TRUE(text.contains("\n# TYPE pawl_messages_sent counter\npawl_messages_sent_total{"));
  EXPECT_TRUE(text.contains("\n# TYPE pawl_turns counter\npawl_turns_total{"));
  EXPECT_TRUE(text.contains("pawl_delivery_seconds_bucket{le=\"60.0\"} 0\n"));
  EXPECT_TRUE(asked("family=pawl_draining", "application/openmetrics-text")
                  .ends_with("\npawl_draining 0\n# EOF\n"));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/admin/figure_slices.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/net/admin/page_answers.h"

namespace pawl {
namespace {

// Answers a slice with one queue, the last of its shard.
void answer(FigureSlices& figures, const std::string& name) {
  QueueSlice& slice = *figures.next().request->slice;
  slice.queues = {named_queue(name)};
  slice.figures = {{}};
  slice.others.visible = 5;
  slice.next = QueueId::none;
  figures.take();
}

TEST(FigureSlices, AreThoseOfAllShards) {
  FigureSlices figures(2, MetricsQuery::everything());
  EXPECT_EQ(figures.next().request->op, Op::list_queues);
  EXPECT_EQ(raw(figures.next().shard), 0);
  answer(figures, "a");
  EXPECT_EQ(raw(figures.next().shard), 1);
  EXPECT_FALSE(figures.complete());
  answer(figures, "b");
  ASSERT_TRUE(figures.complete());
  EXPECT_EQ(figures.next().request->op, Op::none);
  ASSERT_EQ(figures.metrics().queues.size(), 3u);
  EXPECT_EQ(figures.metrics().queues[1].label(), "b");
  EXPECT_EQ(figures.metrics().queues[2].counts.visible, 10u) << "the others of both shards";
  EXPECT_FALSE(figures.missing_queue());
  EXPECT_GT(figures.memory(), 0u);
}

TEST(FigureSlices, KeepTheQueuesOfTheQueryAlone) {
  const MetricsQuery query{.queues = {"b"}};
  FigureSlices figures(2, query);
  answer(figures, "a");
  answer(figures, "b");
  ASSERT_EQ(figures.metrics().queues.size(), 1u);
  EXPECT_EQ(figures.metrics().queues[0].label(), "b");
  EXPECT_FALSE(figures.missing_queue());
}

TEST(FigureSlices, NameAQueueThatIsMissing) {
  const MetricsQuery query{
      .queues = {"__other__", "a", "nothing"}
  };
  FigureSlices figures(1, query);
  answer(figures, "a");
  const auto missing = figures.missing_queue();
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->status, 404);
  EXPECT_EQ(missing->body,
            "no queue `nothing` has metrics of its own; /queues lists the queues, and those beyond "
            "--metrics-queues are together in the queue `__other__`\n");
}

TEST(FigureSlices, AskNoShardIfTheyAreLeftOut) {
  FigureSlices figures(2, MetricsQuery::everything());
  figures.leave_out();
  EXPECT_TRUE(figures.complete());
  EXPECT_EQ(figures.next().request->op, Op::none);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/statistics_series.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/proto/sqs/fixture.h"

namespace pawl {
namespace {

class StatisticsSeriesTest : public SqsTest {
 protected:
  std::vector<ConfigPtr> queues(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) make_queue(fmt::format("q{:03}", i));
    return broker.directory.list("000000000000", "", "", count);
  }
  // The names of the queues that a whole series visits.
  std::vector<std::string> visit(StatisticsSeries& series, CallStep step) {
    std::vector<std::string> names;
    while (step == CallStep::route) {
      EXPECT_LE(series.routes().size(), StatisticsSeries::batch_max);
      for (const CallRoute& route : series.routes()) broker.apply(*route.request);
      step = series.resume([&](const QueueStatistics& found) {
        names.push_back(found.config->name);
        found_.push_back(found);
        return names.size() < most_;
      });
    }
    return names;
  }

  std::size_t most_ = SIZE_MAX;  // visits
  std::vector<QueueStatistics> found_;
};

TEST_F(StatisticsSeriesTest, AsksForEachQueueOnceInBatches) {
  std::vector<ConfigPtr> all = queues(150);
  for (const ConfigPtr& queue : all) broker.figures[queue->id] = {};
  StatisticsSeries series;
  EXPECT_FALSE(series.begun());
  const std::vector<std::string> names = visit(series, series.begin(all));
  EXPECT_TRUE(series.begun());
  ASSERT_EQ(names.size(), 150u);
  EXPECT_EQ(names.front(), "q000");
  EXPECT_EQ(names.back(), "q149");
  EXPECT_EQ(broker.seen[Op::list_queues], 150);
  EXPECT_GT(series.memory(), StatisticsSeries::batch_max * sizeof(Request));
  series.clear();
  EXPECT_FALSE(series.begun());
  EXPECT_EQ(series.begin({}), CallStep::respond);
}

TEST_F(StatisticsSeriesTest, CountsQueuesWithoutALabelInASecondRequest) {
  std::vector<ConfigPtr> all = queues(3);
  broker.figures[all[1]->id].sent_per_second = 2;
  StatisticsSeries series;
  visit(series, series.begin(all));
  ASSERT_EQ(found_.size(), 3u);
  EXPECT_EQ(broker.seen[Op::list_queues], 5);
  EXPECT_FALSE(found_[0].figures);
  ASSERT_TRUE(found_[1].figures);
  EXPECT_EQ(found_[1].figures->sent_per_second, 2);
  EXPECT_EQ(found_[1].oldest_age_seconds(), 10);
  for (const QueueStatistics& found : found_) EXPECT_EQ(found.counts.visible, 3u);
}

TEST_F(StatisticsSeriesTest, LeavesOutADeletedQueueAndShowsNoOtherInItsPlace) {
  std::vector<ConfigPtr> all = queues(4);
  broker.figures[all[2]->id] = {};
  broker.directory.drop(all[1]->id);  // the row behind it has a label
  broker.directory.drop(all[3]->id);  // no row is behind it
  StatisticsSeries series;
  EXPECT_EQ(visit(series, series.begin(all)), (std::vector<std::string>{"q000", "q002"}));
}

TEST_F(StatisticsSeriesTest, EndsWhenAVisitEndsIt) {
  StatisticsSeries series;
  most_ = 2;
  EXPECT_EQ(visit(series, series.begin(queues(100))).size(), 2u);
}

TEST(QueueStatisticsTest, ComputesTimesAndWorkers) {
  auto config = std::make_shared<QueueConfig>();
  config->apply({.attribute = Attribute::lag_target, .number = 10, .text = {}});
  QueueStatistics queue{.config = config, .counts = {.visible = 20}, .now = Instant{5000}};
  EXPECT_EQ(queue.oldest_age_seconds(), 0);
  EXPECT_EQ(queue.mean_lease_seconds(), 0);
  queue.figures.emplace();
  EXPECT_EQ(queue.drain_seconds(), 0) << "no message";
  queue.figures->sums.messages = 30;
  EXPECT_FALSE(queue.drain_seconds()) << "no delete";
  queue.figures->deleted_per_second = 3;
  EXPECT_EQ(queue.drain_seconds(), 10);
  queue.figures->leases.note(Duration{2000});
  queue.figures->leases.note(Duration{4000});
  EXPECT_EQ(queue.mean_lease_seconds(), 3);
  queue.figures->sent_per_second = 2;
  EXPECT_EQ(queue.workers_wanted(), 2 * 3 + 20 * 3 / 10);
  queue.oldest_sent = Instant{3500};
  EXPECT_EQ(queue.oldest_age_seconds(), 1.5);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/admin/queue_metrics.h"

#include <gtest/gtest.h>

#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sstream>
#include <string>

namespace pawl {
namespace {

constexpr Instant now{100'000};

class QueueMetricsTest : public testing::Test {
 protected:
  // A queue of the slice, with these counters.
  QueueFigures& add(const std::string& name, QueueCounts counts, Instant oldest = never) {
    auto config = std::make_shared<QueueConfig>();
    config->set_name("000000000000", name);
    config->apply({Attribute::lag_target, 10, {}});
    slice_.queues.push_back({.config = config, .counts = counts, .oldest_sent = oldest});
    slice_.now = now;
    return slice_.figures.emplace_back();
  }
  std::string text() {
    CollectedMetrics metrics;
    metrics.take(slice_);
    metrics.end();
    QueueMetricsText writer(metrics);
    std::string all;
    pieces_ = 1;
    while (writer.write(all)) ++pieces_;
    return all;
  }
  static bool has(const std::string& text, const std::string& line) {
    return text.contains("\n" + line + "\n");
  }

  QueueSlice slice_;
  std::size_t pieces_ = 0;
};

TEST_F(QueueMetricsTest, AreALineForEachQueueAndState) {
  QueueFigures& figures = add("q", {.visible = 3, .in_flight = 2, .delayed = 1}, Instant{97'500});
  figures.sums.count(QueueCounter::sent, 7);
  figures.sums.messages = 6;
  figures.message_ms = 12'500;
  figures.deleted_per_second = 0.5;
  const std::string all = text();
  EXPECT_TRUE(
      has(all, R"(pawl_queue_messages{queue="q",account="000000000000",state="visible"} 3)"));
  EXPECT_TRUE(
      has(all, R"(pawl_queue_messages{queue="q",account="000000000000",state="delayed"} 1)"));
  EXPECT_TRUE(has(all, R"(pawl_messages_sent_total{queue="q",account="000000000000"} 7)"));
  EXPECT_TRUE(
      has(all, R"(pawl_queue_oldest_message_age_seconds{queue="q",account="000000000000"} 2.5)"));
  EXPECT_TRUE(has(all, R"(pawl_message_seconds_total{queue="q",account="000000000000"} 12.5)"));
  EXPECT_TRUE(has(all, R"(pawl_queue_drain_seconds{queue="q",account="000000000000"} 12)"));
}

TEST_F(QueueMetricsTest, SumTheOthersAndAllShards) {
  for (int shard = 0; shard < 2; ++shard) {
    slice_.others.visible = 4;
    slice_.others_oldest = Instant{90'000};
    slice_.shard.others.sums.counters[0] = 5;
    slice_.shard.all.sums.counters[0] = 9;
    slice_.shard.delivery_times.note(milliseconds(7));
    slice_.shard.done_times.note(milliseconds(40));
  }
  slice_.now = now;
  const std::string all = text();
  EXPECT_TRUE(has(all, R"(pawl_queue_messages{queue="__other__",state="visible"} 4)"));
  EXPECT_TRUE(has(all, R"(pawl_messages_sent_total{queue="__other__"} 5)"));
  EXPECT_TRUE(has(all, R"(pawl_queue_oldest_message_age_seconds{queue="__other__"} 10)"));
  EXPECT_FALSE(all.contains(R"(pawl_queue_drain_rate{queue="__other__")"));
  EXPECT_TRUE(has(all, "pawl_global_messages_sent_total 9"));
  EXPECT_TRUE(has(all, R"(pawl_delivery_seconds_bucket{le="0.005"} 0)"));
  EXPECT_TRUE(has(all, R"(pawl_delivery_seconds_bucket{le="0.01"} 2)"));
  EXPECT_TRUE(has(all, R"(pawl_delivery_seconds_bucket{le="+Inf"} 2)"));
  EXPECT_TRUE(all.contains("pawl_delivery_seconds_sum 0.014\npawl_delivery_seconds_count 2\n"));
  EXPECT_TRUE(has(all, R"(pawl_message_done_seconds_bucket{le="0.05"} 2)"));
  EXPECT_TRUE(
      all.ends_with("pawl_message_done_seconds_sum 0.08\npawl_message_done_seconds_count 2\n"));
}

// Prometheus refuses a text with a family in two places, or a series twice.
TEST_F(QueueMetricsTest, HaveEachFamilyOnceAndNoSeriesTwice) {
  for (int i = 0; i < 700; ++i) add("q" + std::to_string(i), {});
  std::istringstream lines(text());
  EXPECT_GT(pieces_, QueueMetricsText::families().size()) << "700 queues take more than a piece";
  std::set<std::string> families, series;
  std::map<std::string, std::size_t> of_queue;
  std::string family;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      family = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_TRUE(families.insert(family).second) << family;
    } else if (!line.starts_with('#')) {
      EXPECT_TRUE(line.starts_with(family)) << line;
      EXPECT_TRUE(series.insert(line.substr(0, line.rfind(' '))).second) << line;
      const std::size_t begin = line.find("{queue=\"");
      if (begin != std::string::npos)
        ++of_queue[line.substr(begin, line.find('"', begin + 8) - begin)];
    }
  }
  EXPECT_EQ(of_queue.size(), 701u);
  for (const auto& [queue, count] : of_queue) EXPECT_LE(count, QueueMetricsText::series_max);
  for (const auto& row : QueueMetricsText::families())
    EXPECT_TRUE(families.contains(std::string(row.name))) << row.name;
}

TEST(QueueMetrics, SayWhatADrainTakes) {
  QueueMetrics queue;
  EXPECT_EQ(queue.drain_seconds(), 0);
  queue.figures.sums.messages = 10;
  EXPECT_EQ(queue.drain_seconds(), std::numeric_limits<double>::infinity());
  queue.figures.deleted_per_second = 4;
  EXPECT_EQ(queue.drain_seconds(), 2.5);
}

TEST(QueueMetrics, SayHowManyWorkersAreWanted) {
  QueueMetrics queue;
  EXPECT_EQ(queue.workers_wanted(), 0) << "no lease has ended";
  for (int i = 0; i < 4; ++i) queue.figures.leases.note(seconds(2));
  queue.figures.sent_per_second = 10;
  queue.counts.visible = 300;
  EXPECT_EQ(queue.workers_wanted(), 20);
  queue.lag_target = seconds(30);
  EXPECT_EQ(queue.workers_wanted(), 40) << "300 messages of 2 s within 30 s";
  queue.oldest_sent = Instant{2000};
  queue.now = Instant{1000};
  EXPECT_EQ(queue.oldest_age_seconds(), 0) << "a clock that was set back";
}

}  // namespace
}  // namespace pawl

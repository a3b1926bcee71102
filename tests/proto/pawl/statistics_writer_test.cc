// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/statistics_writer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "proto/text/json_dom.h"

namespace pawl {
namespace {

class StatisticsWriterTest : public testing::Test {
 protected:
  StatisticsWriterTest() {
    call.config = &settings;
    call.host = "h:1";
    auto config = std::make_shared<QueueConfig>();
    config->set_name("000000000000", "q.fifo");
    config->apply({.attribute = Attribute::fifo_queue, .number = 1, .text = {}});
    queue.config = config;
    queue.counts = {.visible = 4, .in_flight = 5, .delayed = 6};
    queue.now = Instant{1'700'000'000'000};
  }
  std::string text() {
    std::string out = "[{},";
    write_statistics(queue, call, out);
    return out.substr(4);
  }

  CallSettings settings;
  SqsState call;
  QueueStatistics queue;
};

TEST_F(StatisticsWriterTest, WritesAttributesAsSqsDoes) {
  const std::string written = text();
  JsonDom dom;
  const auto document = dom.parse(written);
  ASSERT_TRUE(document) << written;
  EXPECT_EQ(document->member("QueueName")->text(), "q.fifo");
  EXPECT_EQ(document->member("QueueUrl")->text(), "http://h:1/000000000000/q.fifo");
  EXPECT_FALSE(document->member("Statistics")) << "it has no label";
  const auto attributes = document->member("Attributes");
  EXPECT_EQ(attributes->member("ApproximateNumberOfMessages")->text(), "4");
  EXPECT_EQ(attributes->member("ApproximateNumberOfMessagesNotVisible")->text(), "5");
  EXPECT_EQ(attributes->member("ApproximateNumberOfMessagesDelayed")->text(), "6");
  EXPECT_EQ(attributes->member("VisibilityTimeout")->text(), "30");
  EXPECT_EQ(attributes->member("FifoQueue")->text(), "true");
  EXPECT_FALSE(attributes->member("Policy"));
  const auto shown = shown_attributes();
  for (const auto [name, value] : attributes->members())
    EXPECT_NE(std::ranges::find(shown, name), shown.end()) << name;
}

TEST_F(StatisticsWriterTest, WritesEveryCounterAndTheTimes) {
  queue.figures.emplace();
  for (std::size_t i = 0; i < queue_counters; ++i) queue.figures->sums.counters[i] = 100 + i;
  queue.figures->sums.messages = 15;
  queue.figures->leases.note(Duration{1500});
  queue.figures->sent_per_second = 1.0 / 3;
  queue.oldest_sent = Instant{1'699'999'998'766};
  const std::string written = text();
  JsonDom dom;
  const auto document = dom.parse(written);
  ASSERT_TRUE(document) << written;
  const auto statistics = document->member("Statistics");
  ASSERT_TRUE(statistics) << written;
  std::set<double> counted;
  for (const auto [name, value] : statistics->members())
    if (name.starts_with("NumberOf") && name != "NumberOfLeases") counted.insert(*value.number());
  EXPECT_EQ(counted.size(), queue_counters) << written;
  EXPECT_EQ(statistics->member("NumberOfMessagesSent")->number(), 100);
  EXPECT_EQ(statistics->member("Timestamp")->number(), 1'700'000'000'000);
  EXPECT_EQ(statistics->member("ApproximateAgeOfOldestMessage")->number(), 1.234);
  EXPECT_EQ(statistics->member("LeaseSecondsSum")->number(), 1.5);
  EXPECT_EQ(statistics->member("SentPerSecond")->number(), 0.333);
  EXPECT_EQ(statistics->member("WorkersWanted")->number(), 0.5);
  EXPECT_FALSE(statistics->member("DrainSeconds")) << "nothing is deleted";
  queue.figures->deleted_per_second = 2;
  EXPECT_TRUE(text().contains(R"("DrainSeconds":7.5)"));
}

}  // namespace
}  // namespace pawl

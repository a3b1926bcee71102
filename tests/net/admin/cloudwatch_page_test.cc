// SPDX-License-Identifier: Apache-2.0
#include "net/admin/cloudwatch_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/net/admin/page_answers.h"

namespace pawl {
namespace {

class CloudwatchPageTest : public testing::Test {
 protected:
  const ShardNumbers numbers_;
  const AdminFacts facts_{.numbers = {&numbers_}};
};

TEST_F(CloudwatchPageTest, HasADatumForEachQueueAndMetric) {
  CloudwatchPage page({.path = "/cloudwatch.json"}, facts_);
  EXPECT_EQ(page.content_type(), "application/json");
  const std::string body = answered(page, {"orders"});
  EXPECT_TRUE(body.starts_with(
      "{\"Namespace\":\"AWS/SQS\",\"MetricData\":[\n"
      "{\"MetricName\":\"ApproximateNumberOfMessagesVisible\",\"Dimensions\":"
      "[{\"Name\":\"QueueName\",\"Value\":\"orders\"}],\"AccountId\":\"000000000000\",\"Value\":3,"
      "\"Unit\":\"Count\"},\n{"))
      << body;
  EXPECT_TRUE(body.contains("\"Value\":2,\"Unit\":\"Seconds\"")) << "whole seconds";
  EXPECT_TRUE(body.ends_with("}\n]}\n"));
  EXPECT_EQ(std::ranges::count(body, '\n'), 1 + 7 + 1);
  EXPECT_FALSE(body.contains("Deduplicated")) << "only of a FIFO queue";
  EXPECT_FALSE(body.contains("__other__"));
}

TEST_F(CloudwatchPageTest, IsEmptyWithoutQueues) {
  CloudwatchPage page({}, facts_);
  EXPECT_EQ(answered(page, {}), "{\"Namespace\":\"AWS/SQS\",\"MetricData\":[\n]}\n");
}

TEST_F(CloudwatchPageTest, IsWrittenInPieces) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i <= 2 * CloudwatchPage::queues_piece; ++i)
    names.push_back("q" + std::to_string(i) + ".fifo");
  CloudwatchPage page({}, facts_);
  const std::string body = answered(page, names);
  EXPECT_EQ(static_cast<std::size_t>(std::ranges::count(body, '\n')), 1 + 8 * names.size() + 1);
  EXPECT_FALSE(body.contains("}\n{"));
  EXPECT_FALSE(body.contains(",\n]"));
  std::string piece;
  CloudwatchPage again({}, facts_);
  const auto pieces = [&] {
    int count = 0;
    for (; again.next().request != nullptr; ++count) again.append(piece);
    return count;
  };
  QueueSlice& slice = *again.next().request->slice;
  slice.queues.assign(2 * CloudwatchPage::queues_piece, named_queue("q"));
  slice.figures.resize(slice.queues.size());
  EXPECT_EQ(pieces(), 1 + 3) << "the slice, two pieces of queues, one of the others";
}

TEST_F(CloudwatchPageTest, IsOfTheQueuesOfTheQuery) {
  CloudwatchPage page({.query = "queue=b"}, facts_);
  const std::string body = answered(page, {"a", "b"});
  EXPECT_TRUE(body.contains("\"Value\":\"b\""));
  EXPECT_FALSE(body.contains("\"Value\":\"a\""));
  CloudwatchPage missing({.query = "queue=c"}, facts_);
  EXPECT_EQ(answered(missing, {"a", "b"}), "");
  ASSERT_NE(missing.refusal(), nullptr);
  EXPECT_EQ(missing.refusal()->status, 404);
  const CloudwatchPage wrong({.path = "/cloudwatch.json", .query = "family=x"}, facts_);
  ASSERT_NE(wrong.refusal(), nullptr);
  EXPECT_EQ(wrong.refusal()->status, 400);
}

}  // namespace
}  // namespace pawl

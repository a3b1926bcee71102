// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/arn.h"

#include <gtest/gtest.h>

#include <memory>

namespace pawl {
namespace {

TEST(Arn, TheSixPartsAreRead) {
  const auto arn = parse_arn("arn:aws:sqs:eu-west-1:123456789012:orders");
  ASSERT_TRUE(arn);
  EXPECT_EQ(arn->service, "sqs");
  EXPECT_EQ(arn->region, "eu-west-1");
  EXPECT_EQ(arn->account, "123456789012");
  EXPECT_EQ(arn->name, "orders");
}

TEST(Arn, OnlyRegionAndAccountMayBeEmpty) {
  EXPECT_TRUE(parse_arn("arn:aws:sqs:::orders"));
  for (const std::string_view bad :
       {"", "orders", "arn:aws:sqs:eu-west-1:1", "arn:aws::eu-west-1:1:orders",
        "arn:aws:sqs:eu-west-1:1:", "urn:aws:sqs:eu-west-1:1:orders"}) {
    EXPECT_FALSE(parse_arn(bad)) << bad;
  }
}

TEST(Arn, AWrittenArnIsReadBack) {
  const std::string text = arn_of("us-east-1", "1", "q.fifo");
  EXPECT_EQ(text, "arn:aws:sqs:us-east-1:1:q.fifo");
  EXPECT_EQ(parse_arn(text)->name, "q.fifo");
}

TEST(Arn, AQueueIsFoundByAccountAndNameInAnyRegion) {
  Directory directory;
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{1};
  config->account = "1";
  config->name = "q";
  directory.put(config);
  EXPECT_NE(find_queue(directory, *parse_arn("arn:aws:sqs:anywhere:1:q")), nullptr);
  EXPECT_EQ(find_queue(directory, *parse_arn("arn:aws:sqs:anywhere:2:q")), nullptr);
  EXPECT_EQ(find_queue(directory, *parse_arn("arn:aws:sqs:anywhere:1:r")), nullptr);
}

}  // namespace
}  // namespace pawl

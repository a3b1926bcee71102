// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/subscriptions.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

Subscription with(std::uint32_t correlation, std::uint32_t credit) {
  return {
      .request = {.op = static_cast<std::uint8_t>(BinaryOp::subscribe), .correlation = correlation},
      .visibility = seconds(30),
      .credit = credit
  };
}

TEST(SubscriptionsTest, AreFoundByTheirCorrelationUntilTheyAreRemoved) {
  Subscriptions all;
  ASSERT_NE(all.add(with(7, 1)), nullptr);
  EXPECT_EQ(all.add(with(7, 1)), nullptr) << "the correlation is in use";
  ASSERT_NE(all.find(7), nullptr);
  EXPECT_EQ(all.find(7)->request.correlation, 7u);
  EXPECT_EQ(all.find(8), nullptr);
  all.remove(7);
  EXPECT_EQ(all.find(7), nullptr);
  EXPECT_EQ(all.size(), 0u);
}

TEST(SubscriptionsTest, AreLimited) {
  Subscriptions all;
  for (std::uint32_t i = 0; i < subscriptions_max; ++i) ASSERT_NE(all.add(with(i, 1)), nullptr);
  EXPECT_EQ(all.add(with(subscriptions_max, 1)), nullptr);
  all.remove(3);
  EXPECT_NE(all.add(with(subscriptions_max, 1)), nullptr);
}

TEST(SubscriptionsTest, GrantUpToTheMostCredit) {
  Subscriptions all;
  all.add(with(1, 10));
  EXPECT_TRUE(all.grant(1, subscription_credit_max - 10));
  EXPECT_EQ(all.find(1)->credit, subscription_credit_max);
  EXPECT_FALSE(all.grant(1, 1));
  EXPECT_EQ(all.find(1)->credit, subscription_credit_max);
  EXPECT_TRUE(all.grant(2, 1)) << "an ended subscription ignores credit";
  EXPECT_FALSE(all.grant(2, subscription_credit_max + 1));
  EXPECT_FALSE(all.grant(1, UINT32_MAX));
}

TEST(SubscriptionsTest, ABusyOneHasSpaceForMoreMessagesAtOnce) {
  Subscription busy = with(1, 1000);
  EXPECT_EQ(busy.capacity(), Subscription::capacity_min);
  busy.delivered(16);
  EXPECT_EQ(busy.capacity(), 32u);
  EXPECT_EQ(busy.credit, 984u);
  busy.delivered(64);
  EXPECT_EQ(busy.capacity(), deliver_max);
  busy.delivered(1);
  EXPECT_EQ(busy.capacity(), Subscription::capacity_min);
  busy.credit = 3;
  EXPECT_EQ(busy.capacity(), 3u);
}

TEST(SubscriptionsTest, AnEmptyDeliverIsAFrameWithoutMessages) {
  Subscription subscription = with(9, 1);
  subscription.request.flags = flag_checksum;
  subscription.request.queue = 4;
  std::string out;
  write_empty_deliver(out, subscription);
  const auto header = parse_header(out);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->op, static_cast<std::uint8_t>(BinaryOp::deliver));
  EXPECT_EQ(header->flags, flag_checksum | flag_answer);
  EXPECT_EQ(header->correlation, 9u);
  EXPECT_EQ(header->queue, 4u);
  const auto payload = payload_of(*header, out);
  ASSERT_TRUE(payload);
  EXPECT_EQ(*payload, std::string(4, '\0'));
}

}  // namespace
}  // namespace pawl

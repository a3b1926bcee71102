// SPDX-License-Identifier: Apache-2.0
#include "net/client/group_order.h"

#include <gtest/gtest.h>

namespace pawl::client {
namespace {

using Indexes = std::vector<GroupOrder::Index>;

TEST(GroupOrder, LetsOneMessageOfAGroupBeginAtATime) {
  GroupOrder order;
  EXPECT_TRUE(order.take("a", 1));
  EXPECT_FALSE(order.take("a", 2));
  EXPECT_TRUE(order.take("b", 3));
  EXPECT_FALSE(order.take("a", 4));
  EXPECT_EQ(order.next(), GroupOrder::none);
  order.end(3);
  EXPECT_EQ(order.next(), GroupOrder::none);
  order.end(1);
  EXPECT_EQ(order.next(), 2u);
  EXPECT_EQ(order.next(), GroupOrder::none);
  EXPECT_FALSE(order.take("a", 5));
  order.end(2);
  EXPECT_FALSE(order.take("a", 6)) << "4 and 5 are before it";
  EXPECT_EQ(order.next(), 4u);
  order.end(4);
  EXPECT_EQ(order.next(), 5u);
  order.end(5);
  EXPECT_EQ(order.next(), 6u);
  order.end(6);
  EXPECT_TRUE(order.take("a", 7)) << "the group is empty again";
}

TEST(GroupOrder, StopsAGroupWhoseMessageIsToComeAgain) {
  GroupOrder order;
  order.take("a", 1);
  order.take("a", 2);
  order.take("a", 3);
  order.take("b", 4);
  EXPECT_EQ(order.stop(1), (Indexes{2, 3}));
  EXPECT_EQ(order.next(), GroupOrder::none);
  EXPECT_TRUE(order.take("a", 1)) << "it has come again";
  EXPECT_FALSE(order.take("a", 2));
  EXPECT_EQ(order.stop(9), Indexes{}) << "a message without a group";
  order.clear();
  order.end(4);
  EXPECT_EQ(order.next(), GroupOrder::none);
  EXPECT_TRUE(order.take("b", 5));
}

}  // namespace
}  // namespace pawl::client

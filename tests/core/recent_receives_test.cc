// SPDX-License-Identifier: Apache-2.0
#include "core/queue/recent_receives.h"

#include <gtest/gtest.h>

namespace pawl::test {
namespace {

ConsumerAddress address(std::uint8_t last) {
  ConsumerAddress of{};
  of[15] = last;
  return of;
}

TEST(RecentReceives, FindsTheConsumerOfEachDelivery) {
  RecentReceives receives;
  EXPECT_EQ(receives.consumer_of(0), ConsumerAddress{});
  receives.note(100, 10, address(1));
  receives.note(110, 1, address(2));
  receives.note(111, 3, address(3));
  EXPECT_EQ(receives.consumer_of(99), ConsumerAddress{});
  EXPECT_EQ(receives.consumer_of(100), address(1));
  EXPECT_EQ(receives.consumer_of(109), address(1));
  EXPECT_EQ(receives.consumer_of(110), address(2));
  EXPECT_EQ(receives.consumer_of(113), address(3));
  EXPECT_EQ(receives.consumer_of(114), ConsumerAddress{});
}

TEST(RecentReceives, ForgetsTheOldestAndFollowsNoncesAroundTheirEnd) {
  RecentReceives receives;
  constexpr std::uint32_t all = RecentReceives::receives_max + 3;
  std::uint32_t nonce = UINT32_MAX - 2 * RecentReceives::receives_max;
  const std::uint32_t start = nonce;
  for (std::uint32_t i = 0; i < all; ++i, nonce += 3)
    receives.note(nonce, 3, address(static_cast<std::uint8_t>(i % 251 + 1)));
  EXPECT_EQ(receives.consumer_of(start), ConsumerAddress{});
  EXPECT_EQ(receives.consumer_of(start + 3 * 3 - 1), ConsumerAddress{});
  for (std::uint32_t i = 3; i < all; ++i)
    for (std::uint32_t each = 0; each < 3; ++each)
      EXPECT_EQ(receives.consumer_of(start + 3 * i + each)[15], i % 251 + 1);
  EXPECT_EQ(receives.consumer_of(nonce), ConsumerAddress{});
}

TEST(RecentReceives, NoncesFollowEachOther) {
  RecentReceives receives;
  receives.note(7, 2, address(1));
  EXPECT_DEATH(receives.note(10, 1, address(1)), "does not follow");
  EXPECT_DEATH(receives.note(9, 0, address(1)), "without a delivery");
}

}  // namespace
}  // namespace pawl::test

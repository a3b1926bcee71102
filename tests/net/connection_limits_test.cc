// SPDX-License-Identifier: Apache-2.0
#include "net/connection/connection_limits.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

PeerAddress address(std::string_view text) { return Network::parse(text)->address; }

TEST(ConnectionLimits, LetInAsManyAsTheyMayAndAgainWhenOneHasLeft) {
  ConnectionLimits limits(3, 2);
  const PeerAddress a = address("192.0.2.1"), b = address("192.0.2.2");
  const auto first = limits.enter(a);
  ASSERT_TRUE(first);
  EXPECT_EQ(limits.enter(a), first);
  EXPECT_FALSE(limits.enter(a)) << "two of one address";
  const auto other = limits.enter(b);
  ASSERT_TRUE(other);
  EXPECT_NE(other, first);
  EXPECT_FALSE(limits.enter(b)) << "three together";
  limits.leave(*first);
  EXPECT_TRUE(limits.enter(b));
  EXPECT_FALSE(limits.enter(a));
}

TEST(ConnectionLimits, CountAnIpv6AddressWithItsNetwork) {
  ConnectionLimits limits(100, 2);
  const auto first = limits.enter(address("2001:db8:0:1::1"));
  ASSERT_TRUE(first);
  EXPECT_EQ(limits.enter(address("2001:db8:0:1:ffff::2")), first) << "the same /64";
  EXPECT_FALSE(limits.enter(address("2001:db8:0:1::3")));
  EXPECT_TRUE(limits.enter(address("2001:db8:0:2::1"))) << "another /64";
  EXPECT_TRUE(limits.enter(address("192.0.2.1")));
  EXPECT_NE(limits.enter(address("192.0.2.2")), limits.enter(address("192.0.2.3")));
}

TEST(ConnectionLimits, UseTheSlotOfAnAddressThatHasGone) {
  ConnectionLimits limits(100, 100);
  const auto first = limits.enter(address("192.0.2.1"));
  ASSERT_TRUE(first);
  limits.leave(*first);
  for (int i = 2; i < 50; ++i) {
    const PeerAddress next = address("192.0.2." + std::to_string(i));
    const auto peer_slot = limits.enter(next);
    ASSERT_EQ(peer_slot, first);
    limits.leave(*peer_slot);
  }
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/peers.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

PeerAddress address(std::string_view text) { return Network::parse(text)->address; }

TEST(Peers, LetInAsManyAsTheyMayAndAgainWhenOneHasLeft) {
  Peers peers(3, 2);
  const PeerAddress a = address("192.0.2.1"), b = address("192.0.2.2");
  const auto first = peers.enter(a);
  ASSERT_TRUE(first);
  EXPECT_EQ(peers.enter(a), first);
  EXPECT_FALSE(peers.enter(a)) << "two of one address";
  const auto other = peers.enter(b);
  ASSERT_TRUE(other);
  EXPECT_NE(other, first);
  EXPECT_FALSE(peers.enter(b)) << "three together";
  peers.leave(*first);
  EXPECT_TRUE(peers.enter(b));
  EXPECT_FALSE(peers.enter(a));
}

TEST(Peers, CountAnIpv6AddressWithItsNetwork) {
  Peers peers(100, 2);
  const auto first = peers.enter(address("2001:db8:0:1::1"));
  ASSERT_TRUE(first);
  EXPECT_EQ(peers.enter(address("2001:db8:0:1:ffff::2")), first) << "the same /64";
  EXPECT_FALSE(peers.enter(address("2001:db8:0:1::3")));
  EXPECT_TRUE(peers.enter(address("2001:db8:0:2::1"))) << "another /64";
  EXPECT_TRUE(peers.enter(address("192.0.2.1")));
  EXPECT_NE(peers.enter(address("192.0.2.2")), peers.enter(address("192.0.2.3")));
}

TEST(PeerAddress, IsWrittenAsItIsRead) {
  for (const char* text : {"192.0.2.7", "2001:db8::1", "::1"})
    EXPECT_EQ(text_of(address(text)), text);
}

TEST(Peers, UseTheSlotOfAnAddressThatHasGone) {
  Peers peers(100, 100);
  const auto first = peers.enter(address("192.0.2.1"));
  ASSERT_TRUE(first);
  peers.leave(*first);
  for (int i = 2; i < 50; ++i) {
    const PeerAddress next = address("192.0.2." + std::to_string(i));
    const auto peer_slot = peers.enter(next);
    ASSERT_EQ(peer_slot, first);
    peers.leave(*peer_slot);
  }
}

}  // namespace
}  // namespace pawl

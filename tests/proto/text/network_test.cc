// SPDX-License-Identifier: Apache-2.0
#include "proto/text/network.h"

#include <gtest/gtest.h>
#include <netinet/in.h>

namespace pawl {
namespace {

PeerAddress address(std::string_view text) { return Network::parse(text)->address; }

TEST(Network, ContainsWhatItsBitsSay) {
  const struct {
    const char *network, *peer;
    bool in;
  } cases[] = {
      {"10.0.0.0/8",    "10.255.1.2",       true },
      {"10.0.0.0/8",    "11.0.0.0",         false},
      {"10.1.2.3",      "10.1.2.3",         true },
      {"10.1.2.3",      "10.1.2.2",         false},
      {"10.1.2.0/23",   "10.1.3.255",       true },
      {"10.1.2.0/23",   "10.1.4.0",         false},
      {"0.0.0.0/0",     "192.0.2.1",        true },
      {"0.0.0.0/0",     "::1",              false},
      {"::/0",          "192.0.2.1",        true },
      {"2001:db8::/33", "2001:db8:7fff::1", true },
      {"2001:db8::/33", "2001:db8:8000::1", false},
      {"::1",           "::1",              true },
      {"10.0.0.0/8",    "::ffff:10.9.9.9",  true },
  };
  for (const auto& c : cases) {
    const auto network = Network::parse(c.network);
    ASSERT_TRUE(network) << c.network;
    EXPECT_EQ(network->contains(address(c.peer)), c.in) << c.network << " " << c.peer;
  }
}

TEST(Network, AnAddressIsNoRange) {
  for (const char* text : {"192.0.2.7", "0.0.0.0", "::1", "2001:db8::", "::ffff:10.9.9.9"})
    EXPECT_TRUE(is_address(text)) << text;
  for (const char* text :
       {"", "192.0.2.7/32", "::1/128", "[::1]", "192.0.2", "localhost", "::1%lo"})
    EXPECT_FALSE(is_address(text)) << text;
}

TEST(Network, IsNotReadFromAnythingElse) {
  for (const char* text :
       {"", "/", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0/8", "::1/129", "10.0.0.0/8x",
        "proxy", "10.0.0.0/8/8", "[::1]", " 10.0.0.1"}) {
    EXPECT_FALSE(Network::parse(text)) << text;
  }
}

TEST(Network, AZeroByteIsNoEndOfAnAddress) {
  EXPECT_FALSE(is_address(std::string_view("10.0.0.1\0", 9)));
  EXPECT_FALSE(Network::parse(std::string_view("10.0.0.1\0x", 10)));
  EXPECT_FALSE(Network::parse(std::string_view("10.0.0.0\0/8", 11)));
}

TEST(Network, RemembersWhetherItWasWrittenAsIpv4) {
  EXPECT_TRUE(Network::parse("192.0.2.7")->v4);
  EXPECT_FALSE(Network::parse("::ffff:192.0.2.7")->v4);
  EXPECT_EQ(address("::ffff:192.0.2.7"), address("192.0.2.7"));
}

TEST(Network, HasAtMostAllBitsOfAnAddress) {
  Network network = *Network::parse("192.0.2.0/24");
  network.bits = 129;
  EXPECT_DEATH(static_cast<void>(network.contains(address("192.0.2.1"))), "129 bits");
}

TEST(PeerAddress, IsWrittenAsItIsRead) {
  for (const char* text : {"192.0.2.7", "2001:db8::1", "::1"})
    EXPECT_EQ(text_of(address(text)), text);
  EXPECT_EQ(text_of(user_address(1000)), "user 1000");
  EXPECT_EQ(text_of(v4_address(in_addr{0x0100007F})), "127.0.0.1");
}

}  // namespace
}  // namespace pawl

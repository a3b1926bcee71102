// SPDX-License-Identifier: Apache-2.0
// Addresses and ranges of addresses, IPv4 and IPv6, parsed from text.
//
// Errors: no value for text that is neither an address nor a range.
// Owner:  values.
// Source: RFC 4632 and RFC 4291 for the text; RFC 4291, section 2.5.5.2, for IPv4 within IPv6.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

struct in_addr;

namespace pawl {

// An IPv6 address in network byte order; IPv4 as ::ffff:a.b.c.d.
using PeerAddress = std::array<std::uint8_t, 16>;

PeerAddress v4_address(const in_addr& address);
// A user on a Unix socket, in a part of IPv6 that no host has (0100::/8 is reserved): 0100:0:uid.
PeerAddress user_address(std::uint32_t uid);
// "192.0.2.7", "2001:db8::1", or "user 1000" on a Unix socket.
std::string text_of(const PeerAddress& address);

// True for one address, as "192.0.2.7" or "2001:db8::1".
bool is_address(std::string_view text);

// A range of addresses: "10.0.0.0/8", "192.0.2.7", "2001:db8::/32".
struct Network {
  PeerAddress address{};
  unsigned bits = 128;  // leading bits of `address` that must match
  bool v4 = false;      // parsed from an IPv4 text

  static std::optional<Network> parse(std::string_view text);
  bool contains(const PeerAddress& peer) const;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/text/network.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::uint8_t user_prefix = 0x01;

// The range that contains this address alone.
std::optional<Network> parse_address(std::string_view text) {
  const std::string host(text);
  if (host.contains('\0')) return std::nullopt;  // inet_pton would read only what is before it
  Network made;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    made.address = v4_address(v4);
    made.v4 = true;
  } else if (inet_pton(AF_INET6, host.c_str(), made.address.data()) != 1) {
    return std::nullopt;
  }
  return made;
}

}  // namespace

PeerAddress v4_address(const in_addr& address) {
  PeerAddress made{};
  made[10] = made[11] = 0xFF;
  std::memcpy(made.data() + 12, &address, sizeof address);
  return made;
}

PeerAddress user_address(std::uint32_t uid) {
  PeerAddress made{user_prefix};
  std::memcpy(made.data() + 4, &uid, sizeof uid);
  return made;
}

std::string text_of(const PeerAddress& address) {
  static const Network v4{v4_address(in_addr{}), 96};
  if (address[0] == user_prefix) {
    std::uint32_t uid = 0;
    std::memcpy(&uid, address.data() + 4, sizeof uid);
    return "user " + std::to_string(uid);
  }
  const bool is_v4 = v4.contains(address);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(is_v4 ? AF_INET : AF_INET6, address.data() + (is_v4 ? 12 : 0), text, sizeof text);
  return text;
}

bool is_address(std::string_view text) { return parse_address(text).has_value(); }

std::optional<Network> Network::parse(std::string_view text) {
  const std::size_t slash = std::min(text.find('/'), text.size());
  auto made = parse_address(text.substr(0, slash));
  if (!made) return std::nullopt;
  const unsigned bits_max = made->v4 ? 32 : 128;
  unsigned bits = bits_max;
  if (slash < text.size()) {
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + slash + 1, end, bits);
    if (error != std::errc() || stop != end || bits > bits_max) return std::nullopt;
  }
  made->bits = 128 - bits_max + bits;
  return made;
}

bool Network::contains(const PeerAddress& peer) const {
  CHECK(bits <= 8 * address.size(), "{} bits of an address", bits);
  const unsigned whole = bits / 8;
  if (!std::equal(address.begin(), address.begin() + whole, peer.begin())) return false;
  if (bits % 8 == 0) return true;
  const unsigned differing = static_cast<unsigned>(address[whole] ^ peer[whole]);
  return differing >> (8 - bits % 8) == 0;
}

}  // namespace pawl

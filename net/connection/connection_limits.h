// SPDX-License-Identifier: Apache-2.0
// The address of a peer, and limits on the number of connections.
//
// Limits: total_max connections, each_max from one address. All IPv6 addresses of a /64 count as
//         one, because a host may use any address of its /64.
// Errors: enter() returns nothing when a limit is reached.
// Owner:  the server. A lock guards it: connections are accepted on one thread and end on others.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "proto/text/network.h"

struct sockaddr;

namespace pawl {

PeerAddress peer_address(const sockaddr& address);  // zeros if neither IPv4 nor IPv6
// Zeros if the peer has disconnected. On a Unix socket: the user of the peer's process.
PeerAddress peer_of(int fd);

// The other end of a connection.
struct Peer {
  PeerAddress address{};
  std::uint32_t peer_slot =
      0;  // index of its row in ConnectionLimits; the addresses of a /64 share one
};

// The network that counts as one peer: a single IPv4 address, or an IPv6 /64.
PeerAddress peer_network(const PeerAddress& address);

class ConnectionLimits {
 public:
  static constexpr std::uint32_t peer_slots_max = 1u << 23;

  ConnectionLimits(std::uint32_t total_max, std::uint32_t each_max)
      : total_max_(total_max), each_max_(each_max) {}

  std::uint32_t total_max() const { return total_max_; }
  // Index of the address's row, which all connections of its peer_network() share. Nothing: a limit
  // is reached.
  std::optional<std::uint32_t> enter(const PeerAddress& address);
  void leave(std::uint32_t peer_slot);

 private:
  struct Row {
    PeerAddress network{};
    std::uint32_t count = 0;
  };
  struct Hash {
    std::size_t operator()(const PeerAddress& address) const {
      return std::hash<std::string_view>()(
          {reinterpret_cast<const char*>(address.data()), address.size()});
    }
  };

  const std::uint32_t total_max_;
  const std::uint32_t each_max_;
  mutable std::mutex mutex_;
  std::uint32_t total_ = 0;
  std::vector<Row> rows_;
  std::vector<std::uint32_t> free_;
  std::unordered_map<PeerAddress, std::uint32_t, Hash> peer_slots_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/connection_limits.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "core/base/check.h"

namespace pawl {

PeerAddress peer_address(const sockaddr& address) {
  PeerAddress made{};
  if (address.sa_family == AF_INET)
    made = v4_address(reinterpret_cast<const sockaddr_in&>(address).sin_addr);
  if (address.sa_family == AF_INET6) {
    std::memcpy(made.data(), &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  }
  return made;
}

PeerAddress peer_of(int fd) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) return {};
  ucred process{};
  socklen_t size = sizeof process;
  if (storage.ss_family == AF_UNIX)
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &process, &size) == 0 ? user_address(process.uid)
                                                                         : PeerAddress{};
  return peer_address(reinterpret_cast<const sockaddr&>(storage));
}

PeerAddress peer_network(const PeerAddress& address) {
  static const Network v4{v4_address(in_addr{}), 96};
  PeerAddress made = address;
  if (!v4.contains(address)) std::fill(made.begin() + 8, made.end(), std::uint8_t{0});
  return made;
}

std::optional<std::uint32_t> ConnectionLimits::enter(const PeerAddress& address) {
  const PeerAddress network = peer_network(address);
  const std::lock_guard lock(mutex_);
  if (total_ >= total_max_) return std::nullopt;
  if (const auto known = peer_slots_.find(network); known != peer_slots_.end()) {
    CHECK(known->second < rows_.size());
    Row& row = rows_[known->second];
    CHECK(row.count > 0 && row.count <= total_, "a peer has {} of {} connections", row.count,
          total_);
    if (row.count >= each_max_) return std::nullopt;
    ++row.count;
    ++total_;
    return known->second;
  }
  if (free_.empty()) {
    if (rows_.size() == peer_slots_max) return std::nullopt;
    free_.push_back(static_cast<std::uint32_t>(rows_.size()));
    rows_.emplace_back();
  }
  const std::uint32_t peer_slot = free_.back();
  free_.pop_back();
  CHECK(rows_[peer_slot].count == 0, "the row of a peer is used twice");
  rows_[peer_slot] = {network, 1};
  peer_slots_.emplace(network, peer_slot);
  ++total_;
  CHECK(peer_slots_.size() + free_.size() == rows_.size());
  return peer_slot;
}

void ConnectionLimits::leave(std::uint32_t peer_slot) {
  const std::lock_guard lock(mutex_);
  CHECK(peer_slot < rows_.size(), "peer {} of {}", peer_slot, rows_.size());
  Row& row = rows_[peer_slot];
  CHECK(row.count > 0, "a peer left twice");
  CHECK(total_ >= row.count, "a peer has {} of {} connections", row.count, total_);
  --total_;
  if (--row.count > 0) return;
  peer_slots_.erase(row.network);
  free_.push_back(peer_slot);
  CHECK(peer_slots_.size() + free_.size() == rows_.size());
}

}  // namespace pawl

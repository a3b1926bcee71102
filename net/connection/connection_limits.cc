// SPDX-License-Identifier: Apache-2.0
#include "net/connection/connection_limits.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "core/base/check.h"

namespace pawl {
namespace {

PeerAddress mapped(const in_addr& v4) {
  PeerAddress made{};
  made[10] = made[11] = 0xFF;
  std::memcpy(made.data() + 12, &v4, 4);
  return made;
}

// A user on a Unix socket, in a part of IPv6 that no host has (0100::/8 is reserved): 0100:0:uid.
constexpr std::uint8_t user_prefix = 0x01;
PeerAddress of_user(uid_t uid) {
  PeerAddress made{user_prefix};
  std::memcpy(made.data() + 4, &uid, sizeof uid);
  return made;
}

}  // namespace

PeerAddress peer_address(const sockaddr& address) {
  PeerAddress made{};
  if (address.sa_family == AF_INET)
    made = mapped(reinterpret_cast<const sockaddr_in&>(address).sin_addr);
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
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &process, &size) == 0 ? of_user(process.uid)
                                                                         : PeerAddress{};
  return peer_address(reinterpret_cast<const sockaddr&>(storage));
}

PeerAddress peer_network(const PeerAddress& address) {
  static const Network v4{mapped(in_addr{}), 96};
  PeerAddress made = address;
  if (!v4.contains(address)) std::fill(made.begin() + 8, made.end(), std::uint8_t{0});
  return made;
}

std::string text_of(const PeerAddress& address) {
  static const Network v4{mapped(in_addr{}), 96};
  if (address[0] == user_prefix) {
    uid_t uid = 0;
    std::memcpy(&uid, address.data() + 4, sizeof uid);
    return "user " + std::to_string(uid);
  }
  const bool is_v4 = v4.contains(address);
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(is_v4 ? AF_INET : AF_INET6, address.data() + (is_v4 ? 12 : 0), text, sizeof text);
  return text;
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

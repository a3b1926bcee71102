// SPDX-License-Identifier: Apache-2.0
// Decides when TLS handshakes are computed. Each costs the shard's thread 0.2 to 0.6 ms.
//
//   begin_turn() -> admit() for each connection with its first bytes -> now | next_turn | next_second
//
// Limits: turn_max handshakes per turn; address_rate_max per second for one peer_network(). The
//         others wait, at most as long as a handshake may take (ConnectionTimes::head).
// Owner:  the Connections of the shard.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "core/base/check.h"
#include "core/base/time.h"

namespace pawl {

class HandshakeGate {
 public:
  static constexpr unsigned turn_max = 2;
  static constexpr unsigned address_rate_max = 100;

  enum class Verdict : std::uint8_t { now, next_turn, next_second };

  // True: a new second has begun, and connections that wait for it may be admitted.
  bool begin_turn(Instant now) {
    turn_ = 0;
    if (now - second_ < seconds(1)) return false;
    second_ = now;
    this_second_.clear();
    return true;
  }
  // `peer_slot`: Peer::peer_slot of the peer.
  Verdict admit(std::uint32_t peer_slot) {
    if (turn_ == turn_max) return Verdict::next_turn;
    unsigned& count = this_second_[peer_slot];
    if (count == address_rate_max) return Verdict::next_second;
    ++count;
    ++turn_;
    CHECK(turn_ <= turn_max && count <= address_rate_max);
    return Verdict::now;
  }

 private:
  unsigned turn_ = 0;  // handshakes of this turn
  Instant second_;     // start of the current second
  std::unordered_map<std::uint32_t, unsigned> this_second_;
};

}  // namespace pawl

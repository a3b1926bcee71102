// SPDX-License-Identifier: Apache-2.0
// RecentReceives: the consumers of the last receives of a shard, by the nonces of their deliveries.
//
//   receive --note()--> ring of the last `receives_max` receives --consumer_of(nonce)--> an address
//
// The nonces of a shard follow each other, so that a receive is a range of them. An address costs
// nothing a message: 24 bytes a receive, in a ring that is allocated with the first one.
//
// Limits: receives_max receives; a restart forgets all.
// Owner:  the ShardState; core/shard/receive_requests.h notes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/base/check.h"
#include "core/queue/request.h"

namespace pawl {

class RecentReceives {
 public:
  static constexpr std::size_t receives_max = 4096;

  // A receive has delivered `count` messages, with the nonces from `first` on. Those of the receive
  // before it end there.
  void note(std::uint32_t first, std::uint32_t count, const ConsumerAddress& consumer) {
    CHECK(count > 0, "a receive without a delivery");
    CHECK(newest_ == 0 || ring_[(newest_ - 1) % receives_max].end() == first,
          "nonce {} does not follow", first);
    if (ring_.empty()) ring_.resize(receives_max);
    ring_[newest_++ % receives_max] = {first, count, consumer};
  }
  // Zeros: the delivery is not among the last receives.
  ConsumerAddress consumer_of(std::uint32_t nonce) const;
  std::size_t bytes() const { return ring_.capacity() * sizeof(Receive); }

 private:
  struct Receive {
    std::uint32_t first = 0, count = 0;
    ConsumerAddress consumer{};
    std::uint32_t end() const { return first + count; }
  };

  std::vector<Receive> ring_;
  std::size_t newest_ = 0;  // receives noted so far
};

}  // namespace pawl

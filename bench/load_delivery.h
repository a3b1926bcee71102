// SPDX-License-Identifier: Apache-2.0
// DeliveryCheck: the fate of each message of an e2e run, by the sequence numbers in the bodies.
//
//   message:  sent --success--> accepted --delivery--> received
//             sent --delivery--> received --success--> both
//
//   lost:        accepted and never received
//   duplicate:   received again
//   disordered:  received for the first time after a later message of its producer and group; on a
//                FIFO queue only
//
// A refused message may be received or not. In a partly refused batch no message is accepted.
//
// Units:  a sequence number has the producer (from 1) in its upper 16 bits, and counts from 0 in
//         the others. One byte per message.
// Errors: a sequence number that cannot be of this run is ignored.
// Owner:  the run; its threads share it, under a mutex.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

#include "bench/load_codec.h"

namespace pawl::load {

inline constexpr unsigned producer_shift = 48;
constexpr std::uint64_t first_sequence(std::uint32_t producer) {
  return (std::uint64_t{producer} + 1) << producer_shift;
}

struct DeliveryCounts {
  std::uint64_t lost = 0;
  std::uint64_t duplicates = 0;
  std::uint64_t disordered = 0;

  bool flawless() const { return lost == 0 && duplicates == 0 && disordered == 0; }
};

class DeliveryCheck {
 public:
  // `groups`: of a FIFO queue; 0: the queue has no order.
  DeliveryCheck(std::uint32_t producers, std::uint32_t groups);

  void accepted(std::uint64_t first, std::uint32_t count);
  // Returns the number of first deliveries.
  std::uint32_t delivered(std::span<const Delivered> messages);
  DeliveryCounts counts() const;

 private:
  enum Fate : std::uint8_t { is_accepted = 1, is_received = 2 };
  std::uint8_t* fate_of(std::uint64_t sequence);
  void check_order(std::uint64_t sequence);

  mutable std::mutex mutex_;
  std::uint32_t groups_;
  std::vector<std::vector<std::uint8_t>> fates_;             // by producer and count
  std::unordered_map<std::uint64_t, std::uint64_t> latest_;  // by producer and group
  DeliveryCounts counts_;
};

}  // namespace pawl::load

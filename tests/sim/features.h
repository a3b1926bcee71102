// SPDX-License-Identifier: Apache-2.0
// Features: what may happen to one message, and the pairs that happened to the same message in a
// run. Faults hide where two features meet, so a run over many seeds prints the pairs it missed.
//
// Owner:  values.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace pawl::sim {

enum class Feature : std::uint8_t {
  fifo,
  tenant,    // a group in a standard queue
  producer,  // sent once
  shared,    // its content is that of other queues' messages too
  delay,
  long_delay,  // its retention counts from its delivery time
  pending,     // delayed for so long that it had no slot
  expiry,      // of a queue that keeps messages for a minute or two
  relaxed,     // of a queue that answers before a message is durable
  back_off,
  lease_end,  // of a queue whose spent messages move by themselves
  cancel,
  cancel_in_flight,
  reschedule,
  uncounted,  // a delivery was given back and did not count
  time_to_live,
  dead_letter,
  expired_letter,  // a dead letter since its time ended
  move_task,
  crash,  // while it was there
  end
};
inline constexpr auto features = static_cast<std::size_t>(Feature::end);
inline constexpr std::array<std::string_view, features> feature_names = {
    "fifo",         "tenant",      "producer",         "shared",     "delay",
    "long-delay",   "pending",     "expiry",           "relaxed",    "back-off",
    "lease-end",    "cancel",      "cancel-in-flight", "reschedule", "uncounted",
    "time-to-live", "dead-letter", "expired-letter",   "move-task",  "crash"};

using FeatureSet = std::uint32_t;
constexpr FeatureSet bit(Feature feature) { return 1u << static_cast<unsigned>(feature); }

class FeaturePairs {
 public:
  // These happened to one message.
  void add(FeatureSet set) {
    for (FeatureSet left = set; left != 0; left &= left - 1)
      with_[static_cast<std::size_t>(std::countr_zero(left))] |= set;
  }
  void add(const FeaturePairs& other) {
    for (std::size_t i = 0; i < features; ++i) with_[i] |= other.with_[i];
  }
  // "135 of 136; missing: a x b".
  std::string describe() const;

 private:
  // Standard queues alone have tenants and producers; a producer sends to one queue at a time; a
  // message is cancelled once. A pending message has no group.
  static constexpr bool possible(std::size_t a, std::size_t b) {
    using enum Feature;
    const FeatureSet pair = 1u << a | 1u << b;
    return pair != (bit(fifo) | bit(pending)) && pair != (bit(tenant) | bit(pending)) &&
           pair != (bit(fifo) | bit(tenant)) && pair != (bit(fifo) | bit(producer)) &&
           pair != (bit(producer) | bit(shared)) && pair != (bit(cancel) | bit(cancel_in_flight));
  }

  std::array<FeatureSet, features> with_{};
};

}  // namespace pawl::sim

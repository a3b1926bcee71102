// SPDX-License-Identifier: Apache-2.0
#include "core/queue/recent_receives.h"

#include <algorithm>

namespace pawl {

// Distances from the oldest nonce, because nonces wrap around.
ConsumerAddress RecentReceives::consumer_of(std::uint32_t nonce) const {
  if (newest_ == 0) return {};
  std::size_t low = newest_ - std::min(newest_, receives_max), high = newest_;
  const std::uint32_t oldest = ring_[low % receives_max].first;
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    const bool behind = ring_[middle % receives_max].first - oldest > nonce - oldest;
    (behind ? high : low) = middle;
  }
  CHECK(high == low + 1 && low < newest_, "receive {} of {}", low, newest_);
  const Receive& found = ring_[low % receives_max];
  return nonce - found.first < found.count ? found.consumer : ConsumerAddress{};
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/engine/durable_times.h"

#include "core/base/check.h"

namespace pawl {

void DurableTimes::note(Lsn durable, Instant now) {
  if (flushes_.size() > 0 && flushes_.back().durable == durable) return;
  CHECK(flushes_.size() == 0 || flushes_.back().durable < durable, "durable to {}, before to {}",
        durable, flushes_.back().durable);
  if (flushes_.size() == kept) flushes_.pop_front();
  flushes_.push_back({durable, now});
}

Instant DurableTimes::of(Lsn lsn) const {
  std::size_t low = 0, high = flushes_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    flushes_[middle].durable <= lsn ? low = middle + 1 : high = middle;
  }
  return low == 0 || low == flushes_.size() ? Instant{} : flushes_[low].at;
}

}  // namespace pawl

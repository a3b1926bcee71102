// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/space_budget.h"

namespace pawl {

ReserveRule SpaceBudget::reserve_rule() const {
  return {least_reserve(), 2 * geometry_.segment_bytes + checkpoint_space()};
}

// Space for the bytes appended before the next checkpoint begins and while it is written; the
// checkpoint may have grown.
std::uint64_t SpaceBudget::checkpoint_space() const {
  return 2 * step() + 2 * frame_bytes_max() + 4 * checkpoint_bytes_;
}

std::uint64_t SpaceBudget::least_reserve() const {
  return step() + 2 * frame_bytes_max() + 2 * checkpoint_bytes_;
}

std::uint64_t SpaceBudget::free(Lsn end, From from) const {
  const std::uint64_t kept =
      from == From::relocation ? std::min(checkpoint_space(), reserve()) : reserve();
  const std::uint64_t free = pool_.free_space_behind(end);
  return free - std::min(free, kept + accepted_ + kept_from(from));
}

void SpaceBudget::grant(Lsn end) {
  granted_at_ = pool_.live();
  granted_to_ = end + accepted_ + free(end, From::sender);
}

}  // namespace pawl

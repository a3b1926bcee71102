// SPDX-License-Identifier: Apache-2.0
#include "net/engine/kept_for_replay.h"

#include <algorithm>

#include "core/base/check.h"

namespace pawl {

ReplayNeeds KeptForReplay::note(const ReplayNeeds& wanted, Lsn appended, Lsn durable) {
  CHECK(durable <= appended, "durable to {}, the end at {}", durable, appended);
  CHECK(states_.empty() || states_.back().end <= appended, "the log ends at {}", appended);
  if (states_.empty() || states_.back().needs != wanted) states_.push_back({wanted, appended});
  while (states_.size() > 1 && states_[1].end <= durable) states_.pop_front();
  ReplayNeeds kept;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    kept.retention = std::max(kept.retention, states_[i].needs.retention);
    kept.position = std::min(kept.position, states_[i].needs.position);
  }
  return kept;
}

}  // namespace pawl

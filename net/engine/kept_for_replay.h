// SPDX-License-Identifier: Apache-2.0
// KeptForReplay: the part of the log that may be needed for replay, now or after a crash.
//
//   state in memory --its records are durable--> durable state
//        |                                           |
//        +-- kept: the needs of both and of all states between
//
// A crash takes back the changes that were not durable: a deleted queue exists again with its
// x-replay-retention, and a replay task continues from its durable position. The log of both must
// still be there.
//
// Units:  Lsn; Duration ms.
// Limits: the durable state, and one for each later turn that changed the needs.
// Owner:  the shard loop.
#pragma once

#include <cstdint>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/containers/ring_queue.h"

namespace pawl {

struct ReplayNeeds {
  Duration retention{0};         // the longest x-replay-retention; 0: no queue has one
  LogPos position = UINT64_MAX;  // of the first running task; UINT64_MAX: no task runs

  bool operator==(const ReplayNeeds&) const = default;
};

class KeptForReplay {
 public:
  // `wanted`: the needs of the state in memory, whose records end at `appended`. Returns the needs
  // of all states that a crash may restore. Call it before the requests of a turn are applied.
  ReplayNeeds note(const ReplayNeeds& wanted, Lsn appended, Lsn durable);

 private:
  struct State {
    ReplayNeeds needs;
    Lsn end = 0;  // end of its records: the state is durable when the log is durable up to here
  };
  RingQueue<State> states_;  // the durable state and all later ones, oldest first
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// KeptForReplay: the part of the log that may be needed for replay, now or after a crash.
//
//   state in memory --its records are durable--> durable state
//        |                                           |
//        +--- kept: what they and those between need -+
//
// A crash takes back the changes that were not durable: a deleted queue exists again with its
// x-replay-retention, and a replay task continues from its durable position. The log of both must
// still be there.
//
// Units:  Lsn; Duration ms.
// Limits: one state for each turn that changed the needs and is not durable.
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
  // `wanted`: by the state in memory, whose records end at `appended`. Call it in each turn before
  // the requests are applied. Returns what to keep.
  ReplayNeeds note(const ReplayNeeds& wanted, Lsn appended, Lsn durable);

 private:
  struct State {
    ReplayNeeds needs;
    Lsn end = 0;  // of the records that make it
  };
  RingQueue<State> states_;  // those that may be the durable one, and later ones; oldest first
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// DurableTimes: when the latest records of a log became durable. Kept from the first request for
// them on: a server that is never asked has no cost.
//
// Units:  Instant is ms. A position is found by binary search.
// Limits: the last `kept` flushes, 16 KiB.
// Owner:  net/engine/shard_loop.h.
#pragma once

#include <cstddef>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/containers/ring_queue.h"

namespace pawl {

class DurableTimes {
 public:
  static constexpr std::size_t kept = 1024;

  // Everything below `durable` is on disk now. The times of the first call are not known.
  void note(Lsn durable, Instant now);
  // When the record at `lsn` was found to be on disk; 0: it is not, or that is not known.
  Instant of(Lsn lsn) const;

 private:
  struct Flush {
    Lsn durable = 0;
    Instant at;
  };

  RingQueue<Flush> flushes_;  // rising; the first one only says where the second begins
};

}  // namespace pawl

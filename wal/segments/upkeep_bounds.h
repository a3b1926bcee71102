// SPDX-License-Identifier: Apache-2.0
// UpkeepBounds: limits of the log's end, of its messages and of the time. While all of them hold,
// no part of the log has come to have work by these figures alone.
//
// Units:  bytes; messages; Instant ms.
// Owner:  the log of one shard, which makes them anew after each visit of a part.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "wal/format/format.h"

namespace pawl {

struct UpkeepBounds {
  // SpaceBudget reserves so many bytes for each message in the log.
  static constexpr std::uint64_t message_bytes = 2 * block_bytes;

  Lsn end = UINT64_MAX;  // the log's end is below
  std::uint64_t messages_min = 0;
  std::uint64_t messages_max = UINT64_MAX;
  std::uint64_t sum_max = UINT64_MAX;  // the end, and message_bytes for each message
  Instant due = never;                 // the time is before

  bool hold(Lsn log_end, std::uint64_t messages, Instant now) const {
    return log_end < end && messages >= messages_min && messages <= messages_max &&
           log_end + message_bytes * messages <= sum_max && now < due;
  }
  void end_before(Lsn lsn) { end = std::min(end, lsn); }
  void due_at(Instant at) { due = std::min(due, at); }
};

}  // namespace pawl

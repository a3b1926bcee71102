// SPDX-License-Identifier: Apache-2.0
// A read-only walk over a log that is not open, frame by frame in order.
//
//   existing older segments -> checkpoint's segment up to the checkpoint -> checkpoint to the end
//
// The bytes after the last good frame are a torn tail, which was never acknowledged, or damage.
// They are damage if the manifest or a later frame of the log says that this place was durable.
// Everything before the checkpoint was durable, and its frames form a chain except across gaps. For
// a missing or damaged segment, the walk knows how many messages it should hold. It does not know
// whether their queues were deleted: that is in the log of shard 0.
//
// Errors: Errc::invalid for a disk without a log; Errc::version for a newer manifest; Errc::io
//         for an unreadable one; Errc::corrupt if neither is whole, or for an impossible geometry.
//         Damage to segments is no error: it is in the report.
// Owner:  one thread; nothing is kept after the call.
// Source: wal/FORMAT.md
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"

namespace pawl {

// The messages of one queue that one segment should hold.
struct MissedMessages {
  std::uint64_t segment = 0;
  QueueId queue = QueueId::none;
  auto operator<=>(const MissedMessages&) const = default;
};

struct WalkReport {
  Manifest manifest;
  std::uint64_t segments = 0, frames = 0, records = 0, bytes = 0;
  Lsn end = 0;                                     // after the last good frame
  bool torn = false;                               // an incomplete frame is there
  std::vector<std::string> damage;                 // faults, each with file and offset
  std::map<MissedMessages, std::uint64_t> missed;  // number of unreadable messages
  std::set<QueueId> queues;                        // live queues according to this log
};

// Receives every good frame: its header, and its records without header and padding.
using FrameVisitor =
    std::function<void(const Manifest&, const LogFrameHeader&, std::span<const std::byte>)>;

// Without a visitor, the walk only makes the report.
Result<WalkReport> walk_log(BlockingDisk& disk, const FrameVisitor& visit = {});

}  // namespace pawl

// A walk over a log that is not open: frame by frame, in order, reading only.
//
//   older segments, as far as they are there -> what is before the checkpoint in its segment -> from the checkpoint on
//
// What comes after the last good frame is either a torn tail, which was never acknowledged, or damage:
// it is damage when the manifest, or any later frame of the log, says that this place was durable. All that is before
// the checkpoint was, and its frames lead from one to the next but over a gap. Of a segment that is not there, or not whole,
// it is known how many messages it should hold, but not whether their queues were deleted: that is in the log of shard 0.
//
// Errors: a directory without a log is Errc::invalid; a manifest of a newer version is Errc::version;
//         unreadable files Errc::io. Damage is not an error but a part of the report.
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

#include "core/ids.h"
#include "core/result.h"
#include "wal/format.h"

namespace pawl {

// Messages of one queue that should be in one segment.
struct MissedMessages {
  std::uint64_t segment = 0;
  QueueId queue = QueueId::none;
  auto operator<=>(const MissedMessages&) const = default;
};

struct WalkReport {
  Manifest manifest;
  std::uint64_t segments = 0, frames = 0, records = 0, bytes = 0;
  Lsn end = 0;                                     // after the last good frame
  bool torn = false;                               // a frame was begun there and not finished
  std::vector<std::string> damage;                 // what, with file and offset
  std::map<MissedMessages, std::uint64_t> missed;  // how many could not be read
  std::set<QueueId> queues;  // that were made and not deleted, as this log says
};

// Gets every good frame: its header, and its records (without header and padding).
using FrameVisitor =
    std::function<void(const Manifest&, const LogFrameHeader&, std::span<const std::byte>)>;

// Without a visitor only the report is made.
Result<WalkReport> walk_log(const std::string& directory, const FrameVisitor& visit = {});

// The logs at or below a directory: itself, or each of its directories that holds a manifest; sorted.
std::vector<std::string> logs_below(const std::string& directory);

}  // namespace pawl

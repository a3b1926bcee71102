// A walk over a log that is not open: frame by frame, in order, reading only.
//
// What comes after the last good frame is either a torn tail, which was never acknowledged, or damage:
// it is damage when the manifest, or any later frame of the log, says that this place was durable.
//
// Errors: a directory without a log is Errc::invalid; a manifest of a newer version is Errc::version;
//         unreadable files Errc::io. Damage is not an error but a part of the report.
// Owner:  one thread; nothing is kept after the call.
// Source: wal/FORMAT.md
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/result.h"
#include "wal/format.h"

namespace pawl {

struct WalkReport {
  Manifest manifest;
  std::uint64_t segments = 0, frames = 0, records = 0, bytes = 0;
  Lsn end = 0;                      // after the last good frame
  bool torn = false;                // a frame was begun there and not finished
  std::vector<std::string> damage;  // what, with file and offset
};

// Gets every good frame: its header, and its records (without header and padding).
using FrameVisitor = std::function<void(const LogFrameHeader&, std::span<const std::byte>)>;

Result<WalkReport> walk_log(const std::string& directory, const FrameVisitor& visit);

// The logs at or below a directory: itself, or each of its directories that holds a manifest; sorted.
std::vector<std::string> logs_below(const std::string& directory);

}  // namespace pawl

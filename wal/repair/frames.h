// SPDX-License-Identifier: Apache-2.0
// The whole frames of a log that is not open, without stale ones.
//
// Owner:  values.
// Source: wal/FORMAT.md, "A frame", "The torn end".
#pragma once

#include <vector>

#include "core/base/check.h"
#include "core/base/result.h"
#include "wal/format/format.h"
#include "wal/repair/content.h"

namespace pawl {

// All whole frames by ascending position. A frame of a newer version is Errc::version.
Result<std::vector<LogFrameHeader>> whole_frames(LogContent& content);

// Drops stale frames: remains of torn ends over which the log continued.
void drop_stale(std::vector<LogFrameHeader>& frames, const Manifest& manifest);

// Positions in damaged bytes where a frame probably began: at least two of magic, lsn and stream
// are right. Frames of an epoch below `epoch` do not count.
std::vector<Lsn> suspected_frames(std::span<const std::byte> bytes, Lsn from,
                                  const Geometry& geometry, std::uint32_t epoch);
bool suspected_frame(std::span<const std::byte> bytes, Lsn at, const Geometry& geometry,
                     std::uint32_t epoch);

// The records of a frame, for decode_records().
inline std::span<const std::byte> records_of(std::span<const std::byte> from_frame,
                                             const LogFrameHeader& header) {
  CHECK(header.length >= log_frame_header_bytes, "{} bytes", header.length);
  CHECK(header.length <= from_frame.size(), "{} of {} bytes", header.length, from_frame.size());
  return from_frame.first(header.length).subspan(log_frame_header_bytes);
}
inline Lsn end_of(const LogFrameHeader& header) {
  return header.lsn + align_up(header.length, block_bytes);
}

// Candidates for lost manifests, best guess first: with the latest checkpoint that is certainly
// complete, without a checkpoint, with the latest checkpoint. `whole_checkpoint`: the checkpoint,
// or the log from segment 0 if there is none, is certainly complete.
struct LikelyManifest {
  Manifest manifest;
  bool whole_checkpoint = false;
};
Result<std::vector<LikelyManifest>> likely_manifests(LogContent& content,
                                                     const std::vector<LogFrameHeader>& frames);

}  // namespace pawl

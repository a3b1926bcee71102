// The whole frames of a log, wherever they lie, and which of them belong to it.
//
// Owner:  values.
// Source: wal/FORMAT.md, "A frame", "The torn end".
#pragma once

#include <vector>

#include "core/result.h"
#include "tools/wal/content.h"
#include "wal/format.h"

namespace pawl {

// By rising position. A frame of a newer version is Errc::version.
Result<std::vector<LogFrameHeader>> whole_frames(LogContent& content);

// Takes out what was left of torn ends when the log went on in their place.
void drop_stale(std::vector<LogFrameHeader>& frames, const Manifest& manifest);

// Where frames may be meant to begin in [from, end), which is damaged: magic, position and stream are right, but for one.
// `epoch`: of none older.
std::vector<Lsn> suspected_frames(std::span<const std::byte> bytes, Lsn from,
                                  const Geometry& geometry, std::uint32_t epoch);
bool suspected_frame(std::span<const std::byte> bytes, Lsn at, const Geometry& geometry,
                     std::uint32_t epoch);

// The records of a frame to be read by decode_records().
inline std::span<const std::byte> records_of(std::span<const std::byte> from_frame,
                                             const LogFrameHeader& header) {
  return from_frame.first(header.length).subspan(log_frame_header_bytes);
}
inline Lsn end_of(const LogFrameHeader& header) {
  return header.lsn + align_up(header.length, block_bytes);
}

// What the manifests can have been, best guess first: with the latest checkpoint that is surely whole, with none, with the
// latest. `whole_checkpoint`: nothing can be missing from it.
struct LikelyManifest {
  Manifest manifest;
  bool whole_checkpoint = false;
};
Result<std::vector<LikelyManifest>> likely_manifests(LogContent& content,
                                                     const std::vector<LogFrameHeader>& frames);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The format of the log on disk: positions, frames, and the two 4 KiB blocks (segment header and
// manifest). The records in the frames are in wal/format/records.h.
//
//   segment:  | header 4 KiB | frame | frame | ... (never across an extent) ... |
//   frame:    | header 64 B | record | record | ... | zeros to the next 4 KiB |
//
// Nothing here does I/O, so `pawl wal dump` and the fuzzers use it directly. check_frame(),
// read_segment_header() and read_manifest() accept any bytes and never read outside their span.
//
// Units:  bytes; an Lsn is a position in the stream: segment lsn / segment_bytes, offset
//         lsn % segment_bytes.
// Errors: a LogFault, or Errc::corrupt (foreign or damaged) and Errc::version (whole, but of a
//         newer version).
// Owner:  values.
// Source: wal/FORMAT.md, with the layout byte by byte and the steps for changing it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "wal/format/disk.h"

namespace pawl {

static_assert(std::endian::native == std::endian::little,
              "the log is written as it lies in memory");

inline constexpr std::uint32_t frame_magic = 0x5246'5750;     // "PWFR"
inline constexpr std::uint32_t segment_magic = 0x4753'5750;   // "PWSG"
inline constexpr std::uint32_t manifest_magic = 0x464d'5750;  // "PWMF"
inline constexpr std::uint8_t frame_version = 1;
// Version of segment headers and manifests. Older versions are read too: newer fields are zero in
// them.
inline constexpr std::uint32_t block_version = 4;

inline constexpr std::size_t log_frame_header_bytes = 64;
inline constexpr std::size_t log_frame_bytes_max = 1 << 20;  // unless one record alone is larger
inline constexpr std::size_t extent_bytes_min = 16 << 10;
inline constexpr std::size_t extent_bytes_max = 1 << 30;
inline constexpr std::size_t segment_bytes_min = 64 << 10;
// Neighbouring frames are less than a segment apart: LogFrameHeader::prev holds their distance.
inline constexpr std::uint64_t segment_bytes_max = UINT32_MAX;

constexpr std::uint64_t align_up(std::uint64_t n, std::uint64_t unit) {
  return (n + unit - 1) / unit * unit;
}

// The sizes of a log. They are fixed when it is made; the manifest holds them.
struct Geometry {
  std::uint64_t stream = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t extent_bytes = 0;

  bool valid() const;
  std::uint64_t segment_of(Lsn lsn) const { return lsn / segment_bytes; }
  std::uint64_t offset_of(Lsn lsn) const { return lsn % segment_bytes; }
  std::uint64_t extent_of(Lsn lsn) const { return lsn / extent_bytes; }
  Lsn segment_base(std::uint64_t number) const { return number * segment_bytes; }
  Lsn extent_end(Lsn lsn) const { return (extent_of(lsn) + 1) * extent_bytes; }
  // The first position from `lsn` on where a frame may start: a segment begins with its header.
  Lsn frame_position(Lsn lsn) const { return offset_of(lsn) == 0 ? lsn + block_bytes : lsn; }
  // The largest record that fits every extent, also the first of a segment.
  std::size_t record_space() const { return extent_bytes - block_bytes - log_frame_header_bytes; }
};

// --- frames ---

struct LogFrameHeader {
  std::uint32_t magic = frame_magic;
  std::uint32_t length = 0;  // header and records, without the padding
  Lsn lsn = 0;
  std::uint64_t stream = 0;
  std::uint32_t epoch = 0;
  std::uint32_t prev =
      0;  // bytes back to the start of the previous frame; 0: first frame of the stream
  std::uint32_t records = 0;
  std::uint8_t version = frame_version;
  std::uint8_t flags = 0;
  std::uint16_t reserved = 0;
  std::int64_t wall_ms = 0;
  Lsn durable = 0;  // everything below was on disk when this frame was handed to the disk
  std::uint64_t hash = 0;
};
static_assert(sizeof(LogFrameHeader) == log_frame_header_bytes);

// Writes the hash into a finished frame; `frame` is the header and records, without padding.
void seal_frame(std::span<std::byte> frame);

// The fault of the bytes where a frame should start, in the order of the checks. Only the version
// is checked earlier: before the padding.
enum class LogFault : std::uint8_t {
  none,
  magic,
  stream,
  lsn,
  length,
  hash,
  padding,
  version,
  epoch,
  prev
};
std::string_view describe(LogFault fault);

struct FrameCheck {
  LogFault fault = LogFault::magic;
  LogFrameHeader header;  // as read; trusted only as far as the fault allows
};

// Checks for a frame of `stream` at `lsn`. `bytes` begin there and reach to the end of its extent.
// The caller checks epoch and prev. LogFault::version: whole, but written by a newer version.
FrameCheck check_frame(std::span<const std::byte> bytes, std::uint64_t stream, Lsn lsn);

// --- blocks ---

using Block = std::span<std::byte, block_bytes>;
using ConstBlock = std::span<const std::byte, block_bytes>;

struct SegmentHeader {
  std::uint64_t stream = 0;
  std::uint64_t number = 0;
  Lsn base = 0;
  std::uint64_t usable = 0;  // bytes of the file, from its start, usable for frames; 0: all
};
// The usable bytes of a segment; 0: the header's value is invalid.
std::uint64_t usable_bytes(const SegmentHeader& header, const Geometry& geometry);
void write_segment_header(Block out, const SegmentHeader& header);
Result<SegmentHeader> read_segment_header(ConstBlock block);

struct Manifest {
  std::uint64_t stream = 0;
  std::uint64_t segment_bytes = 0;
  std::uint64_t extent_bytes = 0;
  std::uint64_t generation = 0;  // the manifest with the higher one is valid
  std::uint64_t epoch =
      0;  // epoch of frames written since the last startup; 0: the log is still being made
  std::uint64_t first =
      0;            // number of the first segment that recovery reads; older ones hold only bodies
  Lsn durable = 0;  // everything below was on disk when this was written
  Lsn clean = 0;    // the end of the log if it was closed cleanly, else 0
  // Start of the latest checkpoint, and end of its last record; 0: none yet. Always 0 in version 1.
  Lsn checkpoint = 0;
  Lsn checkpoint_end = 0;
  // Number of the directory's startup that wrote this (wal/data_identity.h); 0: before version 3.
  std::uint64_t start = 0;
};
void write_manifest(Block out, const Manifest& manifest);
Result<Manifest> read_manifest(ConstBlock block);

// --- names ---

inline constexpr std::string_view manifest_names[2] = {"MANIFEST.a", "MANIFEST.b"};
std::string segment_name(std::uint64_t number);
// The name of a file with a failed write, set aside so that its space is not reused.
std::string set_aside_name(std::uint64_t number);
// The number in the name of a segment or of a file set aside; -1 for any other name.
std::int64_t segment_number(std::string_view name);
std::int64_t set_aside_number(std::string_view name);

// XXH3-64 of `bytes`: the only hash function of the log.
std::uint64_t hash_bytes(std::span<const std::byte> bytes, std::uint64_t seed);

}  // namespace pawl

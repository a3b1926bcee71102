// SendScan: the SENDs in an extent that was read back, one by one.
//
// Whole frames alone are looked at: their hash says that their records are as they were written. What lies between them
// is damaged, or from another time: a frame of an older epoch than one before it is from before a torn end.
//
// Limits: an extent at a time, in memory of the caller's.
// Errors: none; what cannot be read is not there. Frames whose hash is wrong are counted.
// Owner:  whoever reads the extents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/ids.h"
#include "wal/format.h"
#include "wal/records.h"

namespace pawl {

// `stored` and `record` point into the extent.
struct FoundSend {
  StoredMessage stored;
  LogPos position = log_pos_none;
  std::span<const std::byte> record;
};

class SendScan {
 public:
  explicit SendScan(const Geometry& geometry) : geometry_(geometry) {}

  // The extents of a scan come in rising order. What is damaged before `from` does not count.
  void begin(Lsn from);
  void begin_extent(std::uint64_t extent, std::span<const std::byte> bytes);
  bool next(FoundSend& found);  // false: that was all of this extent
  // Bytes of frames that begin as they should and are not as they were written.
  std::uint64_t damaged() const { return damaged_; }
  // Everything before it has been looked at.
  Lsn at() const { return records_ > 0 ? record_ : at_; }

 private:
  bool next_frame();

  Geometry geometry_;
  std::span<const std::byte> bytes_;
  std::uint32_t epoch_ = 0;    // of the frame before
  Lsn at_ = 0;                 // where the next frame may be
  Lsn end_ = 0;                // of the extent
  Lsn record_ = 0;             // the next record of the frame before
  std::uint32_t records_ = 0;  // left of it
  Lsn from_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// SendScan: finds the SENDs and FAN_OUTs in an extent read from the disk, one by one.
//
// Only whole frames are scanned: their hash proves that the records are as written. Bytes between
// them are damaged or obsolete: a frame of an older epoch than one before it was cut off by a torn
// end.
//
// Limits: one extent at a time, in the caller's memory.
// Errors: none; unreadable records are skipped. The bytes of frames with a wrong hash are counted.
// Owner:  the reader of the extents.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/base/ids.h"
#include "wal/format/fan_out_record.h"
#include "wal/format/format.h"
#include "wal/format/send_record.h"

namespace pawl {

// A SEND, or a FAN_OUT as `shared`; all point into the extent.
struct FoundSend {
  StoredMessage stored;  // of a SEND
  LogPos position = log_pos_none;
  std::span<const std::byte> record;
  std::optional<FanOut> shared = std::nullopt;

  std::size_t messages() const { return shared ? shared->size() : 1; }
  StoredMessage message(std::size_t i) const { return shared ? shared->message(i) : stored; }
};

class SendScan {
 public:
  explicit SendScan(const Geometry& geometry) : geometry_(geometry) {}

  // Begins a scan; its extents come in rising order. Damage before `from` does not count.
  void begin(Lsn from);
  void begin_extent(std::uint64_t extent, std::span<const std::byte> bytes);
  bool next(FoundSend& found);  // false: no more in this extent
  // Bytes of frames with a plausible header but a wrong hash.
  std::uint64_t damaged() const { return damaged_; }
  // Everything before this position is scanned.
  Lsn at() const { return records_ > 0 ? record_ : at_; }

 private:
  bool next_frame();

  Geometry geometry_;
  std::span<const std::byte> bytes_;
  std::uint32_t epoch_ = 0;    // epoch of the previous frame
  Lsn at_ = 0;                 // where the next frame may start
  Lsn end_ = 0;                // end of the extent
  Lsn record_ = 0;             // next record of the previous frame
  std::uint32_t records_ = 0;  // its remaining records
  Lsn from_ = 0;
  std::uint64_t damaged_ = 0;
};

}  // namespace pawl

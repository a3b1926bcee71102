// SPDX-License-Identifier: Apache-2.0
// Relocation: copies the few messages left in a segment to the end of the log, so that the segment
// can be reused. Without it, a message that waits for a year would keep 64 MiB on disk.
//
//   idle --choose()--> reading an extent --> its SENDs one by one: next() --> next extent --> idle
//
// The emptiest segment is chosen, if less than three quarters of it are live, in two cases:
//   - the dead bytes in segments exceed the live bytes by more than `dead_bytes_max`;
//   - the disk is full, and the segment's live bytes fit into the free space.
// The oldest segment is chosen when the log spans more than span_max segments and most of them are
// not in use: the tables of segments and extents reach from the oldest to the end. A segment filled
// by relocation is chosen only as the oldest, while most of its messages are live: large messages
// do not fill extents, and relocation would never end.
//
// next() returns all SENDs, also those of deleted messages: only the shard knows the difference. An
// unreadable record stays in place, and its segment is not chosen again before the next startup.
//
// Units:  bytes; the live bytes of a segment are an estimate: the bytes sent in it, multiplied by
//         the share of its messages that are left.
// Limits: one segment, one extent of memory and one read at a time; about span_max segments from
//         the oldest to the end.
// Errors: none.
// Owner:  the log of one shard. Destroy it only when none of its reads is under way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/ids.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"
#include "wal/format/send_scan.h"
#include "wal/image.h"
#include "wal/segments/segment_pool.h"

namespace pawl {

class Relocation {
 public:
  static constexpr std::uint64_t span_max = 16'384;

  Relocation(Disk& disk, const Geometry& geometry, Image& image, SegmentPool& pool,
             std::uint64_t dead_bytes_max)
      : disk_(disk),
        geometry_(geometry),
        image_(image),
        pool_(pool),
        dead_max_(dead_bytes_max),
        scan_(geometry) {}

  // Begins with a segment below `below` if one is due. Segments from `below` to `in_log` are kept
  // for replay and are not waste. `free_bytes`: bytes that can be relocated now. Call it only if
  // must_examine(below).
  void choose(std::uint64_t below, std::uint64_t in_log, std::uint64_t free_bytes);
  // True: no segment is being emptied, and the tail segment, `below` or the pool's disk_full() has
  // changed since choose() examined the segments.
  bool must_examine(std::uint64_t below) const {
    return !active() && (looked_tail_ != pool_.tail() || looked_below_ != below ||
                         looked_disk_full_ != pool_.disk_full());
  }
  void set_dead_bytes_max(std::uint64_t bytes) {
    dead_max_ = bytes;
    look_again();
  }
  // The segments have lost messages: must_examine().
  void look_again() { looked_tail_ = none; }
  // Handles a finished read and begins the next one, unless `stopping`.
  void pump(bool stopping);
  // True: pump() has something to do.
  bool has_work(bool stopping) const {
    return io_.done || (active() && !have_ && !io_.armed && !stopping);
  }
  bool next(FoundSend& found);  // valid until the next call

  bool active() const { return segment_ != none; }
  bool due() const { return have_; }  // next() has work
  bool reading() const { return io_.armed || io_.done; }

 private:
  static constexpr std::uint64_t none = UINT64_MAX;

  void begin(std::uint64_t segment);
  void end();
  void read_on();

  Disk& disk_;
  Geometry geometry_;
  Image& image_;
  SegmentPool& pool_;
  std::uint64_t dead_max_;

  std::uint64_t looked_tail_ = 0;  // values at the last examination of the segments
  std::uint64_t looked_below_ = 0;
  bool looked_disk_full_ = false;

  std::uint64_t segment_ = none;
  std::uint64_t extent_ = 0;  // the extent being read or scanned
  PageBlock memory_;          // the extent's bytes
  Io io_;
  bool have_ = false;  // the extent is read and may contain more SENDs
  SendScan scan_;
};

}  // namespace pawl

// Relocation: the few messages that are left in a segment are said again at the end of the log, so that the segment can
// be used again. Without it a message that waits for a year would keep 64 MiB on disk.
//
//   idle --choose()--> reading an extent --> its SENDs one by one: next() --> ... the next extent ... --> idle
//
// Chosen is the segment with the least left in it, when more lies dead than is alive and `dead_bytes_max` more; when the
// disk is full, if what is left of it finds room; and the oldest when the log has become very long and most of it
// is not in use, for the tables of segments and extents reach from there to the end. Not chosen, but as the oldest, is one that was filled by relocation
// while most of that is there: large messages do not fill extents, and it would go on for ever.
//
// next() names all SENDs, of messages that have gone too: the shard alone knows. What cannot be read stays where it is,
// and its segment is not chosen again before the next start.
//
// Units:  bytes; how much is left in a segment is an estimate: what was sent in it by the share of messages left.
// Limits: one segment, one extent of memory and one read at a time; span_max segments from the oldest to the end.
// Errors: none.
// Owner:  the log of one shard. The disk must have nothing of it under way any more when it is destroyed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/ids.h"
#include "wal/disk.h"
#include "wal/format.h"
#include "wal/image.h"
#include "wal/segment_pool.h"
#include "wal/send_scan.h"

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

  // Begins with a segment below `below`, if it is time; those from there on and below `in_log` are kept for replay and
  // no waste. `room`: bytes that can be said again now. Looks at the segments only when the log has come to another one.
  void choose(std::uint64_t below, std::uint64_t in_log, std::uint64_t room);
  void set_dead_bytes_max(std::uint64_t bytes) {
    dead_max_ = bytes;
    looked_tail_ = none;
  }
  // Looks at a finished read, begins the next unless `stopping`.
  void pump(bool stopping);
  bool next(FoundSend& found);  // holds until the next call

  bool active() const { return segment_ != none; }
  bool due() const { return have_; }  // next() has something to look at
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

  std::uint64_t looked_tail_ = 0;  // when the segments were looked at last
  std::uint64_t looked_below_ = 0;
  bool looked_full_ = false;

  std::uint64_t segment_ = none;
  std::uint64_t extent_ = 0;  // that is read next, or has been
  PageBlock memory_;          // of it
  Io io_;
  bool have_ = false;  // it has been read, and there may be more in it
  SendScan scan_;      // of it
};

}  // namespace pawl

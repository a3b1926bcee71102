// SendReader: the SENDs of a part of the log, in their order, those of messages that have gone too.
//
//   begin --> reading an extent --> next() one by one --> the next extent --> ... at_end()
//
// A segment that is not there any more is passed over, and so is what cannot be read. Whoever reads sees to it that
// what is wanted is kept: SegmentPool::keep_for_replay().
//
// Limits: one extent of memory and one read at a time.
// Errors: none; what is passed over is counted.
// Owner:  the log of one shard. The disk must have nothing of it under way any more when it is destroyed.
#pragma once

#include <cstdint>

#include "core/ids.h"
#include "wal/disk.h"
#include "wal/format.h"
#include "wal/segment_pool.h"
#include "wal/send_scan.h"

namespace pawl {

class SendReader {
 public:
  SendReader(Disk& disk, const Geometry& geometry, SegmentPool& pool)
      : disk_(disk), geometry_(geometry), pool_(pool), scan_(geometry) {}

  // From `from` on, and before `end`, which need not be durable yet.
  void begin(Lsn from, Lsn end);
  void stop();
  // Looks at a finished read, begins the next unless `stopping`.
  void pump(Lsn durable, bool stopping);
  // What it finds holds until the next call of anything here.
  bool next(FoundSend& found);

  bool due() const { return have_; }  // next() has something to look at
  bool at_end() const { return !have_ && !io_.armed && !io_.done && at_ >= end_; }
  bool reading() const { return io_.armed || io_.done; }
  Lsn at() const { return at_; }                      // everything before it has been found
  std::uint64_t damaged() const { return damaged_; }  // extents, ever
  // Bytes before at() since begin() that could not be read, or were not there any more.
  std::uint64_t passed_over() const { return passed_over_ + scan_.damaged(); }

 private:
  void pass_over(Lsn to);
  void read_on(Lsn durable);
  Lsn extent_end() const { return (extent_ + 1) * geometry_.extent_bytes; }

  Disk& disk_;
  Geometry geometry_;
  SegmentPool& pool_;
  SendScan scan_;
  PageBlock memory_;  // of an extent
  Io io_;
  std::uint64_t held_ = 0;    // segment of the read
  std::uint64_t extent_ = 0;  // that is being read, or has been
  bool have_ = false;         // it has been read, and there may be more in it
  bool forget_ = false;       // what is being read is not wanted any more
  Lsn at_ = 0;
  Lsn end_ = 0;
  std::uint64_t damaged_ = 0;
  std::uint64_t passed_over_ = 0;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// SendReader: reads the SENDs of a part of the log in order, also those of deleted messages.
//
//   begin --> reading an extent --> next() one by one --> the next extent --> ... at_end()
//
// Missing segments and unreadable bytes are skipped. The caller makes sure that the wanted segments
// are kept: SegmentPool::keep_for_replay().
//
// Limits: one extent of memory and one read at a time.
// Errors: none; skipped bytes are counted.
// Owner:  the log of one shard. Destroy it only when none of its reads is under way.
#pragma once

#include <cstdint>

#include "core/base/ids.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"
#include "wal/format/send_scan.h"
#include "wal/segments/segment_pool.h"

namespace pawl {

class SendReader {
 public:
  SendReader(Disk& disk, const Geometry& geometry, SegmentPool& pool)
      : disk_(disk), geometry_(geometry), pool_(pool), scan_(geometry) {}

  // Begins to read the messages from `from` up to `end`, which need not be durable yet. If many
  // share a record, only that of `queue` is found.
  void begin(Lsn from, Lsn end, QueueId queue);
  void stop();
  // Handles a finished read and begins the next one, unless `stopping`.
  void pump(Lsn durable, bool stopping);
  // True: pump() has something to do, or will have when more is durable.
  bool has_work(bool stopping) const {
    return io_.done || (!have_ && !reading() && at_ < end_ && !stopping);
  }
  // Returns the next message as `found.stored`; it is valid until the next call of any function
  // here.
  bool next(FoundSend& found);

  bool due() const { return have_; }  // next() has work
  bool at_end() const { return !have_ && !io_.armed && !io_.done && at_ >= end_; }
  bool reading() const { return io_.armed || io_.done; }
  Lsn at() const { return at_; }                      // everything before it is read or skipped
  std::uint64_t damaged() const { return damaged_; }  // unreadable extents in total
  // Bytes before at() since begin() that were unreadable or no longer there.
  std::uint64_t passed_over() const { return passed_over_ + scan_.damaged(); }

 private:
  void pass_over(Lsn to);
  void read_on(Lsn durable);
  Lsn extent_end() const { return (extent_ + 1) * geometry_.extent_bytes; }

  Disk& disk_;
  Geometry geometry_;
  SegmentPool& pool_;
  SendScan scan_;
  PageBlock memory_;  // one extent
  Io io_;
  std::uint64_t held_ = 0;    // segment kept during the read
  std::uint64_t extent_ = 0;  // extent being read or scanned
  bool have_ = false;         // the extent is read and may contain more SENDs
  bool forget_ = false;       // the read under way is obsolete
  Lsn at_ = 0;
  Lsn end_ = 0;
  QueueId queue_ = QueueId::none;
  std::uint64_t damaged_ = 0;
  std::uint64_t passed_over_ = 0;
};

}  // namespace pawl

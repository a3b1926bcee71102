// SPDX-License-Identifier: Apache-2.0
// SegmentMaker: makes the next segment ready, step by step, and deletes unwanted files.
//
//   none --> begin --> allocate --> fill --> flush --> header --> dir_sync --> none (ready)
//    ^         ^  \____________________/ \______/ ^ |
//    |         +--- set aside, give way -----------+-+    (a filled retired file begins at header)
//    +--> top_up --> none                                 (zeros in a segment that is ready)
//    +--> remove --> none, or --> remove_sync --> none    (a file, or the last spare segment)
//
// A segment gets its header when it is full size, and is ready when its name is durable too:
// recovery trusts a header. Steps are asynchronous and continue at pump(), one segment at a time in
// rising order, so that none can be missing before an existing one. A turn waits at most for a
// create or a rename; on a full disk also for a delete.
//
// Zeros are written in small pieces: one each fill_every, and one whenever the log has grown by an
// eighth of a piece. So the tail has the disk most of the time, and zeros ahead of it. With
// flush_each_fill each piece is durable, so that a flush of the tail has none of them to write.
// Without, they are flushed once, at the end of the segment (step flush): on a disk whose flush
// takes longer than its write, each flush saved is the tail's.
// When requests would soon wait for free space, a segment is ready as soon as its space is
// allocated. It is filled afterwards, while the tail is not in it.
//
// A file is set aside if a write or flush fails in it before it is ready: its bad place is not
// reused. It gets the name set_aside_name(), and another file is made.
//
// Limits: one operation under way; set_aside_max files set aside, those of earlier startups
//         included.
// Errors: disk full (ENOSPC, EDQUOT), no descriptor and no memory: the step is tried again four
//         times a second. Any other error of a file sets it aside; after set_aside_max files it is
//         final. An error of a create, a rename or the directory's flush is final: it is the log's
//         failure.
// Owner:  SegmentPool.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/base/time.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"
#include "wal/format/page_block.h"
#include "wal/segments/retired_files.h"
#include "wal/segments/segment_demand.h"
#include "wal/segments/segment_table.h"

namespace pawl {

// True for an errno of a full disk, which is no failure: the step is tried again.
bool disk_is_full(int sys);
// The same, also for a file that cannot be opened now: connections use all descriptors, or memory
// is short.
bool file_is_refused(int sys);

class SegmentMaker {
 public:
  static constexpr Duration retry_after{250};
  static constexpr std::size_t fill_bytes_max = 256 << 10;  // per write
  static constexpr std::uint64_t set_aside_max = 4;

  SegmentMaker(Disk& disk, const Geometry& geometry, SegmentTable& table, RetiredFiles& retired,
               SegmentDemand& demand, Duration fill_every, bool flush_each_fill = true);
  ~SegmentMaker();
  SegmentMaker(const SegmentMaker&) = delete;
  SegmentMaker& operator=(const SegmentMaker&) = delete;

  // Notes a file that was set aside before this startup.
  void adopt_set_aside(std::uint64_t number);
  Result<void> create_now();  // makes the next number ready, blocking

  // Continues work under way; starts more unless `stopping`. An error is final.
  Result<void> pump(Instant now, bool stopping);
  // True: pump() has something to do, with so many wanted bytes behind this end of the log.
  bool has_work(Instant now, std::uint64_t wanted, Lsn end) const;
  // Narrows `bounds` so that has_work() stays false within them. The wanted bytes are `reserve`.
  void narrow(UpkeepBounds& bounds, const ReserveRule& reserve) const;
  bool busy() const { return io_.armed || io_.done; }
  bool making() const { return step_ != Step::none && step_ < Step::remove; }
  // The last attempt to make a segment failed: the disk is full, or a file is refused.
  bool disk_full() const { return disk_full_; }
  std::uint64_t bytes() const { return making_ != FileId::none ? table_.next_usable() : 0; }
  std::uint64_t set_aside() const { return set_aside_; }
  int set_aside_errno() const { return set_aside_errno_; }  // of the latest since startup
  // The time of the next pump() even if no operation finishes; Instant{0}: at once.
  Instant next_due() const;

 private:
  enum class Step : std::uint8_t {
    none,
    begin,
    allocate,
    fill,
    flush,
    header,
    dir_sync,
    remove,
    remove_sync,
    top_up
  };
  struct Piece {
    std::uint64_t at = 0;
    std::span<const std::byte> bytes;
    std::uint64_t next = 0;  // filled_bytes_ after the write
  };

  static bool allowed(Step from, Step to);
  void change(Step next);
  Result<void> end_step(Instant now, std::int32_t result);
  void end_remove(Instant now, std::int32_t result);
  void end_fill();
  Result<void> step_failed(Instant now, int sys);
  Result<void> set_file_aside(int sys);
  Result<void> issue(Instant now);
  Result<void> begin(Instant now);
  Result<void> fill_now();
  void made();
  void trim();
  void note_rest();
  void make_header();
  void retry_later(Instant now) {
    disk_full_ = true;
    retry_at_ = now + retry_after;
  }
  bool delete_spare_file(Instant now);
  Piece fill_piece() const;
  Piece next_zeros(std::uint64_t from, std::uint64_t end) const;
  bool fill_waits(Instant now);
  void note_fill(Instant now);
  std::uint64_t piece_bytes() const;
  void begin_top_up(Instant now);
  void end_top_up(std::int32_t result);

  Disk& disk_;
  Geometry geometry_;
  SegmentTable& table_;
  RetiredFiles& retired_;
  SegmentDemand& demand_;
  Duration fill_every_;  // pause between zero writes, while space is left
  bool flush_each_fill_;

  // the segment being made: number table_.ready_end()
  Step step_ = Step::none;
  FileId making_ = FileId::none;
  std::uint64_t filled_bytes_ = 0;
  std::uint64_t zeros_end_ =
      0;                    // end of its zeros; filled_bytes_ is past it if the rest is postponed
  bool allocated_ = false;  // all of its space is allocated
  // The next write of zeros is due at this time, or when the log's end is here.
  Instant next_fill_at_;
  Lsn next_fill_end_ = 0;
  Instant fill_due_ = never;  // time of a postponed write of zeros
  bool tried_again_ = false;  // its latest write is a second try
  bool can_allocate_ = true;  // the file system supports it
  Io io_;
  bool rests_ = false;  // nothing is to do while the demand is satisfied() and no zeros are due
  std::optional<std::string> removing_;  // name of a file to delete
  bool removes_spare_ = false;           // that file is a spare
  bool disk_full_ = false;
  Instant retry_at_ = never;
  std::uint64_t set_aside_ = 0, next_aside_ = 1;
  int set_aside_errno_ = 0;
  PageBlock header_;
};

}  // namespace pawl

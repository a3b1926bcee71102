// SPDX-License-Identifier: Apache-2.0
// SegmentPool: the files of the log, and the spare ones made ready ahead of its tail.
//
//   absent --create--> allocated, zeros --+
//                                         +-> header, sync dir -> ready --tail enters--> in use
//   retired (not needed) --rename---------+                                                |
//      ^-------------------- no message left in it, and recovery does not read it ---------+
//
// All segments that recovery reads, from the latest checkpoint on, exist. Older segments are kept
// only while they hold a message: the table has gaps.
//
// Frames may use a segment's whole file, or only its first quarter while little free space is ahead
// of the tail. So a new log takes little of the disk, and its next segment is soon ready. The rest
// of such a file is a hole.
//
// A segment gets its header when it is full size, and is ready when its name is durable too:
// recovery trusts a header. Steps are asynchronous and continue at pump(), one segment at a time in
// rising order, so that none can be missing before an existing one. A turn waits at most for a
// create or a rename; on a full disk also for a delete.
//
// Zeros are written in small durable pieces, one each fill_every, so that the tail has the disk
// most of the time. When requests would soon wait for free space, a segment is ready as soon as its
// space is allocated. It is filled afterwards, while the tail is not in it.
//
// A file is set aside if a write or flush fails in it before it is ready: its bad place is not
// reused. It gets the name set_aside_name(), and another file is made.
//
// Limits: while the log grows, `spares` segments are ready ahead, and ready and retired files
//         together provide the space of want_ahead(). Further retired files are deleted. A log
//         rests when it is new, and when the tail has been in one segment for rest_after. Then the
//         space ahead exceeds want_ahead() by half a small segment, or by the largest request if
//         that is more; unwanted files are deleted, one each shrink_every. set_aside_max files are
//         set aside, those of earlier startups included.
// Errors: disk full (ENOSPC, EDQUOT), no descriptor and no memory: the step is tried again four
//         times a second. Any other error of a file sets it aside; after set_aside_max files it is
//         final. An error of a create, a rename or the directory's flush is final: it is the log's
//         failure.
// Owner:  the log of one shard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/mutant.h"
#include "core/result.h"
#include "core/ring_queue.h"
#include "core/time.h"
#include "wal/disk.h"
#include "wal/format.h"
#include "wal/image.h"
#include "wal/record_types.h"

namespace pawl {

// True for an errno of a full disk, which is no failure: the step is tried again.
bool disk_is_full(int sys);
// The same, also for a file that cannot be opened now: connections use all descriptors, or memory
// is short.
bool file_is_refused(int sys);

class SegmentPool {
 public:
  static constexpr Duration retry_after{250};
  static constexpr Duration rest_after = seconds(300);
  static constexpr Duration shrink_every = seconds(60);
  static constexpr std::size_t fill_bytes_max = 256 << 10;  // per write
  static constexpr Duration fill_every_default{16};         // 16 MiB a second
  static constexpr std::uint64_t set_aside_max = 4;

  SegmentPool(Disk& disk, const Geometry& geometry, std::uint32_t spares,
              bool small_segments = true, Duration fill_every = fill_every_default);
  ~SegmentPool();
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  // --- startup ---
  void start(std::uint64_t first) { first_ = tail_ = ready_end_ = first; }
  // Adds a whole segment; numbers rise. `begun`: when its first frame was written; 0: unknown.
  // `usable`: space for frames, in bytes.
  void adopt(std::uint64_t number, FileId file, std::uint64_t usable, Instant begun = {});
  // Ends the adoption. `newest`: when the last frame was written.
  void adopted(Instant newest);
  void adopt_retired(std::uint64_t number, FileId file, bool filled);
  void adopt_set_aside(std::uint64_t number);
  Result<void> create_now();  // makes the next number ready, blocking

  // --- the table; numbers from first() to ready_end() ---
  std::uint64_t first() const { return first_; }
  std::uint64_t ready_end() const { return ready_end_; }
  std::uint64_t tail() const { return tail_; }
  bool ready(std::uint64_t number) const {
    return number >= first_ && number < ready_end() && row(number).file != FileId::none &&
           (number != topped_up_ || MUTANT(fill_under_tail));
  }
  FileId file(std::uint64_t number) const;
  std::uint64_t files() const { return files_; }
  std::uint64_t used_bytes() const { return files_usable_ - spare_usable_; }
  std::uint64_t bytes() const;  // on the disk; a segment being made counts in full
  std::uint64_t spares() const { return ready_end() > tail_ + 1 ? ready_end() - tail_ - 1 : 0; }
  // The next position where a frame may begin: behind the segment's header, or in the next segment
  // if this one has no space left.
  Lsn frame_position(Lsn lsn) const {
    const std::uint64_t number = geometry_.segment_of(lsn);
    const bool fits = geometry_.offset_of(lsn) < usable_bytes(number);
    return geometry_.frame_position(fits ? lsn : geometry_.segment_base(number + 1));
  }
  // Bytes between two positions, without those unusable for frames.
  std::uint64_t between(Lsn from, Lsn to) const;
  // The bytes that the log can append without more disk space. A filled retired file counts: it
  // needs none to be ready again.
  std::uint64_t free_space_behind(Lsn end) const;
  std::uint64_t live() const { return live_; }  // messages in all segments

  // Sets the free bytes wanted ahead of the tail, in addition to one segment being filled. `end`:
  // the current end of the log.
  void want_ahead(std::uint64_t bytes, Lsn end);
  // Notes that the tail is in this segment; `since`: when it entered it, for a new segment.
  void enter(std::uint64_t number);
  void enter(std::uint64_t number, Instant since);
  void add_live(std::uint64_t number);
  // Counts a message sent in the segment, with the size of its record. add_live() alone counts one
  // that is only held or named by a checkpoint.
  void add_send(std::uint64_t number, std::uint64_t bytes, bool relocated);
  // A message of the segment is deleted or released; the record that proves it is below `lsn`.
  void release(std::uint64_t number, Lsn lsn);
  // Retires segments below `below` that are durably without messages. Segments kept for replay are
  // retired only on a full disk.
  void retire(std::uint64_t below, Lsn durable);
  // The first segment with messages but without a file; ready_end() if none.
  std::uint64_t first_missing() const;

  // --- live bytes ---
  // The messages sent in each segment that still has some: for a checkpoint, and from one.
  std::vector<SegmentRecord> sent() const;
  void restore(const SegmentRecord& record);
  struct Use {
    std::uint64_t bytes = 0;         // space of all segments in use
    std::uint64_t live = 0;          // estimated bytes of their messages
    std::uint64_t emptiest = 0;      // emptiest segment eligible for relocation; ready_end(): none
    std::uint64_t left = 0;          // its estimated live bytes
    std::uint64_t usable_bytes = 0;  // its space
    std::uint64_t oldest = 0;  // oldest segment with messages below `below`; ready_end(): none
  };
  // The oldest and the emptiest are below `below`. Segments from `below` to `in_log` do not count.
  Use use(std::uint64_t below, std::uint64_t in_log) const;
  // Keeps the segment until end_emptying(); use() never returns it again.
  void begin_emptying(std::uint64_t number);
  void end_emptying(std::uint64_t number) { release(number, 0); }

  // --- kept for replay: everything written at `since` or later, and from segment `number` on. The
  // oldest segment is retired beyond replay_segments_max, and when the disk is full ---
  static constexpr std::uint64_t replay_segments_max = 16'384;
  void keep_for_replay(Instant since, std::uint64_t number);
  std::uint64_t kept_from() const { return kept_from_; }
  // The oldest segment that may contain a record written at `since` or later.
  std::uint64_t first_since(Instant since) const;
  // The first segment begun after `at`; one past the tail if none.
  std::uint64_t first_after(Instant at) const;
  std::uint64_t bytes_for_replay(std::uint64_t below) const;  // of segments kept only for replay

  // Continues work under way; starts more unless `stopping`. An error is final.
  Result<void> pump(Instant now, bool stopping);
  bool busy() const { return io_.armed || io_.done; }
  bool making() const { return step_ != Step::none && step_ < Step::remove; }
  // The last attempt to make a segment failed: the disk is full, or a file is refused.
  bool disk_full() const { return disk_full_; }
  std::uint64_t set_aside() const { return set_aside_; }
  int set_aside_errno() const { return set_aside_errno_; }  // of the latest since startup
  // The time of the next pump() even if no operation finishes; Instant{0}: at once.
  Instant next_due() const {
    if (retry_at_ != never) return retry_at_;
    if (step_ != Step::none) return fill_due_;
    if (too_many_retired() || removing_) return Instant{0};
    const bool shrinks = retired_.size() > retired_wanted() || too_many_spares();
    return std::min(fill_due_, shrinks ? shrink_at_ : never);
  }

 private:
  enum class Step : std::uint8_t {
    none,
    begin,
    allocate,
    fill,
    header,
    dir_sync,
    remove,
    remove_sync,
    top_up
  };

  struct Row {
    FileId file = FileId::none;
    std::uint64_t usable = 0;  // bytes for frames
    std::uint64_t zeros = 0;   // usable bytes that were filled; only of a spare
    std::uint64_t live = 0;    // messages
    Lsn emptied = 0;           // once this is durable, no message is left
    Instant begun;             // when the tail entered it; never falls as the number rises
    std::uint64_t sends = 0;   // messages sent in it, deleted ones included; 0: unknown
    std::uint64_t bytes = 0;   // size of the sends
    std::uint64_t moved =
        0;  // sends relocated into it; recovery counts only those behind the checkpoint
    bool tried = false;  // relocation was begun
  };
  struct Retired {
    std::uint64_t number = 0;
    FileId file = FileId::none;
    bool filled = false;      // the whole file is usable space
    std::uint64_t bytes = 0;  // on the disk
  };

  // The row of a segment, made if missing.
  Row& row(std::uint64_t number) {
    return number - first_ < rows_.size() ? rows_[number - first_] : make_row(number);
  }
  Row& make_row(std::uint64_t number);
  std::uint64_t left_in(const Row& row) const {
    return row.sends == 0 ? row.usable : row.bytes * row.live / row.sends;
  }
  // True: most of its messages were relocated into it and are live. Relocating them again would
  // leave the same gaps between them.
  bool packed(const Row& row) const {
    return 4 * std::min(row.live, row.moved) >= 3 * row.sends && 4 * left_in(row) >= row.usable;
  }
  const Row& row(std::uint64_t number) const { return rows_[number - first_]; }
  Result<void> fill_now();
  Result<void> end_step(Instant now, std::int32_t result);
  Result<void> step_failed(Instant now, int sys);
  Result<void> set_file_aside(int sys);
  Result<void> issue(Instant now);
  Result<void> begin(Instant now);
  void made();
  void trim();
  std::uint64_t small_usable_bytes() const {
    if (!small_segments_) return geometry_.segment_bytes;
    const std::uint64_t quarter = geometry_.segment_bytes / 4;
    return std::max(geometry_.extent_bytes, quarter - quarter % geometry_.extent_bytes);
  }
  // Free bytes ahead at rest, in addition to the wanted ones: any single request finds space.
  std::uint64_t least_beyond() const {
    return std::max(small_usable_bytes() / 2, geometry_.segment_bytes / 8 + geometry_.extent_bytes);
  }
  std::uint64_t most_beyond() const { return std::max(small_usable_bytes(), least_beyond()); }
  std::uint64_t usable_bytes(std::uint64_t number) const {
    if (number >= first_ && number < ready_end_ && row(number).file != FileId::none)
      return row(number).usable;
    return number == ready_end_ && making_usable_ != 0 ? making_usable_ : geometry_.segment_bytes;
  }
  std::uint64_t choose_usable_bytes() const;
  std::uint64_t wanted_files() const;
  std::uint64_t retired_wanted() const;
  bool too_many_retired() const {
    return retired_.size() > (shrinks_ ? retired_wanted() : wanted_files());
  }
  bool too_many_spares() const;
  bool enough() const;
  bool is_urgent() const;
  std::uint64_t rest_of_tail(Lsn end) const;
  void drop_last_spare();
  void make_header();
  void note_rest(Instant now);
  void add_retired(const Retired& retired);
  Retired take_retired(std::size_t i);
  void retry_later(Instant now) {
    disk_full_ = true;
    retry_at_ = now + retry_after;
  }
  bool let_go(std::uint64_t number, Lsn durable);
  bool give_back_space(Instant now);
  std::size_t choose_retired() const;
  struct Piece {
    std::uint64_t at = 0;
    std::span<const std::byte> bytes;
    std::uint64_t next = 0;  // filled_bytes_ after the write
  };
  Piece fill_piece() const;
  Piece next_zeros(std::uint64_t from, std::uint64_t end) const;
  bool fill_waits(Instant now);
  void begin_top_up(Instant now);
  void end_top_up(std::int32_t result);

  Disk& disk_;
  Geometry geometry_;
  bool small_segments_;
  Duration fill_every_;   // pause between zero writes, while space is left
  std::uint64_t spares_;  // ready ahead while the log grows
  std::uint64_t wanted_bytes_ =
      0;                  // wanted space; retired files may provide the part beyond the spares
  Lsn end_ = UINT64_MAX;  // end of the log
  std::uint64_t first_ = 0;
  std::uint64_t tail_ = 0;
  RingQueue<Row> rows_;  // from first_ to ready_end_, or to the tail if that is ahead
  std::uint64_t ready_end_ = 0;
  std::uint64_t files_ = 0;         // below ready_end_
  std::uint64_t files_usable_ = 0;  // space of these files
  std::uint64_t spare_usable_ = 0;  // space of the ready segments ahead of the tail
  std::uint64_t looked_below_ = 0;  // no segment below it can be retired
  std::uint64_t live_ = 0;
  std::vector<Retired> retired_;
  std::uint64_t filled_ = 0;              // number of filled retired files
  std::uint64_t kept_from_ = UINT64_MAX;  // first segment kept for replay
  std::uint64_t kept_since_ = 0;          // segments below it are too old for replay

  // the segment being made: number ready_end()
  Step step_ = Step::none;
  FileId making_ = FileId::none;
  std::uint64_t making_usable_ =
      0;  // 0: not chosen yet. Another file keeps the value: frames may be placed already
  std::uint64_t filled_bytes_ = 0;
  std::uint64_t zeros_end_ =
      0;  // end of its zeros; filled_bytes_ is past it if the rest is postponed
  std::uint64_t topped_up_ = UINT64_MAX;  // ready segment being written with zeros
  bool allocated_ = false;                // all of its space is allocated
  Instant next_fill_at_;                  // earliest next write of zeros
  Instant fill_due_ = never;              // time of a postponed write of zeros
  bool tried_again_ = false;              // its latest write is a second try
  bool can_allocate_ = true;              // the file system supports it
  Io io_;
  std::optional<std::string> removing_;  // name of a file to delete
  bool removes_spare_ = false;           // that file is a spare
  bool disk_full_ = false;
  Instant retry_at_ = never;
  std::uint64_t rested_in_ = UINT64_MAX;  // the tail was in this segment at the latest pump()
  Instant shrink_at_ = never;
  bool grows_ = false;    // the log does not rest
  bool shrinks_ = false;  // one file may be deleted now
  std::uint64_t set_aside_ = 0, next_aside_ = 1;
  int set_aside_errno_ = 0;
  PageBlock header_;
};

}  // namespace pawl

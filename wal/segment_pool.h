// SegmentPool: the files of the log, and the spare ones made ready ahead of its tail.
//
//   absent --create--> allocated, filled with zeros --+
//                                                     +--> header, sync dir --> ready --tail enters--> in use
//   retired (not needed) --rename---------------------+                                                  |
//      ^-------------------- no message left in it, and a start does not read it ------------------------+
//
// Those that a start reads, from the latest checkpoint on, are all there. Of older ones those are left that hold a
// message: the table has gaps.
//
// A segment has room for frames in all of its file, or, while little room is ahead of the tail, in the first quarter alone:
// a new log takes little of the disk, and the next segment is soon ready. The rest of such a file is a hole.
//
// A segment gets its header when it is full size, and is ready when its name is durable too: recovery
// trusts a header. Steps are asynchronous and go on at pump(), one segment at a time in rising order, so
// that none can be missing before one that is there. A turn waits for nothing longer than a create or a rename.
// Zeros are written in small pieces, each durable and one each fill_every, so that they take little
// of the disk from the tail. When requests would soon wait for room, a segment is ready as soon as
// its space is allocated. It is filled afterwards, while the tail is not in it.
//
// A file is set aside if a write or a flush failed in it before it was ready and it never held a
// record of this log: it keeps its bad place and the name of set_aside_name(), and another one is
// made.
//
// Limits: while the log grows, `spares` ready ahead, and so many files more as want_ahead() asks for, ready or retired; of
//         retired ones as many are kept for the next segments, more are removed. A log rests when it is new, and when the
//         tail has been in one segment for rest_after: then there is half of a small segment, or room for the largest request, ahead besides what
//         want_ahead() asks for, and files that are not wanted go, one each shrink_every. set_aside_max files set aside,
//         those of earlier starts too.
// Errors: ENOSPC and EDQUOT: the step is tried again four times a second. Any other error of a new file sets it aside,
//         after set_aside_max of them it is final; so is one of a name or of the directory's flush. A final one is the
//         log's failure.
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
#include "wal/records.h"

namespace pawl {

// An errno that is no failure: it is tried again.
bool disk_is_full(int sys);
// The same, of a file that cannot be had now: connections have them all, or memory is short.
bool file_is_refused(int sys);

class SegmentPool {
 public:
  static constexpr Duration retry_after{250};
  static constexpr Duration rest_after = seconds(300);
  static constexpr Duration shrink_every = seconds(60);
  static constexpr std::size_t fill_bytes_max = 256 << 10;  // in one write
  static constexpr Duration fill_every_default{16};         // 16 MiB a second
  static constexpr std::uint64_t set_aside_max = 4;

  SegmentPool(Disk& disk, const Geometry& geometry, std::uint32_t spares,
              bool small_segments = true, Duration fill_every = fill_every_default);
  ~SegmentPool();
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  // --- start-up ---
  void start(std::uint64_t first) { first_ = tail_ = ready_end_ = first; }
  // It is whole; numbers rise. `begun`: when its first frame was written; 0: not known.
  // `room`: for frames, in bytes.
  void adopt(std::uint64_t number, FileId file, std::uint64_t room, Instant begun = {});
  // All are there that will be, and `newest` is when the last frame was written.
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
  std::uint64_t used_bytes() const { return files_room_ - spare_room_; }
  std::uint64_t bytes() const;  // on the disk; one that is being made counts in full
  std::uint64_t spares() const { return ready_end() > tail_ + 1 ? ready_end() - tail_ - 1 : 0; }
  // Where a frame may begin: behind a segment's header, and in the next one if this one has no room left.
  Lsn frame_place(Lsn lsn) const {
    const std::uint64_t number = geometry_.segment_of(lsn);
    const bool fits = geometry_.offset_of(lsn) < room_of(number);
    return geometry_.frame_place(fits ? lsn : geometry_.segment_base(number + 1));
  }
  // Bytes from one position to a later one, without those that are no room.
  std::uint64_t between(Lsn from, Lsn to) const;
  // What the log can take behind its end without more of the disk: a retired file that is filled takes none to be ready
  // again.
  std::uint64_t room_behind(Lsn end) const;
  std::uint64_t live() const { return live_; }  // messages in all segments

  // So many bytes of room are to be ahead of the tail, besides a segment that is filled.
  // `end`: where the log ends now.
  void want_ahead(std::uint64_t bytes, Lsn end);
  // The tail is in this segment now; since then, if it is a new one.
  void enter(std::uint64_t number);
  void enter(std::uint64_t number, Instant since);
  void add_live(std::uint64_t number);
  // The same of one that was sent in it with so many bytes; one that is only held, or named by a checkpoint, was not.
  void add_send(std::uint64_t number, std::uint64_t bytes, bool relocated);
  // A message in it has gone; what says so is below `lsn`.
  void release(std::uint64_t number, Lsn lsn);
  // Retires segments below `below` in which no message is left, as far as that is durable. None of those that are kept
  // for replay.
  void retire(std::uint64_t below, Lsn durable);
  // The first that has messages and no file; ready_end() if there is none.
  std::uint64_t first_missing() const;

  // --- what is left in them ---
  // What was sent in those with messages, and out of a checkpoint.
  std::vector<SegmentRecord> sent() const;
  void restore(const SegmentRecord& record);
  struct Use {
    std::uint64_t bytes = 0;     // of all that are in use
    std::uint64_t live = 0;      // of the messages in them, about
    std::uint64_t emptiest = 0;  // of those that it is worth to empty; ready_end(): none
    std::uint64_t left = 0;      // in it, about
    std::uint64_t room = 0;      // of it
    std::uint64_t oldest = 0;    // with messages, of those that may be emptied; ready_end(): none
  };
  // `below`: of those the oldest and the emptiest are. Those from there on and below `in_log` do not count.
  Use use(std::uint64_t below, std::uint64_t in_log) const;
  // Holds it, and does not offer it again.
  void begin_emptying(std::uint64_t number);
  void end_emptying(std::uint64_t number) { release(number, 0); }

  // --- what is kept for replay: everything written at `since` or later, and from segment `number` on. But of more than
  // replay_segments_max, and when the disk is full, the oldest goes ---
  static constexpr std::uint64_t replay_segments_max = 16'384;
  void keep_for_replay(Instant since, std::uint64_t number);
  std::uint64_t kept_from() const { return kept_from_; }
  // The oldest in which something may be that was written at `since` or later.
  std::uint64_t first_since(Instant since) const;
  // The first that was begun after it; one past the tail if there is none.
  std::uint64_t first_after(Instant at) const;
  std::uint64_t bytes_for_replay(std::uint64_t below) const;  // of those kept for nothing else

  // Goes on with what is under way; starts more unless `stopping`. An error is final.
  Result<void> pump(Instant now, bool stopping);
  bool busy() const { return io_.armed || io_.done; }
  bool making() const { return step_ != Step::none && step_ < Step::remove; }
  // The disk had no room for the last one that was tried.
  bool full() const { return full_; }
  std::uint64_t set_aside() const { return set_aside_; }
  int set_aside_errno() const { return set_aside_errno_; }  // of the latest since the start
  // When pump() wants to be called even if no operation finishes; Instant{0}: at once.
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
    std::uint64_t room = 0;   // bytes
    std::uint64_t zeros = 0;  // bytes of its room that were filled; only of a spare
    std::uint64_t live = 0;   // messages
    Lsn emptied = 0;          // when this is durable, none is left
    Instant begun;            // when the tail came to it; never falls with the number
    std::uint64_t sends = 0;  // in it, of messages that have gone too; 0: not known
    std::uint64_t bytes = 0;  // of these
    std::uint64_t moved =
        0;  // of these, relocated into it; not known of what is before a start's checkpoint
    bool tried = false;  // to be emptied
  };
  struct Retired {
    std::uint64_t number = 0;
    FileId file = FileId::none;
    bool filled = false;      // all of it is room already
    std::uint64_t bytes = 0;  // on the disk
  };

  // Made if it is not there.
  Row& row(std::uint64_t number) {
    return number - first_ < rows_.size() ? rows_[number - first_] : make_row(number);
  }
  Row& make_row(std::uint64_t number);
  std::uint64_t left_in(const Row& row) const {
    return row.sends == 0 ? row.room : row.bytes * row.live / row.sends;
  }
  // Most of it was relocated into it and is there still: what is between its messages would be between them again.
  bool packed(const Row& row) const {
    return 4 * std::min(row.live, row.moved) >= 3 * row.sends && 4 * left_in(row) >= row.room;
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
  std::uint64_t small_room() const {
    if (!small_segments_) return geometry_.segment_bytes;
    const std::uint64_t quarter = geometry_.segment_bytes / 4;
    return std::max(geometry_.extent_bytes, quarter - quarter % geometry_.extent_bytes);
  }
  // At rest, beyond what is wanted: any one request finds room.
  std::uint64_t least_beyond() const {
    return std::max(small_room() / 2, geometry_.segment_bytes / 8 + geometry_.extent_bytes);
  }
  std::uint64_t most_beyond() const { return std::max(small_room(), least_beyond()); }
  std::uint64_t room_of(std::uint64_t number) const {
    if (number >= first_ && number < ready_end_ && row(number).file != FileId::none)
      return row(number).room;
    return number == ready_end_ && making_room_ != 0 ? making_room_ : geometry_.segment_bytes;
  }
  std::uint64_t choose_room() const;
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
    full_ = true;
    retry_at_ = now + retry_after;
  }
  bool let_go(std::uint64_t number, Lsn durable);
  bool give_back_space(Instant now);
  std::size_t choose_retired() const;
  struct Piece {
    std::uint64_t at = 0;
    std::span<const std::byte> bytes;
    std::uint64_t next = 0;  // filled_bytes_ when it is written
  };
  Piece fill_piece() const;
  Piece next_zeros(std::uint64_t from, std::uint64_t end) const;
  bool fill_waits(Instant now);
  void begin_top_up(Instant now);
  void end_top_up(std::int32_t result);

  Disk& disk_;
  Geometry geometry_;
  bool small_segments_;
  Duration fill_every_;   // while there is room
  std::uint64_t spares_;  // ready ahead while the log grows
  std::uint64_t wanted_bytes_ =
      0;  // of room, retired ones too: these may serve for what is beyond the spares
  Lsn end_ = UINT64_MAX;  // of the log
  std::uint64_t first_ = 0;
  std::uint64_t tail_ = 0;
  RingQueue<Row> rows_;  // from first_ on, up to ready_end_ or the tail, which may be ahead of it
  std::uint64_t ready_end_ = 0;
  std::uint64_t files_ = 0;         // below ready_end_
  std::uint64_t files_room_ = 0;    // of all of these
  std::uint64_t spare_room_ = 0;    // of those behind the tail
  std::uint64_t looked_below_ = 0;  // of those below it none can be retired
  std::uint64_t live_ = 0;
  std::vector<Retired> retired_;
  std::uint64_t filled_ = 0;              // of the retired
  std::uint64_t kept_from_ = UINT64_MAX;  // for replay
  std::uint64_t kept_since_ = 0;          // those below it are too old for it

  // the segment being made: number ready_end()
  Step step_ = Step::none;
  FileId making_ = FileId::none;
  std::uint64_t making_room_ =
      0;  // 0: not chosen yet. It stays when another file is taken: frames may lie in it already
  std::uint64_t filled_bytes_ = 0;
  std::uint64_t zeros_end_ = 0;  // of its zeros; filled_bytes_ is past it when the rest waits
  std::uint64_t topped_up_ = UINT64_MAX;  // the ready one that a piece of zeros is written to
  bool allocated_ = false;                // all of its space
  Instant next_fill_at_;                  // while there is room
  Instant fill_due_ = never;              // something waits for it
  bool tried_again_ = false;              // its latest write, after an error
  bool can_allocate_ = true;              // the file system
  Io io_;
  std::optional<std::string> removing_;  // the name of a file that is to go
  bool removes_spare_ = false;           // it is ahead of the tail
  bool full_ = false;
  Instant retry_at_ = never;
  std::uint64_t rested_in_ = UINT64_MAX;  // the tail was in this segment at the latest pump()
  Instant shrink_at_ = never;
  bool grows_ = false;    // it does not rest
  bool shrinks_ = false;  // one file may go now
  std::uint64_t set_aside_ = 0, next_aside_ = 1;
  int set_aside_errno_ = 0;
  PageBlock header_;
};

}  // namespace pawl

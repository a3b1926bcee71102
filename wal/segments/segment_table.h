// SPDX-License-Identifier: Apache-2.0
// SegmentTable: the segments of the log in use and ready: their files, space and messages.
//
//   | gaps and old segments |  recovery reads these  | ready, empty | next: being made
//   ^ first()                                 tail() ^              ^ ready_end()
//
// A number below the tail may have no file: its segment was retired. From the latest checkpoint on
// all have one. The tail may pass ready_end(): its frames then wait in memory.
//
// Units:  bytes; numbers of segments, which never fall.
// Limits: one row a number, from the oldest segment to the end.
// Owner:  SegmentPool. The table closes no file; close_all() does.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/mutant.h"
#include "core/base/time.h"
#include "core/containers/ring_queue.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"
#include "wal/format/record_types.h"
#include "wal/segments/retired_files.h"

namespace pawl {

class SegmentTable {
 public:
  explicit SegmentTable(const Geometry& geometry) : geometry_(geometry) {}

  void start(std::uint64_t first) { first_ = tail_ = ready_end_ = first; }
  // Adds a whole segment; numbers rise. `begun`: when its first frame was written; 0: unknown.
  // `usable`: space for frames; `zeros`: filled bytes of the file, at times more than `usable`.
  void adopt(std::uint64_t number, FileId file, std::uint64_t usable, std::uint64_t zeros,
             Instant begun);
  // Ends the adoption. `newest`: when the last frame was written.
  void adopted(Instant newest);
  void close_all(Disk& disk);

  std::uint64_t first() const { return first_; }
  std::uint64_t ready_end() const { return ready_end_; }
  std::uint64_t tail() const { return tail_; }
  bool has_file(std::uint64_t number) const {
    return number >= first_ && number < ready_end_ && row(number).file != FileId::none;
  }
  bool ready(std::uint64_t number) const {
    return has_file(number) && (number != filling_ || MUTANT(fill_under_tail));
  }
  FileId file(std::uint64_t number) const;
  std::uint64_t files() const { return files_; }
  std::uint64_t live() const { return live_; }          // messages in all segments
  std::uint64_t released() const { return released_; }  // in total; rises with each release()
  // True: the segment has a file and no message.
  bool is_empty(std::uint64_t number) const {
    return row(number).file != FileId::none && row(number).live == 0;
  }
  Instant begun(std::uint64_t number) const {
    return number - first_ < rows_.size() ? row(number).begun : Instant{};
  }
  // The first segment with messages but without a file; ready_end() if none.
  std::uint64_t first_missing() const;

  // --- space ---
  std::uint64_t usable() const { return files_usable_; }        // of all files
  std::uint64_t spare_usable() const { return spare_usable_; }  // of ready segments ahead
  std::uint64_t spares() const { return ready_end_ > tail_ + 1 ? ready_end_ - tail_ - 1 : 0; }
  std::uint64_t usable_bytes(std::uint64_t number) const {
    if (has_file(number)) return row(number).usable;
    return number == ready_end_ && next_usable_ != 0 ? next_usable_ : geometry_.segment_bytes;
  }
  Lsn frame_position(Lsn lsn) const {
    const std::uint64_t number = geometry_.segment_of(lsn);
    const bool fits = geometry_.offset_of(lsn) < usable_bytes(number);
    return geometry_.frame_position(fits ? lsn : geometry_.segment_base(number + 1));
  }
  std::uint64_t between(Lsn from, Lsn to) const;
  // Free space in the segment of the tail.
  std::uint64_t rest_of_tail(Lsn end) const {
    const Lsn end_of_tail = geometry_.segment_base(tail_) + usable_bytes(tail_);
    return end_of_tail - std::min(end_of_tail, end);
  }

  // --- the tail and the messages ---
  void enter(std::uint64_t number);
  void enter(std::uint64_t number, Instant since);
  void add_live(std::uint64_t number);
  void add_send(std::uint64_t number, std::uint64_t bytes, bool relocated);
  void release(std::uint64_t number, Lsn lsn);

  // --- the next segment: number ready_end() ---
  std::uint64_t next_usable() const { return next_usable_; }  // 0: not chosen yet
  void choose_next_usable(std::uint64_t bytes) { next_usable_ = bytes; }
  // True: all its space is filled; only its header and its durable name are missing.
  bool next_is_filled() const { return next_is_filled_; }
  void set_next_filled(bool filled) { next_is_filled_ = filled; }

  // --- zeros in ready segments ahead of the tail ---
  std::uint64_t first_unfilled_spare() const;  // ready_end(): none
  void begin_filling(std::uint64_t number);    // it is not ready() until end_filling()
  void end_filling(std::uint64_t zeros);
  std::uint64_t filling() const { return filling_; }
  FileId file_being_filled() const { return row(filling_).file; }
  std::uint64_t zeros_in(std::uint64_t number) const { return row(number).zeros; }

  // --- retiring ---
  // True: a segment below `below` may be empty and not retired.
  bool looks_below(std::uint64_t below) const { return looked_below_ < below; }
  std::uint64_t looked_below() const { return looked_below_; }
  // Moves the files of durably empty segments below `below` to `retired`.
  void retire(std::uint64_t below, Lsn durable, RetiredFiles& retired);
  // The same for one segment. False: it is not needed, but not durably yet.
  bool retire_one(std::uint64_t number, Lsn durable, RetiredFiles& retired);
  void drop_front(std::uint64_t below);  // forgets the oldest numbers without file and message
  FileId drop_last_spare();

  // --- live bytes: see wal/segments/segment_pool.h ---
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
  Use use(std::uint64_t below, std::uint64_t in_log) const;
  void begin_emptying(std::uint64_t number);

 private:
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

  // The row of a segment, made if missing.
  Row& row(std::uint64_t number) {
    return number - first_ < rows_.size() ? rows_[number - first_] : make_row(number);
  }
  const Row& row(std::uint64_t number) const { return rows_[number - first_]; }
  Row& make_row(std::uint64_t number);
  std::uint64_t left_in(const Row& row) const {
    return row.sends == 0 ? row.usable : row.bytes * row.live / row.sends;
  }
  // True: most of its messages were relocated into it and are live. Relocating them again would
  // leave the same gaps between them.
  bool packed(const Row& row) const {
    return 4 * std::min(row.live, row.moved) >= 3 * row.sends && 4 * left_in(row) >= row.usable;
  }
  void check_marks() const;

  Geometry geometry_;
  std::uint64_t first_ = 0;
  std::uint64_t tail_ = 0;
  RingQueue<Row> rows_;  // from first_ to ready_end_, or to the tail if that is ahead
  std::uint64_t ready_end_ = 0;
  std::uint64_t files_ = 0;         // below ready_end_
  std::uint64_t files_usable_ = 0;  // space of these files
  std::uint64_t spare_usable_ = 0;  // space of the ready segments ahead of the tail
  std::uint64_t looked_below_ = 0;  // no segment below it can be retired
  std::uint64_t live_ = 0;
  std::uint64_t released_ = 0;
  std::uint64_t next_usable_ = 0;  // kept when another file is taken: frames may be placed already
  bool next_is_filled_ = false;
  std::uint64_t filling_ = UINT64_MAX;  // the ready segment being written with zeros
};

}  // namespace pawl

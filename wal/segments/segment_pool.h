// SPDX-License-Identifier: Apache-2.0
// SegmentPool: the files of the log, and the spare ones made ready ahead of its tail.
//
//   absent --SegmentMaker--> ready --tail enters--> in use
//                 ^                                   |
//                 +--- retired <--- no message left --+  and recovery does not read it
//
//   SegmentTable      the segments in use and ready, their space and messages
//   RetiredFiles      files without use
//   SegmentRetention  segments without messages that are kept for replay
//   SegmentDemand     how much space should be ready ahead
//   SegmentMaker      the steps of asynchronous file work
//
// All segments that recovery reads, from the latest checkpoint on, exist. Older segments are kept
// only while they hold a message: the table has gaps.
//
// Frames may use a segment's whole file, or only its first quarter while little free space is ahead
// of the tail. So a new log takes little of the disk, and its next segment is soon ready. The rest
// of such a file is a hole.
//
// Limits: while the log grows, `spares` segments are ready ahead, and ready and retired files
//         together provide the space of want_ahead(). Further retired files are deleted. At rest
//         see wal/segments/segment_demand.h.
// Errors: those of wal/segments/segment_maker.h.
// Owner:  the log of one shard.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/result.h"
#include "core/base/time.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"
#include "wal/format/record_types.h"
#include "wal/segments/retired_files.h"
#include "wal/segments/segment_demand.h"
#include "wal/segments/segment_maker.h"
#include "wal/segments/segment_retention.h"
#include "wal/segments/segment_table.h"

namespace pawl {

class SegmentPool {
 public:
  static constexpr Duration retry_after = SegmentMaker::retry_after;
  static constexpr Duration rest_after = SegmentDemand::rest_after;
  static constexpr Duration shrink_every = SegmentDemand::shrink_every;
  static constexpr std::size_t fill_bytes_max = SegmentMaker::fill_bytes_max;
  static constexpr Duration fill_every_default{16};  // 16 MiB a second
  static constexpr std::uint64_t set_aside_max = SegmentMaker::set_aside_max;
  static constexpr std::uint64_t replay_segments_max = SegmentRetention::segments_max;

  SegmentPool(Disk& disk, const Geometry& geometry, std::uint32_t spares,
              bool small_segments = true, Duration fill_every = fill_every_default,
              bool flush_each_fill = true);
  ~SegmentPool();
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  // --- startup ---
  void start(std::uint64_t first) { table_.start(first); }
  // Adds a whole segment; numbers rise. `begun`: when its first frame was written; 0: unknown.
  // `usable`: space for frames, in bytes.
  void adopt(std::uint64_t number, FileId file, std::uint64_t usable, Instant begun = {}) {
    table_.adopt(number, file, usable, usable, begun);
  }
  // Ends the adoption. `newest`: when the last frame was written.
  void adopted(Instant newest) { table_.adopted(newest); }
  void adopt_retired(std::uint64_t number, FileId file, bool filled) {
    retired_.add({number, file, filled, geometry_.segment_bytes});
  }
  void adopt_set_aside(std::uint64_t number) { maker_.adopt_set_aside(number); }
  Result<void> create_now() {
    return maker_.create_now();
  }  // makes the next number ready, blocking

  // --- the table; numbers from first() to ready_end() ---
  std::uint64_t first() const { return table_.first(); }
  std::uint64_t ready_end() const { return table_.ready_end(); }
  std::uint64_t tail() const { return table_.tail(); }
  bool ready(std::uint64_t number) const { return table_.ready(number); }
  FileId file(std::uint64_t number) const { return table_.file(number); }
  std::uint64_t files() const { return table_.files(); }
  std::uint64_t used_bytes() const { return table_.usable() - table_.spare_usable(); }
  // On the disk; a segment being made counts in full.
  std::uint64_t bytes() const { return table_.usable() + maker_.bytes() + retired_.bytes(); }
  std::uint64_t spares() const { return table_.spares(); }
  // The next position where a frame may begin: behind the segment's header, or in the next segment
  // if this one has no space left.
  Lsn frame_position(Lsn lsn) const { return table_.frame_position(lsn); }
  // Bytes between two positions, without those unusable for frames.
  std::uint64_t between(Lsn from, Lsn to) const { return table_.between(from, to); }
  // The bytes that the log can append without more disk space.
  std::uint64_t free_space_behind(Lsn end) const { return demand_.free_space_behind(end); }
  // The part of bytes() that holds no frames: ready, being made or retired.
  std::uint64_t bytes_ahead() const { return bytes() - used_bytes(); }
  std::uint64_t live() const { return table_.live(); }          // messages in all segments
  std::uint64_t released() const { return table_.released(); }  // messages, since startup

  // Sets the free bytes wanted ahead of the tail, in addition to one segment being filled. `end`:
  // the current end of the log.
  void want_ahead(std::uint64_t bytes, Lsn end) { demand_.want(bytes, end); }
  // Wants so many bytes more, for a request that waits for them; owes_space(): they are not there.
  void ask_for_space(std::uint64_t bytes) { demand_.ask(bytes); }
  bool owes_space() const { return demand_.owes(); }
  // The free bytes that a log at rest has in addition to the wanted ones.
  std::uint64_t beyond_wanted() const { return demand_.least_beyond(); }
  // Notes that the tail is in this segment; `since`: when it entered it, for a new segment.
  void enter(std::uint64_t number) { table_.enter(number); }
  void enter(std::uint64_t number, Instant since) {
    table_.enter(number, since);
    demand_.grow();
  }
  void add_live(std::uint64_t number) { table_.add_live(number); }
  // Counts a message sent in the segment, with the size of its record. add_live() alone counts one
  // that is only held or named by a checkpoint.
  void add_send(std::uint64_t number, std::uint64_t bytes, bool relocated) {
    table_.add_send(number, bytes, relocated);
  }
  // A message of the segment is deleted or released; the record that proves it is below `lsn`.
  void release(std::uint64_t number, Lsn lsn) { table_.release(number, lsn); }
  // Retires segments below `below` that are durably without messages. Segments kept for replay are
  // retired only on a full disk. Call it only if retire_due(below).
  void retire(std::uint64_t below, Lsn durable);
  // True: a segment may have become empty, or a limit has changed, since the latest retire().
  bool retire_due(std::uint64_t below) const {
    return table_.looks_below(std::min(below, kept_from())) || below != retired_below_ ||
           kept_from() != retired_kept_ || disk_full();
  }
  // No segment below this one can be retired; it falls when a segment loses its last message.
  std::uint64_t looked_below() const { return table_.looked_below(); }
  // The first segment with messages but without a file; ready_end() if none.
  std::uint64_t first_missing() const { return table_.first_missing(); }

  // --- live bytes ---
  // The messages sent in each segment that still has some: for a checkpoint, and from one.
  std::vector<SegmentRecord> sent() const { return table_.sent(); }
  void restore(const SegmentRecord& record) { table_.restore(record); }
  using Use = SegmentTable::Use;
  // The oldest and the emptiest are below `below`. Segments from `below` to `in_log` do not count.
  Use use(std::uint64_t below, std::uint64_t in_log) const { return table_.use(below, in_log); }
  // Keeps the segment until end_emptying(); use() never returns it again.
  void begin_emptying(std::uint64_t number) { table_.begin_emptying(number); }
  void end_emptying(std::uint64_t number) { release(number, 0); }

  // --- kept for replay: everything written at `since` or later, and from segment `number` on. The
  // oldest segment is retired beyond replay_segments_max, and when the disk is full ---
  void keep_for_replay(Instant since, std::uint64_t number) { retention_.keep(since, number); }
  std::uint64_t kept_from() const { return retention_.kept_from(); }
  // The oldest segment that may contain a record written at `since` or later.
  std::uint64_t first_since(Instant since) const { return retention_.first_since(since); }
  // The first segment begun after `at`; one past the tail if none.
  std::uint64_t first_after(Instant at) const { return retention_.first_after(at); }
  // The space of segments kept only for replay.
  std::uint64_t bytes_for_replay(std::uint64_t below) const { return retention_.bytes(below); }

  // --- file work: see wal/segments/segment_maker.h ---
  Result<void> pump(Instant now, bool stopping) { return maker_.pump(now, stopping); }
  bool has_work(Instant now, std::uint64_t wanted, Lsn end) const {
    return maker_.has_work(now, wanted, end);
  }
  void narrow(UpkeepBounds& bounds, const ReserveRule& reserve) const {
    maker_.narrow(bounds, reserve);
  }
  bool busy() const { return maker_.busy(); }
  bool making() const { return maker_.making(); }
  bool disk_full() const { return maker_.disk_full(); }
  std::uint64_t set_aside() const { return maker_.set_aside(); }
  int set_aside_errno() const { return maker_.set_aside_errno(); }  // of the latest since startup
  Instant next_due() const { return maker_.next_due(); }

 private:
  Disk& disk_;
  Geometry geometry_;
  SegmentTable table_;
  RetiredFiles retired_;
  SegmentRetention retention_;
  SegmentDemand demand_;
  SegmentMaker maker_;
  std::uint64_t retired_below_ = 0;  // the limits at the latest retire()
  std::uint64_t retired_kept_ = 0;
};

}  // namespace pawl

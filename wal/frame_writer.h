// SPDX-License-Identifier: Apache-2.0
// FrameWriter: builds frames at the end of the image and hands them to the disk, at most two at a
// time.
//
//   records --commit--> open frame --close--> closed --hand over--> under way --> done --> durable
//                        (no header yet)      (padded) (hash, at most two)     (in order only)
//
// A frame is closed when it is handed over, or earlier if the next record does not fit into it. Its
// hash is made at the handover, because the header states how far the log was durable then.
//
// Units:  Lsn; microseconds for flush and wait times.
// Limits: writes_max writes under way, one frame each. A frame has at most log_frame_bytes_max
//         bytes unless one record is larger, and never crosses an extent.
// Errors: reap() reports a failed write; the owner stops calling then.
// Owner:  the log of one shard. wal/record_appender.h fills the frames.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "core/base/check.h"
#include "core/base/duration_counts.h"
#include "core/base/ids.h"
#include "core/base/mutant.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/containers/ring_queue.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"
#include "wal/image.h"
#include "wal/segments/segment_pool.h"

namespace pawl {

class FrameWriter {
 public:
  static constexpr std::size_t writes_max = 2;
  static constexpr std::uint64_t second_write_bytes =
      32 << 10;  // enough bytes for a second write when idle
  static constexpr std::uint64_t lazy_bytes_max = 256 << 10;  // beyond it, lazy records are written

  struct Failure {
    int sys = 0;
    Lsn lsn = 0;
  };
  struct Start {
    Lsn tail = 0;        // where the next frame may start
    Lsn last_frame = 0;  // start of the frame before it; 0: none
    std::uint32_t epoch = 0;
    std::uint64_t segment = 0;  // the last segment begun
  };

  FrameWriter(Disk& disk, const Geometry& geometry, Image& image, SegmentPool& pool,
              Duration lazy_max)
      : disk_(disk), geometry_(geometry), image_(image), pool_(pool), lazy_max_(lazy_max) {}

  void start(const Start& start);

  // Sets the time of the records appended from now on.
  void set_time(Instant now) { wall_ = now; }
  // Reserves `bytes` at the tail, in the open frame or a new one. commit() takes the bytes used.
  std::byte* reserve(std::size_t bytes) {
    if (!open_ || tail_ + bytes > frame_limit_) begin_frame(bytes);
    return frame_memory_ + (tail_ - frame_start_);
  }
  void commit(std::size_t bytes) {
    tail_ += bytes;
    ++frame_records_;
    ++records_;
    CHECK(tail_ <= frame_limit_, "{} of {}", tail_, frame_limit_);
  }
  // No response waits for the latest records: their write may wait for lazy_max.
  void note_lazy() {
    if (lazy_since_ == never) lazy_since_ = wall_;
  }
  // A reader that begins at this position finds everything appended from now on. There may be no
  // frame yet.
  Lsn frame_start() const { return open_ ? frame_start_ : tail_; }
  // The first frame at or behind `lsn` among the frames not yet handed to the disk.
  Lsn first_frame_from(Lsn lsn) const;
  // Call reap() first: it handles finished writes. submit() then starts the due writes.
  std::optional<Failure> reap(std::uint64_t now_us);
  void submit(Instant now, std::uint64_t now_us, bool idle);
  void flush_all() { forced_ = tail_; }  // writes everything appended so far, whatever the rule
  void urge() { urgent_ = tail_; }       // a response waits for the records appended so far

  Lsn appended() const { return tail_; }
  Lsn durable() const { return durable_; }
  // The Lsn of a position that a record states by its low 48 bits.
  Lsn full(LogPos position) const {
    return MUTANT(forget_wrap) ? position : full_position(position, tail_);
  }
  std::uint64_t segment() const { return segment_; }  // the last segment begun
  // The time when the oldest non-durable record was appended; `never`: everything is durable.
  Instant unflushed_since() const {
    return !frames_.empty() ? frames_.front().since : open_ ? frame_since_ : never;
  }
  bool write_in_flight() const { return under_way_ > 0; }
  // The time of the next submit() even if no operation finishes; Instant{0}: at once, in a turn
  // without other work; `never`: none.
  Instant next_due() const;

  std::uint64_t frames() const { return frames_written_; }
  std::uint64_t reaped() const { return reaped_; }  // writes
  std::uint64_t records() const { return records_; }
  std::uint64_t bytes_written() const { return bytes_written_; }
  std::uint64_t padding_bytes() const { return padding_bytes_; }
  std::uint64_t flush_us_ewma() const { return flush_us_; }
  const DurationCounts& flush_times() const { return flush_times_; }  // of durable writes
  // The longest time since startup in which a response waited and no write began or finished.
  std::uint64_t gap_us_max() const { return gap_us_max_; }

 private:
  struct Frame {
    Lsn start = 0;
    Lsn end = 0;  // with padding
    std::uint32_t length = 0;
    Instant since;  // when its first record was appended
    bool done = false;
  };
  struct Write {
    Io io;
    Lsn start = 0;
    std::uint64_t since_us = 0;
    bool busy = false;
  };

  void begin_frame(std::size_t bytes);
  void close_frame();

  bool may_write(Instant now, std::uint64_t now_us, bool idle) const;
  bool hand_over(std::uint64_t now_us);
  void note_pending(std::uint64_t now_us);
  void note_progress(std::uint64_t now_us);
  Frame& frame_at(Lsn start);
  void advance();
  void check_marks() const;
  std::uint64_t unwritten() const { return tail_ - handed_end_; }

  Disk& disk_;
  Geometry geometry_;
  Image& image_;
  SegmentPool& pool_;
  Duration lazy_max_;
  std::uint32_t epoch_ = 0;

  // the frame being built
  bool open_ = false;
  Lsn frame_start_ = 0;
  Lsn frame_limit_ = 0;
  std::byte* frame_memory_ = nullptr;  // at frame_start_
  std::uint32_t frame_records_ = 0;
  Instant wall_;         // time of the last append
  Instant frame_since_;  // time of its first record
  Lsn last_frame_ = 0;
  std::uint64_t segment_ = 0;

  Lsn tail_ = 0;        // end of everything appended
  Lsn handed_end_ = 0;  // end of everything handed to the disk
  Lsn durable_ = 0;

  RingQueue<Frame> frames_;  // the first handed_ are under way or done, the others closed
  std::size_t handed_ = 0;
  std::size_t under_way_ = 0;
  std::array<Write, writes_max> writes_;

  Lsn urgent_ = 0;  // end of the last record that is not lazy
  Lsn forced_ = 0;  // flush_all() forces writes up to here
  Instant lazy_since_ = never;
  std::uint64_t pending_since_us_ = 0;  // 0: nothing pending was seen yet
  std::uint64_t flush_us_ = 0;
  DurationCounts flush_times_;
  std::uint64_t progress_us_ = 0;  // time of the latest write's begin or end; 0: no response waits
  std::uint64_t gap_us_max_ = 0;
  Instant now_;  // of the latest submit()
  std::uint64_t now_us_ = 0;

  std::uint64_t frames_written_ = 0;
  std::uint64_t reaped_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t padding_bytes_ = 0;
};

}  // namespace pawl

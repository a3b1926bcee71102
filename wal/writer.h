// Writer: builds frames at the end of the image and hands them to the disk, at most two at a time.
//
//   records --append--> open frame --close--> closed --hand over--> under way --> done --> durable
//                        (no header yet)      (padded) (hash, at most two)     (in order only)
//
// A frame is closed when it is handed over, or before when the next record does not fit into it. Its
// hash is made when it is handed over, because it says how far the log was durable then.
//
// Units:  Lsn; microseconds for the flush estimate.
// Limits: writes_max under way, one frame each. A frame has at most log_frame_bytes_max unless one record is
//         larger, and never crosses an extent.
// Errors: pump() says what failed, once; the owner stops calling then.
// Owner:  the log of one shard.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "core/checkpoint.h"
#include "core/effects.h"
#include "core/ids.h"
#include "core/result.h"
#include "core/ring_queue.h"
#include "core/time.h"
#include "wal/disk.h"
#include "wal/format.h"
#include "wal/image.h"
#include "wal/segment_pool.h"

namespace pawl {

class Writer {
 public:
  static constexpr std::size_t writes_max = 2;
  static constexpr std::uint64_t second_write_bytes = 32
                                                      << 10;  // enough for a second write when idle
  static constexpr std::uint64_t lazy_bytes_max = 256 << 10;  // lazy records are written beyond it

  struct Failure {
    int sys = 0;
    Lsn lsn = 0;
  };
  struct Start {
    Lsn tail = 0;        // where the next frame may begin
    Lsn last_frame = 0;  // where the frame before it began; 0: there is none
    std::uint32_t epoch = 0;
    std::uint64_t segment = 0;  // the last one begun
  };

  Writer(Disk& disk, const Geometry& geometry, Image& image, SegmentPool& pool, Duration lazy_max)
      : disk_(disk), geometry_(geometry), image_(image), pool_(pool), lazy_max_(lazy_max) {}

  void start(const Start& start);

  Lsn append(Effects& effects, Instant now);
  // A part of a checkpoint. Nobody waits for it.
  void append(const CheckpointSlice& slice, Instant now);
  // What was sent in segments, of a checkpoint.
  void append(std::span<const SegmentRecord> segments, Instant now);
  // A SEND that is there already, elsewhere in the log; nobody waits for it. Where it is now.
  LogPos append_relocated(std::span<const std::byte> record, Instant now);
  // A reader that begins there finds everything that is appended from now on; no frame may begin there yet.
  Lsn frame_start() const { return open_ ? frame_start_ : tail_; }
  // The first frame at `lsn` or behind it, of those not yet handed to the disk.
  Lsn first_frame_from(Lsn lsn) const;
  // Completions first; then, unless `hold`, what is to be written.
  std::optional<Failure> reap(std::uint64_t now_us);
  void submit(Instant now, std::uint64_t now_us, bool idle);
  void flush_all() { forced_ = tail_; }
  void urge() { urgent_ = tail_; }

  Lsn appended() const { return tail_; }
  Lsn durable() const { return durable_; }
  std::uint64_t segment() const { return segment_; }  // the last one begun
  // When the oldest of what is not durable was appended; `never`: everything is.
  Instant unflushed_since() const {
    return !frames_.empty() ? frames_.front().since : open_ ? frame_since_ : never;
  }
  bool write_in_flight() const { return under_way_ > 0; }
  Instant next_lazy() const;

  std::uint64_t frames() const { return frames_written_; }
  std::uint64_t records() const { return records_; }
  std::uint64_t bytes_written() const { return bytes_written_; }
  std::uint64_t padding_bytes() const { return padding_bytes_; }
  std::uint64_t flush_us_ewma() const { return flush_us_; }
  // The longest time in which a reply waited and no write was begun or finished, since the start.
  std::uint64_t gap_us_max() const { return gap_us_max_; }

 private:
  struct Frame {
    Lsn start = 0;
    Lsn end = 0;  // padded
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

  void append_rows(const ConfigRecord& record);
  void append_part(const PlacesRecord& record);
  void append_part(const StatesRecord& record);
  void append_part(const TimesRecord& record);
  void append_part(const DedupRecord& record);
  void append_part(const UnsettledRecord& record);
  void append_heads(std::span<const HeadRecord> heads);
  void append_task(const TaskRecord& record);
  void append_replays(std::span<const ReplayRecord> records);
  void append_sends(Effects& effects);
  void commit_send(std::size_t bytes, bool relocated);
  void append_receives(const Effects& effects);
  void append_removes(const Effects& effects);
  // Room for `bytes` at the tail, in the open frame or a new one; commit() says how many were used.
  std::byte* reserve(std::size_t bytes);
  void commit(std::size_t bytes);
  void begin_frame(std::size_t bytes);
  void close_frame();

  bool may_write(Instant now, std::uint64_t now_us, bool idle) const;
  bool hand_over(std::uint64_t now_us);
  void note_pending(std::uint64_t now_us);
  void note_progress(std::uint64_t now_us);
  Frame& frame_at(Lsn start);
  void advance();
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
  std::byte* frame_memory_ = nullptr;  // of frame_start_
  std::uint32_t frame_records_ = 0;
  Instant wall_;         // of the last append
  Instant frame_since_;  // of its first record
  Lsn last_frame_ = 0;
  std::uint64_t segment_ = 0;

  Lsn tail_ = 0;        // end of everything appended
  Lsn handed_end_ = 0;  // end of everything handed to the disk
  Lsn durable_ = 0;

  RingQueue<Frame> frames_;  // under way or done (the first handed_), then closed
  std::size_t handed_ = 0;
  std::size_t under_way_ = 0;
  std::array<Write, writes_max> writes_;

  Lsn urgent_ = 0;  // end of the last record that starts a write
  Lsn forced_ = 0;  // flush_all() wants everything up to here
  Instant lazy_since_ = never;
  std::uint64_t pending_since_us_ = 0;  // 0: nothing to be written was seen yet
  std::uint64_t flush_us_ = 0;
  std::uint64_t progress_us_ = 0;  // the latest write was begun or finished; 0: no reply waits
  std::uint64_t gap_us_max_ = 0;

  std::uint64_t frames_written_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t bytes_written_ = 0;
  std::uint64_t padding_bytes_ = 0;
};

}  // namespace pawl

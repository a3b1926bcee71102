// SPDX-License-Identifier: Apache-2.0
// Log: the log of one shard. It holds the shard's decisions in order, and the message bodies.
//
//   append(effects) -> frame being built -> write + flush under way -> durable
//                      (in the RAM image)   (at most two)              responses may leave
//
// A record is built in place in the RAM image of the log. The same memory is handed to the disk and
// later read by responses: each body exists once. Appended is not written, and written is not
// durable: a response leaves only when committed() has passed the lsn that append() returned.
//
// Group commit, without a timer (pump()): with no write under way, everything pending is written.
// With one under way, a second starts only if the turn is otherwise idle, and the pending bytes are
// enough or have waited long. With two, the log waits. Lazy records (receives, visibility changes)
// start no write of their own until lazy_max has passed or lazy_bytes_max are pending.
//
// Vouching: each frame states how far the log was durable when it was written. This proves during
// recovery that the frames before it were acknowledged. Nothing proves it for the last frame until
// the log has rested for vouch_after: then the manifest is written.
//
// Memory: the image keeps unsettled extents and recently used ones. A body that is on the disk only
// is requested with want() and arrives some turns later.
//
// Space: a checkpoint (wal/checkpointer.h) rewrites the state that recovery needs from older
// records, so that recovery reads the log from there on. Older segments are kept while they hold a
// message; all others are reused. The shard loop begins a checkpoint when wants_checkpoint() is
// true, and appends it slice by slice.
//
// Units:  Lsn is a byte position in the stream; Instant ms.
// Limits: LogOptions. A record has at most record_bytes_max and at most max_record_bytes() bytes.
//         The log spans at most span_max bytes from its oldest segment to its end; relocation keeps
//         the span far below.
// Errors: a failed write or flush is final: failure() reports it, and nothing is acknowledged after
//         it. A full disk is not a failure: check_free_space() refuses sends while receives and
//         deletes go on.
// Owner:  one shard. No threads, no clock. Destroy it only when none of its disk operations is
//         under way.
// Source: wal/FORMAT.md for the bytes, wal/DECISIONS.md for the reasons.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/check.h"
#include "core/base/ids.h"
#include "core/base/mutant.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/queue/effects.h"
#include "wal/body_reader.h"
#include "wal/checkpointer.h"
#include "wal/format/disk.h"
#include "wal/format/format.h"
#include "wal/format/records.h"
#include "wal/frame_writer.h"
#include "wal/image.h"
#include "wal/manifest.h"
#include "wal/record_appender.h"
#include "wal/relocation.h"
#include "wal/segments/segment_pool.h"
#include "wal/segments/space_budget.h"
#include "wal/send_reader.h"
#include "wal/upkeep.h"

namespace pawl {

struct LogOptions {
  std::uint64_t stream = 0;  // random, one per log; seeds the checksums of frames and records
  std::uint64_t segment_bytes =
      64 << 20;  // a multiple of extent_bytes, at least 64 KiB; fixed when made
  std::uint64_t extent_bytes =
      2 << 20;  // unit of RAM; a power of two, at least 16 KiB; fixed when made
  std::uint64_t memory_max = std::uint64_t{1} << 30;  // bytes of the image
  std::uint32_t spare_segments = 2;                   // kept ready ahead of the tail, at least 1
  bool small_segments = true;  // while little free space is ahead: see wal/segments/segment_pool.h
  Duration fill_every = SegmentPool::fill_every_default;  // see wal/segments/segment_maker.h
  bool flush_each_fill = true;  // false: for a disk whose flushes are slow
  // Relocation begins when the dead bytes in segments exceed the live bytes by more than this.
  std::uint64_t dead_bytes_max = std::uint64_t{1} << 30;
  Duration lazy_max{10};            // longest wait of a lazy record before its write
  Duration vouch_after{100};        // rest before the manifest vouches for the last frame
  std::uint64_t first_segment = 0;  // first segment of a new log; tests begin near a wrap
  LogMembership membership;
};

struct LogStats {
  std::uint64_t frames = 0, bytes_written = 0, padding_bytes = 0, records = 0;
  std::uint64_t image_bytes = 0, image_spare_bytes = 0, segments = 0, spare_segments = 0;
  bool disk_full = false;          // no free space for another segment, so sends are refused
  std::uint64_t used_bytes = 0;    // of segments, without spare ones
  std::uint64_t disk_bytes = 0;    // of all segment files, also spare and retired ones
  std::uint64_t manifests = 0;     // written since startup
  std::uint64_t end = 0;           // position of the log's end; never falls
  std::uint64_t span = 0;          // bytes from the oldest segment to the end
  std::uint64_t replay_bytes = 0;  // of segments kept only for replay
  std::uint64_t flush_us_ewma = 0;
  DurationCounts flush_times;    // of durable writes
  std::uint64_t gap_us_max = 0;  // longest time that responses waited without progress of writes
  std::uint64_t files_set_aside = 0;   // files with a failed write, also from before this startup
  int set_aside_errno = 0;             // of the latest since startup
  std::uint64_t checkpoint_bytes = 0;  // size of the latest; an estimate after recovery
  std::uint64_t bodies_read = 0;       // bytes read from disk for bodies
  std::uint64_t extents_evicted = 0;
  std::uint64_t relocated_bytes = 0;  // of relocated records
  std::uint64_t damaged = 0;  // unreadable or corrupt bodies; extents that replay could not read
};

class Log {
 public:
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // Startup only, after the release of all obsolete records: checks that the disk has the segments
  // of the remaining messages. Errc::corrupt with `complaint` naming a missing one.
  Result<void> check_segments(std::string& complaint) const;

  // Appends all records of a turn and sets SendRecord::position. Returns the lsn that committed()
  // must reach before waiting responses may leave.
  Lsn append(Effects& effects, Instant now);
  // True: a checkpoint is due, because enough was appended since the previous one began.
  bool wants_checkpoint() const {
    return upkeep_.checkpoint_due() && !upkeep_.stopping() && !failure_;
  }
  // A checkpoint is the slices appended between begin_checkpoint() and end_checkpoint(), and the
  // records of the turns between them. When it is durable, recovery begins there.
  void begin_checkpoint() {
    upkeep_.checkpoint_begun();
    checkpointer_.begin();
  }
  // Completes the positions in the slice.
  void append(CheckpointSlice& slice, Instant now) {
    CHECK(!closed_, "the log is closed");
    checkpointer_.append(slice, now);
  }
  void end_checkpoint() {
    checkpointer_.end();
    upkeep_.arm(LogPart::checkpoint);
    upkeep_.arm(LogPart::segments);  // the reserve follows the size of a checkpoint
  }
  // True: free space is low, and other records since its begin outweigh the checkpoint itself. Its
  // next slices must follow at once, or it ends too late to free space.
  bool checkpoint_lags() const { return checkpointer_.lags(); }

  // --- relocation: see wal/relocation.h ---
  void set_dead_bytes_max(std::uint64_t bytes) {
    relocation_.set_dead_bytes_max(bytes);
    upkeep_.arm(LogPart::relocation);
  }
  bool relocation_due() const { return upkeep_.relocatable(); }
  bool next_relocatable(FoundSend& found) {
    upkeep_.set_relocatable(relocation_.next(found));
    return upkeep_.relocatable();
  }
  // Relocates the record for the messages of it that exist, by their place in it, and returns their
  // new position. The old record is released.
  LogPos relocate(const FoundSend& found, std::span<const std::size_t> existing, Instant now);

  // --- deleted and expired messages, kept for a while for replay ---
  // Keeps everything written at `since` or later (never: nothing), and everything from `position`
  // on. Call it before the first pump().
  void keep_for_replay(Instant since, Lsn position) {
    const std::uint64_t before = pool_.kept_from();
    pool_.keep_for_replay(since,
                          position == UINT64_MAX ? UINT64_MAX : geometry_.segment_of(position));
    if (pool_.kept_from() == before) return;
    upkeep_.arm(LogPart::reclaim);
    upkeep_.arm(LogPart::relocation);
  }
  bool keeps_for_replay() const { return pool_.kept_from() != UINT64_MAX; }
  // The position where a search for records written at `since` or later begins.
  Lsn first_since(Instant since) const { return geometry_.segment_base(pool_.first_since(since)); }
  // A position behind all records written at `at` or earlier. After recovery, the time of a segment
  // is when its first frame was closed, not begun; if that is unreadable, it is the next segment's
  // time. Hence two segments more.
  Lsn end_before(Instant at) const {
    return std::min(appended(), geometry_.segment_base(pool_.first_after(at) + 2));
  }
  SendReader& send_reader() {
    upkeep_.arm(LogPart::replay);
    return send_reader_;
  }

  // Handles finished I/O, advances durable() and decides whether to write. `idle`: the turn had
  // nothing else to do. `now_us` is a monotonic clock in microseconds, for flush and wait times.
  // Call it at the end of a turn, and at its begin if finished_io().
  void pump(Instant now, std::uint64_t now_us, bool idle);
  // True: an operation of the disk is done, or the log was opened, and pump() was not called since.
  bool finished_io() const { return disk_->finished() != finished_; }
  // Writes everything pending, also lazy records, at the next pump() (drain at shutdown).
  void flush_all() { writer_.flush_all(); }
  // A response waits for the records appended so far: they are no longer lazy.
  void urge() { writer_.urge(); }
  // Marks the manifest clean, after flush_all() and when everything is durable. Blocking.
  // Errc::not_ready while a record is not durable or background work is under way: call pump() and
  // try again; no new background work is started. Nothing may be appended after it.
  Result<void> close_clean();

  // Messages whose records are kept, and those being read.
  std::uint64_t messages() const { return pool_.live(); }
  Lsn appended() const { return writer_.appended(); }  // end of everything appended
  Lsn durable() const { return writer_.durable(); }    // everything below is on disk
  // Everything below may leave the server. This log commits what is on its disk; a replicated log
  // commits later than its disk, so users that send something read this function, not durable().
  Lsn committed() const { return durable(); }
  // The time when the oldest pending record was appended; `never`: none is pending.
  Instant unflushed_since() const { return writer_.unflushed_since(); }
  bool write_in_flight() const { return writer_.write_in_flight(); }
  bool pending() const { return appended() > durable(); }  // something appended is not yet durable
  // The latest time for the next pump(): an operation is done, a lazy record or the manifest of a
  // resting log is due, a full disk is tried again, or a file is deleted; `never` if none.
  Instant next_due() const {
    if (finished_io()) return Instant{0};
    return std::min(writer_.next_due(), upkeep_.next_due());
  }

  // Checks whether `bytes` more of messages may be accepted: ok, no_memory, no_space, or io after a
  // failure.
  using From = SpaceBudget::From;
  Errc check_free_space(std::uint64_t bytes, From from = From::sender);
  // Makes space for messages that check_free_space() refused. Unless the disk is full, they are
  // accepted some turns later.
  void ask_for_space(std::uint64_t bytes, From from);
  // True: no free space now, but pending disk work will release some, and the disk is not full.
  bool free_space_expected() const {
    const bool under_way = pool_.making() || pool_.busy() || pool_.owes_space() || pending();
    return !failure_ && !upkeep_.stopping() && !pool_.disk_full() &&
           (under_way || space_.accepted() > 0);
  }
  // Reserves space for accepted messages that will be appended in this turn.
  void accepted(std::uint64_t bytes) { space_.accept(bytes); }
  // Frees the space of accepted messages that will not be appended.
  void release_space(std::uint64_t bytes) { space_.release_space(bytes); }
  // Sets the memory limit of the image. Excess extents are evicted when memory is needed.
  void set_memory_max(std::uint64_t bytes) {
    memory_max_ = bytes;
    image_.set_memory_max(bytes);
  }
  // The largest record possible, with body, attributes and everything else of a message.
  std::size_t max_record_bytes() const {
    return std::min(record_bytes_max, geometry_.record_space());
  }

  // --- bodies ---
  // True: record() has the body at once. Otherwise call want().
  bool in_memory(LogPos position) const { return image_.has_at(full(position)); }
  // The SEND at `position`, for trusted_send(); null if it is damaged. Valid until append() or
  // pump().
  const std::byte* record(LogPos position);
  void want(WantedBody wanted) {
    wanted.position = full(wanted.position);
    reader_.want(wanted);
    upkeep_.arm(LogPart::bodies);
  }
  // Keeps the record in place until unpin(), even if its message is deleted or relocated.
  void pin(LogPos position) { reader_.pin(full(position)); }
  void unpin(LogPos position) { reader_.unpin(full(position)); }
  // Returns the next wanted body that was read; `record` is empty if it cannot be read. It is valid
  // as long as that of record(), and until the next call at most.
  bool next_body(WantedBody& wanted, std::span<const std::byte>& record) {
    upkeep_.arm(LogPart::bodies);  // a read may have ended, so that another begins
    return reader_.next(wanted, record);
  }
  // True: pump() or next_body() has work now.
  bool bodies_due() const { return reader_.due(); }
  // Releases an obsolete record. Call it after the append() that made the record obsolete, before
  // the next pump().
  void release(LogPos position) {
    const Lsn at = full(position);
    CHECK(at < appended(), "a record at {}, the end at {}", at, appended());
    release_at(at);
  }

  const std::optional<LogFailure>& failure() const { return failure_; }
  LogStats stats() const;

 private:
  friend class Recovery;

  // Sends are refused beyond this span: positions are distinguished by their low 48 bits.
  static constexpr std::uint64_t span_max = log_pos_max - (std::uint64_t{1} << 40);

  Log(Disk& disk, const Geometry& geometry, const LogOptions& options,
      std::unique_ptr<ManifestFiles> manifest);
  Lsn full(LogPos position) const { return writer_.full(position); }
  void release_at(Lsn at) {
    image_.release(at);
    pool_.release(geometry_.segment_of(at), appended());
  }
  std::uint64_t span() const { return appended() - geometry_.segment_base(pool_.first()); }
  bool take_finished(std::uint64_t now_us);

  Disk* disk_;
  Geometry geometry_;
  std::uint64_t memory_max_;
  Image image_;
  SegmentPool pool_;
  BodyReader reader_;
  Relocation relocation_;
  SendReader send_reader_;
  std::unique_ptr<ManifestFiles> manifest_;
  FrameWriter writer_;
  RecordAppender appender_;
  SpaceBudget space_;
  Checkpointer checkpointer_;
  Upkeep upkeep_;

  std::uint64_t finished_ = UINT64_MAX;  // operations of the disk at the latest pump()
  std::uint64_t damaged_ = 0;
  std::uint64_t relocated_bytes_ = 0;
  bool closed_ = false;
  std::optional<LogFailure> failure_;
};

}  // namespace pawl

// The log of one shard: what was decided, in order, and the bodies themselves.
//
//   append(effects) -> frame being built -> write + flush under way -> durable
//                      (in the RAM image)   (at most two)              replies may leave
//
// A record is built in place in the RAM image of the log; the same memory is handed to the disk and
// later read by replies: a body exists once. Appended is not written, written is not durable: a reply
// leaves only when durable() has passed the lsn that append() returned.
//
// Group commit, no timer (pump()): no write under way -> write everything pending; one under way -> a
// second only if the turn is otherwise idle and enough waits or it has waited long; two -> wait. Lazy
// records (receives, visibility changes) do not start a write of their own until lazy_max.
//
// Vouching: each frame says how far the log was durable before it, and so proves at a start that the frames before it
// were acknowledged. For the last frame nothing does until the log rests for vouch_after: then the manifest is written.
//
// Memory: the image keeps what is needed and what was used lately; a message's body that is on the disk alone is
// asked for with want() and comes some turns later.
//
// Space: a checkpoint (core/checkpoint.h) says anew what a start needs of all that is older, so that a start reads
// from there on, and of what is older the segments that hold a message are kept and all others are used again. The
// shard loop begins one when wants_checkpoint() says so, and appends it slice by slice.
//
// Units:  Lsn is a byte position in the stream; Instant ms.
// Limits: LogOptions. A record is at most record_bytes_max, and never more than max_record_bytes(). From its oldest
//         segment to its end span_max bytes; relocation keeps it far below.
// Errors: a failed write or flush is final: failure() says what; nothing is acknowledged after it.
//         A disk that is full is not a failure: room() refuses sends while receives and deletes go on.
// Owner:  one shard. No threads, no clock. Destroy it when the disk has nothing of it under way any more.
// Source: wal/FORMAT.md for the bytes, wal/README.md for the reasons.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/effects.h"
#include "core/ids.h"
#include "core/mutant.h"
#include "core/result.h"
#include "core/time.h"
#include "wal/body_reader.h"
#include "wal/disk.h"
#include "wal/format.h"
#include "wal/image.h"
#include "wal/manifest.h"
#include "wal/records.h"
#include "wal/relocation.h"
#include "wal/segment_pool.h"
#include "wal/send_reader.h"
#include "wal/writer.h"

namespace pawl {

struct LogOptions {
  std::uint64_t stream = 0;  // random, of this shard's log; seeds every checksum
  std::uint64_t segment_bytes = 64
                                << 20;  // a multiple of extent_bytes, from 64 KiB; fixed when made
  std::uint64_t extent_bytes =
      2 << 20;  // unit of RAM; a power of two, from 16 KiB; fixed when made
  std::uint64_t memory_max = std::uint64_t{1} << 30;  // bytes of image
  std::uint32_t spare_segments = 2;                   // kept ready ahead of the tail, at least 1
  bool small_segments = true;  // while little room is ahead: see wal/segment_pool.h
  Duration fill_every = SegmentPool::fill_every_default;  // see wal/segment_pool.h
  // So much may lie dead in segments besides as much as is alive, before messages are relocated.
  std::uint64_t dead_bytes_max = std::uint64_t{1} << 30;
  Duration lazy_max{10};            // how long a lazy record may wait for company
  Duration vouch_after{100};        // of rest, before the manifest vouches for the last frame
  std::uint64_t first_segment = 0;  // of a log that is made; tests begin near a wrap
  LogMembership membership;
};

// What recovery found: what the latest checkpoint alone has, then all records in log order from where it begins.
// Implemented by net/ over core::Shard. Messages of a queue may come before its config: a checkpoint begins in the
// middle of things, and its slices follow.
//
// A message given to send() holds its memory and its segment until it is released: through `freed`, or with
// release() once open() has returned (a queue that is gone, a message that is there already).
class Replay {
 public:
  virtual ~Replay() = default;
  virtual void config(const ConfigRecord& record) = 0;
  virtual void row(const RowRecord& record) = 0;
  virtual void head(const HeadRecord& record) = 0;
  // Those of the latest checkpoint come first, then everything from where it begins.
  virtual void checkpoint(const CheckpointRecord& record) = 0;
  virtual void receive(const ReceiveRecord& record) = 0;
  virtual void settled(const SettledRecord& record) = 0;
  // These name the sends that are not needed any more by adding their positions to `freed`; one that was there
  // already names itself. The content of a send is valid during the call; its position is set.
  virtual void send(const SendRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void remove(const RemoveRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void purge(const PurgeRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void task(const TaskRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void replay(const ReplayRecord& record) = 0;
  // So many bytes have been read, of so many or less.
  virtual void progress(std::uint64_t /*read*/, std::uint64_t /*total*/) {}
};

struct RecoveryReport {
  // Segments behind the checkpoint whose headers are damaged, and that have messages nevertheless.
  std::vector<std::uint64_t> unreadable_segments;
  std::uint64_t frames = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  Lsn torn_at = 0;  // where a torn tail was cut off; 0: none
  Instant newest;   // wall time of the newest frame: time does not start before it
  std::uint64_t passed_over =
      0;  // parts of records that a newer version wrote and nothing rests on
  UnknownPart passed_over_latest;
  bool created = false;                   // the stream was new
  LogAbsence absence = LogAbsence::none;  // why the log cannot be the directory's
  std::uint64_t found_stream = 0;         // with another_log
  std::uint64_t found_start = 0;          // with another_time
};

struct LogFailure {
  int sys = 0;  // errno
  Lsn lsn = 0;
  const char* what = "";
};

struct LogStats {
  std::uint64_t frames = 0, bytes_written = 0, padding_bytes = 0, records = 0;
  std::uint64_t image_bytes = 0, image_spare_bytes = 0, segments = 0, spare_segments = 0;
  bool disk_full =
      false;  // there is no room for another segment, and sends are refused for want of it
  std::uint64_t used_bytes = 0;    // of segments without the spare ones
  std::uint64_t disk_bytes = 0;    // of all segments, those kept for later use too
  std::uint64_t manifests = 0;     // written since the start
  std::uint64_t end = 0;           // position of the log's end; it only rises
  std::uint64_t span = 0;          // bytes from the oldest segment to the end
  std::uint64_t replay_bytes = 0;  // of segments that are kept for replay alone
  std::uint64_t flush_us_ewma = 0;
  std::uint64_t gap_us_max = 0;        // longest time in which replies waited and no write moved
  std::uint64_t files_set_aside = 0;   // new files that the disk could not write
  int set_aside_errno = 0;             // of the latest, since the start
  std::uint64_t checkpoint_bytes = 0;  // that the latest took; after a start about
  std::uint64_t bodies_read = 0;       // bytes read back
  std::uint64_t extents_evicted = 0;
  std::uint64_t relocated_bytes = 0;  // said again, of segments that were emptied
  std::uint64_t damaged = 0;          // bodies that could not be read, or were not what was written
};

// Where one lies that is being written, or is not in the manifest yet.
struct CheckpointPlace {
  Lsn begin = 0;            // its first frame; 0: nothing of it is appended yet
  Lsn end = 0;              // 0: it is being written
  std::uint64_t bytes = 0;  // of its own, in blocks: what is appended meanwhile lies between them
};

class Log {
 public:
  // Opens or creates the stream in the directory of `disk`, replays it, cuts off a torn tail and
  // starts a new epoch (written to the manifest before this returns). Geometry of an existing log is its
  // own, whatever the options say. Errc::corrupt with `complaint` naming file and offset when acknowledged
  // data is damaged; Errc::version for a newer format; Errc::invalid for options out of range.
  static Result<std::unique_ptr<Log>> open(Disk& disk, const LogOptions& options, Replay& replay,
                                           RecoveryReport& report, std::string& complaint);
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  // At a start, when everything has been released that is not needed: whether the disk has the segments of what is
  // left. Errc::corrupt with `complaint` naming one that is missing.
  Result<void> check_segments(std::string& complaint) const;

  // Appends all records of a turn; sets SendRecord::position. Returns the lsn that durable() must
  // reach before replies that wait may leave.
  Lsn append(Effects& effects, Instant now);
  // Whether a checkpoint is due: enough was appended since the one before began.
  bool wants_checkpoint() const;
  // What is appended from begin to end, and what append() is given meanwhile, is a checkpoint; when it is durable a start
  // begins there.
  void begin_checkpoint();
  void append(CheckpointSlice& slice, Instant now);  // completes the positions in it
  void end_checkpoint();
  // More was appended since it began than it has itself, and there is little room: slices are to follow at once, or it
  // ends too late to make some.
  bool checkpoint_lags() const;

  // --- relocation: see wal/relocation.h ---
  void set_dead_bytes_max(std::uint64_t bytes) { relocation_.set_dead_bytes_max(bytes); }
  bool relocation_due() const { return relocation_.due(); }
  bool next_relocatable(FoundSend& found) { return relocation_.next(found); }
  // Its message is there; where it is now. The record it had is released.
  LogPos relocate(const FoundSend& found, Instant now);

  // --- what has gone is kept for a while, and read again ---
  // Everything written at `since` or later (never: nothing) and from `position` on. To be said before the first pump().
  void keep_for_replay(Instant since, Lsn position) {
    pool_.keep_for_replay(since,
                          position == UINT64_MAX ? UINT64_MAX : geometry_.segment_of(position));
  }
  // Where to begin to look for what was written at `since` or later.
  Lsn first_since(Instant since) const { return geometry_.segment_base(pool_.first_since(since)); }
  // Behind all that was written at `at` or earlier. After a start it is known when the first frame of a segment was
  // closed, not when it was begun, and of one that cannot be read when the next was: hence two segments more.
  Lsn end_before(Instant at) const {
    return std::min(appended(), geometry_.segment_base(pool_.first_after(at) + 2));
  }
  SendReader& send_reader() { return send_reader_; }

  // Looks at finished I/O, moves durable(), decides whether to write. `idle`: the turn had nothing else
  // to do. `now_us` is a monotonic clock in microseconds, for the flush estimate alone.
  void pump(Instant now, std::uint64_t now_us, bool idle);
  // Writes everything pending, lazy records too, at the next pump (drain at stop).
  void flush_all() { writer_.flush_all(); }
  // Somebody waits for what was appended so far: it is not lazy any more.
  void urge() { writer_.urge(); }
  // After flush_all and when everything is durable: marks the manifest clean. Blocking. Errc::not_ready
  // while something is not durable or work in the background is under way: pump and try again; none
  // is started any more. Nothing may be appended after it.
  Result<void> close_clean();

  Lsn appended() const { return writer_.appended(); }  // end of everything appended
  Lsn durable() const { return writer_.durable(); }    // everything below is on disk
  // When the oldest of what is pending was appended; `never`: nothing is.
  Instant unflushed_since() const { return writer_.unflushed_since(); }
  bool write_in_flight() const { return writer_.write_in_flight(); }
  bool pending() const { return appended() > durable(); }  // something appended is not yet durable
  // When pump() is to be called at the latest: a lazy record is due to be written, a full disk is to be tried again, or
  // a file is to go; `never` if none.
  Instant next_lazy() const {
    return std::min(writer_.next_lazy(),
                    stopping_ ? never : std::min(pool_.next_due(), vouch_due()));
  }

  // Whether `bytes` more of messages may be accepted: ok, no_memory, no_space, or io after a failure.
  enum class From : std::uint8_t { sender, queue, relocation };
  Errc room(std::uint64_t bytes, From from = From::sender) const;
  // There is none, but it is being made: what is under way on the disk, which is not full, gives some.
  bool room_is_coming() const {
    return !failure_ && !stopping_ && !pool_.full() &&
           (pool_.making() || pending() || accepted_ > 0);
  }
  // They are, and will be appended in this turn: they count from now on.
  void accepted(std::uint64_t bytes) { accepted_ += bytes; }
  // From now on. What is more than that goes as room is needed.
  void set_memory_max(std::uint64_t bytes) {
    memory_max_ = bytes;
    image_.set_memory_max(bytes);
  }
  // The largest record there may be: body, attributes and everything else of a message.
  std::size_t max_record_bytes() const {
    return std::min(record_bytes_max, geometry_.record_room());
  }

  // --- bodies ---
  // Whether record() has it at once; otherwise it is to be wanted.
  bool in_memory(LogPos position) const { return image_.has_at(full(position)); }
  // The SEND there, for trusted_send(); null if it is damaged. Holds until append() or pump().
  const std::byte* record(LogPos position);
  void want(WantedBody wanted) {
    wanted.position = full(wanted.position);
    reader_.want(wanted);
  }
  // Until let_go() the record stays where it is, whatever becomes of its message.
  void hold(LogPos position) { reader_.hold(full(position)); }
  void let_go(LogPos position) { reader_.let_go(full(position)); }
  // The next of the wanted that has come; `record` is empty if it cannot be read. As record() it holds until the
  // next call.
  bool next_body(WantedBody& wanted, std::span<const std::byte>& record) {
    return reader_.next(wanted, record);
  }
  bool bodies_due() const {
    return reader_.due();
  }  // pump() and next_body() have something to do now
  // The record is not needed any more. After the append() of what made it so, before the next pump().
  void release(LogPos position) { release_at(full(position)); }

  const std::optional<LogFailure>& failure() const { return failure_; }
  LogStats stats() const;

 private:
  friend class Recovery;

  static constexpr std::uint64_t checkpoint_step_max = 2 << 20;
  // Senders are refused beyond it: positions are told apart by their low 48 bits.
  static constexpr std::uint64_t span_max = log_pos_max - (std::uint64_t{1} << 40);

  Log(Disk& disk, const Geometry& geometry, const LogOptions& options,
      std::unique_ptr<ManifestFiles> manifest);
  std::uint64_t reserve() const;
  std::uint64_t least_reserve() const;
  std::uint64_t last_room() const;
  std::uint64_t frame_bytes_max() const {
    return std::min<std::uint64_t>(log_frame_bytes_max, geometry_.extent_bytes);
  }
  bool short_of_room() const;
  // On a full disk a checkpoint is due after so many bytes, or when it gives back enough.
  std::uint64_t step() const { return std::min(geometry_.segment_bytes / 8, checkpoint_step_max); }
  Lsn full(LogPos position) const {
    return MUTANT(forget_wrap) ? position : full_position(position, appended());
  }
  void release_at(Lsn at) {
    image_.release(at);
    pool_.release(geometry_.segment_of(at), appended());
  }
  std::uint64_t span() const { return appended() - geometry_.segment_base(pool_.first()); }
  void note_checkpoint();
  void note_rest(Instant now);
  Instant vouch_due() const {
    const bool owed = resting_since_ != never && !manifest_->busy() &&
                      manifest_->current().durable < durable() && !MUTANT(forget_vouch);
    return owed ? resting_since_ + vouch_after_ : never;
  }
  void reclaim();
  std::uint64_t room_left(From from) const;

  Disk* disk_;
  Geometry geometry_;
  std::uint64_t memory_max_;
  std::uint64_t accepted_ = 0;  // bytes since the last pump()
  Image image_;
  SegmentPool pool_;
  BodyReader reader_;
  Relocation relocation_;
  SendReader send_reader_;
  std::unique_ptr<ManifestFiles> manifest_;
  Writer writer_;

  std::optional<CheckpointPlace> checkpoint_;
  std::uint64_t checkpoint_bytes_ = 0;  // of the latest; after a start about
  std::uint64_t damaged_ = 0;
  std::uint64_t relocated_bytes_ = 0;
  Duration vouch_after_;
  Instant resting_since_ = never;  // everything appended is durable since then
  bool stopping_ = false;
  bool closed_ = false;
  std::optional<LogFailure> failure_;
};

}  // namespace pawl

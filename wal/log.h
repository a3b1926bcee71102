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
// Space: when no record of the oldest segments is needed any more they are reused. For that the state they
// alone hold (configs, heads) must be in a younger one: the shard loop appends a snapshot of it, whole and
// with one append(), when wants_snapshot() says so. A send that others are deduplicated by keeps its segment,
// not its memory, for dedup_window.
//
// Units:  Lsn is a byte position in the stream; Instant ms.
// Limits: LogOptions. A record is at most record_bytes_max, and never more than max_record_bytes().
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
#include "core/result.h"
#include "core/time.h"
#include "wal/disk.h"
#include "wal/format.h"
#include "wal/image.h"
#include "wal/manifest.h"
#include "wal/records.h"
#include "wal/segment_pool.h"
#include "wal/writer.h"

namespace pawl {

struct LogOptions {
  std::uint64_t stream = 0;  // random, of this shard's log; seeds every checksum
  std::uint64_t segment_bytes = 64
                                << 20;  // a multiple of extent_bytes, from 64 KiB; fixed when made
  std::uint64_t extent_bytes =
      2 << 20;  // unit of RAM; a power of two, from 16 KiB; fixed when made
  // Bytes of image; messages are refused beyond it, those of senders transfer_reserve_of() before it.
  std::uint64_t memory_max = std::uint64_t{1} << 30;
  std::uint32_t spare_segments = 2;  // kept ready ahead of the tail, at least 1
  Duration lazy_max{10};             // how long a lazy record may wait for company
};

// Memory that only messages which come from another queue may use: such a message gives back as much where it
// was, but later. Without it one at the front of its group that finds no room would be in the way of all that
// could be deleted to make some. An eighth, for it has to hold what moves while extents that it leaves are kept
// by others.
constexpr std::uint64_t transfer_reserve_of(std::uint64_t memory_max) { return memory_max / 8; }

// What recovery found, replayed in log order. Implemented by net/ over core::Shard. Once older segments
// have been reused, messages of a queue may come before its config: a segment begins in the middle of a
// turn, its snapshot follows.
//
// A message given to send() holds its memory and its segment until it is released: through `freed`, or with
// release() once open() has returned (a queue that is gone, a message that is there already).
class Replay {
 public:
  virtual ~Replay() = default;
  virtual void config(const ConfigRecord& record) = 0;
  virtual void head(const HeadRecord& record) = 0;
  virtual void send(
      const SendRecord& record) = 0;  // content is valid during the call; position is set
  // These name the sends that are not needed any more by adding their positions to `freed`.
  virtual void receive(const ReceiveRecord& record) = 0;
  virtual void remove(const RemoveRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void purge(const PurgeRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void task(const TaskRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void settled(const SettledRecord& record, std::vector<LogPos>& freed) = 0;
};

struct RecoveryReport {
  std::uint64_t frames = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  Lsn torn_at = 0;       // where a torn tail was cut off; 0: none
  Instant newest;        // wall time of the newest frame: time does not start before it
  bool created = false;  // the stream was new
};

struct LogFailure {
  int sys = 0;  // errno
  Lsn lsn = 0;
  const char* what = "";
};

struct LogStats {
  std::uint64_t frames = 0, bytes_written = 0, padding_bytes = 0, records = 0;
  std::uint64_t image_bytes = 0, segments = 0, spare_segments = 0;
  std::uint64_t flush_us_ewma = 0;
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

  // Appends all records of a turn; sets SendRecord::position. Returns the lsn that durable() must
  // reach before replies that wait may leave.
  Lsn append(Effects& effects, Instant now);
  // True when a segment has begun and a snapshot is still to be appended (with one append()).
  bool wants_snapshot() const;
  void snapshot_appended();

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
  bool write_in_flight() const { return writer_.write_in_flight(); }
  bool pending() const { return appended() > durable(); }  // something appended is not yet durable
  // When pump() is to be called at the latest: a lazy record is due to be written, or a full disk is to
  // be tried again; `never` if neither.
  Instant next_lazy() const { return std::min(writer_.next_lazy(), pool_.next_retry()); }

  // Whether `bytes` more of messages may be accepted: ok, no_memory, no_space, or io after a failure.
  enum class From : std::uint8_t { sender, queue };
  Errc room(std::uint64_t bytes, From from = From::sender) const;
  // They are, and will be appended in this turn: they count from now on.
  void accepted(std::uint64_t bytes) { accepted_ += bytes; }
  // The largest record there may be: body, attributes and everything else of a message.
  std::size_t max_record_bytes() const {
    return std::min(record_bytes_max, geometry_.record_room());
  }

  StoredMessage message(LogPos position) const { return trusted_send(image_.at(position)); }
  // The record is not needed any more. After the append() of what made it so, before the next pump().
  void release(LogPos position) { image_.release(position); }

  const std::optional<LogFailure>& failure() const { return failure_; }
  LogStats stats() const;

 private:
  friend class Recovery;

  // A snapshot lets every segment before the one it began in go, once it is durable.
  struct Snapshot {
    std::uint64_t segment = 0;
    Lsn end = 0;
  };

  Log(Disk& disk, const Geometry& geometry, const LogOptions& options,
      std::unique_ptr<ManifestFiles> manifest);
  void reclaim(Instant now);
  void finish_reclaim();

  Geometry geometry_;
  std::uint64_t memory_max_;
  std::uint64_t accepted_ = 0;  // bytes since the last pump()
  Image image_;
  SegmentPool pool_;
  std::unique_ptr<ManifestFiles> manifest_;
  Writer writer_;

  std::uint64_t append_segment_ = 0;  // where the tail was when the last append() began
  Snapshot latest_snapshot_;
  Snapshot durable_snapshot_;
  std::uint64_t reclaim_to_ = 0;  // segments below may go when reclaim_after_ is durable
  Lsn reclaim_after_ = 0;
  bool stopping_ = false;
  bool closed_ = false;
  std::optional<LogFailure> failure_;
};

}  // namespace pawl

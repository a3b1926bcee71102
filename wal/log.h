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
// Space: when no record of the oldest segments is needed any more they are reused. Each new segment
// starts with a snapshot (configs, heads) that the shard loop appends when wants_snapshot() says so.
//
// Units:  Lsn is a byte position in the stream; Instant ms.
// Limits: LogOptions. A record is at most record_bytes_max.
// Errors: a failed write or flush is final: failure() says what; nothing is acknowledged after it.
// Owner:  one shard. No threads, no clock.
// Source: wal/FORMAT.md for the bytes.
#pragma once

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

namespace pawl {

inline constexpr std::size_t record_bytes_max = (1 << 20) + (1 << 18);  // 1 MiB body + attributes, ids, headers

struct LogOptions {
  std::uint64_t stream = 0;                        // random, of this shard's log; seeds every checksum
  std::uint64_t segment_bytes = 64 << 20;          // a multiple of extent_bytes; fixed at format time
  std::uint64_t extent_bytes = 2 << 20;            // unit of RAM; a frame never crosses one
  std::uint64_t memory_max = std::uint64_t{1} << 30;  // bytes of image; sends are refused beyond it
  std::uint32_t spare_segments = 2;                // kept ready ahead of the tail
  Duration lazy_max{10};                           // how long a lazy record may wait for company
};

// What recovery found, replayed in log order. Implemented by net/ over core::Shard.
class Replay {
 public:
  virtual ~Replay() = default;
  virtual void config(const ConfigRecord& record) = 0;
  virtual void head(const HeadRecord& record) = 0;
  virtual void send(const SendRecord& record) = 0;  // content is valid during the call; position is set
  // These name the records that are not needed any more by adding to `freed`.
  virtual void receive(const ReceiveRecord& record) = 0;
  virtual void remove(const RemoveRecord& record, std::vector<LogPos>& freed) = 0;
  virtual void purge(const PurgeRecord& record, std::vector<LogPos>& freed) = 0;
};

struct RecoveryReport {
  std::uint64_t frames = 0;
  std::uint64_t records = 0;
  std::uint64_t bytes = 0;
  Lsn torn_at = 0;         // where a torn tail was cut off; 0: none
  Instant newest;          // wall time of the newest frame: time does not start before it
  bool created = false;    // the stream was new
};

struct LogFailure {
  int sys = 0;             // errno
  Lsn lsn = 0;
  const char* what = "";
};

// The content of a stored message; spans point into the image and hold until the record is released.
struct StoredMessage {
  QueueId queue = QueueId::none;
  Seq seq = 0;
  Instant sent;
  Content content;
  std::array<std::uint8_t, 16> body_md5{};
  bool has_body_md5 = false;
};

struct LogStats {
  std::uint64_t frames = 0, bytes_written = 0, padding_bytes = 0, records = 0;
  std::uint64_t image_bytes = 0, segments = 0, spare_segments = 0;
  std::uint64_t flush_us_ewma = 0;
};

class Log {
 public:
  // Opens or creates the stream in the directory of `disk`, replays it, cuts off a torn tail and
  // starts a new epoch (written to the manifest before this returns). Errc::corrupt with `complaint`
  // naming file and offset when acknowledged data is damaged; Errc::version for a newer format.
  static Result<std::unique_ptr<Log>> open(Disk& disk, const LogOptions& options, Replay& replay,
                                           RecoveryReport& report, std::string& complaint);
  virtual ~Log() = default;

  // Appends all records of a turn; sets SendRecord::position. Returns the lsn that durable() must
  // reach before replies that wait may leave.
  virtual Lsn append(Effects& effects, Instant now) = 0;
  // True when a segment has begun and its snapshot is still to be appended (with append()).
  virtual bool wants_snapshot() const = 0;
  virtual void snapshot_appended() = 0;

  // Looks at finished I/O, moves durable(), decides whether to write. `idle`: the turn had nothing else
  // to do. `now_us` is a monotonic clock in microseconds, for the flush estimate alone.
  virtual void pump(Instant now, std::uint64_t now_us, bool idle) = 0;
  // Writes everything pending, lazy records too, at the next pump (drain at stop).
  virtual void flush_all() = 0;
  // After flush_all and when everything is durable: marks the manifest clean. Blocking.
  virtual Result<void> close_clean() = 0;

  virtual Lsn appended() const = 0;  // end of everything appended
  virtual Lsn durable() const = 0;   // everything below is on disk
  virtual bool write_in_flight() const = 0;
  virtual bool pending() const = 0;  // something appended is not yet durable
  virtual Instant next_lazy() const = 0;  // when a lazy record is due to be written; `never` if none

  // Whether `bytes` more of messages may be accepted: ok, no_memory or no_space.
  virtual Errc room(std::uint64_t bytes) const = 0;

  virtual StoredMessage message(LogPos position) const = 0;
  virtual void release(LogPos position) = 0;  // the record is not needed any more

  virtual const std::optional<LogFailure>& failure() const = 0;
  virtual LogStats stats() const = 0;
};

}  // namespace pawl

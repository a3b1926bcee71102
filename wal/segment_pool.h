// SegmentPool: the files of the log, and the spare ones made ready ahead of its tail.
//
//   absent --create--> filling with zeros --sync--+
//                                                 +--> header, sync dir --> ready --tail enters--> in use
//   retired (not needed) --rename-----------------+                                                  |
//      ^------------------ no message left in it, and a start does not read it ----------------------+
//
// Those that a start reads, from the latest checkpoint on, are all there. Of older ones those are left that hold a
// message: the table has gaps.
//
// A segment gets its header when it is full size, and is ready when its name is durable too: recovery
// trusts a header. Steps are asynchronous and go on at pump(), one segment at a time in rising order, so
// that none can be missing before one that is there. A turn waits for nothing longer than a create, a
// rename or a remove.
//
// Limits: `spares` ready ahead; as many retired files are kept for the next ones, more are removed.
// Errors: ENOSPC and EDQUOT (and any error while filling, as a short write hides the reason): the step is
//         tried again every second. Any other error is final and set as the log's failure.
// Owner:  the log of one shard.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/result.h"
#include "core/ring_queue.h"
#include "core/time.h"
#include "wal/disk.h"
#include "wal/format.h"
#include "wal/image.h"

namespace pawl {

// An errno that is no failure: it is tried again.
bool disk_is_full(int sys);

class SegmentPool {
 public:
  static constexpr Duration retry_after{1000};
  static constexpr std::size_t fill_bytes_max = 1 << 20;  // in one write

  SegmentPool(Disk& disk, const Geometry& geometry, std::uint32_t spares);
  ~SegmentPool();
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  // --- start-up ---
  void start(std::uint64_t first) { first_ = tail_ = ready_end_ = first; }
  void adopt(std::uint64_t number, FileId file);  // it is whole; numbers rise
  void adopt_retired(std::uint64_t number, FileId file, bool filled);
  Result<void> create_now();  // makes the next number ready, blocking

  // --- the table; numbers from first() to ready_end() ---
  std::uint64_t first() const { return first_; }
  std::uint64_t ready_end() const { return ready_end_; }
  bool ready(std::uint64_t number) const {
    return number >= first_ && number < ready_end() && row(number).file != FileId::none;
  }
  FileId file(std::uint64_t number) const;
  std::uint64_t files() const { return files_; }
  std::uint64_t spares() const { return ready_end() > tail_ + 1 ? ready_end() - tail_ - 1 : 0; }

  // So many bytes are to be ready ahead of the tail, besides a segment that is filled; not less than `spares` says.
  void want_ahead(std::uint64_t bytes);
  void enter(std::uint64_t number) { tail_ = number; }  // the tail is in this segment now
  void add_live(std::uint64_t number);
  // A message in it has gone; what says so is below `lsn`.
  void release(std::uint64_t number, Lsn lsn);
  // Retires segments below `below` in which no message is left, as far as that is durable.
  void retire(std::uint64_t below, Lsn durable);
  // The first that has messages and no file; ready_end() if there is none.
  std::uint64_t first_missing() const;

  // Goes on with what is under way; starts more unless `stopping`. An error is final.
  Result<void> pump(Instant now, bool stopping);
  bool busy() const { return io_.armed || io_.done; }
  // When pump() wants to be called even if no operation finishes.
  Instant next_retry() const { return retry_at_; }

 private:
  enum class Step : std::uint8_t { none, begin, fill, fill_sync, header, dir_sync };

  struct Row {
    FileId file = FileId::none;
    std::uint64_t live = 0;  // messages
    Lsn emptied = 0;         // when this is durable, none is left
  };
  struct Retired {
    std::uint64_t number = 0;
    FileId file = FileId::none;
    bool filled = false;  // full size already
  };

  Row& row(std::uint64_t number);  // made if it is behind the last
  const Row& row(std::uint64_t number) const { return rows_[number - first_]; }
  Result<void> make_now();
  Result<void> issue(Instant now);
  Result<void> begin(Instant now);
  void made();
  void trim(Instant now);
  void retry_later(Instant now) { retry_at_ = now + retry_after; }
  std::size_t choose_retired() const;
  std::span<const std::byte> fill_piece() const;

  Disk& disk_;
  Geometry geometry_;
  std::uint32_t spares_min_;
  std::uint64_t spares_;
  std::uint64_t first_ = 0;
  std::uint64_t tail_ = 0;
  RingQueue<Row> rows_;  // from first_ on, up to ready_end_ or the tail, which may be ahead of it
  std::uint64_t ready_end_ = 0;
  std::uint64_t files_ = 0;         // below ready_end_
  std::uint64_t looked_below_ = 0;  // of those below it none can be retired
  std::vector<Retired> retired_;

  // the segment being made: number ready_end()
  Step step_ = Step::none;
  FileId making_ = FileId::none;
  std::uint64_t filled_ = 0;
  Io io_;
  Instant retry_at_ = never;
  PageBlock header_;
};

}  // namespace pawl

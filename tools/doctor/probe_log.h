// SPDX-License-Identifier: Apache-2.0
// ProbeLog: the ring, disk and segments of a shard, without a log in them, for measuring writes.
//
// Its segments are in the states in which the end of a log finds them:
//
//   fresh:    filled with zeros, and not written since: a new log
//   reused:   written to its end, retired and renamed: the steady state
//   unfilled: its space is allocated, but not filled: a log that grows faster than it is filled
//
//   0 is created and written -> 1 is created (fresh), the tail enters it -> 0 becomes 2 (reused)
//                                         -> more space is wanted at once: 3 (unfilled)
//
// Units:  bytes; microseconds of steady_now_us().
// Limits: disk_bytes on the disk; FrameWriter::writes_max writes at once.
// Errors: Errc::io with errno; Errc::no_space on a full disk; Errc::not_ready: the time is over, or
//         a signal has arrived.
// Owner:  one thread; the directory outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/io/ring.h"
#include "net/io/uring_disk.h"
#include "net/server/idle_policy.h"
#include "tools/doctor/held_signals.h"
#include "wal/segments/segment_pool.h"

namespace pawl {

enum class SegmentState : std::uint8_t { fresh, reused, unfilled };

// The end of a measurement: a time or a signal.
struct ProbeLimit {
  std::uint64_t end_us = 0;
  const HeldSignals* signals = nullptr;
  bool reached() const;
};

class ProbeLog {
 public:
  static constexpr Geometry geometry{
      .stream = 1, .segment_bytes = 16 << 20, .extent_bytes = 2 << 20};
  static constexpr std::uint64_t disk_bytes = 3 * geometry.segment_bytes + (4 << 20);

  // Opens the directory and calibrates durable writes, as a shard does at startup.
  static Result<std::unique_ptr<ProbeLog>> open(const std::string& directory);
  ~ProbeLog();
  ProbeLog(const ProbeLog&) = delete;
  ProbeLog& operator=(const ProbeLog&) = delete;

  // Makes the segments. `frame`: any content, a multiple of block_bytes.
  Result<void> prepare(std::span<const std::byte> frame, const ProbeLimit& limit);
  const Calibration& calibration() const { return calibration_; }
  // FileId::none: the file system cannot allocate space, so that no segment is unfilled.
  FileId file(SegmentState state) const;

  void write(FileId file, std::uint64_t offset, std::span<const std::byte> from, Io& io) {
    disk_->write(file, offset, from, Flush::yes, io);
  }
  // Passes the time until an operation has finished, as the policy decides.
  void wait(IdlePolicy& policy);

 private:
  ProbeLog() = default;
  bool reap();
  void idle(IdlePolicy& policy);
  Result<void> fill(std::uint64_t number, std::span<const std::byte> frame,
                    const ProbeLimit& limit);
  Result<void> make_ready(std::uint64_t number, const ProbeLimit& limit);
  Result<bool> can_allocate();

  std::unique_ptr<Ring> ring_;
  std::unique_ptr<UringDisk> disk_;
  std::unique_ptr<SegmentPool> pool_;
  Calibration calibration_;
  bool has_unfilled_ = false;
};

}  // namespace pawl

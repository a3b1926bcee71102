// SPDX-License-Identifier: Apache-2.0
// Measures how long a durable write of the log takes under each of the conditions in which a shard
// makes it: the state of its segment, the size of the frame, the number of writes at once, and how
// its thread waits.
//
// The ring, disk, segments and idle policy are the server's (probe_log.h). The cases take
// turns, so a neighbour disturbs all alike.
//
// Units:  microseconds from the submission to the turn that sees the end; bytes.
// Limits: takes ProbeLog::disk_bytes of disk space, in a directory that is deleted at the end, also
//         after an error or a signal; `seconds`, and before that at most prepare_seconds. One
//         operation that the disk delays is always awaited.
// Errors: Errc::no_space: less than free_bytes_min is free (no errno), or the disk became full
//         (ENOSPC). Errc::not_ready: the disk was too slow to prepare, or a signal has arrived.
//         Errc::io with errno.
// Owner:  blocks the calling thread; no other thread runs. A signal that ends the process takes
//         effect when the directory is deleted.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "tools/doctor/probe_log.h"

namespace pawl {

struct LogWriteCase {
  const char* name;
  SegmentState segment;
  std::uint32_t frame_bytes;
  std::uint32_t at_once;  // the writer has at most two writes under way
  Poll poll;
};

inline constexpr std::uint32_t small_frame = 4 << 10;
inline constexpr std::uint32_t large_frame = 256 << 10;
inline constexpr std::array<LogWriteCase, 9> log_write_cases{
    {
     {"write at rest", SegmentState::reused, small_frame, 1, Poll::block},
     {"write spinning", SegmentState::reused, small_frame, 1, Poll::spin},
     {"large write", SegmentState::reused, large_frame, 1, Poll::block},
     {"full load", SegmentState::reused, large_frame, 2, Poll::block},
     {"full load spin", SegmentState::reused, large_frame, 2, Poll::spin},
     {"fresh segment", SegmentState::fresh, small_frame, 1, Poll::block},
     {"fresh large", SegmentState::fresh, large_frame, 1, Poll::block},
     {"unfilled space", SegmentState::unfilled, small_frame, 1, Poll::block},
     {"unfilled large", SegmentState::unfilled, large_frame, 1, Poll::block},
     }
};

inline constexpr std::size_t rest_case = 0, spin_case = 1;  // the same writes, asleep and spinning

struct WriteFigures {
  std::uint64_t writes = 0;  // 0: not measured, so the rest is 0 too
  double p50_us = 0;
  double p99_us = 0;
  double p999_us = 0;  // of fewer than 1000 writes: the slowest
  double bytes_per_second = 0;
};

struct LogWrites {
  Calibration calibration;
  std::array<WriteFigures, log_write_cases.size()> cases;
};

struct LogWriteOptions {
  static constexpr double prepare_seconds = 1.5;

  std::string directory;
  double seconds = 2;
  int cpu = -1;                               // the thread's CPU meanwhile; -1: any
  std::uint64_t free_bytes_min = 256u << 20;  // otherwise nothing is written
};

Result<LogWrites> measure_log_writes(const LogWriteOptions& options);

}  // namespace pawl

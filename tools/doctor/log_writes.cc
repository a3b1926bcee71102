// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/log_writes.h"

#include <sched.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <random>
#include <vector>

#include "core/base/check.h"
#include "net/io/kernel_clocks.h"
#include "tools/doctor/scratch_directory.h"
#include "wal/frame_writer.h"
#include "wal/image.h"

namespace pawl {
namespace {

constexpr std::uint64_t spin_us = 100;  // of an IdlePolicy that never needs it
// Writes of a case before the next case's turn. The first turns may exceed the time, so that a slow
// disk has figures too.
constexpr unsigned first_turn_writes = 2;
constexpr unsigned small_turn_writes = 16;
constexpr unsigned large_turn_writes = 8;
constexpr std::uint64_t first_turns_us = 500'000;

std::uint64_t microseconds(double seconds) {
  return static_cast<std::uint64_t>(seconds * 1'000'000);
}

// Runs the thread on one CPU while it lives.
class Pinned {
 public:
  explicit Pinned(int cpu) {
    if (cpu < 0 || sched_getaffinity(0, sizeof before_, &before_) != 0) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(cpu), &one);
    pinned_ = sched_setaffinity(0, sizeof one, &one) == 0;
  }
  ~Pinned() {
    if (pinned_) sched_setaffinity(0, sizeof before_, &before_);
  }
  Pinned(const Pinned&) = delete;
  Pinned& operator=(const Pinned&) = delete;

 private:
  cpu_set_t before_;
  bool pinned_ = false;
};

// The part of a segment that a case writes. In a reused segment the writes start again at `begin`
// when they reach `end`.
struct Region {
  FileId file = FileId::none;
  std::uint64_t begin = 0, end = 0, next = 0;
  bool reused = false;

  bool take(std::uint64_t bytes, std::uint64_t& offset) {
    if (file == FileId::none) return false;
    if (next + bytes > end) {
      if (!reused) return false;
      next = begin;
    }
    offset = next;
    next += bytes;
    return true;
  }
};

// Small frames have the first half of a segment, large ones the second half.
Region region_of(const ProbeLog& log, const LogWriteCase& at) {
  constexpr std::uint64_t half = ProbeLog::geometry.segment_bytes / 2;
  const bool small = at.frame_bytes == small_frame;
  const std::uint64_t begin = small ? block_bytes : half;
  return {.file = log.file(at.segment),
          .begin = begin,
          .end = small ? half : 2 * half,
          .next = begin,
          .reused = at.segment == SegmentState::reused};
}

class CaseRun {
 public:
  CaseRun(ProbeLog& log, const LogWriteCase& at)
      : log_(&log), case_(&at), region_(region_of(log, at)), policy_(at.poll, spin_us) {
    CHECK(at.at_once > 0 && at.at_once <= FrameWriter::writes_max, "{} writes at once", at.at_once);
  }

  unsigned turn_writes() const {
    return case_->frame_bytes == small_frame ? small_turn_writes : large_turn_writes;
  }
  // Fewer writes than asked if the limit is reached or the region is full. When it returns, none is
  // under way.
  Result<void> turn(unsigned writes, std::span<const std::byte> frames, const ProbeLimit& limit);
  WriteFigures figures();

 private:
  struct Write {
    Io io;
    std::uint64_t since_us = 0;
  };

  bool begin(Write& write, std::span<const std::byte> frame);
  void end(Write& write);

  ProbeLog* log_;
  const LogWriteCase* case_;
  Region region_;
  IdlePolicy policy_;
  std::array<Write, FrameWriter::writes_max> writes_;
  unsigned under_way_ = 0;
  int error_ = 0;
  std::vector<double> times_us_;
  std::uint64_t took_us_ = 0;
};

Result<void> CaseRun::turn(unsigned writes, std::span<const std::byte> frames,
                           const ProbeLimit& limit) {
  const std::uint64_t begun_us = steady_now_us();
  unsigned begun = 0;
  bool more = true;
  do {
    if (under_way_ == 0) policy_.after({.now_us = steady_now_us(), .worked = true});
    for (std::size_t i = 0; i < case_->at_once && more; ++i) {
      if (writes_[i].io.armed) continue;
      more = begun < writes && error_ == 0 && !limit.reached() &&
             begin(writes_[i], frames.subspan(i * large_frame, case_->frame_bytes));
      if (more) ++begun;
    }
    if (under_way_ == 0) break;
    log_->wait(policy_);
    for (Write& write : writes_)
      if (write.io.done) end(write);
  } while (more || under_way_ > 0);
  took_us_ += steady_now_us() - begun_us;
  if (error_ != 0) return fail(Errc::io, "durable write", error_);
  return {};
}

bool CaseRun::begin(Write& write, std::span<const std::byte> frame) {
  std::uint64_t offset = 0;
  if (!region_.take(frame.size(), offset)) return false;
  write.since_us = steady_now_us();
  log_->write(region_.file, offset, frame, write.io);
  ++under_way_;
  return true;
}

void CaseRun::end(Write& write) {
  CHECK(under_way_ > 0, "no write is under way");
  --under_way_;
  times_us_.push_back(static_cast<double>(steady_now_us() - write.since_us));
  if (write.io.result < 0) error_ = -write.io.result;
  write.io = {};
}

WriteFigures CaseRun::figures() {
  if (times_us_.empty()) return {};
  std::ranges::sort(times_us_);
  const auto count = static_cast<double>(times_us_.size());
  const auto at = [&](double part) {
    return times_us_[static_cast<std::size_t>(std::ceil(part * count)) - 1];
  };
  const double seconds = static_cast<double>(std::max<std::uint64_t>(took_us_, 1)) / 1e6;
  return {.writes = times_us_.size(),
          .p50_us = at(0.5),
          .p99_us = at(0.99),
          .p999_us = at(0.999),
          .bytes_per_second = count * case_->frame_bytes / seconds};
}

// Frames of bytes that no disk compresses, in memory like the log's.
PageBlock make_frames() {
  PageBlock frames(FrameWriter::writes_max * large_frame);
  std::mt19937_64 random(1);
  for (std::size_t i = 0; i < frames.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t word = random();
    std::memcpy(frames.data() + i, &word, sizeof word);
  }
  return frames;
}

Result<void> check_space(const LogWriteOptions& options) {
  struct statvfs about{};
  if (statvfs(options.directory.c_str(), &about) != 0) return fail(Errc::io, "statvfs", errno);
  if (std::uint64_t{about.f_bavail} * about.f_frsize < options.free_bytes_min)
    return fail(Errc::no_space, "little free space");
  return {};
}

Result<LogWrites> measure(ProbeLog& log, double seconds, const HeldSignals& signals) {
  const PageBlock frames = make_frames();
  const auto limit_in = [&signals](std::uint64_t us) {
    return ProbeLimit{steady_now_us() + us, &signals};
  };
  const ProbeLimit prepared = limit_in(microseconds(LogWriteOptions::prepare_seconds));
  if (auto ready = log.prepare(frames.span().first(large_frame), prepared); !ready)
    return std::unexpected(ready.error());
  std::vector<CaseRun> runs;
  for (const LogWriteCase& at : log_write_cases) runs.emplace_back(log, at);
  const ProbeLimit limit = limit_in(microseconds(seconds));
  const ProbeLimit first_limit = limit_in(microseconds(seconds) + first_turns_us);
  for (bool first = true; first || !limit.reached(); first = false) {
    for (CaseRun& run : runs) {
      const unsigned writes = first ? first_turn_writes : run.turn_writes();
      if (auto done = run.turn(writes, frames.span(), first ? first_limit : limit); !done)
        return std::unexpected(done.error());
    }
  }
  if (signals.pending()) return fail(Errc::not_ready, "measure");
  LogWrites result{.calibration = log.calibration(), .cases = {}};
  for (std::size_t i = 0; i < runs.size(); ++i) result.cases[i] = runs[i].figures();
  return result;
}

}  // namespace

Result<LogWrites> measure_log_writes(const LogWriteOptions& options) {
  if (auto space = check_space(options); !space) return std::unexpected(space.error());
  const HeldSignals signals;  // until the directory is deleted
  const auto directory = ScratchDirectory::make(options.directory);
  if (!directory) return std::unexpected(directory.error());
  const Pinned pinned(options.cpu);
  const auto log = ProbeLog::open(directory->path());
  if (!log) return std::unexpected(log.error());
  return measure(**log, options.seconds, signals);
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/io/disk_latency.h"

#include <fcntl.h>
#include <liburing.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "core/base/check.h"

namespace pawl {
namespace {

constexpr std::size_t block = 4096;
constexpr std::size_t file_blocks = 512;
constexpr unsigned turn_writes = 16;  // writes of one kind before the other kind's turn

using SteadyClock = std::chrono::steady_clock;

enum class Kind : bool { flush, dsync };

struct Free {
  void operator()(void* memory) const { std::free(memory); }
};

// The file and the ring of one measurement.
class Probe {
 public:
  Probe() = default;
  Probe(const Probe&) = delete;
  Probe& operator=(const Probe&) = delete;
  ~Probe() {
    if (ring_open_) io_uring_queue_exit(&ring_);
    if (file_ >= 0) close(file_);
  }

  Result<void> open(const std::string& directory) {
    block_.reset(static_cast<std::byte*>(std::aligned_alloc(block, block)));
    CHECK(block_ != nullptr);
    std::memset(block_.get(), 0, block);
    std::string path = directory + "/.pawl-doctor-XXXXXX";
    file_ = mkostemp(path.data(), O_DIRECT | O_CLOEXEC);
    if (file_ < 0) return fail(Errc::io, "create a file with O_DIRECT", errno);
    unlink(path.c_str());
    for (std::size_t i = 0; i < file_blocks; ++i)
      if (pwrite(file_, block_.get(), block, static_cast<off_t>(i * block)) !=
          static_cast<ssize_t>(block))
        return fail(Errc::io, "write with O_DIRECT", errno);
    if (fsync(file_) != 0) return fail(Errc::io, "fsync", errno);
    if (const int error = io_uring_queue_init(8, &ring_, 0); error != 0)
      return fail(Errc::io, "io_uring_setup", -error);
    ring_open_ = true;
    return {};
  }

  // One durable write; its time in microseconds.
  Result<double> write(Kind kind) {
    CHECK(ring_open_, "a write before open()");
    const auto start = SteadyClock::now();
    const std::uint64_t offset = next_++ % file_blocks * block;
    const unsigned wanted = kind == Kind::flush ? 2 : 1;
    io_uring_sqe* const write = io_uring_get_sqe(&ring_);
    CHECK(write != nullptr, "the submission queue is full");
    io_uring_prep_write(write, file_, block_.get(), block, offset);
    if (kind == Kind::flush) {
      write->flags |= IOSQE_IO_LINK;
      io_uring_prep_fsync(io_uring_get_sqe(&ring_), file_, IORING_FSYNC_DATASYNC);
    } else {
      write->rw_flags = RWF_DSYNC;
    }
    if (const int error = io_uring_submit_and_wait(&ring_, wanted); error < 0)
      return fail(Errc::io, "io_uring_enter", -error);
    for (unsigned seen = 0; seen < wanted; ++seen) {
      io_uring_cqe* done = nullptr;
      if (const int error = io_uring_wait_cqe(&ring_, &done); error != 0)
        return fail(Errc::io, "io_uring_enter", -error);
      const int result = done->res;
      io_uring_cqe_seen(&ring_, done);
      if (result < 0) return fail(Errc::io, "durable write", -result);
    }
    return std::chrono::duration<double, std::micro>(SteadyClock::now() - start).count();
  }

 private:
  std::unique_ptr<std::byte, Free> block_;
  int file_ = -1;
  io_uring ring_{};
  bool ring_open_ = false;
  std::uint64_t next_ = 0;
};

LatencyFigures figures(std::vector<double>& times) {
  if (times.empty()) return {};
  std::sort(times.begin(), times.end());
  const auto at = [&times](double part) {
    return times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))];
  };
  return {times.size(), at(0.50), at(0.99)};
}

}  // namespace

Result<DiskLatency> measure_disk(const std::string& directory, double seconds) {
  Probe probe;
  if (const auto opened = probe.open(directory); !opened) return std::unexpected(opened.error());
  std::vector<double> flush, dsync;
  const auto end = SteadyClock::now() + std::chrono::duration<double>(seconds);
  do {
    for (const Kind kind : {Kind::flush, Kind::dsync})
      for (unsigned i = 0; i < turn_writes; ++i) {
        const auto time = probe.write(kind);
        if (!time) return std::unexpected(time.error());
        (kind == Kind::flush ? flush : dsync).push_back(*time);
      }
  } while (SteadyClock::now() < end);
  return DiskLatency{figures(flush), figures(dsync)};
}

}  // namespace pawl

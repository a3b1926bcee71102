// SPDX-License-Identifier: Apache-2.0
#include "net/io/disk_threads.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "core/base/check.h"

namespace pawl {
namespace {

void* memory_of(const io_uring_sqe& part) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(part.addr));
}

// The result of a call as a completion has it.
std::int32_t outcome(ssize_t result) {
  return result < 0 ? -errno : static_cast<std::int32_t>(result);
}

bool unknown_to_the_kernel(ssize_t result) {
  return result < 0 && (errno == ENOSYS || errno == EOPNOTSUPP);
}

// Some emulators and file systems lack the call with flags: then two calls do the same.
std::int32_t write_part(const io_uring_sqe& part) {
  const iovec bytes{.iov_base = memory_of(part), .iov_len = part.len};
  const auto at = static_cast<off_t>(part.off);
  const ssize_t flagged = pwritev2(part.fd, &bytes, 1, at, static_cast<int>(part.rw_flags));
  if (!unknown_to_the_kernel(flagged)) return outcome(flagged);
  const ssize_t written = pwrite(part.fd, bytes.iov_base, bytes.iov_len, at);
  if (written < 0 || (part.rw_flags & RWF_DSYNC) == 0) return outcome(written);
  return fdatasync(part.fd) != 0 ? -errno : static_cast<std::int32_t>(written);
}

std::int32_t run_part(const io_uring_sqe& part) {
  switch (part.opcode) {
    case IORING_OP_WRITE:
      return write_part(part);
    case IORING_OP_READ:
      return outcome(pread(part.fd, memory_of(part), part.len, static_cast<off_t>(part.off)));
    case IORING_OP_FSYNC: {
      const bool data_only = (part.fsync_flags & IORING_FSYNC_DATASYNC) != 0;
      return outcome(data_only ? fdatasync(part.fd) : fsync(part.fd));
    }
    case IORING_OP_FALLOCATE:
      return outcome(fallocate(part.fd, static_cast<int>(part.len), static_cast<off_t>(part.off),
                               static_cast<off_t>(part.addr)));
    case IORING_OP_UNLINKAT:
      return outcome(unlinkat(part.fd, static_cast<const char*>(memory_of(part)),
                              static_cast<int>(part.unlink_flags)));
    default:
      return -EINVAL;
  }
}

// A shard's thread is bound to a core, and spins there while a write is under way. This thread may
// run wherever the process may.
void leave_the_core() {
  cpu_set_t process;
  if (sched_getaffinity(getpid(), sizeof process, &process) == 0)
    sched_setaffinity(0, sizeof process, &process);
}

}  // namespace

bool succeeded(const io_uring_sqe& part, std::int32_t result) {
  const bool moves_bytes = part.opcode == IORING_OP_WRITE || part.opcode == IORING_OP_READ;
  return result >= 0 && !(moves_bytes && result < static_cast<std::int32_t>(part.len));
}

bool is_disk_operation(const io_uring_sqe& submission) {
  switch (submission.opcode) {
    case IORING_OP_WRITE:
    case IORING_OP_READ:
    case IORING_OP_FSYNC:
    case IORING_OP_FALLOCATE:
    case IORING_OP_UNLINKAT:
      return true;
    default:
      return false;
  }
}

void run_disk_job(DiskJob& job) {
  CHECK(job.count > 0 && job.count <= job.parts.size(), "a job of {} parts", job.count);
  bool goes_on = true;
  for (unsigned i = 0; i < job.count; ++i) {
    const io_uring_sqe& part = job.parts[i];
    std::int32_t result = -ECANCELED;
    if (goes_on) {
      do {
        result = run_part(part);
      } while (result == -EINTR);
    }
    job.results[i] = result;
    goes_on = goes_on && succeeded(part, result);
  }
}

Result<std::unique_ptr<DiskThreads>> DiskThreads::create(int event_fd) {
  std::unique_ptr<DiskThreads> made(new DiskThreads(event_fd));
  // They take no signals: those of the process are for its main thread.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int error = 0;
  try {
    for (unsigned i = 0; i < threads_max; ++i)
      made->threads_.emplace_back([threads = made.get()] { threads->run(); });
  } catch (const std::system_error& refused) {
    error = refused.code().value();
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (error != 0) return fail(Errc::io, "start of a disk thread", error);
  return made;
}

DiskThreads::~DiskThreads() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void DiskThreads::begin(const DiskJob& job) {
  {
    const std::scoped_lock lock(mutex_);
    waiting_.push_back(job);
  }
  work_.notify_one();
}

const std::vector<DiskJob>& DiskThreads::take() {
  taken_.clear();
  if (ended_count_.load(std::memory_order_relaxed) == 0) return taken_;
  const std::scoped_lock lock(mutex_);
  taken_.swap(ended_);
  ended_count_.store(0, std::memory_order_relaxed);
  return taken_;
}

bool DiskThreads::sleep() {
  const std::scoped_lock lock(mutex_);
  sleeping_ = ended_.empty();
  return sleeping_;
}

void DiskThreads::awake() {
  const std::scoped_lock lock(mutex_);
  sleeping_ = false;
}

void DiskThreads::run() {
  leave_the_core();
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    DiskJob job = waiting_.front();
    waiting_.pop_front();
    lock.unlock();
    run_disk_job(job);
    lock.lock();
    ended_.push_back(job);
    ended_count_.store(static_cast<std::uint32_t>(ended_.size()), std::memory_order_relaxed);
    if (!std::exchange(sleeping_, false)) continue;
    const ssize_t written = ::write(event_fd_, &ended_amount, sizeof ended_amount);
    CHECK(written == sizeof ended_amount, "eventfd: {}", std::strerror(errno));
  }
}

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Threads that run the disk operations of a shard where io_uring is forbidden.
//
//   begin(job) --queue--> a thread: system calls --ended--> take(): the shard's thread
//                                                    \--- does it sleep? its eventfd is written
//
// A job is one submission, or a write with the flush that is linked behind it. Jobs of different
// threads end in any order, as on io_uring. An operation that has begun cannot be cancelled.
//
// Units:  submissions and results as io_uring_enter(2) states them.
// Limits: threads_max jobs run at once; others wait in order. The caller limits their number.
// Errors: a result is a negative errno. create() fails when no thread can be started.
// Owner:  begin(), take(), sleep() and awake() belong to the shard's thread. The destructor waits
//         for the jobs that have begun; waiting ones are dropped.
// Source: pwritev2(2), preadv2(2), fdatasync(2), fallocate(2), unlinkat(2).
#pragma once

#include <liburing.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "core/base/result.h"

namespace pawl {

// Whether the operation is one of the disk: it may block, and a thread runs it.
bool is_disk_operation(const io_uring_sqe& submission);

// False also for fewer bytes than asked.
bool succeeded(const io_uring_sqe& part, std::int32_t result);

struct DiskJob {
  std::array<io_uring_sqe, 2> parts{};
  std::array<std::int32_t, 2> results{};
  unsigned count = 0;
};

// Runs the parts in order. After one that fails or is short, the rest is cancelled.
void run_disk_job(DiskJob& job);

class DiskThreads {
 public:
  static constexpr unsigned threads_max = 2;
  // Added to the eventfd's counter for ended jobs; smaller amounts are somebody else's.
  static constexpr std::uint64_t ended_amount = std::uint64_t{1} << 32;

  // `event_fd`: written when jobs end while the shard sleeps; it stays the caller's.
  static Result<std::unique_ptr<DiskThreads>> create(int event_fd);
  ~DiskThreads();
  DiskThreads(const DiskThreads&) = delete;
  DiskThreads& operator=(const DiskThreads&) = delete;

  void begin(const DiskJob& job);
  // The jobs that have ended since the last call; valid until the next one.
  const std::vector<DiskJob>& take();
  // True: no job has ended, and the next one that ends writes the eventfd.
  bool sleep();
  void awake();

 private:
  explicit DiskThreads(int event_fd) : event_fd_(event_fd) {}
  void run();

  const int event_fd_;
  std::vector<DiskJob> taken_;  // of the last take()
  // Relaxed: the mutex orders the jobs that it counts. take() may miss the latest ones; sleep()
  // looks again under the mutex.
  std::atomic<std::uint32_t> ended_count_{0};

  std::mutex mutex_;  // guards all below
  std::condition_variable work_;
  std::deque<DiskJob> waiting_;
  std::vector<DiskJob> ended_;
  bool sleeping_ = false;
  bool stopping_ = false;

  std::vector<std::thread> threads_;
};

}  // namespace pawl

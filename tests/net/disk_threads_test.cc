// SPDX-License-Identifier: Apache-2.0
#include "net/io/disk_threads.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <thread>

namespace pawl {
namespace {

class DiskThreadsTest : public testing::Test {
 protected:
  DiskThreadsTest() {
    auto made = DiskThreads::create(event_);
    EXPECT_TRUE(made);
    threads_ = std::move(*made);
  }
  ~DiskThreadsTest() override {
    threads_.reset();
    for (const int fd : {event_, file_, full_}) ::close(fd);
  }
  static DiskJob durable_write(int fd, const char* text, std::uint64_t at) {
    DiskJob job;
    io_uring_prep_write(&job.parts[0], fd, text, 4, at);
    io_uring_prep_fsync(&job.parts[1], fd, IORING_FSYNC_DATASYNC);
    job.count = 2;
    return job;
  }
  // The next job that ends.
  DiskJob next() {
    for (int i = 0; i < 10'000; ++i) {
      if (const auto& ended = threads_->take(); !ended.empty()) {
        EXPECT_EQ(ended.size(), 1u);
        return ended.front();
      }
      usleep(1000);
    }
    ADD_FAILURE() << "no job ends";
    return {};
  }

  const int event_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  const int file_ = memfd_create("disk_threads_test", MFD_CLOEXEC);
  const int full_ = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  std::unique_ptr<DiskThreads> threads_;
};

TEST_F(DiskThreadsTest, RunTheirPartsInOrder) {
  threads_->begin(durable_write(file_, "data", 8));
  const DiskJob ended = next();
  EXPECT_EQ(ended.results[0], 4);
  EXPECT_EQ(ended.results[1], 0);
  char read[4] = {};
  ASSERT_EQ(pread(file_, read, 4, 8), 4);
  EXPECT_EQ(std::string(read, 4), "data");
}

TEST_F(DiskThreadsTest, CancelTheFlushOfAFailedWrite) {
  threads_->begin(durable_write(full_, "data", 0));
  const DiskJob ended = next();
  EXPECT_EQ(ended.results[0], -ENOSPC);
  EXPECT_EQ(ended.results[1], -ECANCELED);
}

TEST_F(DiskThreadsTest, CancelWhatFollowsAShortPart) {
  ASSERT_EQ(ftruncate(file_, 2), 0);
  char into[4] = {};
  DiskJob job = durable_write(file_, "data", 0);
  io_uring_prep_read(&job.parts[0], file_, into, sizeof into, 0);
  run_disk_job(job);
  EXPECT_EQ(job.results[0], 2);
  EXPECT_EQ(job.results[1], -ECANCELED);
}

TEST_F(DiskThreadsTest, DoTheFileOperationsOfALog) {
  DiskJob job;
  job.count = 1;
  io_uring_prep_fallocate(&job.parts[0], file_, FALLOC_FL_KEEP_SIZE, 0, 1 << 20);
  run_disk_job(job);
  EXPECT_EQ(job.results[0], 0);
  io_uring_prep_unlinkat(&job.parts[0], AT_FDCWD, "/proc/self/no-such-file", 0);
  run_disk_job(job);
  EXPECT_EQ(job.results[0], -ENOENT);
  io_uring_prep_nop(&job.parts[0]);
  run_disk_job(job);
  EXPECT_EQ(job.results[0], -EINVAL) << "not an operation of the disk";
  EXPECT_FALSE(is_disk_operation(job.parts[0]));
}

TEST_F(DiskThreadsTest, WakeASleepingShardOnce) {
  ASSERT_TRUE(threads_->sleep());
  threads_->begin(durable_write(file_, "data", 0));
  pollfd wait{.fd = event_, .events = POLLIN, .revents = 0};
  ASSERT_EQ(poll(&wait, 1, 10'000), 1);
  threads_->awake();
  eventfd_t count = 0;
  ASSERT_EQ(eventfd_read(event_, &count), 0);
  EXPECT_EQ(count, DiskThreads::ended_amount);
  EXPECT_FALSE(threads_->sleep()) << "a job has ended";
  next();
  threads_->begin(durable_write(file_, "data", 0));
  next();
  EXPECT_EQ(eventfd_read(event_, &count), -1) << "an awake shard needs no wake-up";
}

// A shard binds its thread to a core before it makes its ring.
TEST(DiskThreadsOfAShard, RunWhereTheProcessMay) {
  std::thread([] {
    cpu_set_t process, one;
    ASSERT_EQ(sched_getaffinity(getpid(), sizeof process, &process), 0);
    if (CPU_COUNT(&process) < 2) GTEST_SKIP() << "one core";
    CPU_ZERO(&one);
    for (std::size_t cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &process)) CPU_SET(cpu, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    const auto threads = DiskThreads::create(event);
    ASSERT_TRUE(threads);
    const auto free_threads = [&] {
      unsigned count = 0;
      for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        cpu_set_t of_thread;
        const pid_t id = std::stoi(entry.path().filename().string());
        if (id != getpid() && sched_getaffinity(id, sizeof of_thread, &of_thread) == 0)
          count += CPU_EQUAL(&of_thread, &process) ? 1 : 0;
      }
      return count;
    };
    unsigned count = 0;
    for (int i = 0; i < 5000 && (count = free_threads()) < DiskThreads::threads_max; ++i)
      usleep(1000);
    EXPECT_GE(count, DiskThreads::threads_max);
    ::close(event);
  }).join();
}

TEST_F(DiskThreadsTest, EndWithJobsWaiting) {
  for (int i = 0; i < 200; ++i) threads_->begin(durable_write(file_, "data", 0));
}

}  // namespace
}  // namespace pawl

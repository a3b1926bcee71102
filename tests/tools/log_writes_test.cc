// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/log_writes.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <filesystem>

#include "tests/net/fake_root.h"
#include "tools/doctor/shard_conditions.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

TEST(LogWrites, AreMeasuredUnderEachConditionAndLeaveNothingBehind) {
  FakeRoot root;
  const auto measured = measure_log_writes({.directory = root.path(), .seconds = 0.05, .cpu = 0});
  EXPECT_TRUE(fs::is_empty(root.path()));
  ASSERT_TRUE(measured) << measured.error().what;
  const bool allocates = file_abilities(root.path()).allocate_error == 0;
  for (std::size_t i = 0; i < log_write_cases.size(); ++i) {
    SCOPED_TRACE(log_write_cases[i].name);
    const WriteFigures& figures = measured->cases[i];
    if (log_write_cases[i].segment == SegmentState::unfilled && !allocates) {
      EXPECT_EQ(figures.writes, 0u);
      continue;
    }
    EXPECT_GE(figures.writes, 2u) << "also a slow disk has figures";
    EXPECT_GT(figures.p50_us, 0);
    EXPECT_GE(figures.p99_us, figures.p50_us);
    EXPECT_GE(figures.p999_us, figures.p99_us);
    EXPECT_GT(figures.bytes_per_second, 0);
  }
}

TEST(LogWrites, AreNotMeasuredOnADiskWithLittleSpace) {
  FakeRoot root;
  const auto measured =
      measure_log_writes({.directory = root.path(), .seconds = 1, .free_bytes_min = UINT64_MAX});
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, Errc::no_space);
  EXPECT_EQ(measured.error().sys, 0) << "the disk is not full";
  EXPECT_TRUE(fs::is_empty(root.path()));
}

TEST(LogWrites, LeaveNothingBehindAfterAnError) {
  FakeRoot root;
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{.rlim_cur = 8 << 20, .rlim_max = before.rlim_max};  // half a segment
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  const auto measured = measure_log_writes({.directory = root.path(), .seconds = 1});
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().sys, EFBIG) << measured.error().what;
  EXPECT_TRUE(fs::is_empty(root.path()));
}

// Runs a measurement without end in a process of its own, and ends it by `number` when it has
// files. Returns the status of waitpid().
int status_after(int number, const std::string& directory) {
  const pid_t child = fork();
  if (child == 0) {
    (void)measure_log_writes({.directory = directory, .seconds = 1e6});
    _exit(0);
  }
  int status = 0;
  while (fs::is_empty(directory)) {
    if (waitpid(child, &status, WNOHANG) != 0) return status;  // it ended too early
    constexpr timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    nanosleep(&pause, nullptr);
  }
  kill(child, number);
  waitpid(child, &status, 0);
  return status;
}

TEST(LogWrites, LeaveNothingBehindAfterASignal) {
  for (const int number : {SIGINT, SIGTERM}) {
    FakeRoot root;
    const int status = status_after(number, root.path());
    ASSERT_TRUE(WIFSIGNALED(status)) << status;
    EXPECT_EQ(WTERMSIG(status), number);
    EXPECT_TRUE(fs::is_empty(root.path()));
  }
}

TEST(LogWrites, DeleteTheFilesOfAMeasurementThatWasKilled) {
  FakeRoot root;
  ASSERT_TRUE(WIFSIGNALED(status_after(SIGKILL, root.path())));
  ASSERT_FALSE(fs::is_empty(root.path()));
  EXPECT_TRUE(measure_log_writes({.directory = root.path(), .seconds = 0.01}));
  EXPECT_TRUE(fs::is_empty(root.path()));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/doctor.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <string>

#include "tests/net/fake_root.h"

namespace pawl {
namespace {

std::map<std::string, Finding> findings(const DoctorOptions& options) {
  std::map<std::string, Finding> by_name;
  for (const Finding& finding : examine(options)) by_name[finding.name] = finding;
  return by_name;
}

TEST(Doctor, WarnsAboutSettingsThatCostLatencyAndSaysHowToChangeThem) {
  FakeRoot root;
  root.with("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet\n")
      .with("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n")
      .with("/proc/self/cgroup", "0::/\n")
      .with("/sys/fs/cgroup/cpu.max", "1000 100000\n");
  auto by_name = findings({.disk_seconds = 0, .root = root.path()});
  EXPECT_EQ(by_name["clock source"].status, Finding::Status::warn);
  EXPECT_EQ(by_name["clock source"].what, "hpet");
  EXPECT_EQ(by_name["cpu governor"].status, Finding::Status::ok);
  EXPECT_EQ(by_name["cpus"].status, Finding::Status::warn);
  EXPECT_EQ(by_name.count("block device"), 0u) << "this fake machine shows none";
  for (const auto& [name, finding] : by_name)
    EXPECT_EQ(finding.status == Finding::Status::ok, finding.remedy.empty()) << name;
}

TEST(Doctor, NamesTheGroupThatLimitsTheMemory) {
  FakeRoot root;
  root.with("/proc/self/cgroup", "0::/system.slice/pawl.service\n")
      .with("/sys/fs/cgroup/system.slice/pawl.service/memory.max", "104857600\n");
  const Finding finding = findings({.disk_seconds = 0, .root = root.path()})["memory"];
  EXPECT_EQ(finding.status, Finding::Status::warn);
  EXPECT_TRUE(finding.what.contains("/system.slice/pawl.service")) << finding.what;
  EXPECT_TRUE(finding.what.contains("102400 KiB")) << finding.what;
  EXPECT_TRUE(finding.remedy.contains("MemoryMax=")) << finding.remedy;
}

TEST(Doctor, WarnsOfMoreMemoryThanTheGroupAllows) {
  FakeRoot root;
  root.with("/proc/self/cgroup", "0::/pawl\n")
      .with("/sys/fs/cgroup/pawl/memory.max", "1073741824\n");
  DoctorOptions options{.disk_seconds = 0, .shards = 2, .root = root.path()};
  options.memory = std::uint64_t{512} << 20;
  EXPECT_EQ(findings(options)["memory"].status, Finding::Status::ok);
  options.memory = std::uint64_t{2} << 30;
  const Finding finding = findings(options)["memory"];
  EXPECT_EQ(finding.status, Finding::Status::warn);
  EXPECT_TRUE(finding.what.contains("/sys/fs/cgroup/pawl allows 1.0 GiB; with --memory 2.0 GiB"))
      << finding.what;
  EXPECT_TRUE(finding.remedy.contains("lower --memory to 524288 KiB")) << finding.remedy;
}

TEST(Doctor, LooksAtTheNearestDirectoryWhenTheDataDirectoryDoesNotExistYet) {
  FakeRoot base;
  auto by_name = findings({.data = base.path() + "/not/there/yet", .disk_seconds = 0});
  ASSERT_TRUE(by_name.contains("filesystem"));
  EXPECT_NE(by_name["filesystem"].what.find(base.path() + " "), std::string::npos)
      << by_name["filesystem"].what;
  EXPECT_TRUE(std::filesystem::is_empty(base.path())) << "nothing is left behind";
}

// Exit statuses of a process that examines a ramfs.
constexpr int agrees = 0, contradicts = 1, cannot_mount = 2;

int status_on_ramfs(const std::string& directory) {
  const pid_t child = fork();
  if (child == 0) {
    // The mount ends with the process's namespace.
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
        mount("none", directory.c_str(), "ramfs", 0, nullptr) != 0)
      _exit(cannot_mount);
    auto by_name = findings({.data = directory, .disk_seconds = 0});
    _exit(by_name["filesystem"].status == Finding::Status::ok &&
                  by_name["O_DIRECT"].status == Finding::Status::warn
              ? agrees
              : contradicts);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  return WEXITSTATUS(status);
}

TEST(Doctor, WarnsAndDoesNotFailWhereAFileSystemRefusesDirectWrites) {
  FakeRoot base;
  const int status = status_on_ramfs(base.path());
  if (status == cannot_mount) GTEST_SKIP() << "only root can mount";
  EXPECT_EQ(status, agrees);
}

TEST(Doctor, FailsWhereNoFileCanBeCreated) {
  const auto by_name = findings({.data = "/proc", .disk_seconds = 0});  // also root cannot
  const Finding& found = by_name.at("filesystem");
  EXPECT_EQ(found.status, Finding::Status::fail);
  EXPECT_NE(found.what.find("cannot create a file"), std::string::npos) << found.what;
}

TEST(Doctor, SaysOfEachConditionOfAShardWhetherTheMachineAllowsIt) {
  FakeRoot base;
  const auto by_name = findings({.data = base.path(), .disk_seconds = 0});
  for (const char* name : {"io_uring", "ring features", "locked memory", "open files", "O_DIRECT",
                           "preallocation", "thread pinning", "huge pages", "landlock"}) {
    ASSERT_TRUE(by_name.contains(name)) << name;
    EXPECT_TRUE(by_name.at(name).allowed.has_value()) << name;
  }
  EXPECT_FALSE(by_name.contains("write at rest")) << "nothing is measured";
}

TEST(Doctor, MeasuresTheWritesOfAShardAndSaysTheirFigures) {
  FakeRoot base;
  const auto by_name = findings({.data = base.path(), .disk_seconds = 0.06});
  EXPECT_TRUE(std::filesystem::is_empty(base.path())) << "nothing is left behind";
  ASSERT_TRUE(by_name.contains("write at rest"));
  const Finding& rest = by_name.at("write at rest");
  EXPECT_TRUE(rest.what.starts_with("4 KiB, reused segment, thread asleep: p50 ")) << rest.what;
  ASSERT_EQ(rest.figures.size(), 5u);
  EXPECT_STREQ(rest.figures[1].first, "p50_us");
  EXPECT_GT(rest.figures[1].second, 0u);
  EXPECT_TRUE(by_name.contains("full load spin"));
  EXPECT_TRUE(by_name.contains("flush kind"));
}

TEST(Doctor, NamesTheLimitThatPreventsAMeasurement) {
  const Finding little = not_measured({.code = Errc::no_space});
  EXPECT_NE(little.what.find("less than 262144 KiB free"), std::string::npos) << little.what;
  const Finding full = not_measured({.code = Errc::no_space, .sys = ENOSPC, .what = "allocate"});
  EXPECT_EQ(full.what, "not measured: allocate: No space left on device");
  EXPECT_EQ(full.remedy, little.remedy);
  const Finding limited = not_measured({.code = Errc::io, .sys = EFBIG, .what = "write"});
  EXPECT_NE(limited.remedy.find("RLIMIT_FSIZE: `ulimit -f"), std::string::npos) << limited.remedy;
  const Finding other = not_measured({.code = Errc::io, .sys = EIO, .what = "write"});
  EXPECT_EQ(other.remedy, "See the other findings.");
}

}  // namespace
}  // namespace pawl

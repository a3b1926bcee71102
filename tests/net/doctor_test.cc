// SPDX-License-Identifier: Apache-2.0
#include "net/server/doctor.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

namespace pawl {
namespace {

// A directory with files in the format of /proc and /sys.
class FakeRoot {
 public:
  FakeRoot() {
    std::string path = std::filesystem::temp_directory_path() / "pawl-doctor-test-XXXXXX";
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  FakeRoot(const FakeRoot&) = delete;
  FakeRoot& operator=(const FakeRoot&) = delete;
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  FakeRoot& with(const std::string& name, const std::string& text) {
    const std::filesystem::path file = path_ + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
    return *this;
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

std::map<std::string, Finding> findings(const DoctorOptions& options) {
  std::map<std::string, Finding> by_name;
  for (const Finding& finding : examine(options)) by_name[finding.name] = finding;
  return by_name;
}

TEST(Doctor, NamesTheBlockerAndTheRemedyWhenTheRingCannotBeMade) {
  struct Case {
    const char* name;
    int error;
    RingSurroundings around;
    const char* blocker;
    const char* remedy;
  };
  const Case cases[] = {
      {"container",      EPERM,  {.seccomp = 2},                         "seccomp filter",     "security-opt"       },
      {"old container",  ENOSYS, {.seccomp = 2},                         "seccomp filter",     "security-opt"       },
      {"sysctl",         EPERM,  {.io_uring_disabled = 2},               "io_uring_disabled",  "sysctl -w"          },
      {"sysctl, group",  EPERM,  {.io_uring_disabled = 1},               "io_uring_disabled",  "io_uring_group"     },
      {"sysctl wins",
       EPERM,                    {.seccomp = 2, .io_uring_disabled = 2},
       "io_uring_disabled",                                                                    "sysctl -w"          },
      {"policy",         EPERM,  {},                                     "security module",    "SELinux or AppArmor"},
      {"not built in",   ENOSYS, {.kernel = "5.4.0"},                    "5.4.0 was built",    "CONFIG_IO_URING"    },
      {"locked memory",  ENOMEM, {.memlock_bytes = 65536},               "64 KiB",             "ulimit -l"          },
      {"old kernel",     EINVAL, {.kernel = "5.15.0-91"},                "kernel 5.15.0-91",   "6.1 or newer"       },
      {"no descriptors", EMFILE, {},                                     "no file descriptor", "ulimit -n"          },
      {"something else", EIO,    {},                                     "Input/output error", "pawl doctor"        },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string text = explain_ring_error(c.error, c.around);
    EXPECT_TRUE(text.starts_with("io_uring_setup: E")) << text;
    EXPECT_NE(text.find(c.blocker), text.npos) << text;
    EXPECT_NE(text.find(c.remedy), text.npos) << text;
    EXPECT_LT(text.find(". "), text.size()) << "the remedy is a sentence of its own: " << text;
  }
}

TEST(Doctor, ReadsTheSurroundingsOfTheRingFromTheSystem) {
  FakeRoot root;
  root.with("/proc/self/status", "Name:\tpawl\nSeccomp:\t2\nSeccomp_filters:\t1\n")
      .with("/proc/sys/kernel/io_uring_disabled", "1\n");
  const RingSurroundings around = ring_surroundings(root.path());
  EXPECT_EQ(around.seccomp, 2);
  EXPECT_EQ(around.io_uring_disabled, 1);
  EXPECT_FALSE(around.kernel.empty());
}

TEST(Doctor, FindsTheSmallestCpuQuotaOfAllGroupsAbove) {
  struct Case {
    const char* name;
    std::map<std::string, std::string> files;
    std::optional<double> quota;
  };
  const Case cases[] = {
      {"none",
       {{"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}},
       std::nullopt},
      {"own group",
       {{"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "150000 100000\n"}},
       1.5         },
      {"parent is less",
       {{"/proc/self/cgroup", "0::/a/b\n"},
        {"/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"},
        {"/sys/fs/cgroup/a/cpu.max", "50000 100000\n"}},
       0.5         },
      {"version 1",
       {{"/proc/self/cgroup", "4:cpu:/x\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
       2.0         },
      {"version 1, none",
       {{"/proc/self/cgroup", "4:cpu:/x\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
       std::nullopt},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FakeRoot root;
    for (const auto& [name, text] : c.files) root.with(name, text);
    EXPECT_EQ(cpu_quota(root.path()), c.quota);
  }
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

TEST(Doctor, LooksAtTheNearestDirectoryWhenTheDataDirectoryDoesNotExistYet) {
  FakeRoot base;
  auto by_name = findings({.data = base.path() + "/not/there/yet", .disk_seconds = 0});
  ASSERT_TRUE(by_name.contains("filesystem"));
  EXPECT_NE(by_name["filesystem"].what.find(base.path() + " "), std::string::npos)
      << by_name["filesystem"].what;
  EXPECT_TRUE(std::filesystem::is_empty(base.path())) << "nothing is left behind";
}

TEST(Doctor, WarnsOfFileSystemsThatCopyOnWrite) {
  const std::pair<std::uint64_t, std::string> risky[] = {
      {0x9123683E, "btrfs"   },
      {0x2fc12fc1, "zfs"     },
      {0xca451a4e, "bcachefs"}
  };
  for (const auto& [magic, name] : risky)
    EXPECT_TRUE(copy_on_write_warning(magic).starts_with(name)) << name;
  for (const std::uint64_t safe : {0xEF53, 0x58465342, 0x01021994})
    EXPECT_EQ(copy_on_write_warning(safe), "");
}

}  // namespace
}  // namespace pawl

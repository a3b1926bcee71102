// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/shard_conditions.h"

#include <fmt/core.h>
#include <gtest/gtest.h>
#include <liburing.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "net/io/ring.h"
#include "tests/net/fake_root.h"

namespace pawl {
namespace {

using Status = Finding::Status;

// A finding's allowed, status, and a word of its text.
void expect(const Finding& finding, bool allowed, Status status, const char* word) {
  SCOPED_TRACE(finding.name);
  EXPECT_EQ(finding.allowed, allowed);
  EXPECT_EQ(finding.status, status);
  EXPECT_NE(finding.what.find(word), std::string::npos) << finding.what;
  EXPECT_EQ(finding.remedy.empty(), finding.status == Status::ok) << finding.remedy;
}

RingAbilities able_ring() {
  return {.features = IORING_FEAT_NODROP | IORING_FEAT_EXT_ARG | IORING_FEAT_CQE_SKIP,
          .operations = std::vector<bool>(IORING_OP_LAST, true)};
}

TEST(ShardConditions, NameTheFeaturesThatTheRingLacks) {
  expect(check_ring_features(able_ring()), true, Status::ok, "12 operations");
  RingAbilities ring = able_ring();
  ring.operations[IORING_OP_MSG_RING] = false;
  expect(check_ring_features(ring), false, Status::fail, "lacks MSG_RING:");
  ring.operations.resize(IORING_OP_UNLINKAT);  // an older kernel knows fewer operations
  ring.features = IORING_FEAT_NODROP;
  expect(check_ring_features(ring), false, Status::fail,
         "lacks EXT_ARG CQE_SKIP UNLINKAT MSG_RING:");
  ring = able_ring();
  ring.buffers_error = EINVAL;
  expect(check_ring_features(ring), false, Status::warn, "Invalid argument");
  ring.buffers_error = ENOMEM;
  expect(check_ring_features(ring), false, Status::fail, "RLIMIT_MEMLOCK");
  EXPECT_NE(check_ring_features(ring).remedy.find("ulimit -l"), std::string::npos);
  expect(check_ring_features({.error = EPERM}), false, Status::warn, "no ring");
}

TEST(ShardConditions, FindThisMachinesRing) {
  const RingAbilities ring = ring_abilities();  // other tests need it
  expect(check_ring(ring, ""), true, Status::ok, "can be made");
  expect(check_ring_features(ring), true, Status::ok, "features");
  expect(check_ring({.error = EINVAL}, ""), false, Status::warn, "EINVAL");
  expect(check_ring({.error = ENOMEM}, ""), false, Status::fail, "ENOMEM");
}

// Runs `call` in a process of a user that has no other one, with this limit of locked memory.
// Nothing: this process may not set the user or the limit.
template <typename Call>
std::optional<bool> succeeds_with_memlock(std::uint64_t limit, Call&& call) {
  const pid_t child = fork();
  if (child == 0) {
    const auto user = static_cast<uid_t>(1'000'000 + getpid());
    const rlimit both{.rlim_cur = limit, .rlim_max = limit};
    if (setrlimit(RLIMIT_MEMLOCK, &both) != 0 || setresuid(user, user, user) != 0) _exit(2);
    _exit(call() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << status;
  return WEXITSTATUS(status) == 2 ? std::nullopt : std::optional(status == 0);
}

TEST(ShardConditions, FindARingUnderEveryLimitOfLockedMemoryThatAllowsOne) {
  const auto is_able = [] {
    const RingAbilities ring = ring_abilities();
    return check_ring(ring, "").status == Status::ok &&
           check_ring_features(ring).status == Status::ok;
  };
  const auto is_able_twice = [&] { return is_able() && is_able(); };  // the first ring is not free
  for (std::uint64_t kib = 64; kib <= 1024; kib += 80) {
    const auto serves = succeeds_with_memlock(kib << 10, [] { return Ring::create().has_value(); });
    if (!serves) GTEST_SKIP() << "only root can be another user";
    EXPECT_EQ(succeeds_with_memlock(kib << 10, is_able_twice), serves) << kib;
  }
}

TEST(ShardConditions, CompareTheLimitsOfTheProcessWithTheShards) {
  constexpr std::uint64_t mib = 1 << 20;
  expect(check_memlock(32, 8 * mib, false), true, Status::ok,
         "32 shards need 8192 KiB for their rings, RLIMIT_MEMLOCK is 8192 KiB");
  expect(check_memlock(33, 8 * mib, false), false, Status::warn, "8448 KiB");
  expect(check_memlock(33, 8 * mib, true), true, Status::ok, "CAP_IPC_LOCK");
  expect(check_memlock(64, UINT64_MAX, false), true, Status::ok, "unlimited");
  expect(check_files(2, 10'240), true, Status::ok, "10240: 7680 for connections, 1268 for the log");
  expect(check_files(2, 1024), false, Status::warn, "1024: 768 for connections, 116 for the log");
}

TEST(ShardConditions, FindTheProcessesThatTheKernelExemptsFromLockedMemory) {
  struct Case {
    const char* name;
    const char* capabilities;
    const char* users;
    bool exempt;
  };
  constexpr Case cases[] = {
      {"root",                    "000001ffffffffff", "         0          0 4294967295\n", true },
      {"user with CAP_IPC_LOCK",  "0000000000004000", "         0          0 4294967295\n", true },
      {"root in docker",          "00000000a80425fb", "         0          0 4294967295\n", false},
      {"unshare -Ur",             "000001ffffffffff", "         0       1000          1\n", false},
      {"unshare -Ur by root",     "000001ffffffffff", "         0          0          1\n", false},
      {"rootless container",      "000001ffffffffff", "0 1000 1\n1 100000 65536\n",         false},
      {"namespace without a map", "000001ffffffffff", "",                                   false}
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FakeRoot root;
    root.with("/proc/self/status",
              fmt::format("Name:\tpawl\nCapPrm:\t000001ffffffffff\nCapEff:\t{}\n", c.capabilities))
        .with("/proc/self/uid_map", c.users);
    EXPECT_EQ(has_ipc_lock(root.path()), c.exempt);
  }
  FakeRoot nothing;
  EXPECT_FALSE(has_ipc_lock(nothing.path()));
}

TEST(ShardConditions, SayHowTheLogIsWrittenWithoutAFileSystemsHelp) {
  std::vector<Finding> found = check_file_abilities({});
  ASSERT_EQ(found.size(), 2u);
  expect(found[0], true, Status::ok, "page cache");
  expect(found[1], true, Status::ok, "space");
  found = check_file_abilities({.direct_error = EINVAL, .allocate_error = EOPNOTSUPP});
  ASSERT_EQ(found.size(), 2u);
  expect(found[0], false, Status::warn, "Invalid argument: the log goes through the page cache");
  expect(found[1], false, Status::warn, "Operation not supported");
  for (const Finding& finding : check_file_abilities({.error = EROFS}))
    expect(finding, false, Status::warn, "no file");
}

TEST(ShardConditions, ExamineADirectoryWithoutATrace) {
  FakeRoot root;
  EXPECT_EQ(file_abilities(root.path()).error, 0);
  EXPECT_TRUE(std::filesystem::is_empty(root.path()));
  EXPECT_EQ(file_abilities(root.path() + "/none").error, ENOENT);
}

TEST(ShardConditions, TellDevicesWithForcedUnitAccessFromOthers) {
  struct Case {
    const char* cache;
    const char* fua;
    bool allowed;
    const char* word;
  };
  constexpr Case cases[] = {
      {"write back",    "1", true,  "without a flush"},
      {"write back",    "0", false, "absent: a flush"},
      {"write through", "0", false, "not needed"     }
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.cache);
    FakeRoot root;
    struct stat about{};
    ASSERT_EQ(stat(root.path().c_str(), &about), 0);
    const std::string queue =
        fmt::format("/sys/dev/block/{}:{}/queue/", major(about.st_dev), minor(about.st_dev));
    root.with(queue + "write_cache", c.cache).with(queue + "fua", c.fua);
    const auto device = block_device(root.path(), root.path());
    ASSERT_TRUE(device);
    expect(check_fua(*device), c.allowed, Status::ok, c.word);
    EXPECT_NE(check_device(*device).what.find(fmt::format("cache {}, fua {}", c.cache, c.fua)),
              std::string::npos);
  }
  FakeRoot other;
  EXPECT_FALSE(block_device(other.path(), other.path())) << "as on a network file system";
}

TEST(ShardConditions, WarnWhenShardsShareCpus) {
  expect(check_pinning(2, 2, 0), true, Status::ok, "each of 2 shards");
  expect(check_pinning(4, 2, 0), true, Status::warn, "4 shards share 2 CPUs");
  expect(check_pinning(2, 2, EPERM), false, Status::warn, "Operation not permitted");
  EXPECT_EQ(pinning_error(1023), EINVAL) << "no machine has this CPU";
}

TEST(ShardConditions, AreNotCalledForbiddenWhereNothingForbidsThem) {
  FakeRoot root;
  EXPECT_EQ(prefix_of(check_huge_pages(root.path())), "");
  EXPECT_EQ(prefix_of(check_fua({.number = "8:0", .write_cache = "write back"})), "");
  EXPECT_EQ(prefix_of(check_fua({.number = "8:0", .write_cache = "write back", .has_fua = true})),
            "allowed: ");
  EXPECT_EQ(prefix_of(check_pinning(2, 2, EPERM)), "not allowed: ");
  EXPECT_EQ(prefix_of({"cpus", Status::ok, "2 usable", ""}), "") << "no condition";
}

TEST(ShardConditions, WarnOfHugePagesForAllMemory) {
  constexpr const char* file = "/sys/kernel/mm/transparent_hugepage/enabled";
  FakeRoot root;
  expect(check_huge_pages(root.path()), false, Status::ok, "unknown: /sys is hidden");
  root.with("/sys/kernel/mm/numa/demotion_enabled", "false\n");
  expect(check_huge_pages(root.path()), false, Status::ok, "not used");
  root.with(file, "always madvise [never]\n");
  expect(check_huge_pages(root.path()), false, Status::ok, "not used");
  root.with(file, "always [madvise] never\n");
  expect(check_huge_pages(root.path()), true, Status::ok, "on request");
  root.with(file, "[always] madvise never\n");
  expect(check_huge_pages(root.path()), true, Status::warn, "for all memory");
}

}  // namespace
}  // namespace pawl

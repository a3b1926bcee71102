// SPDX-License-Identifier: Apache-2.0
#include "net/io/resource_limits.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tests/net/fake_root.h"

namespace pawl {
namespace {

using Files = std::map<std::string, std::string>;

FakeRoot& filled(FakeRoot& root, const Files& files) {
  for (const auto& [name, text] : files) root.with(name, text);
  return root;
}

const std::string v2_mount = "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const std::string v1_mounts =
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:7 - cgroup cgroup rw,memory\n"
    "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

TEST(ResourceLimits, TheSmallestCpuQuotaOfAllGroupsAboveCounts) {
  struct Case {
    const char* name;
    Files files;
    double cpus;
  };
  const Case cases[] = {
      {"none",                          {{"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "max 100000\n"}}, 0},
      {"own group",
       {{"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/cpu.max", "150000 100000\n"}},
       1.5                                                                                                                 },
      {"parent is less",
       {{"/proc/self/cgroup", "0::/a/b\n"},
        {"/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"},
        {"/sys/fs/cgroup/a/cpu.max", "50000 100000\n"}},
       0.5                                                                                                                 },
      {"version 1, top of the mount",
       {{"/proc/self/cgroup", "4:cpu:/x\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "200000\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
       2.0                                                                                                                 },
      {"version 1, a group of its own",
       {{"/proc/self/cgroup", "4:cpu,cpuacct:/x/y\n0::/\n"},
        {"/proc/self/mountinfo", v1_mounts},
        {"/sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_quota_us", "-1\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/x/y/cpu.cfs_period_us", "100000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "25000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_period_us", "100000\n"}},
       0.25                                                                                                                },
      {"version 1, none",
       {{"/proc/self/cgroup", "4:cpu:/x\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
        {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}},
       0                                                                                                                   },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FakeRoot root;
    EXPECT_EQ(group_cpus(filled(root, c.files).path()).cpus, c.cpus);
  }
}

TEST(ResourceLimits, TheSmallestMemoryLimitOfAllGroupsAboveCounts) {
  struct Case {
    const char* name;
    Files files;
    std::uint64_t bytes;
    const char* group;
  };
  const Case cases[] = {
      {"no groups",                                             {},                                  UINT64_MAX, ""                                               },
      {"no limit",
       {{"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/memory.max", "max\n"}},
       UINT64_MAX,                                                                                               ""                                               },
      {"a unit of systemd",
       {{"/proc/self/cgroup", "0::/system.slice/pawl.service\n"},
        {"/proc/self/mountinfo", v2_mount},
        {"/sys/fs/cgroup/system.slice/pawl.service/memory.max", "314572800\n"},
        {"/sys/fs/cgroup/system.slice/memory.max", "max\n"}},
       314572800,                                                                                                "/sys/fs/cgroup/system.slice/pawl.service"       },
      {"a slice above it is less",
       {{"/proc/self/cgroup", "0::/system.slice/pawl.service\n"},
        {"/proc/self/mountinfo", v2_mount},
        {"/sys/fs/cgroup/system.slice/pawl.service/memory.max", "314572800\n"},
        {"/sys/fs/cgroup/system.slice/memory.max", "104857600\n"}},
       104857600,                                                                                                "/sys/fs/cgroup/system.slice"                    },
      {"the pressure limit is less",
       {{"/proc/self/cgroup", "0::/a\n"},
        {"/sys/fs/cgroup/a/memory.max", "314572800\n"},
        {"/sys/fs/cgroup/a/memory.high", "209715200\n"}},
       209715200,                                                                                                "/sys/fs/cgroup/a"                               },
      {"a container with a namespace of its own",
       {{"/proc/self/cgroup", "0::/\n"},
        {"/proc/self/mountinfo", v2_mount},
        {"/sys/fs/cgroup/memory.max", "314572800\n"}},
       314572800,                                                                                                "/sys/fs/cgroup"                                 },
      {"a group outside of the namespace",
       {{"/proc/self/cgroup", "0::/../../other\n"},
        {"/proc/self/mountinfo", v2_mount},
        {"/sys/fs/cgroup/memory.max", "314572800\n"}},
       314572800,                                                                                                "/sys/fs/cgroup"                                 },
      {"version 1",
       {{"/proc/self/cgroup", "4:memory:/system.slice/pawl.service\n0::/\n"},
        {"/proc/self/mountinfo", v1_mounts},
        {"/sys/fs/cgroup/memory/system.slice/pawl.service/memory.limit_in_bytes", "314572800\n"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"}},
       314572800,                                                                                                "/sys/fs/cgroup/memory/system.slice/pawl.service"},
      {"version 1, the limit is above what the container sees",
       {{"/proc/self/cgroup", "4:memory:/docker/c0ffee\n"},
        {"/proc/self/mountinfo",
         "35 31 0:32 /docker/c0ffee /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
        {"/sys/fs/cgroup/memory/memory.stat", "cache 4096\nhierarchical_memory_limit 209715200\n"}},
       209715200,                                                                                                "/sys/fs/cgroup/memory"                          },
      {"the group of another container, mounted too",
       {{"/proc/self/cgroup", "0::/mine\n"},
        {"/proc/self/mountinfo",
         "31 23 0:28 /other /mnt/other rw - cgroup2 cgroup2 rw\n" + v2_mount},
        {"/mnt/other/memory.max", "1048576\n"},
        {"/sys/fs/cgroup/mine/memory.max", "314572800\n"}},
       314572800,                                                                                                "/sys/fs/cgroup/mine"                            },
      {"a mount that begins above the namespace",
       {{"/proc/self/cgroup", "0::/\n"},
        {"/proc/self/mountinfo", "31 23 0:28 /.. /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"},
        {"/sys/fs/cgroup/memory.max", "314572800\n"}},
       314572800,                                                                                                "/sys/fs/cgroup"                                 },
      {"a file that is no number",
       {{"/proc/self/cgroup", "0::/a\n"}, {"/sys/fs/cgroup/a/memory.max", "many\n"}},
       UINT64_MAX,                                                                                               ""                                               },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    FakeRoot root;
    const GroupMemory limit = group_memory(filled(root, c.files).path());
    EXPECT_EQ(limit.bytes, c.bytes);
    EXPECT_EQ(limit.group, c.group);
  }
}

TEST(ResourceLimits, UsableMemoryIsThatOfThisMachineAtMost) {
  EXPECT_GT(usable_memory(), std::uint64_t{16} << 20);
  EXPECT_LE(usable_memory(), group_memory().bytes);
}

}  // namespace
}  // namespace pawl

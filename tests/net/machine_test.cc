// SPDX-License-Identifier: Apache-2.0
#include "net/server/machine.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdint>
#include <string>
#include <utility>

#include "tests/net/fake_root.h"

namespace pawl {
namespace {

TEST(Machine, NamesTheBlockerAndTheRemedyWhenTheRingCannotBeMade) {
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
      {"hidden sysctl",  EPERM,  {.io_uring_disabled = -1},              "cannot see",         "outside of the"     },
      {"policy",         EPERM,  {},                                     "security module",    "SELinux or AppArmor"},
      {"not built in",   ENOSYS, {.kernel = "5.4.0"},                    "5.4.0 was built",    "CONFIG_IO_URING"    },
      {"locked memory",  ENOMEM, {.memlock_bytes = 65536},               "64 KiB",             "ulimit -l"          },
      {"old kernel",     EINVAL, {.kernel = "5.15.0-91"},                "kernel 5.15.0-91",   "6.1 or newer"       },
      {"no descriptors", EMFILE, {},                                     "no file descriptor", "ulimit -n"          },
      {"something else", EIO,    {},                                     "Input/output error", "pawl doctor"        },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string text = explain_ring_error({Errc::io, c.error, Ring::setup_call}, c.around);
    EXPECT_TRUE(text.starts_with("io_uring_setup: E")) << text;
    EXPECT_NE(text.find(c.blocker), text.npos) << text;
    EXPECT_NE(text.find(c.remedy), text.npos) << text;
    EXPECT_LT(text.find(". "), text.size()) << "the remedy is a sentence of its own: " << text;
  }
}

TEST(Machine, ReadsTheSurroundingsOfTheRingFromTheSystem) {
  FakeRoot root;
  root.with("/proc/self/status", "Name:\tpawl\nSeccomp:\t2\nSeccomp_filters:\t1\n")
      .with("/proc/sys/kernel/io_uring_disabled", "1\n");
  const RingSurroundings around = ring_surroundings(root.path());
  EXPECT_EQ(around.seccomp, 2);
  EXPECT_EQ(around.io_uring_disabled, 1);
  EXPECT_FALSE(around.kernel.empty());
  EXPECT_EQ(ring_surroundings(FakeRoot().path()).io_uring_disabled, -1) << "/proc/sys is hidden";
  EXPECT_EQ(ring_surroundings(FakeRoot().with("/proc/sys/kernel/osrelease", "5.15.0\n").path())
                .io_uring_disabled,
            0)
      << "an older kernel has no such setting";
}

TEST(Machine, WarnsOfFileSystemsThatCopyOnWrite) {
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

TEST(Machine, WritesAmountsOfBytes) {
  EXPECT_EQ(amount_text(65536), "64 KiB");
  EXPECT_EQ(amount_text(std::uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(amount_text(UINT64_MAX), "unlimited");
}

}  // namespace
}  // namespace pawl

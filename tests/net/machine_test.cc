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

TEST(Machine, ReadsTheSurroundingsOfTheRingFromTheSystem) {
  FakeRoot root;
  root.with("/proc/self/status", "Name:\tpawl\nSeccomp:\t2\nSeccomp_filters:\t1\n")
      .with("/proc/sys/kernel/io_uring_disabled", "1\n");
  const RingSurroundings around = ring_surroundings(root.path());
  EXPECT_EQ(around.seccomp, 2);
  EXPECT_EQ(around.io_uring_disabled, 1);
  EXPECT_FALSE(around.kernel.empty());
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

TEST(Machine, ReadsSmallFilesOfTheSystem) {
  FakeRoot root;
  root.with("/a", "key: \t7 of 9\nempty:\n\n");
  const std::string text = text_of_file(root.path() + "/a");
  EXPECT_EQ(text, "key: \t7 of 9\nempty:");
  EXPECT_EQ(line_after(text, "key:"), "7 of 9");
  EXPECT_EQ(line_after(text, "empty:"), "");
  EXPECT_EQ(line_after(text, "none:"), "");
  EXPECT_EQ(number_in(line_after(text, "key:"), 1), 7);
  EXPECT_EQ(number_in("max", 1), 1);
  EXPECT_EQ(text_of_file(root.path() + "/none"), "");
}

TEST(Machine, WritesAmountsOfBytes) {
  EXPECT_EQ(amount_text(65536), "64 KiB");
  EXPECT_EQ(amount_text(std::uint64_t{3} << 29), "1.5 GiB");
  EXPECT_EQ(amount_text(UINT64_MAX), "unlimited");
}

}  // namespace
}  // namespace pawl

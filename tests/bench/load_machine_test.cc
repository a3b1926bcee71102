// SPDX-License-Identifier: Apache-2.0
#include "bench/load_machine.h"

#include <gtest/gtest.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace pawl {
namespace {

using load::machine_facts;
using load::mount_of;

TEST(LoadMachine, FindsTheInnermostMountOfADirectory) {
  const std::string mounts =
      "/dev/vda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/vdb /tmp/disk xfs rw 0 0\n"
      "/dev/vdc /tmp xfs rw 0 0\n";
  EXPECT_EQ(mount_of("/home/x", mounts), "ext4 on /dev/vda");
  EXPECT_EQ(mount_of("/tmp/disk/data", mounts), "xfs on /dev/vdb");
  EXPECT_EQ(mount_of("/tmp/diskless", mounts), "xfs on /dev/vdc") << "the later mount is on top";
  EXPECT_EQ(mount_of("/tmpfile", mounts), "ext4 on /dev/vda");
  EXPECT_EQ(mount_of("/x", ""), "");
}

TEST(LoadMachine, ReadsTheFactsOfTheKernel) {
  namespace fs = std::filesystem;
  const fs::path root =
      fs::path(testing::TempDir()) / ("pawl_machine_" + std::to_string(::getpid()));
  fs::create_directories(root / "proc/self");
  std::ofstream(root / "proc/cpuinfo") << "processor\t: 0\nmodel name\t: A CPU: @ 2 GHz\n";
  std::ofstream(root / "proc/meminfo") << "MemTotal:       2048 kB\nMemFree: 1 kB\n";
  std::ofstream(root / "proc/self/mounts") << "/dev/vda / ext4 rw 0 0\n";
  const load::MachineFacts facts = machine_facts(root.string(), root.string());
  EXPECT_EQ(facts.cpu, "A CPU: @ 2 GHz");
  EXPECT_EQ(facts.memory_bytes, 2048u * 1024);
  EXPECT_EQ(facts.file_system, "ext4 on /dev/vda");
  EXPECT_TRUE(facts.kernel.starts_with("Linux ")) << facts.kernel;
  EXPECT_GE(facts.cores, facts.usable);
  EXPECT_GE(facts.usable, 1u);
  EXPECT_EQ(machine_facts("", root.string()).file_system, "");
  utsname system{};
  ASSERT_EQ(::uname(&system), 0);
  EXPECT_EQ(machine_facts("/no/such", "/no/such").cpu, system.machine);
  fs::remove_all(root);
}

}  // namespace
}  // namespace pawl

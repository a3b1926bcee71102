// SPDX-License-Identifier: Apache-2.0
#include "net/io/process_usage.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <ctime>
#include <vector>

namespace pawl {
namespace {

TEST(ProcessUsage, TellsOfThisProcess) {
  const ProcessUsage usage;
  const ProcessUsage::Numbers before = usage.read();
  EXPECT_GT(before.resident_bytes, 1u << 20);
  EXPECT_GT(before.open_files_max, before.open_files);
  EXPECT_LE(before.started_s, ::time(nullptr));
  EXPECT_GT(before.started_s, ::time(nullptr) - 60);
  std::vector<int> more;
  for (int i = 0; i < 300; ++i) more.push_back(::open("/dev/null", O_RDONLY));  // several buffers
  std::vector<char> memory(64 << 20, 'x');
  const ProcessUsage::Numbers after = usage.read();
  EXPECT_EQ(after.open_files, before.open_files + 300);
  EXPECT_GT(after.resident_bytes, before.resident_bytes + memory.size() / 2);
  EXPECT_GE(after.cpu_us, before.cpu_us);
  for (const int fd : more) ::close(fd);
  EXPECT_EQ(usage.read().open_files, before.open_files);
}

TEST(DiskSpaceTest, IsThatOfTheFilesFileSystem) {
  const int fd = ::open(".", O_RDONLY | O_DIRECTORY);
  const DiskSpace space = disk_space(fd);
  ::close(fd);
  EXPECT_GT(space.size_bytes, space.free_bytes);
  EXPECT_GT(space.size_bytes, 1u << 20);
  EXPECT_EQ(disk_space(-1).size_bytes, 0u) << "unknown";
}

}  // namespace
}  // namespace pawl

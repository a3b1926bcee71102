// SPDX-License-Identifier: Apache-2.0
// The disks of the tests behave as disk.h promises. tests/net/uring_disk_test.cc: the real one.
#include "wal/format/disk.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "tests/sim/sim_disk.h"
#include "tests/wal/disk_contract.h"
#include "tests/wal/memory_disk.h"

namespace pawl::test {
namespace {

class InMemory {
 public:
  InMemory() { disk_.hold = true; }
  Disk& disk() { return disk_; }
  void finish(Io&) { disk_.finish_all(); }

 private:
  MemoryDisk disk_;
};

class Simulated {
 public:
  Disk& disk() { return disk_; }
  void finish(Io&) { disk_.settle(); }

 private:
  sim::SimDisk disk_;
};

using Disks = testing::Types<InMemory, Simulated>;
INSTANTIATE_TYPED_TEST_SUITE_P(Test, DiskContract, Disks);

// A full disk is Errc::no_space in a blocking call that needs space, and errno tells it too.
void expect_full(Disk& disk, FileId file) {
  const PageBlock memory(block_bytes);
  const auto written = disk.write_now(file, 0, memory.span());
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::no_space);
  EXPECT_EQ(written.error().sys, ENOSPC);
  const auto created = disk.create("b");
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().code, Errc::no_space);
  EXPECT_EQ(created.error().sys, ENOSPC);
  EXPECT_EQ(disk.open("c").error().code, Errc::io);
}

TEST(FullDisk, InMemory) {
  MemoryDisk disk;
  const FileId file = *disk.create("a");
  disk.capacity = 0;
  expect_full(disk, file);
  disk.capacity = UINT64_MAX;
  disk.fail_create = ENOSPC;
  EXPECT_EQ(disk.create("b").error().code, Errc::no_space);
  disk.fail_create = EIO;
  EXPECT_EQ(disk.create("b").error().code, Errc::io);
}

TEST(FullDisk, Simulated) {
  sim::SimDisk disk;
  const FileId file = *disk.create("a");
  disk.set_capacity(0);
  disk.fail(sim::IoKind::create, ENOSPC);
  expect_full(disk, file);
  disk.heal();
  for (const int error : {ENOSPC, EIO}) {
    disk.fail_next_write(error);
    const PageBlock memory(block_bytes);
    EXPECT_EQ(disk.write_now(file, 0, memory.span()).error().code,
              error == ENOSPC ? Errc::no_space : Errc::io);
  }
}

}  // namespace
}  // namespace pawl::test

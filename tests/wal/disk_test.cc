// SPDX-License-Identifier: Apache-2.0
// The disks of the tests behave as wal/disk.h promises. tests/net/uring_disk_test.cc: the real one.
#include "wal/disk.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace pawl::test

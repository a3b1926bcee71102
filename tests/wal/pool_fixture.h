// SPDX-License-Identifier: Apache-2.0
// A fixture for tests of the segment pool and its parts: one ready segment, the tail in it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/wal/memory_disk.h"
#include "wal/segments/segment_pool.h"

namespace pawl {

using Calls = std::vector<std::string>;

class PoolTest : public testing::Test {
 protected:
  // With one extent a segment is never small.
  static constexpr Geometry geometry{0x5eed, 64 << 10, 64 << 10};

  void SetUp() override {
    begin(Duration{});
    disk.trace = true;
  }
  void begin(Duration fill_every, bool flush_each_fill = true) {
    disk.files.clear();
    pool = std::make_unique<SegmentPool>(disk, geometry, 2, true, fill_every, flush_each_fill);
    pool->start(0);
    ASSERT_TRUE(pool->create_now());
    pool->enter(0, now);
  }
  void pump(int times = 1) {
    for (int i = 0; i < times; ++i) ASSERT_TRUE(pool->pump(now, false));
  }

  MemoryDisk disk;
  std::unique_ptr<SegmentPool> pool;
  Instant now{1000};
};

}  // namespace pawl

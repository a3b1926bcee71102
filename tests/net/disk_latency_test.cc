// SPDX-License-Identifier: Apache-2.0
#include "net/io/disk_latency.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>

namespace pawl {
namespace {

TEST(DiskLatency, MeasuresBothKindsOfDurableWriteAndLeavesNothingBehind) {
  const std::string directory = "pawl-latency-test";  // below the build directory: a real disk
  std::filesystem::create_directory(directory);
  const auto measured = measure_disk(directory, 0.05);
  EXPECT_TRUE(std::filesystem::is_empty(directory));
  std::filesystem::remove_all(directory);
  ASSERT_TRUE(measured) << measured.error().what;
  for (const LatencyFigures& figures : {measured->flush, measured->dsync}) {
    EXPECT_GE(figures.writes, 16u);
    EXPECT_GT(figures.p50_us, 0);
    EXPECT_GE(figures.p99_us, figures.p50_us);
  }
}

TEST(DiskLatency, SaysWhichOperationTheDiskRefused) {
  const auto measured = measure_disk("/nonexistent-directory", 0.01);
  ASSERT_FALSE(measured);
  EXPECT_EQ(measured.error().code, Errc::io);
  EXPECT_EQ(measured.error().sys, ENOENT);
}

}  // namespace
}  // namespace pawl

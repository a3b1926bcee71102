// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/scratch_directory.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tests/net/fake_root.h"

namespace pawl {
namespace {

namespace fs = std::filesystem;

TEST(ScratchDirectory, IsDeletedWithItsFiles) {
  FakeRoot parent;
  {
    const auto directory = ScratchDirectory::make(parent.path());
    ASSERT_TRUE(directory) << directory.error().what;
    ASSERT_TRUE(fs::is_directory(directory->path()));
    std::ofstream(directory->path() + "/file") << "text";
    fs::create_directory(directory->path() + "/below");
  }
  EXPECT_TRUE(fs::is_empty(parent.path()));
}

TEST(ScratchDirectory, DeletesTheDirectoriesOfKilledProcessesOnly) {
  FakeRoot parent;
  parent.with("/.pawl-doctor-killed/000000000000.seg", "zeros")
      .with("/shard-0/000000000000.seg", "messages")
      .with("/elsewhere/file", "text")
      .with("/.pawl-doctor-file", "text");
  fs::create_symlink("elsewhere", parent.path() + "/.pawl-doctor-link");
  const auto one = ScratchDirectory::make(parent.path());
  const auto other = ScratchDirectory::make(parent.path());
  ASSERT_TRUE(one && other);
  EXPECT_TRUE(fs::exists(one->path())) << "it is in use";
  EXPECT_FALSE(fs::exists(parent.path() + "/.pawl-doctor-killed"));
  for (const char* kept : {"/shard-0/000000000000.seg", "/elsewhere/file", "/.pawl-doctor-file"})
    EXPECT_TRUE(fs::exists(parent.path() + kept)) << kept;
}

TEST(ScratchDirectory, SaysThatItCannotBeMade) {
  const auto directory = ScratchDirectory::make("/nonexistent-directory");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, Errc::io);
  EXPECT_EQ(directory.error().sys, ENOENT);
}

}  // namespace
}  // namespace pawl

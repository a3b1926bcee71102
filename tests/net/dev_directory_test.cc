// SPDX-License-Identifier: Apache-2.0
#include "net/server/dev_directory.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>

namespace pawl {
namespace {

namespace fs = std::filesystem;

class DevDirectoryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string made = fs::temp_directory_path() / "dev-directory-test-XXXXXX";
    ASSERT_NE(mkdtemp(made.data()), nullptr);
    parent_ = made;
  }
  void TearDown() override { fs::remove_all(parent_); }

  // The directory of a server that was killed an hour ago.
  std::string leftover(const std::string& name, bool with_lock) {
    const std::string path = parent_ + "/" + name;
    fs::create_directories(path + "/s00");
    std::ofstream(path + "/s00/segment") << "data";
    if (with_lock) std::ofstream(path + "/LOCK") << "1";
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
    return path;
  }

  std::string parent_;
};

TEST_F(DevDirectoryTest, IsMadeForThisUserAloneAndDeletedWithItsFiles) {
  std::string path;
  {
    const auto made = DevDirectory::make_in(parent_);
    ASSERT_TRUE(made) << made.error();
    path = made->path();
    struct stat about{};
    ASSERT_EQ(::stat(path.c_str(), &about), 0);
    EXPECT_EQ(about.st_mode & 0777, 0700U);
    fs::create_directories(path + "/s00");
    std::ofstream(path + "/s00/segment") << "data";
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(DevDirectoryTest, BelongsToTheObjectThatItWasMovedTo) {
  std::optional<DevDirectory> last;
  {
    auto made = DevDirectory::make_in(parent_);
    ASSERT_TRUE(made) << made.error();
    last.emplace(std::move(*made));
  }
  const std::string path = last->path();
  EXPECT_TRUE(fs::exists(path));
  last.reset();
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(DevDirectoryTest, DeletesThoseOfKilledServersAndNoOthers) {
  const std::string killed = leftover("pawl-dev-killed", true);
  const std::string early = leftover("pawl-dev-early", false);
  const std::string other = leftover("pawl-other", true);
  const std::string running = leftover("pawl-dev-runs", true);
  const std::string target = leftover("elsewhere", true);
  fs::create_directory_symlink(target, parent_ + "/pawl-dev-link");
  const std::string young = parent_ + "/pawl-dev-young";
  fs::create_directories(young);
  const int lock = ::open((running + "/LOCK").c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(lock, LOCK_EX | LOCK_NB), 0);
  {
    const auto made = DevDirectory::make_in(parent_);
    ASSERT_TRUE(made) << made.error();
  }
  ::close(lock);
  for (const std::string& path : {killed, early}) EXPECT_FALSE(fs::exists(path)) << path;
  for (const std::string& path : {other, running, young, target + "/s00/segment"})
    EXPECT_TRUE(fs::exists(path)) << path;
}

TEST_F(DevDirectoryTest, NamesTheDirectoryThatCannotBeWrittenAndTheRemedy) {
  const auto made = DevDirectory::make_in(parent_ + "/missing");
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().find(parent_ + "/missing"), std::string::npos) << made.error();
  EXPECT_NE(made.error().find("TMPDIR"), std::string::npos) << made.error();
}

}  // namespace
}  // namespace pawl

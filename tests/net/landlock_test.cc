// SPDX-License-Identifier: Apache-2.0
// Limits of file access, each in a thread of its own, because nothing takes them back.
#include "net/server/landlock.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>
#include <vector>

namespace pawl {
namespace {

namespace fs = std::filesystem;

// The errno of an open; 0: it succeeds.
int opened(const std::string& path, int flags) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  ::close(fd);
  return 0;
}

int bound(const std::string& path) {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  const int error =
      ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
  ::close(fd);
  return error;
}

class LandlockTest : public testing::Test {
 protected:
  void SetUp() override {
    if (landlock_version() == 0) GTEST_SKIP() << landlock_absent_text;
    std::string made = "/tmp/pawl-landlock-XXXXXX";
    ASSERT_NE(::mkdtemp(made.data()), nullptr);
    place_ = made;
    for (const char* const name : {"data", "keys", "run", "other", "parent"})
      fs::create_directory(place_ + "/" + name);
    for (const char* const file : {"keys/k", "other/o", "data/d"})
      ASSERT_EQ(opened(at(file), O_WRONLY | O_CREAT), 0);
    fs::create_directory(at("parent/empty"));
  }
  void TearDown() override {
    std::error_code kept;
    if (!place_.empty()) fs::remove_all(place_, kept);
  }
  std::string at(const std::string& name) const { return place_ + "/" + name; }
  std::vector<FileRule> rules() const {
    return {
        {at("data"), FileRights::write},
        {at("keys"), FileRights::read},
        {at("run"), FileRights::make_socket | FileRights::remove_file},
        {at("parent"), FileRights::remove_dir},
        {at("gone"), FileRights::read, true}
    };
  }
  // Runs `attempt` in a thread that has only the rights of the rules.
  template <typename Attempt>
  void limited(Attempt attempt) const {
    std::thread([&] {
      const auto done = limit_file_access(rules(), landlock_version());
      ASSERT_TRUE(done) << done.error();
      attempt();
    }).join();
  }

  std::string place_;
};

TEST_F(LandlockTest, TheDataDirectoryCanBeChangedAndTheKeysCanBeRead) {
  limited([this] {
    EXPECT_EQ(opened(at("data/new"), O_RDWR | O_CREAT), 0);
    EXPECT_EQ(opened(at("data/d"), O_RDWR | O_TRUNC), landlock_version() < 3 ? EACCES : 0);
    EXPECT_EQ(::mkdir(at("data/s00").c_str(), 0700), 0);
    EXPECT_EQ(::rename(at("data/d").c_str(), at("data/s00/d").c_str()), 0);
    EXPECT_EQ(::unlink(at("data/s00/d").c_str()), 0);
    EXPECT_EQ(::rmdir(at("data/s00").c_str()), 0);
    EXPECT_EQ(opened(at("keys/k"), O_RDONLY), 0);
    EXPECT_EQ(opened(at("keys/k"), O_WRONLY), EACCES);
    EXPECT_EQ(opened(at("keys/new"), O_WRONLY | O_CREAT), EACCES);
    EXPECT_NE(::unlink(at("keys/k").c_str()), 0);
  });
}

TEST_F(LandlockTest, OtherFilesCanNeitherBeReadNorChangedNorRun) {
  limited([this] {
    EXPECT_EQ(opened(at("other/o"), O_RDONLY), EACCES);
    EXPECT_EQ(opened(at("other"), O_RDONLY | O_DIRECTORY), EACCES);
    EXPECT_EQ(opened(at("other/new"), O_WRONLY | O_CREAT), EACCES);
    EXPECT_EQ(opened("/etc/passwd", O_RDONLY), EACCES);
    EXPECT_EQ(::symlink("o", at("data/link").c_str()), -1) << "no links, even in the directory";
    char* const words[] = {const_cast<char*>("true"), nullptr};
    EXPECT_EQ(::execv("/bin/true", words), -1);
    EXPECT_EQ(errno, EACCES);
  });
}

TEST_F(LandlockTest, SocketsAndEmptyDirectoriesHaveRightsOfTheirOwn) {
  limited([this] {
    EXPECT_EQ(bound(at("run/socket")), 0);
    EXPECT_EQ(::unlink(at("run/socket").c_str()), 0);
    EXPECT_EQ(opened(at("run/file"), O_WRONLY | O_CREAT), EACCES);
    EXPECT_EQ(bound(at("other/socket")), EACCES);
    EXPECT_EQ(opened(at("parent/file"), O_WRONLY | O_CREAT), EACCES);
    EXPECT_NE(::rename(at("parent/empty").c_str(), at("parent/moved").c_str()), 0);
    EXPECT_EQ(::rmdir(at("parent/empty").c_str()), 0);
  });
}

TEST_F(LandlockTest, LaterThreadsHaveTheLimitsAndOpenFilesHaveNone) {
  const int open_before = ::open(at("other/o").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_GE(open_before, 0);
  limited([this, open_before] {
    EXPECT_EQ(::write(open_before, "x", 1), 1);
    std::thread([this] { EXPECT_EQ(opened(at("other/o"), O_RDONLY), EACCES); }).join();
  });
  ::close(open_before);
  EXPECT_EQ(opened(at("other/o"), O_RDONLY), 0) << "threads that ran before have no limits";
}

TEST_F(LandlockTest, EachVersionHasItsRights) {
  for (int version = 1; version <= landlock_version(); ++version) {
    std::thread([this, version] {
      const auto done = limit_file_access(rules(), version);
      EXPECT_TRUE(done) << version << ": " << done.error();
      EXPECT_EQ(opened(at("other/o"), O_RDONLY), EACCES) << version;
      EXPECT_EQ(opened(at("data/d"), O_RDWR), 0) << version;
    }).join();
  }
}

TEST_F(LandlockTest, AMissingDirectoryIsNamed) {
  std::thread([this] {
    const FileRule missing{at("missing"), FileRights::write};
    const auto done = limit_file_access({&missing, 1}, landlock_version());
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error(), "cannot limit file access: " + at("missing") +
                                ": No such file or directory. Start with --landlock off to serve "
                                "without this limit");
    EXPECT_EQ(opened(at("other/o"), O_RDONLY), 0) << "nothing is limited by half";
  }).join();
}

}  // namespace
}  // namespace pawl

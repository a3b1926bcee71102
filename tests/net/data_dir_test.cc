// SPDX-License-Identifier: Apache-2.0
// Ownership of the data directory: one process at a time has it, until its last write has ended.
#include "net/server/data_dir.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "net/io/ring.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;

class DataDirTest : public testing::Test {
 protected:
  DataDirTest() {
    std::string name = testing::TempDir() + "pawl-data-dir-XXXXXX";
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~DataDirTest() override { std::filesystem::remove_all(path_); }

  // Opens the file separately: flock() belongs to the open file, not to the process.
  int open_lock() const {
    return ::open((path_ + "/LOCK").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  }

  std::string path_;
};

TEST_F(DataDirTest, IsInUseUntilTheRingHasEnded) {
  auto ring = Ring::create();
  ASSERT_TRUE(ring);
  {
    const auto data = DataDir::open(path_, 1, 1 << 20);
    ASSERT_TRUE(data) << data.error().text;
    ASSERT_TRUE((*ring)->hold((*data)->lock()));
  }
  const int other = open_lock();
  EXPECT_NE(flock(other, LOCK_EX | LOCK_NB), 0) << "the ring may have writes under way";
  ring->reset();
  int taken = -1;  // the kernel frees a ring asynchronously
  for (int i = 0; i < 1000 && taken != 0; ++i) {
    taken = flock(other, LOCK_EX | LOCK_NB);
    if (taken != 0) std::this_thread::sleep_for(10ms);
  }
  EXPECT_EQ(taken, 0);
  close(other);
}

TEST_F(DataDirTest, IsWaitedForWhenItsProcessHasEnded) {
  std::ofstream(path_ + "/LOCK") << "999999999 1";
  const int of_the_dead = open_lock();
  ASSERT_EQ(flock(of_the_dead, LOCK_EX | LOCK_NB), 0);
  std::thread last_write([&] {
    std::this_thread::sleep_for(1s);
    close(of_the_dead);
  });
  const auto data = DataDir::open(path_, 1, 1 << 20);
  last_write.join();
  EXPECT_TRUE(data) << data.error().text;
}

TEST_F(DataDirTest, OfALivingProcessIsRefused) {
  const auto data = DataDir::open(path_, 1, 1 << 20);
  ASSERT_TRUE(data) << data.error().text;
  (*data)->note_process();
  const auto second = DataDir::open(path_, 1, 1 << 20);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().text.find("is in use by another pawl"), std::string::npos)
      << second.error().text;
}

}  // namespace
}  // namespace pawl

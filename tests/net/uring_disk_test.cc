// SPDX-License-Identifier: Apache-2.0
// A disk with more files than descriptors: it closes the descriptor of an open file only where that
// does no harm.
#include "net/io/uring_disk.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/wal/disk_contract.h"

namespace pawl {
namespace {

struct alignas(block_bytes) OneBlock {
  std::array<std::byte, block_bytes> bytes{};
  explicit OneBlock(int value = 0) { bytes.fill(static_cast<std::byte>(value)); }
};

// Descriptors of this process, including the one that lists them.
std::size_t descriptors_of_process() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd"))
    ++count;
  return count;
}

// The process can open no new descriptor during its lifetime.
class NoDescriptors {
 public:
  NoDescriptors() {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit none = before_;
    none.rlim_cur = 0;
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class DirectoryOnDisk : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "pawl-disk-XXXXXX";
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    path = pattern;
    auto made = Ring::create(backend);
    ASSERT_TRUE(made);
    ring = std::move(*made);
    open(4);
  }
  void TearDown() override {
    disk.reset();
    ring.reset();
    std::filesystem::remove_all(path);
  }
  void open(std::uint32_t descriptors_max) {
    disk.reset();
    auto opened = UringDisk::open_dir(*ring, path);
    ASSERT_TRUE(opened);
    disk = std::move(*opened);
    disk->set_descriptors_max(descriptors_max);
  }
  static std::string name(int i) { return "file-" + std::to_string(i); }
  // Creates files of one block, which contains the file's number.
  void make_files(int count) {
    for (int i = 0; i < count; ++i) {
      const auto file = disk->create(name(i));
      ASSERT_TRUE(file) << file.error().what;
      files.push_back(*file);
      ASSERT_EQ(write(*file, i), static_cast<int>(block_bytes));
      ASSERT_TRUE(disk->sync_now(*file));
    }
  }
  void turn() {
    ring->wait(1'000'000);
    ring->reap(Ring::cq_entries, [this](RingTag tag, std::int32_t result, std::uint32_t) {
      disk->complete(tag, result);
    });
  }
  std::int32_t end(Io& io) {
    for (int i = 0; i < 5000 && !io.done; ++i) turn();
    EXPECT_TRUE(io.done);
    return io.result;
  }
  std::int32_t write(FileId file, int value, Flush flush = Flush::yes) {
    OneBlock block(value);
    Io io;
    disk->write(file, 0, block.bytes, flush, io);
    return end(io);
  }
  // Returns the value in the block, or -errno.
  std::int32_t read(FileId file) {
    OneBlock block(0xFF);
    Io io;
    disk->read(file, 0, block.bytes, io);
    const std::int32_t result = end(io);
    return result < 0 ? result : static_cast<std::int32_t>(block.bytes[0]);
  }
  int content(const std::string& file) {
    std::ifstream in(path + "/" + file);
    char first = 0;
    return in.get(first) ? static_cast<unsigned char>(first) : -1;
  }

  IoBackend backend = IoBackend::uring;
  std::string path;
  std::unique_ptr<Ring> ring;
  std::unique_ptr<UringDisk> disk;
  std::vector<FileId> files;
};

class UringDiskTest : public DirectoryOnDisk, public testing::WithParamInterface<IoBackend> {
 protected:
  UringDiskTest() { backend = GetParam(); }
};

INSTANTIATE_TEST_SUITE_P(Backends, UringDiskTest,
                         testing::Values(IoBackend::uring, IoBackend::threads),
                         [](const auto& given) { return std::string(name_of(given.param)); });

TEST_P(UringDiskTest, MoreFilesThanDescriptorsAreReadAndWritten) {
  const std::size_t before = descriptors_of_process();
  make_files(50);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < 50; ++i) {
      const FileId file = files[static_cast<std::size_t>(i * 7 % 50)];
      const int value = i * 7 % 50 + round;
      ASSERT_EQ(read(file), value);
      ASSERT_EQ(write(file, value + 1), static_cast<int>(block_bytes));
      ASSERT_LE(disk->descriptors(), 4u);
      ASSERT_LE(descriptors_of_process(), before + 4);
    }
  }
  OneBlock block;
  for (int i = 0; i < 50; ++i) {
    const FileId file = files[static_cast<std::size_t>(i)];
    ASSERT_EQ(disk->read_now(file, 0, block.bytes), block_bytes);
    ASSERT_EQ(static_cast<int>(block.bytes[0]), i + 3);
    ASSERT_TRUE(disk->write_now(file, 0, block.bytes));
    Io io;
    disk->sync(file, io);
    ASSERT_EQ(end(io), 0);
    Io space;
    disk->allocate(file, 8 * block_bytes, space);
    const std::int32_t allocated = end(space);
    ASSERT_TRUE(allocated == 0 || allocated == -EOPNOTSUPP) << allocated;
    ASSERT_LE(disk->descriptors(), 4u);
  }
  for (const FileId file : files) disk->close(file);
  EXPECT_EQ(disk->descriptors(), 0u);
  EXPECT_EQ(descriptors_of_process(), before);
}

TEST_P(UringDiskTest, TheFileUsedLastKeepsItsDescriptor) {
  make_files(20);
  ASSERT_EQ(read(files[0]), 0);
  for (int i = 1; i < 20; ++i) {
    ASSERT_EQ(read(files[static_cast<std::size_t>(i)]), i);
    const NoDescriptors none;
    ASSERT_EQ(read(files[0]), 0) << "it would have to be opened again";
  }
}

TEST_P(UringDiskTest, AClosedFileIsFoundUnderItsNewName) {
  make_files(10);
  ASSERT_TRUE(disk->rename(name(0), "zero"));
  ASSERT_TRUE(disk->rename(name(1), name(0)));  // as a retired segment takes a number
  EXPECT_EQ(read(files[0]), 0);
  EXPECT_EQ(read(files[1]), 1);
  ASSERT_EQ(write(files[0], 100), static_cast<int>(block_bytes));
  ASSERT_EQ(write(files[1], 101), static_cast<int>(block_bytes));
  EXPECT_EQ(content("zero"), 100);
  EXPECT_EQ(content(name(0)), 101);
  for (int i = 2; i < 10; ++i) EXPECT_EQ(read(files[static_cast<std::size_t>(i)]), i);
}

TEST_P(UringDiskTest, ARenameOntoAnotherFileTakesItsName) {
  make_files(10);
  ASSERT_TRUE(disk->rename(name(9), name(0)));
  EXPECT_EQ(read(files[9]), 9);
  EXPECT_EQ(read(files[0]), -ENOENT) << "it was closed, and has gone";
  EXPECT_EQ(content(name(0)), 9);
  // A file that still has its descriptor works without a name.
  ASSERT_EQ(read(files[8]), 8);
  ASSERT_TRUE(disk->rename(name(7), name(8)));
  for (int i = 1; i < 8; ++i) ASSERT_EQ(read(files[static_cast<std::size_t>(i)]), i);
  EXPECT_EQ(read(files[8]), 8);
}

TEST_P(UringDiskTest, ARemovedFileIsNotMistakenForANewOneOfItsName) {
  make_files(10);
  ASSERT_TRUE(disk->remove(name(0)));
  Io io;
  const std::string one = name(1);
  disk->remove(one, io);
  ASSERT_EQ(end(io), 0);
  for (int i = 0; i < 2; ++i) {
    const auto made = disk->create(name(i));
    ASSERT_TRUE(made);
    ASSERT_EQ(write(*made, 50 + i), static_cast<int>(block_bytes));
    EXPECT_EQ(read(files[static_cast<std::size_t>(i)]), -ENOENT);
    EXPECT_EQ(write(files[static_cast<std::size_t>(i)], 9), -ENOENT);
    EXPECT_EQ(read(*made), 50 + i);
  }
  OneBlock block;
  EXPECT_FALSE(disk->read_now(files[0], 0, block.bytes));
  for (const FileId file : files) disk->close(file);
}

TEST_P(UringDiskTest, AnotherFileOfTheSameNameIsRefused) {
  make_files(10);
  std::filesystem::copy_file(path + "/" + name(0), path + "/copy");
  std::filesystem::rename(path + "/copy", path + "/" + name(0));
  EXPECT_EQ(read(files[0]), -ESTALE);
}

TEST_P(UringDiskTest, AnOperationUnderWayKeepsItsDescriptor) {
  make_files(40);
  std::vector<OneBlock> blocks(40);
  std::vector<Io> ios(40);
  for (std::size_t i = 0; i < 40; ++i) disk->read(files[i], 0, blocks[i].bytes, ios[i]);
  EXPECT_EQ(disk->descriptors(), 40u) << "all are under way: none was closed";
  for (std::size_t i = 0; i < 40; ++i) {
    ASSERT_EQ(end(ios[i]), static_cast<int>(block_bytes));
    EXPECT_EQ(static_cast<std::size_t>(blocks[i].bytes[0]), i);
  }
  EXPECT_EQ(read(files[0]), 0);
  ASSERT_TRUE(disk->create("another"));
  EXPECT_LE(disk->descriptors(), 4u);
}

TEST_P(UringDiskTest, AFileKeepsItsDescriptorUntilItsWritesAreFlushed) {
  make_files(10);
  ASSERT_EQ(write(files[0], 20, Flush::no), static_cast<int>(block_bytes));
  OneBlock block(21);
  ASSERT_TRUE(disk->write_now(files[1], 0, block.bytes));
  for (std::size_t i = 2; i < 10; ++i) ASSERT_EQ(read(files[i]), static_cast<int>(i));
  {
    const NoDescriptors none;
    EXPECT_EQ(read(files[0]), 20);
    EXPECT_EQ(read(files[1]), 21);
    ASSERT_EQ(write(files[0], 22, Flush::yes), static_cast<int>(block_bytes));
    ASSERT_TRUE(disk->sync_now(files[1]));
  }
  for (std::size_t i = 2; i < 10; ++i) ASSERT_EQ(read(files[i]), static_cast<int>(i));
  const NoDescriptors none;
  OneBlock into;
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_FALSE(disk->read_now(files[i], 0, into.bytes)) << "it was not closed for the others";
}

// The first write ends before the flush begins. The second one may be on the disk or not.
TEST_P(UringDiskTest, AFlushCoversTheWritesBeforeIt) {
  make_files(10);
  ASSERT_EQ(write(files[0], 30, Flush::no), static_cast<int>(block_bytes));
  OneBlock block(31);
  std::array<Io, 2> ios;
  disk->sync(files[0], ios[0]);
  disk->write(files[0], 0, block.bytes, Flush::no, ios[1]);
  std::vector<std::pair<RingTag, std::int32_t>> ends;
  while (ends.size() < 2) {
    ring->wait(1'000'000);
    ring->reap(Ring::cq_entries, [&](RingTag tag, std::int32_t result, std::uint32_t) {
      ends.emplace_back(tag, result);
    });
  }
  // The test completes the write first: the flush has index 0.
  std::ranges::sort(ends,
                    [](const auto& a, const auto& b) { return a.first.index > b.first.index; });
  for (const auto& [tag, result] : ends) disk->complete(tag, result);
  ASSERT_EQ(ios[0].result, 0);
  ASSERT_EQ(ios[1].result, static_cast<int>(block_bytes));
  for (std::size_t i = 2; i < 10; ++i) ASSERT_EQ(read(files[i]), static_cast<int>(i));
  const NoDescriptors none;
  EXPECT_EQ(read(files[0]), 31);
}

TEST_P(UringDiskTest, WithoutADescriptorAnotherFileIsClosed) {
  make_files(10);
  ASSERT_EQ(disk->descriptors(), 4u);
  // A new descriptor is available only after another one is closed.
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit full = before;
  const int probe = dup(0);
  ::close(probe);
  full.rlim_cur = static_cast<rlim_t>(probe);
  disk->set_descriptors_max(1000);
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &full), 0);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(read(files[i]), static_cast<int>(i));
  EXPECT_LE(disk->descriptors(), 4u);
  setrlimit(RLIMIT_NOFILE, &before);
}

TEST_P(UringDiskTest, AnOperationWaitsForADescriptor) {
  make_files(10);
  for (std::size_t i = 1; i < 5; ++i) ASSERT_EQ(read(files[i]), static_cast<int>(i));
  OneBlock block, dirty(40);
  for (std::size_t i = 1; i < 5; ++i) ASSERT_TRUE(disk->write_now(files[i], 0, dirty.bytes));
  Io io;
  {
    const NoDescriptors none;
    disk->read(files[0], 0, block.bytes, io);
    for (int i = 0; i < 250; ++i) turn();
    EXPECT_FALSE(io.done) << "it has failed with " << io.result;
    OneBlock into;
    const auto refused = disk->read_now(files[0], 0, into.bytes);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().sys, EMFILE);
  }
  EXPECT_EQ(end(io), static_cast<int>(block_bytes));
  EXPECT_EQ(static_cast<int>(block.bytes[0]), 0);
}

// The real disk, for the tests that all disks share.
template <IoBackend kind>
class On : public DirectoryOnDisk {
 public:
  On() {
    backend = kind;
    SetUp();
  }
  ~On() override { TearDown(); }
  Disk& disk() { return *DirectoryOnDisk::disk; }
  void finish(Io& io) { end(io); }

 private:
  void TestBody() override {}
};
using OnRing = On<IoBackend::uring>;
using OnThreads = On<IoBackend::threads>;

}  // namespace

namespace test {
INSTANTIATE_TYPED_TEST_SUITE_P(Ring, DiskContract, OnRing);
INSTANTIATE_TYPED_TEST_SUITE_P(Threads, DiskContract, OnThreads);
}  // namespace test
}  // namespace pawl

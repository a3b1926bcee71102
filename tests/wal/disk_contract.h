// SPDX-License-Identifier: Apache-2.0
// The promises of disk.h that need no crash, as tests for each implementation of Disk: the real
// one and those of the tests behave alike.
//
// A type parameter is a class with `Disk& disk()` and `void finish(Io&)`, which waits until
// the operation is done. Promises about crashes: tests/sim/sim_disk_test.cc, tests/fault/.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "wal/format/disk.h"
#include "wal/image.h"

namespace pawl::test {

template <typename Host>
class DiskContract : public testing::Test {
 protected:
  Disk& disk() { return host.disk(); }
  FileId make(std::string_view name, std::size_t blocks = 0, char fill = 'x') {
    const auto file = disk().create(name);
    EXPECT_TRUE(file);
    if (blocks > 0) {
      EXPECT_EQ(write(*file, 0, blocks, fill), static_cast<std::int32_t>(blocks * block_bytes));
    }
    return *file;
  }
  std::int32_t write(FileId file, std::uint64_t offset, std::size_t blocks, char fill) {
    const PageBlock memory(blocks * block_bytes);
    std::memset(memory.data(), fill, memory.size());
    Io io;
    disk().write(file, offset, memory.span(), Flush::yes, io);
    return end(io);
  }
  std::int32_t end(Io& io) {
    host.finish(io);
    EXPECT_TRUE(io.done);
    EXPECT_FALSE(io.armed);
    return io.result;
  }
  // The first byte of each block of a file, up to its end.
  std::string content(FileId file) {
    std::string all;
    const PageBlock block(block_bytes);
    for (std::uint64_t at = 0;; at += block_bytes) {
      const auto bytes = disk().read_now(file, at, block.span());
      EXPECT_TRUE(bytes);
      if (!bytes || *bytes == 0) return all;
      all += static_cast<char>(block.data()[0]);
    }
  }
  // Names and sizes, sorted: a directory has no order.
  std::vector<std::pair<std::string, std::uint64_t>> listed() {
    std::vector<std::pair<std::string, std::uint64_t>> files;
    const auto list = disk().list();
    EXPECT_TRUE(list);
    for (const FileInfo& file : *list) files.emplace_back(file.name, file.bytes);
    std::ranges::sort(files);
    return files;
  }
  using Listed = std::vector<std::pair<std::string, std::uint64_t>>;

  template <typename T>
  static void expect_error(const Result<T>& result, int sys) {
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::io);
    EXPECT_EQ(result.error().sys, sys);
  }

  Host host;
};
TYPED_TEST_SUITE_P(DiskContract);

TYPED_TEST_P(DiskContract, OpensWhatExistsAndCreatesWhatDoesNot) {
  this->expect_error(this->disk().open("a"), ENOENT);
  this->disk().close(this->make("a", 2));
  this->expect_error(this->disk().create("a"), EEXIST);
  const auto file = this->disk().open("a");
  ASSERT_TRUE(file);
  EXPECT_EQ(this->content(*file), "xx");
}

TYPED_TEST_P(DiskContract, ListsFilesWithTheirSizes) {
  EXPECT_TRUE(this->listed().empty());
  this->make("b", 3);
  this->make("a");
  const typename TestFixture::Listed expected{
      {"a", 0              },
      {"b", 3 * block_bytes}
  };
  EXPECT_EQ(this->listed(), expected);
}

TYPED_TEST_P(DiskContract, ReadsFewerBytesOnlyAtTheEndOfAFile) {
  const FileId file = this->make("a", 3);
  const PageBlock memory(2 * block_bytes);
  const auto later = [&](std::uint64_t offset) {
    Io io;
    this->disk().read(file, offset, memory.span(), io);
    return this->end(io);
  };
  for (const auto& [block, expected] : {
           std::pair{0, 2},
           {1, 2},
           {2, 1},
           {3, 0},
           {9, 0}
  }) {
    SCOPED_TRACE(block);
    const std::uint64_t offset = static_cast<std::uint64_t>(block) * block_bytes;
    const std::size_t bytes = static_cast<std::size_t>(expected) * block_bytes;
    EXPECT_EQ(this->disk().read_now(file, offset, memory.span()), bytes);
    const std::int32_t result = later(offset);
    EXPECT_TRUE(result == static_cast<std::int32_t>(bytes) || (expected < 2 && result == -EIO))
        << result;
  }
}

TYPED_TEST_P(DiskContract, WritesWhereItIsToldAndFillsTheGapWithZeros) {
  const FileId file = this->make("a", 1);
  EXPECT_EQ(this->write(file, 2 * block_bytes, 1, 'y'), static_cast<std::int32_t>(block_bytes));
  EXPECT_EQ(this->content(file), std::string("x\0y", 3));
  EXPECT_EQ(this->write(file, 0, 1, 'z'), static_cast<std::int32_t>(block_bytes));
  EXPECT_EQ(this->content(file), std::string("z\0y", 3));
}

TYPED_TEST_P(DiskContract, RenamesAnOpenFileOverAnotherOne) {
  const FileId file = this->make("a", 1, 'a');
  this->disk().close(this->make("b", 2, 'b'));
  this->expect_error(this->disk().rename("c", "d"), ENOENT);
  ASSERT_TRUE(this->disk().rename("a", "b"));
  const typename TestFixture::Listed expected{
      {"b", block_bytes}
  };
  EXPECT_EQ(this->listed(), expected);
  EXPECT_EQ(this->write(file, block_bytes, 1, 'c'), static_cast<std::int32_t>(block_bytes));
  EXPECT_EQ(this->content(file), "ac");
}

TYPED_TEST_P(DiskContract, RemovesAFileAtOnceOrLater) {
  for (const char* name : {"a", "b"}) this->disk().close(this->make(name, 1));
  ASSERT_TRUE(this->disk().remove("a"));
  this->expect_error(this->disk().remove("a"), ENOENT);
  Io io;
  const std::string name = "b";
  this->disk().remove(name, io);
  EXPECT_EQ(this->end(io), 0);
  EXPECT_TRUE(this->listed().empty());
}

TYPED_TEST_P(DiskContract, AllocatesSpaceWithoutAChangeOfLength) {
  const FileId file = this->make("a", 1);
  Io io;
  this->disk().allocate(file, 16 * block_bytes, io);
  const std::int32_t result = this->end(io);
  EXPECT_TRUE(result == 0 || result == -EOPNOTSUPP) << result;
  EXPECT_EQ(this->content(file), "x");
  const typename TestFixture::Listed expected{
      {"a", block_bytes}
  };
  EXPECT_EQ(this->listed(), expected);
}

TYPED_TEST_P(DiskContract, FlushesFilesAndTheDirectory) {
  const FileId file = this->make("a", 1);
  EXPECT_TRUE(this->disk().sync_now(file));
  EXPECT_TRUE(this->disk().sync_dir_now());
  Io io, dir;
  this->disk().sync(file, io);
  EXPECT_EQ(this->end(io), 0);
  this->disk().sync_dir(dir);
  EXPECT_EQ(this->end(dir), 0);
}

TYPED_TEST_P(DiskContract, HasTheMostOperationsUnderWayAtOnce) {
  const FileId file = this->make("a");
  std::array<PageBlock, Disk::ios_max> memory;
  std::array<Io, Disk::ios_max> ios;
  std::string expected;
  for (std::size_t i = 0; i < Disk::ios_max; ++i) {
    memory[i] = PageBlock(block_bytes);
    expected += static_cast<char>(' ' + i);
    std::memset(memory[i].data(), expected.back(), block_bytes);
    this->disk().write(file, i * block_bytes, memory[i].span(), Flush::no, ios[i]);
  }
  for (Io& io : ios) EXPECT_EQ(this->end(io), static_cast<std::int32_t>(block_bytes));
  EXPECT_EQ(this->content(file), expected);
}

REGISTER_TYPED_TEST_SUITE_P(DiskContract, OpensWhatExistsAndCreatesWhatDoesNot,
                            ListsFilesWithTheirSizes, ReadsFewerBytesOnlyAtTheEndOfAFile,
                            WritesWhereItIsToldAndFillsTheGapWithZeros,
                            RenamesAnOpenFileOverAnotherOne, RemovesAFileAtOnceOrLater,
                            AllocatesSpaceWithoutAChangeOfLength, FlushesFilesAndTheDirectory,
                            HasTheMostOperationsUnderWayAtOnce);

}  // namespace pawl::test

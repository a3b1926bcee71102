// SPDX-License-Identifier: Apache-2.0
#include "wal/format/file_io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>

namespace pawl {
namespace {

class FileIo : public testing::Test {
 protected:
  FileIo() { fd = mkstemp(path.data()); }
  ~FileIo() override {
    close(fd);
    unlink(path.c_str());
  }
  static std::span<const std::byte> bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
  }
  std::string path = "/tmp/pawl-file-io-test-XXXXXX";
  int fd = -1;
};

TEST_F(FileIo, ReadsWhatWasWrittenAtAnyOffset) {
  ASSERT_TRUE(write_file(fd, 5, bytes("hello")));
  std::array<char, 5> read{};
  EXPECT_EQ(read_file(fd, 5, std::as_writable_bytes(std::span(read))), 5u);
  EXPECT_EQ(std::string_view(read.data(), read.size()), "hello");
}

TEST_F(FileIo, AReadIsShortOnlyAtTheEndOfTheFile) {
  ASSERT_TRUE(write_file(fd, 0, bytes("hello")));
  std::array<std::byte, 8> read{};
  EXPECT_EQ(read_file(fd, 3, read), 2u);
  EXPECT_EQ(read_file(fd, 5, read), 0u);
}

TEST_F(FileIo, AFailureHasItsErrno) {
  std::array<std::byte, 1> byte{};
  const auto read = read_file(-1, 0, byte);
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, Errc::io);
  EXPECT_EQ(read.error().sys, EBADF);
  const int full = open("/dev/full", O_WRONLY);
  const auto written = write_file(full, 0, byte);
  close(full);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, Errc::no_space);
  EXPECT_EQ(written.error().sys, ENOSPC);
}

}  // namespace
}  // namespace pawl

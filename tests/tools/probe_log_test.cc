// SPDX-License-Identifier: Apache-2.0
#include "tools/doctor/probe_log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <string>

#include "tests/net/fake_root.h"
#include "wal/image.h"

namespace pawl {
namespace {

constexpr std::uint64_t segment = ProbeLog::geometry.segment_bytes;

// The first position behind the header without written data; -1: there is no such file.
std::int64_t hole_in(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const std::int64_t hole = fd < 0 ? -1 : lseek(fd, block_bytes, SEEK_HOLE);
  if (fd >= 0) ::close(fd);
  return hole;
}

TEST(ProbeLog, HasASegmentInEachState) {
  FakeRoot root;
  const auto log = ProbeLog::open(root.path());
  ASSERT_TRUE(log) << log.error().what;
  const PageBlock frame(256 << 10);
  const auto ready = (*log)->prepare(frame.span(), {.end_us = UINT64_MAX});
  ASSERT_TRUE(ready) << ready.error().what;
  EXPECT_TRUE((*log)->calibration().measured);
  std::set<FileId> files;
  for (const auto state : {SegmentState::fresh, SegmentState::reused, SegmentState::unfilled})
    files.insert((*log)->file(state));
  EXPECT_EQ(files.size(), 3u);
  EXPECT_EQ(hole_in(root.path() + "/" + segment_name(0)), -1) << "it is segment 2 now";
  EXPECT_EQ(hole_in(root.path() + "/" + segment_name(1)), segment);
  EXPECT_EQ(hole_in(root.path() + "/" + segment_name(2)), segment);
  if ((*log)->file(SegmentState::unfilled) == FileId::none) GTEST_SKIP() << "no preallocation here";
  EXPECT_EQ(hole_in(root.path() + "/" + segment_name(3)), block_bytes);
}

TEST(ProbeLog, WritesDurablyHoweverTheThreadWaits) {
  FakeRoot root;
  const auto log = ProbeLog::open(root.path());
  ASSERT_TRUE(log) << log.error().what;
  const PageBlock frame(256 << 10);
  ASSERT_TRUE((*log)->prepare(frame.span(), {.end_us = UINT64_MAX}));
  for (const Poll poll : {Poll::block, Poll::spin}) {
    IdlePolicy policy(poll, 100);
    Io io;
    (*log)->write((*log)->file(SegmentState::fresh), block_bytes, frame.span(), io);
    (*log)->wait(policy);
    EXPECT_TRUE(io.done);
    EXPECT_EQ(io.result, 256 << 10);
  }
}

TEST(ProbeLog, EndsItsPreparationAtTheLimit) {
  FakeRoot root;
  const auto log = ProbeLog::open(root.path());
  ASSERT_TRUE(log) << log.error().what;
  const PageBlock frame(256 << 10);
  const auto ready = (*log)->prepare(frame.span(), {.end_us = 0});
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, Errc::not_ready);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// tests/tools/io_backend_test.py runs the choice under filters that refuse io_uring.
#include "net/io/ring_choice.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace pawl {
namespace {

TEST(RingChoiceTest, OnlyRefusalsChooseThreads) {
  for (const int error : {EPERM, EACCES, ENOSYS, EINVAL}) EXPECT_TRUE(is_refusal(error)) << error;
  for (const int error : {0, ENOMEM, EMFILE, EIO}) EXPECT_FALSE(is_refusal(error)) << error;
}

TEST(RingChoiceTest, AskedThreadsAreNoRefusal) {
  RingChoice choice{IoBackend::uring, "before", EPERM};
  const auto ring = choose_ring(IoWish::threads, choice);
  ASSERT_TRUE(ring);
  EXPECT_EQ((*ring)->backend(), IoBackend::threads);
  EXPECT_EQ(choice.backend, IoBackend::threads);
  EXPECT_EQ(choice.error, 0);
}

TEST(RingChoiceTest, AutomaticTakesIoUringWhereItWorks) {
  RingChoice choice;
  const auto ring = choose_ring(IoWish::automatic, choice);
  ASSERT_TRUE(ring);
  if (choice.error != 0) GTEST_SKIP() << choice.refused << " is refused on this machine";
  EXPECT_EQ((*ring)->backend(), IoBackend::uring);
}

// The shard uses the ring after its probe.
TEST(RingChoiceTest, AProbeLeavesNothingUnderWay) {
  for (const IoBackend backend : {IoBackend::uring, IoBackend::threads}) {
    auto ring = Ring::create(backend);
    ASSERT_TRUE(ring);
    for (int i = 0; i < 3; ++i) {
      const auto works = probe_operations(**ring);
      ASSERT_TRUE(works) << name_of(backend) << ": " << works.error().what;
    }
    EXPECT_EQ((*ring)->buffers_out(), 0u);
    (*ring)->wait(20'000'000);
    EXPECT_EQ((*ring)->reap(Ring::cq_entries, [](auto...) {}), 0u) << name_of(backend);
  }
}

}  // namespace
}  // namespace pawl

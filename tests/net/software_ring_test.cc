// SPDX-License-Identifier: Apache-2.0
// The limits and the descriptors of this backend alone. tests/net/ring_test.cc compares both.
#include "net/io/software_ring.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include "net/io/ring.h"

namespace pawl {
namespace {

std::unique_ptr<Ring> make() {
  auto made = Ring::create(IoBackend::threads);
  EXPECT_TRUE(made);
  return std::move(*made);
}

std::vector<std::int32_t> results_of(Ring& ring, std::vector<std::uint32_t>* indexes = nullptr) {
  std::vector<std::int32_t> results;
  ring.reap(Ring::cq_entries, [&](RingTag tag, std::int32_t result, std::uint32_t flags) {
    results.push_back(result);
    if (indexes != nullptr) indexes->push_back(tag.index);
    if ((flags & IORING_CQE_F_BUFFER) == 0) return;
    EXPECT_EQ(ring.buffer(flags, result).size(), static_cast<std::size_t>(result));
    ring.recycle(flags);
  });
  return results;
}

TEST(SoftwareRing, KeepsCompletionsWithoutSpaceInOrder) {
  const auto ring = make();
  constexpr std::uint32_t count = Ring::cq_entries + 3000;
  for (std::uint32_t i = 0; i < count; ++i)
    io_uring_prep_nop(ring->sqe({.op = RingOp::disk, .index = i}));
  std::vector<std::uint32_t> seen;
  for (int turn = 0; turn < 3; ++turn) {
    ring->submit();
    results_of(*ring, &seen);
  }
  ASSERT_EQ(seen.size(), count);
  for (std::uint32_t i = 0; i < count; ++i) ASSERT_EQ(seen[i], i);
}

TEST(SoftwareRing, RefusesOperationsThatItDoesNotKnow) {
  const auto ring = make();
  io_uring_prep_socket(ring->sqe({.op = RingOp::disk}), AF_UNIX, SOCK_STREAM, 0, 0);
  ring->submit();
  EXPECT_EQ(results_of(*ring), std::vector<std::int32_t>{-EINVAL});
}

// A connection moves to another shard when its operations have ended.
TEST(SoftwareRing, LeavesADescriptorToAnotherRing) {
  const auto first = make(), second = make();
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  const auto arm = [&](Ring& ring) {
    io_uring_sqe* const entry = ring.sqe({.op = RingOp::receive});
    io_uring_prep_recv_multishot(entry, ends[0], nullptr, 0, 0);
    entry->flags |= IOSQE_BUFFER_SELECT;
    entry->buf_group = Ring::buffer_group;
    ring.submit();
  };
  arm(*first);
  first->cancel({.op = RingOp::receive});
  first->submit();
  EXPECT_EQ(results_of(*first), (std::vector<std::int32_t>{-ECANCELED, 0}));
  arm(*second);
  ASSERT_EQ(::send(ends[1], "bytes", 5, 0), 5);
  first->wait(1'000'000);
  EXPECT_TRUE(results_of(*first).empty());
  second->wait(1'000'000'000);
  EXPECT_EQ(results_of(*second), std::vector<std::int32_t>{5});
  for (const int end : ends) ::close(end);
}

// A descriptor number is used again at once.
TEST(SoftwareRing, ForgetsAClosedDescriptor) {
  const auto ring = make();
  for (int i = 0; i < 3; ++i) {
    int ends[2];
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    io_uring_sqe* const entry = ring->sqe({.op = RingOp::receive});
    io_uring_prep_recv_multishot(entry, ends[0], nullptr, 0, 0);
    entry->flags |= IOSQE_BUFFER_SELECT;
    entry->buf_group = Ring::buffer_group;
    ring->submit();
    ::close(ends[1]);
    ring->wait(1'000'000'000);
    EXPECT_EQ(results_of(*ring), std::vector<std::int32_t>{0});
    ::close(ends[0]);
  }
}

TEST(SoftwareRing, ReportsADescriptorThatCannotBeWatched) {
  const auto ring = make();
  io_uring_prep_poll_multishot(ring->sqe({.op = RingOp::event}), 1 << 19, POLLIN);
  ring->submit();
  EXPECT_EQ(results_of(*ring), std::vector<std::int32_t>{-EBADF});
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/io/ring.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

namespace pawl {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

struct Completion {
  RingTag tag;
  std::int32_t result;
  std::uint32_t flags;
};

class RingTest : public testing::Test {
 protected:
  void SetUp() override { ring_ = make(); }
  static std::unique_ptr<Ring> make() {
    auto made = Ring::create();
    EXPECT_TRUE(made);
    return std::move(*made);
  }
  void prepare_nop(RingTag tag) { io_uring_prep_nop(ring_->sqe(tag)); }
  static std::vector<Completion> reap(Ring& ring, unsigned max = Ring::cq_entries) {
    std::vector<Completion> seen;
    const unsigned count =
        ring.reap(max, [&](RingTag tag, std::int32_t result, std::uint32_t flags) {
          seen.push_back({tag, result, flags});
        });
    EXPECT_EQ(count, seen.size());
    return seen;
  }

  std::unique_ptr<Ring> ring_;
};

TEST_F(RingTest, ReturnsTheTagOfEachOperation) {
  const RingTag tags[] = {
      {RingOp::disk,    0,          0         },
      {RingOp::event,   0xFF'FFFF,  0xFFFFFFFF},
      {RingOp::receive, 0x1AB'CDEF, 7         },
  };
  for (const RingTag& tag : tags) prepare_nop(tag);
  EXPECT_TRUE(reap(*ring_).empty()) << "not submitted yet";
  ring_->submit();
  const std::vector<Completion> seen = reap(*ring_);
  ASSERT_EQ(seen.size(), std::size(tags));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].tag.op, tags[i].op);
    EXPECT_EQ(seen[i].tag.generation, tags[i].generation & 0xFF'FFFF) << "24 bits";
    EXPECT_EQ(seen[i].tag.index, tags[i].index);
  }
}

TEST_F(RingTest, LeavesCompletionsBeyondTheMaximumForTheNextTime) {
  for (std::uint32_t i = 0; i < 5; ++i) prepare_nop({.op = RingOp::disk, .index = i});
  ring_->submit();
  EXPECT_EQ(reap(*ring_, 2).size(), 2u);
  const std::vector<Completion> rest = reap(*ring_);
  ASSERT_EQ(rest.size(), 3u);
  EXPECT_EQ(rest[0].tag.index, 2u);
}

TEST_F(RingTest, SubmitsAFullQueueOnTheWay) {
  for (std::uint32_t i = 0; i < 3 * Ring::sq_entries; ++i)
    prepare_nop({.op = RingOp::disk, .index = i});
  ring_->submit();
  const std::vector<Completion> seen = reap(*ring_);
  ASSERT_EQ(seen.size(), 3 * Ring::sq_entries);
  EXPECT_EQ(seen.back().tag.index, 3 * Ring::sq_entries - 1);
}

TEST_F(RingTest, SubmitsFirstWhenOperationsMustStayTogether) {
  for (unsigned i = 0; i < Ring::sq_entries - 1; ++i) prepare_nop({.op = RingOp::disk});
  EXPECT_TRUE(reap(*ring_).empty());
  io_uring_sqe* const write = ring_->sqe({.op = RingOp::disk, .index = 1}, 2);
  EXPECT_EQ(reap(*ring_).size(), Ring::sq_entries - 1);
  io_uring_prep_nop(write);
  prepare_nop({.op = RingOp::disk, .index = 2});
  EXPECT_TRUE(reap(*ring_).empty()) << "no submit between the two";
  ring_->submit();
  EXPECT_EQ(reap(*ring_).size(), 2u);
}

TEST_F(RingTest, WaitsNoLongerThanItsTimeout) {
  ring_->wait(1'000'000);
  EXPECT_TRUE(reap(*ring_).empty());
}

TEST_F(RingTest, WakesAnotherRingWithoutACompletionOfItsOwn) {
  const std::unique_ptr<Ring> sleeper = make();
  ring_->wake(sleeper->fd());
  ring_->submit();
  sleeper->wait(10 * second_ns);
  const std::vector<Completion> seen = reap(*sleeper);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].tag.op, RingOp::wake);
  ring_->submit();
  EXPECT_TRUE(reap(*ring_).empty());
}

// All connections of a shard share these buffers.
TEST_F(RingTest, RunsOutOfReceiveBuffersUntilOneIsRecycled) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const auto arm = [&] {
    io_uring_sqe* const entry = ring_->sqe({.op = RingOp::receive});
    io_uring_prep_recv_multishot(entry, ends[0], nullptr, 0, 0);
    entry->flags |= IOSQE_BUFFER_SELECT;
    entry->buf_group = Ring::buffer_group;
  };
  const auto send_packet = [&](const std::string& text) {
    ASSERT_EQ(::send(ends[1], text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  };
  arm();
  ring_->submit();
  unsigned received = 0;
  std::uint32_t last = 0;
  for (bool more = true; more && received <= Ring::receive_buffers;) {
    const std::string text = "packet " + std::to_string(received);
    send_packet(text);
    ring_->wait(10 * second_ns);
    for (const Completion& done : reap(*ring_)) {
      more = (done.flags & IORING_CQE_F_MORE) != 0;
      if (!more) {
        EXPECT_EQ(done.result, -ENOBUFS);
        continue;
      }
      ASSERT_EQ(ring_->buffer(done.flags, done.result), text);
      ASSERT_EQ(ring_->buffers_out(), ++received);
      last = done.flags;
    }
  }
  EXPECT_EQ(received, Ring::receive_buffers);
  ring_->recycle(last);
  EXPECT_EQ(ring_->buffers_out(), Ring::receive_buffers - 1);
  send_packet("the next");
  arm();
  ring_->wait(10 * second_ns);
  const std::vector<Completion> seen = reap(*ring_);
  ASSERT_GE(seen.size(), 1u);
  EXPECT_EQ(ring_->buffer(seen[0].flags, seen[0].result), "the next");
  for (const int end : ends) ::close(end);
}

TEST_F(RingTest, ReportsADescriptorThatItCannotHold) {
  const Result<void> held = ring_->hold(1 << 20);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Errc::io);
  EXPECT_EQ(held.error().sys, EBADF);
}

}  // namespace
}  // namespace pawl

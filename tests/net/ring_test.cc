// SPDX-License-Identifier: Apache-2.0
#include "net/io/ring.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

constexpr std::uint64_t second_ns = 1'000'000'000;

struct Completion {
  RingTag tag;
  std::int32_t result;
  std::uint32_t flags;
};

struct SocketPair {
  explicit SocketPair(int type = SOCK_STREAM) {
    EXPECT_EQ(socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, ends), 0);
  }
  ~SocketPair() {
    for (const int end : ends)
      if (end >= 0) ::close(end);
  }
  void close(int which) { ::close(std::exchange(ends[which], -1)); }
  int ends[2] = {-1, -1};
};

// Both backends must give the same results.
class RingTest : public testing::TestWithParam<IoBackend> {
 protected:
  void SetUp() override { ring_ = make(); }
  static std::unique_ptr<Ring> make() {
    auto made = Ring::create(GetParam());
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

  void arm_receive(int fd, std::uint32_t index = 0) {
    io_uring_sqe* const entry = ring_->sqe({.op = RingOp::receive, .index = index});
    io_uring_prep_recv_multishot(entry, fd, nullptr, 0, 0);
    entry->flags |= IOSQE_BUFFER_SELECT;
    entry->buf_group = Ring::buffer_group;
  }
  // Waits for this many completions, at most ten seconds for each.
  std::vector<Completion> wait_for(std::size_t count) {
    std::vector<Completion> seen;
    for (std::size_t i = 0; i < 10 * count && seen.size() < count; ++i) {
      ring_->wait(second_ns);
      for (const Completion& done : reap(*ring_)) seen.push_back(done);
    }
    EXPECT_EQ(seen.size(), count);
    seen.resize(count);
    return seen;
  }

  std::unique_ptr<Ring> ring_;
};

INSTANTIATE_TEST_SUITE_P(Backends, RingTest, testing::Values(IoBackend::uring, IoBackend::threads),
                         [](const auto& given) { return std::string(name_of(given.param)); });

TEST_P(RingTest, ReturnsTheTagOfEachOperation) {
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

TEST_P(RingTest, LeavesCompletionsBeyondTheMaximumForTheNextTime) {
  for (std::uint32_t i = 0; i < 5; ++i) prepare_nop({.op = RingOp::disk, .index = i});
  ring_->submit();
  EXPECT_EQ(reap(*ring_, 2).size(), 2u);
  const std::vector<Completion> rest = reap(*ring_);
  ASSERT_EQ(rest.size(), 3u);
  EXPECT_EQ(rest[0].tag.index, 2u);
}

TEST_P(RingTest, SubmitsAFullQueueOnTheWay) {
  for (std::uint32_t i = 0; i < 3 * Ring::sq_entries; ++i)
    prepare_nop({.op = RingOp::disk, .index = i});
  ring_->submit();
  const std::vector<Completion> seen = reap(*ring_);
  ASSERT_EQ(seen.size(), 3 * Ring::sq_entries);
  EXPECT_EQ(seen.back().tag.index, 3 * Ring::sq_entries - 1);
}

TEST_P(RingTest, SubmitsFirstWhenOperationsMustStayTogether) {
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

TEST_P(RingTest, WaitsNoLongerThanItsTimeout) {
  ring_->wait(1'000'000);
  EXPECT_TRUE(reap(*ring_).empty());
}

TEST_P(RingTest, WakesAnotherRingWithoutACompletionOfItsOwn) {
  const std::unique_ptr<Ring> sleeper = make();
  ring_->wake(sleeper->wake_handle());
  ring_->submit();
  sleeper->wait(10 * second_ns);
  const std::vector<Completion> seen = reap(*sleeper);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].tag.op, RingOp::wake);
  ring_->submit();
  EXPECT_TRUE(reap(*ring_).empty());
}

// All connections of a shard share these buffers.
TEST_P(RingTest, RunsOutOfReceiveBuffersUntilOneIsRecycled) {
  const SocketPair pair(SOCK_SEQPACKET);
  const auto& ends = pair.ends;
  const auto arm = [&] { arm_receive(ends[0]); };
  std::vector<std::string> sent;  // io_uring looks for the next buffer before the next packet
  const auto send_packet = [&](const std::string& text) {
    sent.push_back(text);
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
  EXPECT_EQ(ring_->buffer(seen[0].flags, seen[0].result), sent[received]);
}

TEST_P(RingTest, ASendEndsWhenAllIsTaken) {
  const SocketPair pair;
  std::string text(4 << 20, 'x');
  for (std::size_t i = 0; i < text.size(); i += 4096)
    text[i] = static_cast<char>('a' + i / 4096 % 26);
  io_uring_prep_send(ring_->sqe({.op = RingOp::send, .index = 9}), pair.ends[0], text.data(),
                     text.size(), MSG_NOSIGNAL | MSG_WAITALL);
  ring_->submit();
  EXPECT_TRUE(reap(*ring_).empty()) << "the socket takes less at once";
  std::string read;
  std::vector<char> piece(64 << 10);
  std::vector<Completion> seen;
  while (read.size() < text.size()) {
    const ssize_t bytes = ::recv(pair.ends[1], piece.data(), piece.size(), MSG_DONTWAIT);
    if (bytes > 0) read.append(piece.data(), static_cast<std::size_t>(bytes));
    ring_->submit();
    for (const Completion& done : reap(*ring_)) seen.push_back(done);
  }
  if (seen.empty()) seen = wait_for(1);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].tag.index, 9u);
  EXPECT_EQ(seen[0].result, static_cast<std::int32_t>(text.size()));
  EXPECT_EQ(read, text);
}

TEST_P(RingTest, ASendToAClosedPeerFails) {
  SocketPair pair;
  pair.close(1);
  io_uring_prep_send(ring_->sqe({.op = RingOp::send}), pair.ends[0], "x", 1, MSG_NOSIGNAL);
  EXPECT_EQ(wait_for(1)[0].result, -EPIPE);
}

TEST_P(RingTest, AReceiveEndsWithThePeer) {
  SocketPair pair;
  arm_receive(pair.ends[0], 5);
  ring_->submit();
  ASSERT_EQ(::send(pair.ends[1], "last", 4, 0), 4);
  pair.close(1);
  const std::vector<Completion> seen = wait_for(2);
  EXPECT_EQ(ring_->buffer(seen[0].flags, seen[0].result), "last");
  EXPECT_NE(seen[0].flags & IORING_CQE_F_MORE, 0u);
  EXPECT_EQ(seen[1].tag.index, 5u);
  EXPECT_EQ(seen[1].result, 0);
  EXPECT_EQ(seen[1].flags & IORING_CQE_F_MORE, 0u);
}

TEST_P(RingTest, AReceiveIsCancelledOnce) {
  const SocketPair pair;
  arm_receive(pair.ends[0], 5);
  ring_->submit();
  const RingTag receive{.op = RingOp::receive, .index = 5};
  ring_->cancel(receive);
  std::vector<Completion> seen = wait_for(2);
  std::ranges::sort(seen, {}, [](const Completion& done) { return done.tag.op; });
  EXPECT_EQ(seen[0].result, -ECANCELED);
  EXPECT_EQ(seen[0].flags & IORING_CQE_F_MORE, 0u);
  EXPECT_EQ(seen[1].result, 0);
  ring_->cancel(receive);
  EXPECT_EQ(wait_for(1)[0].result, -ENOENT);
  arm_receive(pair.ends[0], 6);  // it can be armed again
  ring_->submit();
  ASSERT_EQ(::send(pair.ends[1], "more", 4, 0), 4);
  EXPECT_EQ(wait_for(1)[0].tag.index, 6u);
}

TEST_P(RingTest, AnAcceptGoesOnUntilTheListenerIsShutDown) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), bytes), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  io_uring_prep_multishot_accept(ring_->sqe({.op = RingOp::accept}), listener, nullptr, nullptr,
                                 SOCK_CLOEXEC);
  ring_->submit();
  for (int i = 0; i < 3; ++i) {
    const int peer = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_EQ(::connect(peer, reinterpret_cast<sockaddr*>(&address), bytes), 0);
    const Completion taken = wait_for(1)[0];
    EXPECT_NE(taken.flags & IORING_CQE_F_MORE, 0u);
    ASSERT_GE(taken.result, 0);
    EXPECT_EQ(fcntl(taken.result, F_GETFD), FD_CLOEXEC);
    ::close(taken.result);
    ::close(peer);
  }
  ::shutdown(listener, SHUT_RDWR);
  const Completion end = wait_for(1)[0];
  EXPECT_EQ(end.result, -EINVAL);
  EXPECT_EQ(end.flags & IORING_CQE_F_MORE, 0u);
  ::close(listener);
}

TEST_P(RingTest, APollReportsEachWrite) {
  const int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  io_uring_prep_poll_multishot(ring_->sqe({.op = RingOp::event}), event, POLLIN);
  ring_->submit();
  for (int i = 0; i < 3; ++i) {
    eventfd_write(event, 1);
    const Completion done = wait_for(1)[0];
    EXPECT_EQ(done.tag.op, RingOp::event);
    EXPECT_NE(done.result & POLLIN, 0);
    EXPECT_NE(done.flags & IORING_CQE_F_MORE, 0u);
    eventfd_t count = 0;
    eventfd_read(event, &count);
  }
  ::close(event);
}

TEST_P(RingTest, ATimeoutEndsAtItsTime) {
  __kernel_timespec after{.tv_sec = 0, .tv_nsec = 2'000'000};
  const auto begun = std::chrono::steady_clock::now();
  io_uring_prep_timeout(ring_->sqe({.op = RingOp::disk}), &after, 0, 0);
  EXPECT_EQ(wait_for(1)[0].result, -ETIME);
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(2));
}

// A durable write is a write with a flush linked behind it; only one of the two reports.
TEST_P(RingTest, AFailedWriteTakesItsFlushAlong) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  const int file = memfd_create("ring_test", MFD_CLOEXEC);
  for (const int fd : {full, file}) {
    io_uring_sqe* const write = ring_->sqe({.op = RingOp::disk, .index = 1}, 2);
    io_uring_prep_write(write, fd, "data", 4, 0);
    write->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
    io_uring_prep_fsync(ring_->sqe({.op = RingOp::disk, .index = 2}), fd, IORING_FSYNC_DATASYNC);
    const Completion done = wait_for(1)[0];
    EXPECT_EQ(done.tag.index, fd == full ? 1u : 2u);
    EXPECT_EQ(done.result, fd == full ? -ENOSPC : 0);
    ::close(fd);
  }
  ring_->wait(1'000'000);
  EXPECT_TRUE(reap(*ring_).empty());
}

TEST(RingOnUring, ReportsADescriptorThatItCannotHold) {
  const auto ring = Ring::create();
  ASSERT_TRUE(ring);
  const Result<void> held = (*ring)->hold(1 << 20);
  ASSERT_FALSE(held);
  EXPECT_EQ(held.error().code, Errc::io);
  EXPECT_EQ(held.error().sys, EBADF);
}

}  // namespace
}  // namespace pawl

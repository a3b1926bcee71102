// SPDX-License-Identifier: Apache-2.0
#include "net/client/socket.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "net/client/readiness.h"
#include "tests/client/raw_peer.h"

namespace pawl::client {
namespace {

using std::chrono_literals::operator""s;

class SocketTest : public testing::Test {
 protected:
  // Receives until `count` bytes are in in().
  void receive(std::size_t count) {
    while (socket_.in().size() < count) {
      ASSERT_TRUE(socket_.wait(10s));
      ASSERT_TRUE(socket_.receive(count));
    }
  }

  RawPeer peer_;
  Socket socket_ = connect_socket(peer_);
};

// Waits until the connection is established or refused.
std::expected<bool, int> outcome_of(const Socket& socket) {
  wait_for(socket.descriptor(), POLLOUT, 10s);
  return socket.connected();
}

// A child of fork() has a copy of each descriptor until it ends.
TEST_F(SocketTest, LeavesTheEpollSetAndTellsThePeerThoughACopyOfItStaysOpen) {
  Readiness readiness;
  const int copy = ::dup(socket_.descriptor());
  ASSERT_GE(copy, 0);
  readiness.watch(socket_.descriptor(), POLLIN | POLLOUT);
  socket_.watched_by(readiness.descriptor());
  pollfd entry{.fd = readiness.descriptor(), .events = POLLIN, .revents = 0};
  ASSERT_EQ(::poll(&entry, 1, 0), 1) << "it is writable";
  socket_.close();
  EXPECT_EQ(::poll(&entry, 1, 0), 0);
  pollfd ended{.fd = copy, .events = 0, .revents = 0};
  EXPECT_EQ(::poll(&ended, 1, 10'000), 1) << "the connection has ended";
  ::close(copy);
}

TEST(SocketConnect, NamesTheErrorOfTheSystem) {
  const auto addresses = resolve("127.0.0.1", 1);
  ASSERT_TRUE(addresses);
  ASSERT_EQ(addresses->size(), 1u);
  const auto socket = Socket::open(addresses->front());
  ASSERT_TRUE(socket);
  EXPECT_EQ(outcome_of(*socket).error(), ECONNREFUSED);
  EXPECT_EQ(resolve("no such host.invalid", 1).error(), EADDRNOTAVAIL);
}

TEST(SocketConnect, TakesThePathOfAUnixSocket) {
  const auto addresses = resolve("/no/such/pawl.sock", 9326);
  ASSERT_TRUE(addresses);
  ASSERT_EQ(addresses->size(), 1u);
  EXPECT_EQ(addresses->front().storage.ss_family, AF_UNIX);
  EXPECT_EQ(Socket::open(addresses->front()).error(), ENOENT);
  EXPECT_EQ(resolve("/" + std::string(107, 'x'), 9326).error(), ENAMETOOLONG);
}

TEST(SocketConnect, ReportsTheEstablishedConnection) {
  RawPeer peer;
  const auto socket = Socket::open(resolve("127.0.0.1", peer.port())->front());
  ASSERT_TRUE(socket);
  EXPECT_TRUE(outcome_of(*socket).value());
}

TEST_F(SocketTest, KeepsReceivedBytesUntilTheyAreConsumed) {
  const auto none = socket_.receive(1);
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  peer_.write("hello world");
  receive(11);
  EXPECT_EQ(socket_.in(), "hello world");
  socket_.consume(6);
  EXPECT_EQ(socket_.in(), "world");
  EXPECT_FALSE(*socket_.receive(1)) << "no new bytes";
  EXPECT_EQ(socket_.in(), "world");
  peer_.write("!");
  receive(6);
  EXPECT_EQ(socket_.in(), "world!");
}

TEST_F(SocketTest, GrowsForAFrameLargerThanItsBuffer) {
  std::string frame(3 << 20, 'x');
  for (std::size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<char>('a' + i % 23);
  for (std::size_t at = 0; at < frame.size(); at += 64 << 10) {
    peer_.write(std::string_view(frame).substr(at, 64 << 10));
    receive(std::min<std::size_t>(frame.size(), at + (64 << 10)));
  }
  EXPECT_TRUE(socket_.in() == frame);
}

TEST_F(SocketTest, SendsAsManyBytesAsTheKernelAcceptsAndTheRestInOrder) {
  constexpr int buffer = 64 << 10;
  ::setsockopt(socket_.descriptor(), SOL_SOCKET, SO_SNDBUF, &buffer, sizeof buffer);
  ::setsockopt(peer_.descriptor(), SOL_SOCKET, SO_RCVBUF, &buffer, sizeof buffer);
  std::string sent;
  for (int i = 0; i < 64; ++i) sent += std::string(64 << 10, static_cast<char>('A' + i));
  socket_.out() = sent;
  ASSERT_TRUE(socket_.flush());
  ASSERT_TRUE(socket_.unsent()) << "more than both buffers hold";
  socket_.out() += "the end";
  sent += "the end";
  std::string got;
  while (got.size() < sent.size()) {
    got += peer_.read(std::min<std::size_t>(sent.size() - got.size(), 64 << 10));
    ASSERT_TRUE(socket_.flush());
  }
  EXPECT_FALSE(socket_.unsent());
  EXPECT_TRUE(socket_.out().empty());
  EXPECT_TRUE(got == sent);
}

TEST_F(SocketTest, ReportsThePeersCloseAfterItsLastBytes) {
  peer_.write("bye");
  receive(3);
  peer_.close();
  ASSERT_TRUE(socket_.wait(10s));
  const auto closed = socket_.receive(1);
  ASSERT_FALSE(closed);
  EXPECT_EQ(closed.error(), ECONNRESET);
  EXPECT_EQ(socket_.in(), "bye");
}

// The process would die of a SIGPIPE.
TEST_F(SocketTest, SurvivesASendToAPeerThatHasClosed) {
  peer_.close();
  SystemResult flushed;
  for (int i = 0; i < 1000 && flushed; ++i) {
    socket_.out() += "x";
    flushed = socket_.flush();
  }
  ASSERT_FALSE(flushed);
  EXPECT_TRUE(flushed.error() == EPIPE || flushed.error() == ECONNRESET) << flushed.error();
}

TEST_F(SocketTest, TakesItsBuffersAlongWhenItIsMoved) {
  peer_.write("in");
  receive(2);
  socket_.consume(1);
  socket_.out() = "out";
  const int descriptor = socket_.descriptor();
  Socket moved = std::move(socket_);
  EXPECT_EQ(socket_.descriptor(), -1);
  EXPECT_EQ(moved.descriptor(), descriptor);
  EXPECT_EQ(moved.in(), "n");
  ASSERT_TRUE(moved.flush());
  EXPECT_EQ(peer_.read(3), "out");
  moved.close();
  EXPECT_EQ(moved.descriptor(), -1);
  EXPECT_EQ(peer_.read(1), "") << "the peer learns of the close";
}

}  // namespace
}  // namespace pawl::client

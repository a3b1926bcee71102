// SPDX-License-Identifier: Apache-2.0
// The output of a connection without TLS. With TLS: sealed_stream_test.cc and tls_test.cc.
#include "net/connection/output.h"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <vector>

namespace pawl {
namespace {

constexpr Instant now{1'000'000};

TEST(Output, SendsTheTextOfATurnAndTakesMoreMeanwhile) {
  Output output;
  EXPECT_TRUE(output.all_sent());
  EXPECT_FALSE(output.begin()) << "nothing to send";
  output.text() = "first";
  EXPECT_FALSE(output.all_sent());
  ASSERT_TRUE(output.begin());
  EXPECT_EQ(output.piece(now), "first");
  EXPECT_TRUE(output.armed());
  output.text() = "second";
  EXPECT_EQ(output.waiting(), 6u);
  EXPECT_EQ(output.unsent(), 11u);
  output.ended();
  EXPECT_FALSE(output.advance(5));
  EXPECT_FALSE(output.all_sent());
  ASSERT_TRUE(output.begin());
  EXPECT_EQ(output.piece(now), "second");
  output.ended();
  EXPECT_FALSE(output.advance(6));
  EXPECT_TRUE(output.all_sent());
}

TEST(Output, SendsALongTextInPiecesFromWhereTheKernelStopped) {
  Output output;
  std::string text;
  for (int i = 0; text.size() < 2 * Output::piece_bytes_max; ++i) text += std::to_string(i);
  output.text() = text;
  ASSERT_TRUE(output.begin());
  std::string sent;
  for (bool more = true; more;) {
    const std::string_view piece = output.piece(now);
    ASSERT_LE(piece.size(), Output::piece_bytes_max);
    const std::size_t taken = (piece.size() + 1) / 2;
    sent += piece.substr(0, taken);
    output.ended();
    more = output.advance(taken);
    ASSERT_LE(sent.size(), text.size());
    EXPECT_EQ(output.unsent(), text.size() - sent.size());
  }
  EXPECT_EQ(sent, text);
  EXPECT_LE(output.memory(), Output::kept_bytes_max) << "a large buffer is not kept";
}

// Two connected sockets of TCP, whose buffers hold megabytes, as those of clients do.
std::array<int, 2> tcp_pair() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t length = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(::bind(listener, any, length), 0);
  EXPECT_EQ(::listen(listener, 1), 0);
  EXPECT_EQ(::getsockname(listener, any, &length), 0);
  const int one = ::socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(::connect(one, any, length), 0);
  const int other = ::accept(listener, nullptr, nullptr);
  ::close(listener);
  return {one, other};
}

TEST(Output, KnowsSinceWhenThePeerHasTakenNothing) {
  const auto [server, peer] = tcp_pair();
  Output output;
  output.text() = std::string(Output::piece_bytes_max, 'x');
  ASSERT_TRUE(output.begin());
  const std::string_view piece = output.piece(now);
  std::size_t sent = 0;  // as much as the kernel takes: the send stays under way
  for (ssize_t n = 1; n > 0; sent += n > 0 ? static_cast<std::size_t>(n) : 0)
    n = ::send(server, piece.data(), piece.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  for (int second = 1; second <= 5; ++second) {
    const Instant later = now + seconds(second);
    output.watch(server, later);
    EXPECT_EQ(output.stuck(later), seconds(second)) << "the peer reads nothing";
  }
  std::vector<char> buffer(1 << 20);
  for (std::size_t got = 0; got < sent;) {
    const ssize_t n = ::recv(peer, buffer.data(), buffer.size(), 0);
    ASSERT_GT(n, 0);
    got += static_cast<std::size_t>(n);
  }
  // The kernel learns a moment later that the peer has read.
  const Instant later = now + seconds(6);
  for (int i = 0; i < 1000 && output.stuck(later) > Duration{}; ++i) {
    ::usleep(1000);
    output.watch(server, later);
  }
  EXPECT_EQ(output.stuck(later), Duration{});
  ::close(server);
  ::close(peer);
}

}  // namespace
}  // namespace pawl

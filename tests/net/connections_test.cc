// SPDX-License-Identifier: Apache-2.0
// Limits on the number of connections and on their memory.
#include "net/connection/connections.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

class ConnectionsTest : public LiveServerTest {};

TEST_F(ConnectionsTest, ConnectionsBeyondTheLimitAreClosedUntilAnotherEnds) {
  options_.connections_max = 4;
  options_.address_connections_max = 3;
  start();
  std::vector<int> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(connect_http());
    EXPECT_TRUE(is_served(held.back()));
  }
  const int fourth = connect_http();
  EXPECT_FALSE(is_served(fourth));
  ::close(fourth);
  ::close(held.back());
  held.pop_back();
  bool again = false;
  for (int i = 0; i < 100 && !again; ++i) {  // the server notices the close later
    const int fd = connect_http();
    again = is_served(fd);
    ::close(fd);
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_TRUE(again);
  for (const int fd : held) ::close(fd);
}

// Probes must not restart a server only because it is busy.
TEST_F(ConnectionsTest, TheAdminPortAnswersAtTheConnectionLimit) {
  options_.connections_max = 2;
  start();
  const int first = connect_http(), second = connect_to(port(Protocol::binary));
  EXPECT_TRUE(is_served(first));
  for (const char* path : {"/livez", "/readyz", "/metrics"}) {
    const int fd = connect_to(port(Protocol::admin));
    const std::string request = std::string("GET ") + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    EXPECT_TRUE(read_responses(fd, 1).starts_with("HTTP/1.1 200")) << path;
    ::close(fd);
  }
  const int third = connect_http();
  EXPECT_FALSE(is_served(third)) << "the limit holds on the other ports";
  for (const int fd : {first, second, third}) ::close(fd);
}

// Many close at once: a connection's last completion may come long after the turn of its close.
TEST_F(ConnectionsTest, AClosedConnectionNoLongerCounts) {
  options_.times = {.head = seconds(1), .body = seconds(1), .idle = seconds(1)};
  options_.connections_max = 400;
  options_.address_connections_max = 100;
  start();
  std::vector<int> held;
  for (int i = 0; i < 100; ++i) {
    held.push_back(connect_http());
    ASSERT_TRUE(is_served(held.back())) << i;
  }
  for (const int fd : held) EXPECT_LT(closed_after(fd), 8.0);
  // The test's ends stay open: the server closes the connections two seconds later.
  std::vector<int> next;
  const auto give_up = SteadyClock::now() + 15s;
  while (next.size() < 100 && SteadyClock::now() < give_up) {
    const int fd = connect_http();
    if (is_served(fd)) {
      next.push_back(fd);
    } else {
      ::close(fd);
      for (const int other : next) ::close(other);
      next.clear();
      std::this_thread::sleep_for(500ms);
    }
  }
  EXPECT_EQ(next.size(), 100u);
  for (const int fd : held) ::close(fd);
  for (const int fd : next) ::close(fd);
}

// Connections of a shard share 64 MiB, too little for twelve incomplete bodies of 7 MiB.
TEST_F(ConnectionsTest, TheLargestHolderIsClosedWhenTogetherTheyHoldTooMuch) {
  options_.shards = 1;
  options_.memory = 128 << 20;
  start();
  const int modest = connect_http();
  EXPECT_TRUE(is_served(modest));
  const std::string head =
      "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS.SendMessage\r\n"
      "Content-Type: application/x-amz-json-1.0\r\nContent-Length: 8000000\r\n\r\n";
  std::vector<int> held;
  for (int i = 0; i < 12; ++i) {
    held.push_back(connect_http());
    const std::string part = head + std::string(7 << 20, 'x');
    std::size_t sent = 0;
    while (sent < part.size()) {
      const ssize_t n = ::send(held.back(), part.data() + sent, part.size() - sent, MSG_NOSIGNAL);
      if (n <= 0) break;  // closed already
      sent += static_cast<std::size_t>(n);
    }
  }
  const auto closed = [](int fd) {
    char byte = 0;
    const ssize_t n = ::recv(fd, &byte, 1, MSG_DONTWAIT);
    return n == 0 || (n < 0 && errno == ECONNRESET);
  };
  std::ptrdiff_t gone = 0;
  for (int i = 0; i < 100 && gone == 0; ++i) {
    std::this_thread::sleep_for(50ms);
    gone = std::ranges::count_if(held, closed);
  }
  EXPECT_GT(gone, 0);
  EXPECT_LT(gone, 8) << "no more than necessary";
  EXPECT_TRUE(is_served(modest));
  const int admin = connect_to(port(Protocol::admin));
  bool told = false;
  for (int i = 0; i < 50 && !told; ++i) {  // numbers are refreshed once a second
    send_all(admin, "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string text = read_responses(admin, 1);
    told = text.contains("pawl_connections_evicted_total{shard=\"0\"} ") &&
           !text.contains("pawl_connections_evicted_total{shard=\"0\"} 0\n");
    std::this_thread::sleep_for(100ms);
  }
  EXPECT_TRUE(told);
  ::close(admin);
  ::close(modest);
  for (const int fd : held) ::close(fd);
}

TEST(Connections, RecognizeAnHttpRequestByItsMethod) {
  for (const char* begin :
       {"GET / HTTP/1.1", "POST /", "PUT /", "HEAD /", "OPTIONS *", "DELETE /x"})
    EXPECT_TRUE(begins_as_http(begin)) << begin;
  for (const char* begin : {"", "GET", "get / HTTP/1.1", "\x16\x03\x01", " GET /", "PAWL"})
    EXPECT_FALSE(begins_as_http(begin)) << begin;
}

}  // namespace
}  // namespace pawl

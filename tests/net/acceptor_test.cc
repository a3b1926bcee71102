// SPDX-License-Identifier: Apache-2.0
// The end of accepting: clients that connect while the server stops.
#include "net/server/acceptor.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "tests/net/live_server.h"

namespace pawl {
namespace {

class AcceptorTest : public LiveServerTest {
 protected:
  struct Counts {
    std::atomic<int> served{0}, refused{0}, broken{0};
  };
  // Sends requests on new connections until one is refused.
  static void connect_again_and_again(std::uint16_t port, Counts& counts) {
    for (int i = 0; i < 100'000; ++i) {
      const int fd = try_connect(port);
      if (fd < 0) {
        // ECONNRESET: refused at the moment at which the server shut the socket down.
        fd == -ECONNREFUSED || fd == -ECONNRESET ? ++counts.refused : ++counts.broken;
        return;
      }
      is_served(fd) ? ++counts.served : ++counts.broken;
      ::close(fd);
    }
  }
};

TEST_F(AcceptorTest, ClientsThatConnectWhileTheServerStopsAreServedOrRefused) {
  start();
  const std::uint16_t http = port(Protocol::http);
  Counts counts;
  std::vector<std::thread> clients;
  constexpr int all = 8;
  for (int i = 0; i < all; ++i)
    clients.emplace_back([&] { connect_again_and_again(http, counts); });
  while (counts.served < 200) std::this_thread::yield();
  server_->stop();
  server_.reset();
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(counts.refused, all);
  EXPECT_LE(counts.broken, 1) << "the kernel resets one that connects between two system calls";
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/plain_stream.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "tests/net/sqs_client/scripted_peer.h"

namespace pawl::sqs_client {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

Endpoint local(std::uint16_t port) { return {.host = "127.0.0.1", .port = port}; }

TEST(PlainStream, CarriesBytesInBothDirectionsUntilItsEnd) {
  const ScriptedPeer peer([](int connection) {
    char byte = 0;
    if (::recv(connection, &byte, 1, 0) == 1) write_all(connection, {&byte, 1});
  });
  const auto stream = open_plain_stream(local(peer.port()), {});
  ASSERT_TRUE(stream) << stream.error().text;
  std::string received;
  EXPECT_EQ((*stream)->receive(received), 0u) << "there is nothing yet";
  EXPECT_EQ((*stream)->send("x"), 1u);
  ASSERT_TRUE(wait_until((*stream)->descriptor(), POLLIN, Clock::now() + 60s));
  EXPECT_EQ((*stream)->receive(received), 1u);
  EXPECT_EQ(received, "x");
  ASSERT_TRUE(wait_until((*stream)->descriptor(), POLLIN, Clock::now() + 60s));
  EXPECT_FALSE((*stream)->receive(received)) << "the peer has closed it";
  EXPECT_EQ(received, "x");
}

TEST(PlainStream, SendsAsMuchAsThePeerTakes) {
  const ScriptedPeer peer([](int) { ::usleep(500'000); });
  const auto stream = open_plain_stream(local(peer.port()), {});
  ASSERT_TRUE(stream);
  const std::string bytes(1 << 20, 'x');
  std::size_t total = 0;
  Stream::Count sent = 0;
  for (int i = 0; i < 1000; ++i) {
    sent = (*stream)->send(bytes);
    if (!sent || *sent == 0) break;
    EXPECT_LE(*sent, bytes.size());
    total += *sent;
  }
  EXPECT_EQ(sent, 0u) << "the peer reads nothing";
  EXPECT_GT(total, 0u);
}

TEST(PlainStream, NamesTheAddressThatCannotBeReached) {
  std::uint16_t port = 0;
  {
    port = ScriptedPeer([](int) {}).port();
  }  // it listens no more
  const auto refused = open_plain_stream(local(port), {});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unreachable);
  EXPECT_EQ(refused.error().text,
            "cannot reach http://127.0.0.1:" + std::to_string(port) +
                ": Connection refused. Is the server running, and is this its HTTP port? `pawl "
                "serve` starts one.");
  const auto nowhere = open_plain_stream({.host = "no-such-host.invalid", .port = 1}, {});
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, ErrorKind::unreachable);
  EXPECT_NE(nowhere.error().text.find("no address"), std::string::npos) << nowhere.error().text;
}

// A listener whose queue is full does not complete handshakes.
TEST(PlainStream, ConnectsForALimitedTime) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(listener, 0), 0);
  ASSERT_EQ(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  const StreamOptions options{.connect_timeout = 100ms};
  std::vector<std::unique_ptr<Stream>> connected;
  CallError error;
  for (int i = 0; i < 10 && error.text.empty(); ++i) {
    auto stream = open_plain_stream(local(ntohs(address.sin_port)), options);
    if (stream) connected.push_back(std::move(*stream));
    if (!stream) error = stream.error();
  }
  EXPECT_EQ(error.kind, ErrorKind::unreachable);
  EXPECT_NE(error.text.find("no connection within 100 ms"), std::string::npos) << error.text;
  ::close(listener);
}

}  // namespace
}  // namespace pawl::sqs_client

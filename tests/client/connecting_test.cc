// SPDX-License-Identifier: Apache-2.0
// Opening a connection without waiting. Time is handed in, so that deadlines pass at once.
#include "net/client/connecting.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "proto/auth/challenge.h"
#include "proto/binary/frames.h"
#include "tests/client/raw_peer.h"

namespace pawl::client {
namespace {

using Code = Client::Code;
using State = Connecting::State;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class ConnectingTest : public testing::Test {
 protected:
  ConnectingTest() {
    options_.port = peer_.port();
    options_.connect_timeout = 1000ms;
    options_.name = "connecting_test";
  }
  Connecting begin() const { return Connecting(options_, start_); }
  // Waits for the socket and advances, until the state is another one.
  void leave(Connecting& connecting, State state) const {
    while (connecting.state() == state) {
      ASSERT_GE(wait_for(connecting.descriptor(), connecting.events(), 10s), 1);
      connecting.on_ready(start_);
    }
  }
  Connecting begin_greeting() {
    Connecting connecting = begin();
    peer_.accept();
    leave(connecting, State::connecting);
    EXPECT_EQ(connecting.state(), State::greeting);
    return connecting;
  }
  FrameHeader read_request(BinaryOp op, std::string& payload) const {
    std::string frame = peer_.read(frame_header_bytes);
    const auto header = parse_header(frame);
    CHECK(header && header->op == static_cast<std::uint8_t>(op));
    frame += peer_.read(header->length - frame_header_bytes);
    payload = payload_of(*header, frame).value();
    return *header;
  }
  void respond(FrameHeader header, const std::string& payload = {}) const {
    header.flags |= flag_answer;
    std::string frame;
    const std::size_t begun = begin_frame(frame, header);
    frame += payload;
    finish_frame(frame, begun);
    peer_.write(frame);
  }
  void greet(const std::string& challenge = {}) const {
    std::string payload;
    const FrameHeader hello = read_request(BinaryOp::hello, payload);
    std::string answer;
    put_all(answer, binary_major, binary_minor, feature_groups, frame_bytes_max, std::uint32_t{3});
    put_all(answer, std::uint32_t{5000}, std::uint32_t{1024}, std::uint64_t{77}, std::uint32_t{1});
    put_all(answer, std::uint32_t{2}, std::uint16_t{0});
    put_short(answer, challenge);
    respond(hello, answer);
  }

  RawPeer peer_;
  Client::Options options_;
  Clock::time_point start_ = Clock::now();
};

TEST_F(ConnectingTest, IsReadyAfterTheGreeting) {
  Connecting connecting = begin();
  EXPECT_EQ(connecting.state(), State::connecting);
  EXPECT_EQ(connecting.events(), POLLOUT);
  EXPECT_EQ(connecting.deadline(), start_ + 1s);
  peer_.accept();
  leave(connecting, State::connecting);
  EXPECT_EQ(connecting.events(), POLLIN) << "HELLO is sent";
  connecting.on_ready(start_);
  EXPECT_EQ(connecting.state(), State::greeting) << "nothing has arrived";
  greet();
  leave(connecting, State::greeting);
  ASSERT_EQ(connecting.state(), State::ready);
  Greeted greeted = connecting.take();
  EXPECT_TRUE(greeted.groups);
  EXPECT_EQ(greeted.server.boot_id, 77u);
  EXPECT_EQ(greeted.server.credit_frames, 3u);
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(greeted.pipeline.obstacle());
    greeted.pipeline.begin(BinaryOp::ping, 0);
    ASSERT_TRUE(greeted.pipeline.finish());
  }
  EXPECT_TRUE(greeted.pipeline.obstacle()) << "the server's credit is in force";
}

TEST_F(ConnectingTest, ProvesItsKeyWhenTheServerAsks) {
  options_.key_id = "KEY";
  options_.secret = "secret";
  Connecting connecting = begin_greeting();
  greet(std::string(32, 'c'));
  leave(connecting, State::greeting);
  ASSERT_EQ(connecting.state(), State::authenticating);
  std::string payload;
  const FrameHeader asked = read_request(BinaryOp::authenticate, payload);
  Challenge challenge;
  std::ranges::fill(challenge, std::uint8_t{'c'});
  const Sha256 proof = prove("secret", "KEY", challenge);
  std::string expected;
  put_short(expected, "KEY");
  expected.append(proof.begin(), proof.end());
  EXPECT_EQ(payload, expected);
  respond(asked);
  leave(connecting, State::authenticating);
  EXPECT_EQ(connecting.state(), State::ready);
}

TEST_F(ConnectingTest, FailsWhenTheServerCannotBeTrustedWithTheGreeting) {
  struct Case {
    const char* name;
    std::string challenge;
    std::string key_id;
    Code code;
  };
  const Case cases[] = {
      {"a short challenge", "short", "KEY", Code::bad_answer},
      {"an endless key id", std::string(32, 'c'), std::string(70'000, 'k'), Code::invalid},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    options_.key_id = c.key_id;
    Connecting connecting = begin_greeting();
    greet(c.challenge);
    leave(connecting, State::greeting);
    ASSERT_EQ(connecting.state(), State::failed);
    EXPECT_EQ(connecting.error().code, c.code);
    EXPECT_EQ(connecting.descriptor(), -1);
    peer_.close();
  }
}

TEST_F(ConnectingTest, ReportsTheRefusalOfTheServer) {
  Connecting connecting = begin_greeting();
  std::string payload;
  FrameHeader hello = read_request(BinaryOp::hello, payload);
  hello.status = static_cast<std::uint16_t>(Code::unauthorized);
  respond(hello, std::string(8, '\0'));
  leave(connecting, State::greeting);
  ASSERT_EQ(connecting.state(), State::failed);
  EXPECT_EQ(connecting.error().code, Code::unauthorized);
}

TEST_F(ConnectingTest, FailsAtItsDeadlineInEachState) {
  Connecting greeting = begin_greeting();
  greeting.on_ready(greeting.deadline() - 1ms);
  EXPECT_EQ(greeting.state(), State::greeting);
  greeting.on_ready(greeting.deadline());
  ASSERT_EQ(greeting.state(), State::failed);
  EXPECT_EQ(greeting.error().code, Code::timed_out);
  EXPECT_EQ(greeting.error().system, ETIMEDOUT);
  peer_.close();

  options_.tls = true;
  options_.tls_verify = false;
  Connecting securing = begin();
  peer_.accept();
  leave(securing, State::connecting);
  ASSERT_EQ(securing.state(), State::securing);
  securing.on_ready(start_);
  EXPECT_EQ(securing.events(), POLLIN) << "the silent server's turn";
  securing.on_ready(securing.deadline());
  ASSERT_EQ(securing.state(), State::failed);
  EXPECT_EQ(securing.error().code, Code::untrusted);
}

TEST_F(ConnectingTest, ReportsAnAddressThatRefusesOrDoesNotExist) {
  options_.port = 1;
  Connecting refused = begin();
  if (!refused.ended()) leave(refused, State::connecting);
  ASSERT_EQ(refused.state(), State::failed);
  EXPECT_EQ(refused.error().code, Code::unreachable);
  EXPECT_EQ(refused.error().system, ECONNREFUSED);
  options_.host = "no such host.invalid";
  EXPECT_EQ(begin().error().system, EADDRNOTAVAIL);
  options_.host = "127.0.0.1";
  options_.tls = true;
  options_.ca_file = "/none";
  options_.port = peer_.port();
  Connecting untrusted = begin();
  leave(untrusted, State::connecting);
  EXPECT_EQ(untrusted.error().code, Code::untrusted);
}

TEST_F(ConnectingTest, ReportsAServerThatHangsUp) {
  Connecting connecting = begin_greeting();
  peer_.close();
  leave(connecting, State::greeting);
  ASSERT_EQ(connecting.state(), State::failed);
  EXPECT_EQ(connecting.error().code, Code::broken);
}

}  // namespace
}  // namespace pawl::client

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/binary_connection.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstring>
#include <string>
#include <thread>

#include "proto/binary/frames.h"
#include "tests/net/live_server.h"

namespace pawl {
namespace {

class BinaryConnectionTest : public LiveServerTest {};

// A large frame before HELLO takes no memory; an incomplete frame takes it only for a while.
TEST_F(BinaryConnectionTest, ALargeFrameNeedsAHelloAndEndsInTime) {
  options_.times = {.head = seconds(60), .body = seconds(1), .idle = seconds(60)};
  start();
  const auto header = [](BinaryOp op, std::uint32_t length) {
    std::string frame;
    const std::size_t begin = begin_frame(frame, {.op = static_cast<std::uint8_t>(op)});
    finish_frame(frame, begin);
    std::memcpy(frame.data(), &length, sizeof length);
    return frame;
  };
  const int stranger = connect_to(port(Protocol::binary));
  send_all(stranger, header(BinaryOp::hello, 4097));
  EXPECT_LT(closed_after(stranger), 8.0);
  ::close(stranger);

  std::string hello;
  const std::size_t begin = begin_frame(hello, {.op = static_cast<std::uint8_t>(BinaryOp::hello)});
  put(hello, binary_magic);
  put(hello, binary_major);
  put(hello, binary_minor);
  put(hello, std::uint32_t{0});
  put(hello, auth_none);
  put_short(hello, "slow");
  finish_frame(hello, begin);
  const std::string frame = header(BinaryOp::send, 1 << 20);
  for (const std::string& part : {frame + "the first bytes", frame, frame.substr(0, 5)}) {
    SCOPED_TRACE(part.size());
    const int slow = connect_to(port(Protocol::binary));
    send_all(slow, hello);
    char answer[256];
    EXPECT_GT(recv(slow, answer, sizeof answer, 0), 0);
    send_all(slow, part);
    EXPECT_LT(closed_after(slow), 8.0);
    ::close(slow);
  }
}

// The frame of a PING is its header alone.
TEST_F(BinaryConnectionTest, AFrameWithoutPayloadIsAnsweredHoweverItIsSplit) {
  start();
  const int fd = connect_to(port(Protocol::binary));
  std::string hello;
  std::size_t begin = begin_frame(hello, {.op = static_cast<std::uint8_t>(BinaryOp::hello)});
  put(hello, binary_magic);
  put(hello, binary_major);
  put(hello, binary_minor);
  put(hello, std::uint32_t{0});
  put(hello, auth_none);
  put_short(hello, "pieces");
  finish_frame(hello, begin);
  send_all(fd, hello);
  char answer[256];
  ASSERT_GT(recv(fd, answer, sizeof answer, 0), 0);
  std::string ping;
  begin = begin_frame(ping, {.op = static_cast<std::uint8_t>(BinaryOp::ping)});
  finish_frame(ping, begin);
  ASSERT_EQ(ping.size(), frame_header_bytes);
  for (std::size_t split = 1; split < ping.size(); ++split) {
    SCOPED_TRACE(split);
    send_all(fd, ping.substr(0, split));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the parts arrive apart
    send_all(fd, ping.substr(split));
    pollfd readable{.fd = fd, .events = POLLIN, .revents = 0};
    ASSERT_EQ(poll(&readable, 1, 5'000), 1) << "no response";
    ASSERT_EQ(recv(fd, answer, sizeof answer, 0), static_cast<ssize_t>(frame_header_bytes));
  }
  ::close(fd);
}

TEST_F(BinaryConnectionTest, AnHttpRequestGetsTheAddressOfTheRightPort) {
  start();
  const int fd = connect_to(port(Protocol::binary));
  send_all(fd, json_request("ListQueues", "{}"));
  const std::string answer = read_responses(fd, 1);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  EXPECT_TRUE(answer.contains("This is the binary port of pawl.")) << answer;
  EXPECT_TRUE(answer.contains(server_->address(Protocol::http))) << answer;
  ::close(fd);
}

}  // namespace
}  // namespace pawl

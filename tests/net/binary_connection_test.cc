// SPDX-License-Identifier: Apache-2.0
#include "net/connection/binary_connection.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

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

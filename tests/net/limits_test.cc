// SPDX-License-Identifier: Apache-2.0
// Limits on the number of connections and on the time of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "proto/binary/frames.h"
#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

class LimitsTest : public LiveServerTest {
 protected:
  // True if the server responds on the connection; false if it closes it at once.
  static bool served(int fd) {
    const std::string request = json_request("ListQueues", "{}");
    send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    return read_responses(fd, 1).starts_with("HTTP/1.1 200");
  }
  // Seconds until the server closes the connection by itself.
  static double closed_after(int fd) {
    const auto begun = SteadyClock::now();
    char byte = 0;
    EXPECT_EQ(recv(fd, &byte, 1, 0), 0);
    return std::chrono::duration<double>(SteadyClock::now() - begun).count();
  }
};

TEST_F(LimitsTest, ConnectionsBeyondTheLimitAreClosedAndTheirPlaceComesBack) {
  options_.connections_max = 4;
  options_.address_connections_max = 3;
  start();
  std::vector<int> held;
  for (int i = 0; i < 3; ++i) {
    held.push_back(connect_http());
    EXPECT_TRUE(served(held.back()));
  }
  const int fourth = connect_http();
  EXPECT_FALSE(served(fourth));
  ::close(fourth);
  ::close(held.back());
  held.pop_back();
  bool again = false;
  for (int i = 0; i < 100 && !again; ++i) {  // the server notices the close later
    const int fd = connect_http();
    again = served(fd);
    ::close(fd);
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_TRUE(again);
  for (const int fd : held) ::close(fd);
}

// Probes must not restart a server only because it is busy.
TEST_F(LimitsTest, TheAdminPortAnswersAtTheConnectionLimit) {
  options_.connections_max = 2;
  start();
  const int first = connect_http(), second = connect_to(port(Protocol::binary));
  EXPECT_TRUE(served(first));
  for (const char* path : {"/livez", "/readyz", "/metrics"}) {
    const int fd = connect_to(port(Protocol::admin));
    const std::string request = std::string("GET ") + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    send(fd, request.data(), request.size(), MSG_NOSIGNAL);
    EXPECT_TRUE(read_responses(fd, 1).starts_with("HTTP/1.1 200")) << path;
    ::close(fd);
  }
  const int third = connect_http();
  EXPECT_FALSE(served(third)) << "the limit holds on the other ports";
  for (const int fd : {first, second, third}) ::close(fd);
}

TEST_F(LimitsTest, ASilentConnectionHasTheTimeOfAHead) {
  options_.times = {.head = seconds(1), .body = seconds(60), .idle = seconds(60)};
  start();
  for (const Protocol protocol : {Protocol::http, Protocol::binary, Protocol::admin}) {
    const int fd = connect_to(port(protocol));
    EXPECT_LT(closed_after(fd), 8.0) << static_cast<int>(protocol);
    ::close(fd);
  }
  const int fd = connect_http();
  EXPECT_TRUE(served(fd));
  std::this_thread::sleep_for(3s);
  EXPECT_TRUE(served(fd)) << "between requests the idle time counts";
  ::close(fd);
}

// Many close at once: a connection's last completion may come long after the turn of its close.
TEST_F(LimitsTest, WhoIsClosedGivesItsPlaceBack) {
  options_.times = {.head = seconds(1), .body = seconds(1), .idle = seconds(1)};
  options_.connections_max = 400;
  options_.address_connections_max = 100;
  start();
  std::vector<int> held;
  for (int i = 0; i < 100; ++i) {
    held.push_back(connect_http());
    ASSERT_TRUE(served(held.back())) << i;
  }
  for (const int fd : held) EXPECT_LT(closed_after(fd), 8.0);
  // The test's ends stay open: the server closes the connections two seconds later.
  std::vector<int> next;
  const auto give_up = SteadyClock::now() + 15s;
  while (next.size() < 100 && SteadyClock::now() < give_up) {
    const int fd = connect_http();
    if (served(fd)) {
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

TEST_F(LimitsTest, WhoIsTooSlowIsClosed) {
  options_.times = {.head = seconds(1), .body = seconds(1), .idle = seconds(1)};
  start();
  const std::string request = json_request("ListQueues", "{}");
  const struct {
    const char* name;
    Protocol protocol;
    std::string sent;
    int answers;
  } cases[] = {
      {"nothing said", Protocol::http, "", 0},
      {"half a head", Protocol::http, request.substr(0, 30), 0},
      {"half a body", Protocol::http, request.substr(0, request.size() - 1), 0},
      {"idle after a request", Protocol::http, request, 1},
      {"idle at the admin port", Protocol::admin, "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n",
       1},
      {"no HELLO", Protocol::binary, "", 0},
      {"half a HELLO", Protocol::binary, std::string("\x20\0\0\0\x01", 5), 0},
  };
  std::vector<int> connections;
  for (const auto& c : cases) {
    const int fd = connections.emplace_back(connect_to(port(c.protocol)));
    send_all(fd, c.sent);
    read_responses(fd, c.answers);
  }
  for (std::size_t i = 0; i < connections.size(); ++i) {
    SCOPED_TRACE(cases[i].name);
    EXPECT_LT(closed_after(connections[i]), 8.0);
    ::close(connections[i]);
  }
}

TEST_F(LimitsTest, ALongBodyIsRefusedAtTheAdminPort) {
  start();
  const std::string head = "POST /livez HTTP/1.1\r\nHost: localhost\r\n";
  const std::string fits = head + "Content-Length: 4096\r\n\r\n" + std::string(4096, 'x');
  const struct {
    std::string request;
    std::size_t answers;
  } rows[] = {
      {head + "Content-Length: 4097\r\n\r\n",                      1},
      {head + "Transfer-Encoding: chunked\r\n\r\n1001\r\n",        1},
      {fits + fits + head + "Content-Length: 4097\r\n\r\n",        3},
      {fits + head + "Transfer-Encoding: chunked\r\n\r\n1001\r\n", 2},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.answers);
    const int fd = connect_to(port(Protocol::admin));
    send_all(fd, row.request);
    const std::string text = read_responses(fd, static_cast<int>(row.answers));
    std::size_t good = 0;
    for (std::size_t at = 0; (at = text.find("HTTP/1.1 200", at)) != std::string::npos; ++at)
      ++good;
    EXPECT_EQ(good, row.answers - 1) << text;
    EXPECT_TRUE(text.contains("HTTP/1.1 413")) << text;
    EXPECT_TRUE(text.contains("4097 bytes") && text.contains("4096 bytes")) << text;
    EXPECT_GE(closed_after(fd), 0);
    ::close(fd);
  }
}

TEST_F(LimitsTest, ABodyThatIsRefusedIsAnsweredInTheProtocolOfItsHead) {
  start();
  const std::string post = "POST / HTTP/1.1\r\nHost: localhost\r\n";
  const std::string target = post + "X-Amz-Target: AmazonSQS.";
  const std::string form = post + "Content-Type: application/x-www-form-urlencoded\r\n";
  const std::string_view json = R"({"__type":"com.amazon.coral.service#)",
                         xml = "<Error><Type>Sender</Type><Code>", query_json = R"({"Error":{)";
  const struct {
    std::string request;
    std::string_view status, form;
    std::vector<std::string_view> parts;  // the cause, the value, the limit, the remedy
  } rows[] = {
      {target + "ListQueues\r\nContent-Length: 262145\r\n\r\n",
       "413", json,
       {"RequestEntityTooLarge", "262145 bytes", "262144 bytes", "Send less"}},
      {target + "SendMessage\r\nContent-Length: 8388609\r\n\r\n",
       "413", json,
       {"RequestEntityTooLarge", "8388609 bytes", "8388608 bytes", "Send less"}},
      {target + "ListQueues\r\nTransfer-Encoding: chunked\r\n\r\n40001\r\n",
       "413", json,
       {"RequestEntityTooLarge", "262145 bytes", "262144 bytes", "Send less"}},
      {form + "Content-Length: 8388609\r\n\r\n",
       "413", xml,
       {"RequestEntityTooLarge", "8388609 bytes", "8388608 bytes", "Send less"}},
      {form + "Accept: application/json\r\nContent-Length: 8388609\r\n\r\n",
       "413", query_json,
       {"RequestEntityTooLarge", "8388609 bytes", "8388608 bytes", "Send less"}},
      {target + "SendMessage\r\nContent-Encoding: gzip\r\nContent-Length: 9\r\n\r\n",
       "415", json,
       {"UnsupportedMediaType", "Content-Encoding gzip", "identity",
        "AWS_DISABLE_REQUEST_COMPRESSION=true"}},
      {form + "Content-Encoding: \xFF\r\nContent-Length: 9\r\n\r\n",
       "415", xml,
       {"UnsupportedMediaType", "Content-Encoding ?", "identity",
        "AWS_DISABLE_REQUEST_COMPRESSION=true"}},
      {"GET /" + std::string(8192, 'a') + " HTTP/1.1\r\nHost: localhost\r\n\r\n",
       "414", "The target",
       {"8192 bytes", "in the body of a POST"}},
      {post + "A: " + std::string(16384, 'a') + "\r\n\r\n",
       "431", "The head",
       {"16384 bytes", "64 headers", "fewer or shorter"}},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.request.substr(0, 160));
    const int fd = connect_http();
    send_all(fd, row.request);
    const std::string answer = read_responses(fd, 1);
    EXPECT_EQ(answer.substr(0, 13), "HTTP/1.1 " + std::string(row.status) + " ") << answer;
    EXPECT_TRUE(answer.contains(row.form)) << answer;
    for (const std::string_view part : row.parts) EXPECT_TRUE(answer.contains(part)) << answer;
    EXPECT_TRUE(answer.contains("Connection: close")) << answer;
    EXPECT_GE(closed_after(fd), 0);
    ::close(fd);
  }
}

// A large frame before HELLO takes no memory; an incomplete frame takes it only for a while.
TEST_F(LimitsTest, LargeFramesAreForThoseWhoSaidHelloAndEnd) {
  options_.times = {.head = seconds(60), .body = seconds(1), .idle = seconds(60)};
  start();
  const auto header = [](WireOp op, std::uint32_t length) {
    std::string frame;
    const std::size_t begin = begin_frame(frame, {.op = static_cast<std::uint8_t>(op)});
    finish_frame(frame, begin);
    std::memcpy(frame.data(), &length, sizeof length);
    return frame;
  };
  const int stranger = connect_to(port(Protocol::binary));
  send_all(stranger, header(WireOp::hello, 4097));
  EXPECT_LT(closed_after(stranger), 8.0);
  ::close(stranger);

  std::string hello;
  const std::size_t begin = begin_frame(hello, {.op = static_cast<std::uint8_t>(WireOp::hello)});
  put(hello, wire_magic);
  put(hello, wire_major);
  put(hello, wire_minor);
  put(hello, std::uint32_t{0});
  put(hello, auth_none);
  put_short(hello, "slow");
  finish_frame(hello, begin);
  const std::string frame = header(WireOp::send, 1 << 20);
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

// A peer that sends requests to the admin port without reading gets no endless responses.
TEST_F(LimitsTest, AnswersAtTheAdminPortWaitForWhoReadsThem) {
  options_.shards = 1;
  start();
  const int greedy = connect_to(port(Protocol::admin));
  const std::string request = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
  std::string many;
  for (int i = 0; i < 1000; ++i) many += request;
  const int modest = connect_to(port(Protocol::admin));
  std::size_t most = 0, sent = 0;
  for (int i = 0; i < 150; ++i) {
    const ssize_t n = ::send(greedy, many.data(), many.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    ASSERT_TRUE(n > 0 || errno == EAGAIN) << "closed after " << sent << " bytes of requests";
    if (n > 0) sent += static_cast<std::size_t>(n);
    std::this_thread::sleep_for(20ms);
    if (i % 25 != 0) continue;
    send_all(modest, request);
    const std::string text = read_responses(modest, 1);
    const std::string name = "pawl_memory_bytes{shard=\"0\",kind=\"connections\"} ";
    ASSERT_TRUE(text.contains(name)) << text;
    most = std::max<std::size_t>(most, std::stoull(text.substr(text.find(name) + name.size())));
  }
  EXPECT_GT(sent, many.size());
  EXPECT_LT(most, std::size_t{8} << 20);
  char byte = 0;
  EXPECT_GT(recv(greedy, &byte, 1, 0), 0) << "it is not closed for it";
  ::close(greedy);
  ::close(modest);
}

// Connections of a shard share 64 MiB, too little for twelve incomplete bodies of 7 MiB.
TEST_F(LimitsTest, WhoHoldsMostIsClosedWhenTogetherTheyHoldTooMuch) {
  options_.shards = 1;
  options_.memory = 128 << 20;
  start();
  const int modest = connect_http();
  EXPECT_TRUE(served(modest));
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
  EXPECT_TRUE(served(modest));
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

TEST_F(LimitsTest, ALongPollIsNotTooSlow) {
  options_.times = {.head = seconds(1), .body = seconds(1), .idle = seconds(1)};
  start();
  const int fd = connect_http();
  send_all(fd, json_request("CreateQueue", R"({"QueueName":"q"})"));
  read_responses(fd, 1);
  send_all(fd, json_request("ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":4})"));
  EXPECT_TRUE(read_responses(fd, 1).starts_with("HTTP/1.1 200"));
  ::close(fd);
}

}  // namespace
}  // namespace pawl

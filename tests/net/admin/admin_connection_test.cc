// SPDX-License-Identifier: Apache-2.0
// The admin port of a live server: methods, bodies, and a list that its shards give in slices.
#include "net/admin/admin_connection.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;

constexpr int queues = 3000;
constexpr std::string_view list_queues = "GET /queues HTTP/1.1\r\nHost: localhost\r\n\r\n";

std::string name_of_queue(int i) {
  return fmt::format("{:05}-{}{}", i, std::string(60, 'n'), i % 7 == 0 ? ".fifo" : "");
}

// Reads responses of one connection, in chunks or with a length.
class ResponseReader {
 public:
  explicit ResponseReader(int fd) : fd_(fd) {}

  struct Response {
    std::string head, body;
    bool complete = false;
  };
  Response next() {
    Response response;
    if (!fill_until("\r\n\r\n")) return response;
    response.head = take(bytes_.find("\r\n\r\n") + 4);
    const std::size_t length = response.head.find("Content-Length: ");
    if (length != std::string::npos) {
      response.complete = take_body(std::stoul(response.head.substr(length + 16)), response.body);
      return response;
    }
    for (;;) {
      if (!fill_until("\r\n")) return response;
      const std::size_t size = std::stoul(take(bytes_.find("\r\n") + 2), nullptr, 16);
      std::string chunk;
      if (!take_body(size + 2, chunk)) return response;
      response.body.append(chunk, 0, size);
      if (size > 0) continue;
      response.complete = true;
      return response;
    }
  }
  // All bytes until the peer closes.
  std::string rest() {
    while (more()) {
    }
    return take(bytes_.size());
  }

 private:
  bool more() {
    char bytes[64 << 10];
    const ssize_t n = recv(fd_, bytes, sizeof bytes, 0);
    if (n > 0) bytes_.append(bytes, static_cast<std::size_t>(n));
    return n > 0;
  }
  bool fill_until(std::string_view end) {
    while (bytes_.find(end) == std::string::npos)
      if (!more()) return false;
    return true;
  }
  bool take_body(std::size_t size, std::string& body) {
    while (bytes_.size() < size)
      if (!more()) return false;
    body = take(size);
    return true;
  }
  std::string take(std::size_t size) {
    std::string taken = bytes_.substr(0, size);
    bytes_.erase(0, size);
    return taken;
  }

  int fd_;
  std::string bytes_;
};

class AdminConnectionTest : public LiveClientTest {
 protected:
  int connect_admin() const { return connect_to(port(Protocol::admin)); }
  std::string ask(const std::string& request) {
    const int fd = connect_admin();
    send_all(fd, request);
    const ResponseReader::Response response = ResponseReader(fd).next();
    ::close(fd);
    return response.head + response.body;
  }
  // Over many connections, so that the disk is flushed for many at once.
  void make_queues() {
    options_.shards = 2;
    start();
    std::vector<int> connections;
    constexpr int makers = 30;
    for (int c = 0; c < makers; ++c) {
      std::string requests;
      for (int i = c; i < queues; i += makers) {
        const char* const fifo = i % 7 == 0 ? R"(,"Attributes":{"FifoQueue":"true"})" : "";
        requests += json_request("CreateQueue",
                                 fmt::format(R"({{"QueueName":"{}"{}}})", name_of_queue(i), fifo));
      }
      send_all(connections.emplace_back(connect_http()), requests);
    }
    for (const int fd : connections) {
      const std::string made = read_responses(fd, queues / makers);
      EXPECT_EQ(made.find("HTTP/1.1 4"), std::string::npos);
      ::close(fd);
    }
  }
  // Each queue is in the list once.
  static void check_list(const std::string& body) {
    std::vector<std::string> lines;
    std::istringstream text(body);
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    std::ranges::sort(lines);
    std::vector<std::string> expected;
    for (int i = 0; i < queues; ++i) {
      expected.push_back(
          fmt::format(R"({{"account":"000000000000","name":"{}","fifo":{},"visible":0,)"
                      R"("in_flight":0,"delayed":0}})",
                      name_of_queue(i), i % 7 == 0));
    }
    EXPECT_TRUE(lines == expected) << lines.size() << " lines";
  }
  // Bytes that the connections of all shards hold, as last counted.
  std::uint64_t held() {
    const std::string text = ask("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    std::uint64_t sum = 0;
    for (int shard = 0; shard < 2; ++shard) {
      const std::string name =
          fmt::format("pawl_memory_bytes{{shard=\"{}\",kind=\"connections\"}} ", shard);
      const std::size_t at = text.find(name);
      EXPECT_NE(at, std::string::npos);
      if (at != std::string::npos) sum += std::stoull(text.substr(at + name.size()));
    }
    return sum;
  }
};

TEST_F(AdminConnectionTest, AnswersPagesMethodsAndPathsOfItsTable) {
  options_.shards = 1;
  start();
  const auto request = [](std::string_view line) {
    return std::string(line) + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  };
  EXPECT_TRUE(ask(request("GET /livez")).ends_with("\r\n\r\nok\n"));
  EXPECT_TRUE(ask(request("GET /healthz?verbose"))
                  .contains("\r\n\r\n{\"check\":\"disk\",\"shard\":0,\"level\":\"ok\""));
  const std::string unknown = ask(request("GET /nothing"));
  EXPECT_TRUE(unknown.starts_with("HTTP/1.1 404 ")) << unknown;
  EXPECT_TRUE(unknown.ends_with(
      "there are /livez /readyz /healthz /metrics /queues /cloudwatch.json /config\n"))
      << unknown;
  const std::string refused = ask(request("OPTIONS /queues"));
  EXPECT_TRUE(refused.starts_with("HTTP/1.1 405 ")) << refused;
  EXPECT_TRUE(refused.contains("\r\nAllow: GET, HEAD\r\n")) << refused;
  EXPECT_TRUE(ask(request("GET /queues")).contains("\r\nContent-Type: application/x-ndjson\r\n"));
}

TEST_F(AdminConnectionTest, CompressesABodyOfTheShardsIfTheClientAcceptsGzip) {
  options_.shards = 1;
  start();
  const auto request = [](std::string_view line, std::string_view encodings) {
    return fmt::format("{} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: {}\r\n\r\n", line,
                       encodings);
  };
  const std::string zipped = ask(request("GET /metrics", "gzip"));
  EXPECT_TRUE(zipped.contains("\r\nContent-Encoding: gzip\r\nVary: Accept-Encoding\r\n"));
  EXPECT_TRUE(zipped.contains("\r\n\r\n\x1f\x8b"));
  const std::string plain = ask(request("GET /metrics", "gzip;q=0, identity"));
  EXPECT_TRUE(plain.contains("\r\n\r\n# HELP pawl_io_backend_info "));
  EXPECT_GT(plain.size(), 3 * zipped.size());
  const std::string small = ask(request("GET /livez", "gzip"));
  EXPECT_FALSE(small.contains("gzip")) << small;
}

TEST_F(AdminConnectionTest, RefusesAPageBeforeItsFirstByte) {
  options_.shards = 2;
  start();
  const int fd = connect_admin();
  const auto request = [](std::string_view target) {
    return fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\nAccept-Encoding: gzip\r\n\r\n",
                       target);
  };
  send_all(fd, request("/metrics?x=1") + request("/metrics?queue=nothing") +
                   request("/cloudwatch.json?queue=nothing") + request("/livez"));
  ResponseReader reader(fd);
  const ResponseReader::Response wrong = reader.next(), unknown = reader.next(),
                                 other = reader.next(), next = reader.next();
  EXPECT_TRUE(wrong.head.starts_with("HTTP/1.1 400 ")) << wrong.head;
  EXPECT_TRUE(unknown.head.starts_with("HTTP/1.1 404 ")) << unknown.head;
  EXPECT_TRUE(unknown.body.starts_with("no queue `nothing` ")) << unknown.body;
  EXPECT_TRUE(other.head.starts_with("HTTP/1.1 404 ")) << other.head;
  EXPECT_EQ(next.body, "ok\n") << "the connection goes on";
  ::close(fd);
}

TEST_F(AdminConnectionTest, AnswersHeadAsGetWithoutABody) {
  options_.shards = 1;
  start();
  const int fd = connect_admin();
  const std::string end = " HTTP/1.1\r\nHost: localhost\r\n\r\n";
  send_all(fd, "HEAD /queues" + end + "HEAD /livez" + end + "GET /nothing" + end);
  std::string text;
  char bytes[4096];
  while (!text.contains("not found")) {
    const ssize_t n = recv(fd, bytes, sizeof bytes, 0);
    ASSERT_GT(n, 0) << text;
    text.append(bytes, static_cast<std::size_t>(n));
  }
  EXPECT_TRUE(text.contains("Transfer-Encoding: chunked\r\n\r\nHTTP/1.1 200 OK")) << text;
  EXPECT_TRUE(text.contains("Content-Length: 3\r\n\r\nHTTP/1.1 404")) << text;
  ::close(fd);
}

TEST_F(AdminConnectionTest, ListsEachQueueOnceWhileOthersSend) {
  make_queues();
  connect();
  const auto queue = client_->open_queue(name_of_queue(1));
  ASSERT_TRUE(queue);
  std::atomic<bool> over{false};
  int lists = 0;
  std::thread lister([&] {
    const int fd = connect_admin();
    ResponseReader reader(fd);
    for (const auto begun = std::chrono::steady_clock::now();
         lists < 5 || std::chrono::steady_clock::now() - begun < 500ms; ++lists) {
      send_all(fd, std::string(list_queues));
      const ResponseReader::Response response = reader.next();
      EXPECT_TRUE(response.complete);
      EXPECT_EQ(std::ranges::count(response.body, '\n'), queues);
    }
    ::close(fd);
    over = true;
  });
  int sent = 0;
  for (; !over; ++sent) EXPECT_TRUE(client_->send(*queue, "x"));
  lister.join();
  EXPECT_GT(sent, lists) << "a send waits for a slice, not for a list";
  EXPECT_TRUE(client_->purge(*queue));
  const int fd = connect_admin();
  send_all(fd, std::string(list_queues));
  check_list(ResponseReader(fd).next().body);
  ::close(fd);
}

TEST_F(AdminConnectionTest, EndsTheBodyOfAnOldClientWithTheConnection) {
  make_queues();
  for (const bool half_closed : {false, true}) {
    const int fd = connect_admin();
    send_all(fd, "GET /queues HTTP/1.0\r\nHost: localhost\r\nConnection: keep-alive\r\n\r\n");
    if (half_closed) shutdown(fd, SHUT_WR);
    const std::string text = ResponseReader(fd).rest();
    EXPECT_TRUE(text.contains("\r\nConnection: close\r\n\r\n{")) << text.substr(0, 200);
    check_list(text.substr(text.find("\r\n\r\n") + 4));
    ::close(fd);
  }
}

TEST_F(AdminConnectionTest, HoldsLittleForAPeerThatDoesNotRead) {
  make_queues();
  constexpr int lists = 30;  // 15 MB
  std::string requests;
  for (int i = 0; i < lists; ++i) requests += list_queues;
  const int slow = connect_admin();
  send_all(slow, requests);
  std::this_thread::sleep_for(2500ms);  // numbers are refreshed once a second
  EXPECT_GT(held(), AdminConnection::unsent_max / 2) << "the peer is slow indeed";
  EXPECT_LT(held(), std::uint64_t{2} << 20);
  shutdown(slow, SHUT_WR);  // its requests are answered all the same
  ResponseReader reader(slow);
  for (int i = 0; i < lists; ++i) {
    const ResponseReader::Response response = reader.next();
    ASSERT_TRUE(response.complete) << i;
    if (i % 10 == 0) check_list(response.body);
  }
  EXPECT_EQ(reader.rest(), "");
  ::close(slow);
}

TEST_F(AdminConnectionTest, ForgetsAListWhosePeerIsGone) {
  make_queues();
  std::this_thread::sleep_for(1100ms);  // numbers are refreshed once a second
  const std::uint64_t before = held();
  for (int i = 0; i < 60; ++i) {
    const int fd = connect_admin();
    send_all(fd, std::string(list_queues) + std::string(list_queues));
    char bytes[1000];
    if (i % 3 > 0) {
      EXPECT_GT(recv(fd, bytes, sizeof bytes, 0), 0);
    }
    const linger reset{.l_onoff = 1, .l_linger = 0};
    if (i % 3 > 1) setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    ::close(fd);
  }
  std::this_thread::sleep_for(1100ms);
  std::uint64_t after = UINT64_MAX;
  for (int i = 0; i < 50 && after > before + (64 << 10); ++i) {
    std::this_thread::sleep_for(100ms);
    after = held();
  }
  EXPECT_LE(after, before + (64 << 10));
}

TEST_F(AdminConnectionTest, AStopCutsAListThatNobodyReads) {
  make_queues();
  std::string requests;
  for (int i = 0; i < 30; ++i) requests += list_queues;
  const int fd = connect_admin();
  send_all(fd, requests);
  std::this_thread::sleep_for(300ms);
  const auto begun = std::chrono::steady_clock::now();
  server_->stop();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s) << "not the 15 s for unread responses";
  server_.reset();
  ResponseReader reader(fd);
  int complete = 0;
  while (reader.next().complete) ++complete;
  EXPECT_LT(complete, 30);
  ::close(fd);
}

}  // namespace
}  // namespace pawl

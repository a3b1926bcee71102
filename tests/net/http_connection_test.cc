// SPDX-License-Identifier: Apache-2.0
// Connections of SQS clients and of operators.
#include "net/connection/http_connection.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;

class HttpConnectionTest : public LiveServerTest {};

TEST_F(HttpConnectionTest, PipelinedRequestsAreAnsweredInOrder) {
  start();
  const int fd = connect_http();
  std::string requests = json_request("CreateQueue", R"({"QueueName":"p"})");
  for (int i = 0; i < 40; ++i) {
    requests += json_request("SendMessage",
                             R"({"QueueUrl":"p","MessageBody":")" + std::to_string(i) + R"("})");
  }
  requests += json_request("GetQueueAttributes",
                           R"({"QueueUrl":"p","AttributeNames":["ApproximateNumberOfMessages"]})");
  // The requests are sent in pieces that end anywhere.
  for (std::size_t at = 0; at < requests.size(); at += 333) {
    send_all(fd, requests.substr(at, 333));
    if (at % 5 == 0) std::this_thread::sleep_for(1ms);
  }
  const std::string answers = read_responses(fd, 42);
  close(fd);
  EXPECT_NE(answers.find(R"("ApproximateNumberOfMessages":"40")"), std::string::npos) << answers;
  EXPECT_LT(answers.find("QueueUrl"), answers.find("MD5OfMessageBody"));
}

TEST_F(HttpConnectionTest, BytesThatAreNoRequestAreAnsweredAndTheConnectionCloses) {
  start();
  const int fd = connect_http();
  send_all(fd, "GET / HTTP/1.1\nHost: x\n\n");
  const std::string answer = read_responses(fd, 99);  // until the end
  close(fd);
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 400");
}

TEST_F(HttpConnectionTest, ALongBodyIsRefusedAtTheAdminPort) {
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

TEST_F(HttpConnectionTest, ABodyThatIsRefusedIsAnsweredInTheProtocolOfItsHead) {
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

// A peer that sends requests to the admin port without reading gets no endless responses.
TEST_F(HttpConnectionTest, ResponsesAtTheAdminPortWaitForAPeerThatReads) {
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

TEST(HttpTimes, AreThoseOfThePhaseThatARequestIsIn) {
  using Phase = HttpParser::Phase;
  const ConnectionTimes limits{.head = seconds(10), .body = seconds(30), .idle = seconds(75)};
  const Instant begun{1'000'000};
  // The last instant in time; one millisecond later the connection is overdue.
  const auto expect_until = [&](const HttpTimes& times, Instant last) {
    EXPECT_FALSE(times.overdue(last, limits));
    EXPECT_TRUE(times.overdue(last + milliseconds(1), limits));
  };
  HttpTimes times{.since = begun};
  expect_until(times, begun + limits.head);  // before the first byte
  Instant now = begun + seconds(1);
  times.note(Phase::head, now);
  expect_until(times, now + limits.head);
  times.note(Phase::head, now + seconds(5));
  expect_until(times, now + limits.head);  // more bytes of a head give it no more time
  now = now + seconds(6);
  times.note(Phase::body, now);
  expect_until(times, now + limits.body);
  times.note(Phase::done, now);
  EXPECT_FALSE(times.overdue(now + seconds(100'000), limits)) << "a long poll takes its time";
  now = now + seconds(20);
  times.note(Phase::idle, now);
  expect_until(times, now + limits.idle);
  times.note(Phase::idle, now + seconds(1));
  expect_until(times, now + seconds(1) + limits.idle);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The timeouts of a connection, and the requests before its end.
#include "net/connection/connection.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;

class ConnectionTest : public LiveServerTest {};

TEST_F(ConnectionTest, ASilentConnectionHasTheTimeOfAHead) {
  options_.times = {.head = seconds(1), .body = seconds(60), .idle = seconds(60)};
  start();
  for (const Protocol protocol : {Protocol::http, Protocol::binary, Protocol::admin}) {
    const int fd = connect_to(port(protocol));
    EXPECT_LT(closed_after(fd), 8.0) << static_cast<int>(protocol);
    ::close(fd);
  }
  const int fd = connect_http();
  EXPECT_TRUE(is_served(fd));
  std::this_thread::sleep_for(3s);
  EXPECT_TRUE(is_served(fd)) << "between requests the idle time counts";
  ::close(fd);
}

TEST_F(ConnectionTest, APeerThatIsTooSlowIsClosed) {
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

TEST_F(ConnectionTest, ALongPollIsNotTooSlow) {
  options_.times = {.head = seconds(1), .body = seconds(1), .idle = seconds(1)};
  start();
  const int fd = connect_http();
  send_all(fd, json_request("CreateQueue", R"({"QueueName":"q"})"));
  read_responses(fd, 1);
  send_all(fd, json_request("ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":4})"));
  EXPECT_TRUE(read_responses(fd, 1).starts_with("HTTP/1.1 200"));
  ::close(fd);
}

// Requests sent together before the peer's FIN all get a response.
TEST_F(ConnectionTest, RequestsBeforeThePeersFinAreAnswered) {
  start();
  const int fd = connect_http();
  send_all(fd, json_request("CreateQueue", R"({"QueueName":"last-words"})"));
  read_responses(fd, 1);
  std::string requests;
  for (int i = 0; i < 20; ++i)
    requests += json_request("SendMessage", R"({"QueueUrl":"last-words","MessageBody":"x"})");
  requests += "POST / HTTP/1.1\r\nHost: loc";  // an incomplete request
  send_all(fd, requests);
  ::shutdown(fd, SHUT_WR);
  const std::string answers = read_responses(fd, 99);
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answers.find("HTTP/1.1 200", at)) != std::string::npos; ++at)
    ++count;
  EXPECT_EQ(count, 20u) << answers;
  close(fd);
}

// The peer closes its side as `nc -N` does. Regression: the connection closed without a response.
TEST_F(ConnectionTest, AShortPollBeforeThePeersFinIsAnsweredAndALongOneIsNot) {
  start();
  for (const bool long_poll : {false, true}) {
    const int fd = connect_http();
    send_all(fd, json_request("CreateQueue", R"({"QueueName":"last-poll"})"));
    read_responses(fd, 1);
    send_all(fd, json_request("ReceiveMessage",
                              long_poll ? R"({"QueueUrl":"last-poll","WaitTimeSeconds":20})"
                                        : R"({"QueueUrl":"last-poll"})"));
    ::shutdown(fd, SHUT_WR);
    const std::string answer = read_responses(fd, 99);
    EXPECT_EQ(answer.starts_with("HTTP/1.1 200"), !long_poll) << answer;
    close(fd);
  }
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The sleep of a worker, and its drain.
#include "net/server/worker.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "pawl/client.h"
#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class WorkerTest : public LiveServerTest {
 protected:
  void SetUp() override {
    LiveServerTest::SetUp();
    start();
  }
  Client connect() {
    auto client = Client::connect(client_options());
    EXPECT_TRUE(client) << Client::name_of(client.error().code);
    return std::move(*client);
  }
  bool await_drained(std::chrono::milliseconds patience) const {
    const auto end = Clock::now() + patience;
    while (!server_->drained() && Clock::now() < end) std::this_thread::sleep_for(1ms);
    return server_->drained();
  }
  std::string probe(const std::string& path) const {
    const int fd = connect_to(port(Protocol::admin));
    send_all(fd, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const std::string answer = read_responses(fd, 1);
    close(fd);
    return answer;
  }
  static bool is_refused(std::uint16_t port) {
    const int fd = try_connect(port);
    if (fd >= 0) close(fd);
    return fd == -ECONNREFUSED;
  }

  std::vector<int> connections_;
};

TEST_F(WorkerTest, ALongPollWakesOnASendFromAnotherConnection) {
  Client waiting = connect(), sending = connect();
  for (const char* name : {"a", "b", "c"}) {
    auto queue = waiting.create_queue(name);
    ASSERT_TRUE(queue);
    auto ticket = waiting.submit_receive(*queue, {.max = 1, .wait = 20s});
    ASSERT_TRUE(ticket && waiting.flush());
    std::this_thread::sleep_for(20ms);
    auto same = sending.open_queue(name);
    ASSERT_TRUE(same && sending.send(*same, "hello"));
    std::vector<Client::Completion> done;
    ASSERT_TRUE(waiting.poll(done, 10s));
    ASSERT_EQ(done.size(), 1u);
    ASSERT_EQ(done[0].messages.size(), 1u);
    EXPECT_EQ(done[0].messages[0].body, "hello");
  }
}

TEST_F(WorkerTest, StoppingAnswersLongPollsEmpty) {
  Client client = connect();
  auto queue = client.create_queue("q");
  ASSERT_TRUE(queue && client.submit_receive(*queue, {.max = 1, .wait = 20s}) && client.flush());
  std::this_thread::sleep_for(50ms);
  const auto begun = Clock::now();
  std::thread stopper([this] { server_->stop(); });
  std::vector<Client::Completion> done;
  ASSERT_TRUE(client.poll(done, 10s));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].error.code, Client::Code::ok);
  EXPECT_TRUE(done[0].messages.empty());
  stopper.join();
  EXPECT_LT(Clock::now() - begun, 10s);
  server_.reset();
}

TEST_F(WorkerTest, AnAnswerGivenWhileStoppingSaysThatTheConnectionCloses) {
  const int fd = connect_http();
  send_all(fd, json_request("CreateQueue", R"({"QueueName":"q"})"));
  EXPECT_EQ(read_responses(fd, 1).find("Connection: close"), std::string::npos);
  send_all(fd, json_request("ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":20})"));
  std::this_thread::sleep_for(50ms);
  std::thread stopper([this] { server_->stop(); });
  const std::string answer = read_responses(fd, 99);  // until the end
  stopper.join();
  close(fd);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  server_.reset();
}

// --- a drain ---

TEST_F(WorkerTest, ADrainWithoutClientsIsOverAtOnce) {
  server_->begin_drain();
  EXPECT_TRUE(await_drained(1s));
}

TEST_F(WorkerTest, ADrainRefusesNewConnectionsAndTheAdminPortSaysSo) {
  const int busy = connect_http();
  send_all(busy, json_request("CreateQueue", R"({"QueueName":"q"})").substr(0, 20));
  std::this_thread::sleep_for(50ms);
  EXPECT_TRUE(probe("/readyz").starts_with("HTTP/1.1 200"));
  server_->begin_drain();
  for (const Protocol protocol : {Protocol::http, Protocol::binary}) {
    const auto end = Clock::now() + 10s;
    while (!is_refused(port(protocol)) && Clock::now() < end) std::this_thread::sleep_for(1ms);
    EXPECT_TRUE(is_refused(port(protocol)));
  }
  EXPECT_TRUE(probe("/readyz").starts_with("HTTP/1.1 503"));
  EXPECT_TRUE(probe("/livez").starts_with("HTTP/1.1 200"));
  EXPECT_NE(probe("/metrics").find("\npawl_draining 1\n"), std::string::npos);
  EXPECT_FALSE(server_->drained()) << "a request is arriving";
  send_all(busy, json_request("CreateQueue", R"({"QueueName":"q"})").substr(20));
  const std::string answer = read_responses(busy, 99);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200")) << answer;
  EXPECT_NE(answer.find("Connection: close"), std::string::npos) << answer;
  close(busy);
  EXPECT_TRUE(await_drained(10s));
}

TEST_F(WorkerTest, ADrainAnswersLongPollsEmpty) {
  Client client = connect();
  auto queue = client.create_queue("q");
  ASSERT_TRUE(queue && client.submit_receive(*queue, {.max = 1, .wait = 20s}) && client.flush());
  const int fd = connect_http();
  send_all(fd, json_request("ReceiveMessage", R"({"QueueUrl":"q","WaitTimeSeconds":20})"));
  std::this_thread::sleep_for(50ms);
  const auto begun = Clock::now();
  server_->begin_drain();
  std::vector<Client::Completion> done;
  ASSERT_TRUE(client.poll(done, 10s));
  ASSERT_EQ(done.size(), 1u);
  EXPECT_EQ(done[0].error.code, Client::Code::ok);
  EXPECT_NE(read_responses(fd, 99).find("Connection: close"), std::string::npos);
  close(fd);
  EXPECT_TRUE(await_drained(10s));
  EXPECT_LT(Clock::now() - begun, 10s);
}

// The request was sent while the server did not say yet that it drains.
TEST_F(WorkerTest, ARequestThatCrossesTheBeginOfADrainIsAnswered) {
  for (int i = 0; i < 20; ++i) {
    const int fd = connect_http();
    send_all(fd, json_request("ListQueues", "{}"));
    EXPECT_TRUE(read_responses(fd, 1).starts_with("HTTP/1.1 200"));
    connections_.push_back(fd);
  }
  server_->begin_drain();
  for (const int fd : connections_) send_all(fd, json_request("ListQueues", "{}"));
  for (const int fd : connections_) {
    EXPECT_TRUE(read_responses(fd, 99).starts_with("HTTP/1.1 200"));
    close(fd);
  }
  EXPECT_TRUE(await_drained(10s));
}

TEST_F(WorkerTest, AStopEndsADrain) {
  const int busy = connect_http();
  send_all(busy, "POST / HT");
  std::this_thread::sleep_for(50ms);
  server_->begin_drain();
  std::this_thread::sleep_for(50ms);
  EXPECT_FALSE(server_->drained());
  close(busy);
  server_->stop();
  server_.reset();
}

}  // namespace
}  // namespace pawl

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

}  // namespace
}  // namespace pawl

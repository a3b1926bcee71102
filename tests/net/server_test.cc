// SPDX-License-Identifier: Apache-2.0
// The whole server in this process: real rings, real sockets, real files.
#include "net/server/server.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "pawl/client.h"
#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class ServerTest : public LiveServerTest {
 protected:
  void SetUp() override {
    LiveServerTest::SetUp();
    start();
  }
  void restart() {
    server_->stop();
    server_.reset();
    options_.shards = 0;  // the directory's own number
    start();
  }
  Client connect() {
    auto client = Client::connect(client_options());
    EXPECT_TRUE(client) << Client::name_of(client.error().code);
    return std::move(*client);
  }
};

// Queue names and connections are spread over both shards: most requests cross the mesh.
TEST_F(ServerTest, EveryConnectionReachesEveryQueue) {
  std::vector<Client> clients;
  for (int i = 0; i < 4; ++i) clients.push_back(connect());
  for (int q = 0; q < 8; ++q) {
    const std::string name = "queue-" + std::to_string(q);
    ASSERT_TRUE(clients[0].create_queue(name));
    for (std::size_t i = 0; i < clients.size(); ++i) {
      auto queue = clients[i].open_queue(name);
      ASSERT_TRUE(queue) << "known everywhere once it was answered";
      const std::string body = name + "/" + std::to_string(i);
      ASSERT_TRUE(clients[i].send(*queue, body));
      auto got = clients[(i + 1) % clients.size()].open_queue(name);
      ASSERT_TRUE(got);
      auto messages = clients[(i + 1) % clients.size()].receive(*got, {.max = 10, .wait = 5s});
      ASSERT_TRUE(messages);
      ASSERT_EQ(messages->size(), 1u);
      EXPECT_EQ((*messages)[0].body, body);
      ASSERT_TRUE(clients[i].remove(*queue, (*messages)[0].receipt));
    }
  }
}

TEST_F(ServerTest, ALongPollWakesOnASendFromAnotherConnection) {
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

TEST_F(ServerTest, AClientThatGoesInALongPollConsumesNothing) {
  Client client = connect();
  for (const char* name : {"a", "b", "c", "d"}) {
    auto queue = client.create_queue(name);
    ASSERT_TRUE(queue);
    for (int i = 0; i < 8; ++i) {
      Client gone = connect();
      auto same = gone.open_queue(name);
      ASSERT_TRUE(same && gone.submit_receive(*same, {.max = 1, .wait = 20s}) && gone.flush());
      ASSERT_TRUE(gone.counts(*same).error().code == Client::Code::busy);
      std::this_thread::sleep_for(5ms);
    }
    std::this_thread::sleep_for(50ms);
    ASSERT_TRUE(client.send(*queue, "for who is there"));
    auto messages = client.receive(*queue, {.max = 1, .wait = 5s});
    ASSERT_TRUE(messages);
    ASSERT_EQ(messages->size(), 1u);
    EXPECT_EQ((*messages)[0].receive_count, 1u);
  }
}

TEST_F(ServerTest, WhatWasAcknowledgedIsThereAfterARestart) {
  {
    Client client = connect();
    for (const char* name : {"a", "b", "c"}) {
      auto queue = client.create_queue(name);
      ASSERT_TRUE(queue);
      for (int i = 0; i < 50; ++i)
        ASSERT_TRUE(client.send(*queue, std::string(name) + std::to_string(i)));
      auto first = client.receive(*queue, {.max = 10, .visibility = 0s});
      ASSERT_TRUE(first);
      for (const Client::Message& message : *first)
        ASSERT_TRUE(client.remove(*queue, message.receipt));
    }
  }
  restart();
  Client client = connect();
  for (const char* name : {"a", "b", "c"}) {
    auto queue = client.open_queue(name);
    ASSERT_TRUE(queue);
    auto counts = client.counts(*queue);
    ASSERT_TRUE(counts);
    EXPECT_EQ(counts->visible, 40u);
  }
}

TEST_F(ServerTest, ASegmentThatIsMissingIsSaidAndNothingIsTouched) {
  std::string shard;
  {
    Client client = connect();
    auto queue = client.create_queue("large");
    ASSERT_TRUE(queue);
    for (int i = 0; i < 30; ++i) ASSERT_TRUE(client.send(*queue, std::string(1 << 20, 'x')));
    shard = options_.data + "/s0" + std::to_string(queue->shard);
  }
  server_->stop();
  server_.reset();
  options_.shards = 0;
  const std::string segment = shard + "/000000000001.seg";
  std::filesystem::rename(segment, directory_ + "/elsewhere");
  for (int i = 0; i < 2; ++i) {
    const auto refused = Server::start(options_);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().find("000000000001.seg holds messages and is missing"),
              std::string::npos)
        << refused.error();
  }
  std::filesystem::rename(directory_ + "/elsewhere", segment);
  start();
  Client client = connect();
  auto queue = client.open_queue("large");
  ASSERT_TRUE(queue);
  auto counts = client.counts(*queue);
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->visible, 30u);
}

TEST_F(ServerTest, PipelinedHttpRequestsAreAnsweredInOrder) {
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

TEST_F(ServerTest, BytesThatAreNoRequestAreAnsweredAndTheConnectionCloses) {
  const int fd = connect_http();
  send_all(fd, "GET / HTTP/1.1\nHost: x\n\n");
  const std::string answer = read_responses(fd, 99);  // until the end
  close(fd);
  EXPECT_EQ(answer.substr(0, 12), "HTTP/1.1 400");
}

TEST_F(ServerTest, StoppingAnswersLongPollsEmpty) {
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

TEST_F(ServerTest, AnAnswerGivenWhileStoppingSaysThatTheConnectionCloses) {
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

// Requests sent together before the peer's FIN all get a response.
TEST_F(ServerTest, WhatWasAskedBeforeTheEndIsAnswered) {
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
TEST_F(ServerTest, AShortPollBeforeTheEndIsAnsweredAndALongOneIsNot) {
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

TEST_F(ServerTest, ASecondServerOnTheSameDirectoryIsRefused) {
  auto second = Server::start(options_);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().find("in use"), std::string::npos) << second.error();
}

TEST_F(ServerTest, AnythingButLoopbackIsRefusedWithoutCredentials) {
  using Member = std::string ServerOptions::*;
  for (const Member member :
       {&ServerOptions::http, &ServerOptions::admin, &ServerOptions::binary}) {
    ServerOptions options = options_;
    options.data = directory_ + "/other";
    options.*member = "0.0.0.0:0";
    auto open = Server::start(options);
    ASSERT_FALSE(open);
    EXPECT_NE(open.error().find("credentials"), std::string::npos) << open.error();
  }
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The whole server in this process: real rings, real sockets, real files.
#include "net/server/server.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

#include "pawl/client.h"
#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;

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
      ASSERT_TRUE(clients[i].delete_message(*queue, (*messages)[0].receipt));
    }
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
        ASSERT_TRUE(client.delete_message(*queue, message.receipt));
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
    EXPECT_EQ(refused.error().fault, StartFault::data);
    EXPECT_NE(refused.error().text.find("000000000001.seg holds messages and is missing"),
              std::string::npos)
        << refused.error().text;
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

TEST_F(ServerTest, ASecondServerOnTheSameDirectoryIsRefused) {
  auto second = Server::start(options_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().fault, StartFault::machine);
  EXPECT_NE(second.error().text.find("in use"), std::string::npos) << second.error().text;
}

TEST_F(ServerTest, AnythingButLoopbackIsRefusedWithoutCredentials) {
  std::vector<ServerOptions> wrong(3, options_);
  wrong[0].http = wrong[1].binary = "0.0.0.0:0";
  wrong[2].more_http = {"0.0.0.0:0"};
  for (ServerOptions& options : wrong) {
    options.data = directory_ + "/other";
    auto open = Server::start(options);
    ASSERT_FALSE(open);
    EXPECT_NE(open.error().text.find("credentials"), std::string::npos) << open.error().text;
  }
}

TEST_F(ServerTest, TheAdminPortAnswersProbesAloneBeyondLoopback) {
  options_.admin = "0.0.0.0:0";
  for (const bool insecure : {false, true}) {
    options_.insecure_no_auth = insecure;
    restart();
    const auto status_of = [this](const std::string& path) {
      const int fd = connect_to(port(Protocol::admin));
      send_all(fd, "GET " + path + " HTTP/1.1\r\nHost: localhost\r\n\r\n");
      const std::string answer = read_responses(fd, 1);
      close(fd);
      return answer.substr(0, sizeof "HTTP/1.1 200" - 1);
    };
    EXPECT_EQ(status_of("/livez"), "HTTP/1.1 200");
    EXPECT_EQ(status_of("/readyz"), "HTTP/1.1 200");
    EXPECT_EQ(status_of("/metrics"), insecure ? "HTTP/1.1 200" : "HTTP/1.1 403");
  }
}

}  // namespace
}  // namespace pawl

// The whole server in this process: real rings, real sockets, real files.
#include "net/server.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "pawl/client.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

std::uint16_t port_of(const std::string& address) {
  return static_cast<std::uint16_t>(std::stoul(address.substr(address.rfind(':') + 1)));
}

class ServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/pawl-test-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    directory_ = name;
    start();
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(directory_);
  }
  void start() {
    ServerOptions options;
    options.data = directory_ + "/data";
    options.http = options.admin = options.binary = "127.0.0.1:0";
    options.shards = made_ ? 0 : 2;
    options.segment_bytes = 8 << 20;
    options.memory = 256 << 20;
    auto server = Server::start(options);
    ASSERT_TRUE(server) << server.error();
    server_ = std::move(*server);
    made_ = true;
  }
  void stop() {
    if (server_) server_->stop();
    server_.reset();
  }
  Client connect() {
    Client::Options options;
    options.port = port_of(server_->address(Protocol::binary));
    auto client = Client::connect(options);
    EXPECT_TRUE(client) << Client::name_of(client.error().code);
    return std::move(*client);
  }
  int raw_http() {
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port_of(server_->address(Protocol::http)));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    timeval limit{.tv_sec = 10, .tv_usec = 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    return fd;
  }

  std::string directory_;
  std::unique_ptr<Server> server_;
  bool made_ = false;
};

std::string json_request(const std::string& action, const std::string& body) {
  return "POST / HTTP/1.1\r\nHost: localhost\r\nX-Amz-Target: AmazonSQS." + action +
         "\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: " +
         std::to_string(body.size()) + "\r\n\r\n" + body;
}

// Reads until `text` holds `count` whole responses or the connection ends.
std::string read_responses(int fd, int count) {
  std::string text;
  char bytes[4096];
  for (;;) {
    int whole = 0;
    for (std::size_t at = 0; (at = text.find("Content-Length: ", at)) != std::string::npos;) {
      const std::size_t end = text.find("\r\n\r\n", at);
      if (end == std::string::npos || text.size() < end + 4 + std::stoul(text.substr(at + 16)))
        break;
      at = end;
      ++whole;
    }
    if (whole >= count) return text;
    const ssize_t n = recv(fd, bytes, sizeof bytes, 0);
    if (n <= 0) return text;
    text.append(bytes, static_cast<std::size_t>(n));
  }
}

void send_all(int fd, const std::string& bytes) {
  ASSERT_EQ(send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL), static_cast<ssize_t>(bytes.size()));
}

// Names spread over both shards, connections too: most of these cross the mesh one way or the other.
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
  stop();
  start();
  Client client = connect();
  for (const char* name : {"a", "b", "c"}) {
    auto queue = client.open_queue(name);
    ASSERT_TRUE(queue);
    auto counts = client.counts(*queue);
    ASSERT_TRUE(counts);
    EXPECT_EQ(counts->visible, 40u);
  }
}

TEST_F(ServerTest, PipelinedHttpRequestsAreAnsweredInOrder) {
  const int fd = raw_http();
  std::string requests = json_request("CreateQueue", R"({"QueueName":"p"})");
  for (int i = 0; i < 40; ++i) {
    requests += json_request("SendMessage",
                             R"({"QueueUrl":"p","MessageBody":")" + std::to_string(i) + R"("})");
  }
  requests += json_request("GetQueueAttributes",
                           R"({"QueueUrl":"p","AttributeNames":["ApproximateNumberOfMessages"]})");
  // In pieces that end anywhere.
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
  const int fd = raw_http();
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

TEST_F(ServerTest, ASecondServerOnTheSameDirectoryIsRefused) {
  ServerOptions options;
  options.data = directory_ + "/data";
  options.http = options.admin = options.binary = "127.0.0.1:0";
  auto second = Server::start(options);
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().find("in use"), std::string::npos) << second.error();
}

TEST_F(ServerTest, AnythingButLoopbackIsRefusedWithoutCredentials) {
  ServerOptions options;
  options.data = directory_ + "/other";
  options.http = "0.0.0.0:0";
  auto open = Server::start(options);
  ASSERT_FALSE(open);
  EXPECT_NE(open.error().find("credentials"), std::string::npos) << open.error();
}

}  // namespace
}  // namespace pawl

// What the admin port says: numbers, health, and how far a start is.
#include "net/metrics.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <string>

#include "net/start_watch.h"

namespace pawl {
namespace {

TEST(Metrics, AreOneTextForAllShards) {
  ShardNumbers numbers[2];
  numbers[0].sent = 7;
  numbers[1].sent = 8;
  numbers[1].index = 99;
  const std::array<const ShardNumbers*, 2> shards{&numbers[0], &numbers[1]};
  const std::string text = metrics_text(shards);
  EXPECT_NE(text.find("# TYPE pawl_messages_sent_total counter\n"
                      "pawl_messages_sent_total{shard=\"0\"} 7\n"
                      "pawl_messages_sent_total{shard=\"1\"} 8\n"),
            std::string::npos);
  EXPECT_NE(text.find("pawl_memory_bytes{shard=\"1\",kind=\"index\"} 99\n"), std::string::npos);
}

TEST(Metrics, NameAndDescribeEachOnce) {
  const ShardNumbers numbers;
  const std::array<const ShardNumbers*, 1> shards{&numbers};
  std::istringstream lines(metrics_text(shards));
  std::string described, last;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("# HELP ")) {
      described = line.substr(7, line.find(' ', 7) - 7);
      EXPECT_GT(line.size(), 8 + described.size()) << "no text: " << line;
      EXPECT_NE(described, last);
      last = described;
    } else if (!line.starts_with('#')) {
      EXPECT_EQ(line.substr(0, line.find('{')), described);
    }
  }
}

TEST(Health, SaysWhatIsWrongAndWhere) {
  ShardNumbers numbers[2];
  const std::array<const ShardNumbers*, 2> shards{&numbers[0], &numbers[1]};
  EXPECT_EQ(health_text(shards), "ok\n");
  numbers[1].disk_full = 1;
  numbers[0].set_aside = 3;
  const std::string text = health_text(shards);
  EXPECT_NE(text.find("shard 0: 3 messages are set aside"), std::string::npos) << text;
  EXPECT_NE(text.find("shard 1: no room on the disk for another segment"), std::string::npos)
      << text;
}

class StartWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    listener_ = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size_), 0);
  }
  void TearDown() override { ::close(listener_); }

  std::string ask(const std::string& request) const {
    const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
    EXPECT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address_), size_), 0);
    EXPECT_EQ(::send(socket, request.data(), request.size(), 0),
              static_cast<ssize_t>(request.size()));
    std::string answer;
    char bytes[1024];
    for (ssize_t n = 0; (n = ::recv(socket, bytes, sizeof bytes, 0)) > 0;)
      answer.append(bytes, static_cast<std::size_t>(n));
    ::close(socket);
    return answer;
  }
  std::string get(const std::string& path, const std::string& host = "localhost") const {
    return ask("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  }

  int listener_ = -1;
  sockaddr_in address_{};
  socklen_t size_ = sizeof address_;
  HttpGuard guard_{[] {
    HttpGuardRules rules;
    rules.ask = true;
    return rules;
  }()};
  ReplayProgress progress_[2];
};

TEST_F(StartWatchTest, SaysHowFarTheStartIs) {
  const StartWatch watch(listener_, guard_, progress_);
  EXPECT_NE(get("/readyz").find("503"), std::string::npos);
  progress_[0].read = 100 << 20;
  progress_[0].total = 200 << 20;
  progress_[1].read = 10 << 20;
  progress_[1].total = 50 << 20;
  const std::string answer = get("/readyz");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 503 ")) << answer;
  EXPECT_NE(answer.find("44 % of the log is read, 110 of 250 MiB, about "), std::string::npos)
      << answer;
  EXPECT_TRUE(get("/livez").starts_with("HTTP/1.1 200 "));
}

TEST_F(StartWatchTest, KeepsForeignPagesOut) {
  const StartWatch watch(listener_, guard_, progress_);
  EXPECT_TRUE(get("/readyz", "evil.example").starts_with("HTTP/1.1 403 "));
}

TEST_F(StartWatchTest, EndsWhileSomebodyIsSlow) {
  int socket = -1;
  {
    const StartWatch watch(listener_, guard_, progress_);
    socket = ::socket(AF_INET, SOCK_STREAM, 0);
    ASSERT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address_), size_), 0);
    ASSERT_EQ(::send(socket, "GET", 3, 0), 3);
  }
  ::close(socket);
}

TEST_F(StartWatchTest, HangsUpOnWhatIsNoRequest) {
  const StartWatch watch(listener_, guard_, progress_);
  EXPECT_EQ(ask("\x16\x03\x01 nonsense\r\n\r\n"), "");
  EXPECT_EQ(ask("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x')), "");
  EXPECT_TRUE(get("/livez").starts_with("HTTP/1.1 200 ")) << "and goes on with others";
}

}  // namespace
}  // namespace pawl

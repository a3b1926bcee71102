// SPDX-License-Identifier: Apache-2.0
// The admin port's metrics, health and progress of recovery.
#include "net/server/metrics.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <sstream>
#include <string>

#include "net/io/listen.h"
#include "net/server/start_watch.h"
#include "tests/net/live_server.h"

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
  numbers[1].unreadable_segments = 2;
  const std::string text = health_text(shards);
  EXPECT_NE(text.find("shard 0: 3 messages are set aside"), std::string::npos) << text;
  EXPECT_NE(text.find("shard 1: 2 segments of the log cannot be read"), std::string::npos) << text;
  EXPECT_NE(text.find("pawl wal repair"), std::string::npos) << text;
  EXPECT_NE(text.find("shard 1: no space on the disk for another segment"), std::string::npos)
      << text;
}

class StartWatchTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto bound = bind_to("admin", "127.0.0.1:0", false);
    ASSERT_TRUE(bound) << bound.error();
    listener_ = *bound;
  }
  void TearDown() override { ::close(listener_); }

  int connect() const { return connect_to(port_of(address_text(listener_))); }
  std::string ask(const std::string& request) const {
    const int socket = connect();
    send_all(socket, request);
    std::string answer = read_responses(socket, 1);
    ::close(socket);
    return answer;
  }
  std::string get(const std::string& path, const std::string& host = "localhost") const {
    return ask("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n\r\n");
  }

  int listener_ = -1;
  HttpGuard guard_{[] {
    HttpGuardRules rules;
    rules.ask = true;
    return rules;
  }()};
  RecoveryProgress progress_[2];
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
    socket = connect();
    send_all(socket, "GET");
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

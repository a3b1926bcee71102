// SPDX-License-Identifier: Apache-2.0
// A backlog larger than the memory for messages, through the whole server: its bodies are only on
// the disk.
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;

class BodiesTest : public LiveClientTest {
 protected:
  static constexpr int queues = 2, messages = 120;  // 12 MiB in each queue

  void SetUp() override {
    LiveServerTest::SetUp();
    options_.memory = 16 << 20;  // for two shards
    start();
    connect();
  }
  static std::string name(int queue) { return "q" + std::to_string(queue); }
  static std::string body(int queue, int number) {
    std::string text = name(queue) + "/" + std::to_string(number) + " ";
    return text + std::string((100 << 10) - text.size(), static_cast<char>('a' + number % 26));
  }
  void send_all() {
    for (int q = 0; q < queues; ++q) {
      const auto queue = client_->create_queue(name(q), {});
      ASSERT_TRUE(queue);
      for (int i = 0; i < messages; ++i) {
        const auto sent = client_->send(*queue, body(q, i));
        ASSERT_TRUE(sent) << Client::name_of(sent.error().code);
      }
    }
  }
  void expect_all() {
    for (int q = 0; q < queues; ++q) {
      const auto queue = client_->open_queue(name(q));
      ASSERT_TRUE(queue);
      std::set<std::string> come;
      for (;;) {
        const auto some = client_->receive(*queue, {.max = 10, .wait = 0ms});
        ASSERT_TRUE(some) << Client::name_of(some.error().code);
        if (some->empty()) break;
        for (const Client::Message& message : *some) come.emplace(message.body);
      }
      ASSERT_EQ(come.size(), std::size_t{messages});
      for (int i = 0; i < messages; ++i) EXPECT_TRUE(come.contains(body(q, i))) << i;
    }
  }
};

TEST_F(BodiesTest, ABacklogLargerThanTheMemoryComesBack) {
  send_all();
  expect_all();
}

TEST_F(BodiesTest, ABacklogLargerThanTheMemoryComesBackAfterARestart) {
  send_all();
  restart();
  expect_all();
}

}  // namespace
}  // namespace pawl

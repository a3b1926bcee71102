// SPDX-License-Identifier: Apache-2.0
// Client::submit_send_once() against the whole server: batches that are sent again.
#include <gtest/gtest.h>
#include <pawl/client.h>

#include <chrono>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "tests/net/live_server.h"

namespace pawl {
namespace {

using namespace std::chrono_literals;
using Code = Client::Code;
using Numbers = Client::BatchNumbers;

class SendOnceTest : public LiveClientTest {
 protected:
  void SetUp() override {
    LiveClientTest::SetUp();
    start();
    connect();
    const auto queue = client_->create_queue("orders");
    ASSERT_TRUE(queue);
    queue_ = *queue;
  }
  void reconnect() {
    const auto queue = client_->open_queue("orders");
    ASSERT_TRUE(queue);
    queue_ = *queue;
  }
  // The outcome of each message, or one with the error of the whole request.
  std::vector<Client::Sent> send(const Client::Queue& queue, const Numbers& numbers,
                                 std::initializer_list<std::string_view> bodies) {
    std::vector<Client::Outgoing> batch;
    for (const std::string_view body : bodies) batch.push_back({.body = body});
    const auto ticket = client_->submit_send_once(queue, numbers, batch);
    if (!ticket) return {{.code = ticket.error().code}};
    std::vector<Client::Completion> completions;
    while (completions.empty())
      if (!client_->poll(completions, 1s)) return {{.code = Code::broken}};
    const Client::Completion& done = completions.front();
    if (done.error.code != Code::ok) return {{.code = done.error.code}};
    return {done.sent.begin(), done.sent.end()};
  }
  std::uint64_t messages() { return client_->counts(queue_)->visible; }

  Client::Queue queue_;
  const std::uint64_t producer_ = Client::random_producer();
};

void expect_same(const Client::Sent& again, const Client::Sent& first) {
  EXPECT_EQ(again.code, Code::ok);
  EXPECT_NE(again.sequence, 0u);
  EXPECT_EQ(again.sequence, first.sequence);
  EXPECT_EQ(again.id, first.id);
}

TEST_F(SendOnceTest, AnswersADuplicateWithTheMessageOfTheFirstTime) {
  const auto first = send(queue_, {producer_, 1, 1}, {"a", "b", "c"});
  ASSERT_EQ(first.size(), 3u);
  connect();  // the connection was lost before the response
  reconnect();
  const auto again = send(queue_, {producer_, 1, 1}, {"a", "b", "c", "d"});
  ASSERT_EQ(again.size(), 4u);
  for (std::size_t i = 0; i < 3; ++i) expect_same(again[i], first[i]);
  EXPECT_EQ(again[3].code, Code::ok);
  EXPECT_EQ(messages(), 4u) << "three were duplicates";
  restart();
  reconnect();
  const auto third = send(queue_, {producer_, 2, 1}, {"b"});
  ASSERT_EQ(third.size(), 1u);
  expect_same(third[0], first[1]);
  EXPECT_EQ(messages(), 4u);
}

TEST_F(SendOnceTest, TellsProducersApart) {
  ASSERT_EQ(send(queue_, {producer_, 1, 1}, {"a"})[0].code, Code::ok);
  ASSERT_EQ(send(queue_, {producer_ ^ 2, 1, 1}, {"a"})[0].code, Code::ok);
  EXPECT_EQ(messages(), 2u);
}

TEST_F(SendOnceTest, AcceptsBatchesInAnyOrder) {
  ASSERT_EQ(send(queue_, {producer_, 3, 1}, {"c", "d"})[0].code, Code::ok);
  const auto early = send(queue_, {producer_, 1, 1}, {"a", "b", "c"});
  ASSERT_EQ(early.size(), 3u);
  for (const Client::Sent& sent : early) EXPECT_EQ(sent.code, Code::ok);
  EXPECT_EQ(messages(), 4u) << "c was a duplicate";
}

TEST_F(SendOnceTest, ForgetsTheMessagesBelowTheFloorButNotThatTheyWereAccepted) {
  ASSERT_EQ(send(queue_, {producer_, 1, 1}, {"a", "b"})[0].code, Code::ok);
  ASSERT_EQ(send(queue_, {producer_, 3, 3}, {"c"})[0].code, Code::ok);
  const auto again = send(queue_, {producer_, 1, 1}, {"a"});
  ASSERT_EQ(again.size(), 1u);
  EXPECT_EQ(again[0].code, Code::ok);
  EXPECT_EQ(again[0].sequence, 0u);
  EXPECT_EQ(again[0].id, Client::MessageId{});
  EXPECT_EQ(messages(), 3u);
}

TEST_F(SendOnceTest, AcceptsARefusedMessageWhenItIsRight) {
  const auto first = send(queue_, {producer_, 1, 1}, {"a", "\x01", "c"});
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[1].code, Code::bad_text);
  const auto again = send(queue_, {producer_, 1, 1}, {"a", "b", "c"});
  ASSERT_EQ(again.size(), 3u);
  expect_same(again[0], first[0]);
  expect_same(again[2], first[2]);
  EXPECT_EQ(again[1].code, Code::ok);
  EXPECT_EQ(messages(), 3u);
}

TEST_F(SendOnceTest, RefusesFifoQueuesAndImpossibleNumbers) {
  const Client::QueueAttribute attributes[] = {
      {"FifoQueue", "true"}
  };
  const auto fifo = client_->create_queue("orders.fifo", attributes);
  ASSERT_TRUE(fifo);
  EXPECT_EQ(send(*fifo, {producer_, 1, 1}, {"a"})[0].code, Code::not_supported);
  for (const Numbers& wrong : {
           Numbers{0,         1,          1},
           Numbers{producer_, 0,          0},
           Numbers{producer_, 1,          2},
           Numbers{producer_, UINT64_MAX, 1}
  })
    EXPECT_EQ(send(queue_, wrong, {"a"})[0].code, Code::invalid);
  EXPECT_TRUE(client_->connected()) << "the connection is still good";
  EXPECT_EQ(messages(), 0u);
}

}  // namespace
}  // namespace pawl

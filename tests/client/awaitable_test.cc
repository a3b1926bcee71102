// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pawl/awaitable.h>

#include <coroutine>
#include <exception>
#include <string>
#include <vector>

#include "tests/client/client_fixture.h"

namespace pawl {
namespace {

using Code = Client::Code;
using std::chrono_literals::operator""s;

// A coroutine that runs at once and frees itself at its end.
struct Detached {
  struct promise_type {
    Detached get_return_object() { return {}; }
    static std::suspend_never initial_suspend() { return {}; }
    static std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() {}
    static void unhandled_exception() { std::terminate(); }
  };
};

Detached send_in_turn(Producer& producer, int count, std::vector<Code>& codes) {
  for (int i = 0; i < count; ++i) {
    const std::string body = "message " + std::to_string(i);
    AwaitedSend send(producer, {.body = body});
    const AwaitedSend::Outcome sent = co_await send;
    codes.push_back(sent ? Code::ok : sent.error().code);
  }
  AwaitedSend invalid(producer, {.body = ""});
  codes.push_back((co_await invalid).error().code);
}

TEST_F(ClientToServer, ContinuesCoroutinesThatAwaitSends) {
  Client client = connect();
  const auto queue = client.create_queue("q");
  ASSERT_TRUE(queue);
  Producer::Options wanted{.queue = "q", .memory_limit = 1 << 20};
  wanted.endpoint.connection = options();
  auto producer = Producer::create_on_loop(wanted, AwaitedSend::on_complete, nullptr);
  ASSERT_TRUE(producer);
  std::vector<Code> first, second;
  send_in_turn(*producer, 20, first);
  send_in_turn(*producer, 20, second);
  const auto end = Producer::Clock::now() + 10s;
  while (first.size() + second.size() < 42) {
    ASSERT_LT(Producer::Clock::now(), end);
    producer->on_ready(Producer::Clock::now());
  }
  for (const auto& codes : {first, second}) {
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(codes[i], Code::ok);
    EXPECT_EQ(codes[20], Code::invalid) << "not accepted: the coroutine does not wait";
  }
  const auto received = client.receive(*queue, {.max = 100});
  ASSERT_EQ(received->size(), 40u);
  EXPECT_EQ(received->back().body, "message 19");
}

TEST_F(ClientToServer, EndsCoroutinesWhenTheProducerIsDestroyed) {
  std::vector<Code> codes;
  {
    Producer::Options wanted{.queue = "q", .memory_limit = 1 << 20};
    wanted.endpoint.connection.port = 1;
    auto producer = Producer::start(wanted, AwaitedSend::on_complete, nullptr);
    ASSERT_TRUE(producer);
    send_in_turn(*producer, 2, codes);
  }
  EXPECT_EQ(codes, (std::vector{Code::closed, Code::closed, Code::invalid}));
}

}  // namespace
}  // namespace pawl

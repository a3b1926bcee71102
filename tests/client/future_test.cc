// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <pawl/future.h>

#include <future>
#include <string>
#include <vector>

#include "tests/client/client_fixture.h"

namespace pawl {
namespace {

using Code = Client::Code;
using std::chrono_literals::operator""s;

TEST_F(ClientToServer, CompletesFuturesOfSends) {
  Client client = connect();
  ASSERT_TRUE(client.create_queue("q"));
  Producer::Options wanted{.queue = "q", .memory_limit = 1 << 20};
  wanted.endpoint.connection = options();
  auto producer = Producer::start(wanted, FutureSend::on_complete, nullptr);
  ASSERT_TRUE(producer);
  std::vector<std::future<FutureSend::Outcome>> futures;
  for (int i = 0; i < 100; ++i) futures.push_back(FutureSend::send(*producer, {.body = "m"}));
  for (auto& future : futures) {
    const FutureSend::Outcome sent = future.get();
    ASSERT_TRUE(sent);
    EXPECT_GT(sent->sequence, 0u);
  }
  EXPECT_EQ(FutureSend::send(*producer, {.body = ""}).get().error().code, Code::invalid);
  ASSERT_TRUE(producer->drain(Producer::Clock::now() + 10s));
  EXPECT_EQ(FutureSend::send(*producer, {.body = "m"}).get().error().code, Code::closed);
}

TEST(FutureSend, NamesTheErrorOfARefusedMessage) {
  using Status = SendResult::Status;
  EXPECT_EQ(error_of({.status = Status::full}).code, Code::would_block);
  const Client::Error throttled = error_of({.status = Status::throttled, .retry_after = 2s});
  EXPECT_EQ(throttled.code, Code::would_block);
  EXPECT_EQ(throttled.retry_after, 2s);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The pools and counts that the connections of a shard share.
#include "net/connection/connection_host.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace pawl {
namespace {

class Host final : public ConnectionHost {
 public:
  using ConnectionHost::ConnectionHost;
  using ConnectionHost::drop_spare;
  std::size_t spare_bytes() const { return spare_bytes_; }
};

class ConnectionHostTest : public testing::Test {
 protected:
  static std::unique_ptr<Ring> make_ring() {
    auto ring = Ring::create();
    EXPECT_TRUE(ring.has_value());
    return std::move(*ring);
  }

  ConnectionContext context_;
  std::unique_ptr<Ring> ring_ = make_ring();
  Host host_{*ring_, context_};
};

TEST_F(ConnectionHostTest, ReceiveCallsAreReusedApartFromOthers) {
  auto call = host_.take_call(false);
  const PendingBinaryCall* const kept = call.get();
  const std::size_t bytes = call->memory();
  host_.give_call(std::move(call));
  EXPECT_EQ(host_.spare_bytes(), bytes);
  const auto receive = host_.take_call(true);
  EXPECT_NE(receive.get(), kept);
  EXPECT_TRUE(receive->receive);
  EXPECT_EQ(host_.take_call(false).get(), kept);
  EXPECT_EQ(host_.spare_bytes(), 0u);
}

TEST_F(ConnectionHostTest, KeepsALimitedNumberOfHttpCalls) {
  std::vector<std::unique_ptr<HttpCall>> calls;
  for (std::size_t i = 0; i <= Host::spare_http_calls_max; ++i)
    calls.push_back(host_.take_http_call());
  std::size_t before_last = 0;
  for (auto& call : calls) {
    before_last = host_.spare_bytes();
    host_.give_http_call(std::move(call));
  }
  EXPECT_GT(before_last, 0u);
  EXPECT_EQ(host_.spare_bytes(), before_last);
  host_.drop_spare();
  EXPECT_EQ(host_.spare_bytes(), 0u);
}

TEST_F(ConnectionHostTest, GrowthReducesTheFreeMemory) {
  const std::size_t soft = context_.memory_max / 4 * 3;
  EXPECT_EQ(host_.free_memory_bytes(), soft);
  host_.grew(1000);
  EXPECT_EQ(host_.free_memory_bytes(), soft - 1000);
  host_.grew(context_.memory_max);
  EXPECT_EQ(host_.free_memory_bytes(), 0u);
}

TEST_F(ConnectionHostTest, HandshakesBeyondThoseOfATurnWait) {
  for (unsigned i = 0; i < HandshakeGate::turn_max; ++i)
    EXPECT_TRUE(host_.admit_handshake(i, 0, i));
  EXPECT_FALSE(host_.admit_handshake(7, 0, 7));
}

TEST_F(ConnectionHostTest, TheResponseAtTheWrongPortNamesThePortOfSqs) {
  context_.http_url = "http://127.0.0.1:9324";
  const std::string response = host_.wrong_port("This is the binary port.", {});
  EXPECT_TRUE(response.starts_with("HTTP/1.1 400 "));
  EXPECT_NE(response.find("This is the binary port. SQS is served at http://127.0.0.1:9324\n"),
            std::string::npos);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/connection/declared_connection.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "proto/auth/keys.h"
#include "proto/declared/declared_call.h"
#include "tests/net/live_server.h"

namespace pawl {
namespace {

class DeclaredConnectionTest : public LiveClientTest {
 protected:
  // Queues for all shards, more than are made at once, each with a message.
  static DeclaredRowsPtr many() {
    auto rows = std::make_shared<DeclaredRows>();
    for (std::size_t i = 0; i < DeclaredCall::calls_max + 3; ++i) {
      DeclaredRow row;
      row.account = "000000000000";
      row.name = "q" + std::to_string(i);
      row.where = "f:1:1";
      rows->push_back(row);
      row.kind = DeclaredKind::message;
      row.body = row.name;
      rows->push_back(row);
    }
    return rows;
  }
};

TEST_F(DeclaredConnectionTest, MakesTheQueuesOfAllShardsWithTheirMessages) {
  options_.declared = many();
  start();
  connect();
  for (std::size_t i = 0; i < DeclaredCall::calls_max + 3; ++i) {
    const std::string name = "q" + std::to_string(i);
    const auto queue = client_->open_queue(name);
    ASSERT_TRUE(queue) << name;
    const auto messages = client_->receive(*queue, {.max = 10});
    ASSERT_TRUE(messages);
    ASSERT_EQ(messages->size(), 1U) << name;
    EXPECT_EQ(std::string((*messages)[0].body.begin(), (*messages)[0].body.end()), name);
  }
  restart();
  const auto messages = client_->receive(*client_->open_queue("q1"), {.max = 10});
  ASSERT_TRUE(messages);
  EXPECT_TRUE(messages->empty()) << "a second start sends nothing";
}

TEST_F(DeclaredConnectionTest, NeedsNoSignature) {
  options_.declared = many();
  options_.auth = "sigv4";
  options_.load_keys = [] {
    auto ring = std::make_shared<Keyring>();
    EXPECT_EQ(ring->add({"AKID", "a-secret-of-forty-characters-0123456789", "000000000000"}),
              KeyFault::none);
    return std::expected<std::shared_ptr<const Keyring>, std::string>(ring);
  };
  start();
}

}  // namespace
}  // namespace pawl

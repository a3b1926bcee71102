// SPDX-License-Identifier: Apache-2.0
#include "net/server/declared_start.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <expected>
#include <string>
#include <string_view>
#include <thread>

#include "tests/net/live_server.h"

namespace pawl {
namespace {

using Outcome = std::expected<std::string, StartError>;

// The outcome of apply() when the shard answers so.
Outcome outcome_of(std::string_view answer) {
  DeclaredStart start;
  const int shard = start.shard_end();
  EXPECT_GE(shard, 0);
  EXPECT_EQ(start.shard_end(), -1) << "it is handed over once";
  std::thread other([&] {
    char go = 0;
    EXPECT_EQ(::read(shard, &go, 1), 1);
    EXPECT_EQ(::write(shard, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
    ::close(shard);
  });
  Outcome outcome = start.apply();
  other.join();
  return outcome;
}

TEST(DeclaredStart, ReportsTheOutcomeOfTheShards) {
  EXPECT_EQ(outcome_of("+queues: 3").value_or("none"), "queues: 3");
  const Outcome refused = outcome_of("-f:1:1: no");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().text, "f:1:1: no");
  EXPECT_EQ(refused.error().fault, StartFault::declared);
  const Outcome full = outcome_of("~f:1:1: full");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().text, "f:1:1: full");
  EXPECT_EQ(full.error().fault, StartFault::machine);
  EXPECT_FALSE(outcome_of("")) << "the shards have ended";
}

TEST(DeclaredStart, WithoutRowsThereIsNothingToDo) {
  EXPECT_EQ(declare_with(nullptr, {}), nullptr);
  EXPECT_EQ(declare_with(std::make_shared<const DeclaredRows>(), {}), nullptr);
}

class DeclaredServerTest : public LiveClientTest {};

DeclaredRowsPtr one_queue(std::string name, std::string timeout) {
  DeclaredRow row;
  row.account = "000000000000";
  row.name = std::move(name);
  row.where = "f:1:1";
  row.attributes = {
      {"VisibilityTimeout", std::move(timeout), "f:2:1"}
  };
  return std::make_shared<const DeclaredRows>(DeclaredRows{row});
}

TEST_F(DeclaredServerTest, TheQueueIsThereBeforeTheFirstClient) {
  options_.declared = one_queue("q", "60");
  start();
  connect();
  EXPECT_TRUE(client_->open_queue("q"));
}

TEST_F(DeclaredServerTest, AFaultEndsTheStartAndLeavesTheDirectoryWhole) {
  options_.declared = one_queue("q", "99999");
  const auto failed = Server::start(options_);
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().fault, StartFault::declared);
  EXPECT_TRUE(failed.error().text.starts_with("f:2:1: VisibilityTimeout = 99999"))
      << failed.error().text;
  options_.declared = nullptr;
  start();
}

}  // namespace
}  // namespace pawl

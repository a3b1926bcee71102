// SPDX-License-Identifier: Apache-2.0
#include "net/server/absent_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/core/secret.h"

namespace pawl {
namespace {

class AbsentLogTest : public testing::Test {
 protected:
  AbsentLogTest() {
    identity_.shards = 3;
    identity_.data_id = 7;
    identity_.starts = 5;
    for (std::uint8_t i = 0; i < 3; ++i) {
      shards_.push_back(std::make_unique<Shard>(
          ShardIdentity{.id = ShardId{i}, .shards = 3, .secret = test::test_secret()},
          ShardLimits{}, Instant{1000}));
    }
  }
  // A queue with one message, in the directory and in the log of its shard.
  void make_queue(std::uint32_t id, std::uint8_t owner, const std::string& name) {
    auto config = std::make_shared<QueueConfig>();
    config->id = QueueId{id};
    config->owner = ShardId{owner};
    config->account = "0";
    config->name = name;
    for (const auto& shard : shards_) shard->restore(ConfigRecord{config, false});
    const Content content{.body = "body"};
    std::vector<LogPos> freed;
    shards_[owner]->restore(SendRecord{.queue = config->id,
                                       .seq = 1,
                                       .sent = Instant{1000},
                                       .deliver_at = Instant{1000},
                                       .content = &content,
                                       .position = 1},
                            freed);
  }
  // The error text for that shard, whose log and those of `unread` shards could not be read.
  std::string describe(std::uint32_t shard, const RecoveryReport& report,
                       const std::vector<std::size_t>& unread = {}) const {
    std::vector<const Shard*> read;
    for (const auto& each : shards_) read.push_back(each.get());
    read[shard] = nullptr;
    for (const std::size_t other : unread) read[other] = nullptr;
    return describe_absent_log("/data", identity_, shard, report, read);
  }

  DataIdentity identity_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) EXPECT_TRUE(text.contains(part)) << part << "\n" << text;
}

TEST_F(AbsentLogTest, NamesTheQueuesThatAreLostWithALog) {
  const RecoveryReport lost{.absence = LogAbsence::lost};
  expect_parts(describe(1, lost), {"/data/s01 is lost", "No queue is in it."});
  make_queue(10, 1, "orders");
  make_queue(11, 2, "elsewhere");
  expect_parts(describe(1, lost), {"In it are 1 queue and their messages: orders.",
                                   "Restore /data/s01", "`pawl wal repair /data`", "--apply"});
  for (std::uint32_t i = 0; i < 6; ++i) make_queue(20 + i, 1, "q" + std::to_string(i));
  const std::string text = describe(1, lost);
  expect_parts(text, {"In it are 7 queues", " and 2 more"});
  EXPECT_FALSE(text.contains("elsewhere")) << text;
  expect_parts(describe(1, lost, {0}), {"in the control log, s00, which cannot be read either"});
}

TEST_F(AbsentLogTest, NamesQueuesByIdWhenTheControlLogIsLost) {
  const RecoveryReport lost{.absence = LogAbsence::lost};
  expect_parts(describe(0, lost), {"/data/s00 is lost", "no queues with messages"});
  make_queue(10, 0, "its own");
  make_queue(11, 1, "orders");
  const std::string text = describe(0, lost, {2});
  expect_parts(text, {"It is the control log", "queues 11 (1 message)"});
  EXPECT_FALSE(text.contains("orders")) << text;
}

TEST_F(AbsentLogTest, TellsSwappedDirectoriesFromAForeignLog) {
  RecoveryReport report{.absence = LogAbsence::another_log};
  report.found_stream = identity_.stream_of(2);
  expect_parts(describe(1, report),
               {"/data/s01 has the log of shard 2", "swapped", "`pawl wal verify /data`"});
  report.found_stream = identity_.stream_of(3);
  expect_parts(describe(1, report), {"has a log of another data directory", "Restore /data/s01"});
}

TEST_F(AbsentLogTest, NamesBothTimesOfACopyFromAnotherTime) {
  RecoveryReport report{.absence = LogAbsence::another_time};
  report.found_start = 3;
  expect_parts(describe(1, report), {"number 3", "that of /data number 5", "from one copy"});
}

TEST(ListOf, NamesFiveAndCountsTheOthers) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f", "g"};
  const std::span all(names);
  EXPECT_EQ(list_of(all.first(0)), "");
  EXPECT_EQ(list_of(all.first(1)), "a");
  EXPECT_EQ(list_of(all.first(5)), "a, b, c, d, e");
  EXPECT_EQ(list_of(all), "a, b, c, d, e and 2 more");
  EXPECT_EQ(log_name(1), "s01");
  EXPECT_EQ(log_name(63), "s63");
}

}  // namespace
}  // namespace pawl

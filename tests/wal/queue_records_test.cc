// SPDX-License-Identifier: Apache-2.0
#include "wal/format/queue_records.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/wal/records_fixture.h"

namespace pawl {
namespace {

using namespace records_test;

TEST(QueueRecords, AConfigComesBackWhole) {
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{77};
  config->owner = ShardId{5};
  config->account = "000000000000";
  config->name = "orders.fifo";
  config->created = Instant{123456};
  config->modified = Instant{-1};
  config->numbers = {1, -2, 3, 4, 5, 6, 7};
  config->texts = {
      {Attribute::policy, "{}"},
      {Attribute::redrive_policy, std::string(3000, 'x')}
  };
  config->tags = {
      {"a", "" },
      {"b", "c"}
  };
  for (const bool gone : {false, true}) {
    Bytes bytes;
    const std::size_t asked = config_bytes(*config);
    bytes.add(encode_config(bytes.at(), {config, gone}, stream));
    EXPECT_EQ(bytes.used, asked);
    Seen seen;
    ASSERT_TRUE(bytes.decode(seen));
    ASSERT_EQ(seen.configs.size(), 1u);
    const QueueConfig& got = *seen.configs[0].config;
    EXPECT_EQ(seen.configs[0].gone, gone);
    EXPECT_EQ(got.id, config->id);
    EXPECT_EQ(raw(got.owner), 5u);
    EXPECT_EQ(got.account, config->account);
    EXPECT_EQ(got.name, config->name);
    EXPECT_EQ(got.created, config->created);
    EXPECT_EQ(got.modified, config->modified);
    EXPECT_EQ(got.numbers, config->numbers);
    EXPECT_EQ(got.texts, config->texts);
    EXPECT_EQ(got.tags, config->tags);
  }
}

// An earlier program knows 16 numbers and refuses a record with more.
TEST(QueueRecords, AConfigHasTheNumbersOfEarlierVersionsUnlessItUsesMore) {
  QueueConfig config;
  const std::size_t bytes = config_bytes(config);
  config.apply({Attribute::lag_target, 30, {}});
  EXPECT_EQ(config_bytes(config), bytes + 8);
  for (const std::int64_t target : {0, 30}) {
    auto written = std::make_shared<QueueConfig>();
    written->apply({Attribute::lag_target, target, {}});
    Bytes record;
    record.add(encode_config(record.at(), {written, false}, stream));
    Seen seen;
    ASSERT_TRUE(record.decode(seen));
    ASSERT_EQ(seen.configs.size(), 1u);
    EXPECT_EQ(seen.configs[0].config->lag_target(), seconds(target));
  }
}

// The record of a deletion has no attributes; it has the kind all the same.
TEST(QueueRecords, AConfigHasTheKindOfItsAccount) {
  struct Case {
    const char* account;
    ConfigKind kind;
  };
  for (const Case& c : {
           Case{"000000000000",     ConfigKind::queue},
           Case{"",                 ConfigKind::queue},
           Case{"sns/000000000000", ConfigKind::topic}
  }) {
    for (const bool gone : {false, true}) {
      SCOPED_TRACE(c.account);
      auto config = std::make_shared<QueueConfig>();
      config->set_name(c.account, "news");
      EXPECT_EQ(config->kind, c.kind);
      Bytes bytes;
      bytes.add(encode_config(bytes.at(), {config, gone}, stream));
      Seen seen;
      ASSERT_TRUE(bytes.decode(seen));
      ASSERT_EQ(seen.configs.size(), 1u);
      EXPECT_EQ(seen.configs[0].config->kind, c.kind);
    }
  }
}

TEST(QueueRecords, ARowOfATopicComesBack) {
  Bytes bytes;
  for (const std::string& text : {std::string(), std::string("{}"), std::string(30'000, 'x')}) {
    const std::size_t asked = bytes.used + row_bytes(text);
    bytes.add(encode_row(bytes.at(), QueueId{9}, 1ull << 40, text, stream));
    EXPECT_EQ(bytes.used, asked);
  }
  Seen seen;
  ASSERT_TRUE(bytes.decode(seen));
  ASSERT_EQ(seen.rows.size(), 3u);
  EXPECT_EQ(seen.rows[1].topic, QueueId{9});
  EXPECT_EQ(seen.rows[1].number, 1ull << 40);
  EXPECT_EQ(seen.rows[0].text, "");
  EXPECT_EQ(seen.rows[1].text, "{}");
  EXPECT_EQ(seen.rows[2].text.size(), 30'000u);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/queue/directory.h"

#include <gtest/gtest.h>

#include <array>

namespace pawl {
namespace {

ConfigPtr queue(std::uint32_t id, const std::string& name, const std::string& account = "a") {
  auto config = std::make_shared<QueueConfig>();
  config->id = QueueId{id};
  config->account = account;
  config->name = name;
  return config;
}

std::vector<std::string> names(const std::vector<ConfigPtr>& configs) {
  std::vector<std::string> found;
  for (const ConfigPtr& config : configs) found.push_back(config->name);
  return found;
}

TEST(Directory, FindsAQueueByNameAndById) {
  Directory directory;
  EXPECT_EQ(directory.find("a", "q"), nullptr);
  directory.put(queue(1, "q"));
  directory.put(queue(2, "q", "b"));
  ASSERT_NE(directory.find("a", "q"), nullptr);
  EXPECT_EQ((*directory.find("a", "q"))->id, QueueId{1});
  EXPECT_EQ((*directory.find("b", "q"))->id, QueueId{2});
  EXPECT_EQ((*directory.find(QueueId{2}))->account, "b");
  EXPECT_EQ(directory.find("a", "qq"), nullptr);
  EXPECT_EQ(directory.find("", "q"), nullptr);
  EXPECT_EQ(directory.size(), 2u);
}

TEST(Directory, ReplacesAQueueByItsNewerConfig) {
  Directory directory;
  directory.put(queue(1, "q"));
  auto changed = std::make_shared<QueueConfig>(**directory.find(QueueId{1}));
  changed->apply({Attribute::delay_seconds, 9, {}});
  directory.put(changed);
  EXPECT_EQ(directory.size(), 1u);
  EXPECT_EQ((*directory.find("a", "q"))->number(Attribute::delay_seconds), 9);
  EXPECT_EQ((*directory.find(QueueId{1}))->number(Attribute::delay_seconds), 9);
}

TEST(Directory, ForgetsAQueueOnce) {
  Directory directory;
  directory.put(queue(1, "q"));
  directory.drop(QueueId{1});
  directory.drop(QueueId{1});
  directory.drop(QueueId{5});
  EXPECT_EQ(directory.size(), 0u);
  EXPECT_EQ(directory.find("a", "q"), nullptr);
  EXPECT_EQ(directory.find(QueueId{1}), nullptr);
}

TEST(Directory, DoesNotForgetANewerQueueOfTheSameName) {
  Directory directory;
  directory.put(queue(1, "q"));
  directory.put(queue(2, "q"));
  directory.drop(QueueId{1});
  ASSERT_NE(directory.find("a", "q"), nullptr);
  EXPECT_EQ((*directory.find("a", "q"))->id, QueueId{2});
  EXPECT_EQ(directory.find(QueueId{1}), nullptr);
}

TEST(Directory, ListsQueuesOfOneAccountInPages) {
  Directory directory;
  std::uint32_t id = 1;
  for (const char* name : {"b2", "a", "b", "b1", "c", "b1x"}) directory.put(queue(id++, name));
  directory.put(queue(id++, "b0", "A"));
  directory.put(queue(id++, "b3", "b"));
  struct Case {
    const char* prefix;
    const char* after;
    std::size_t max;
    std::vector<std::string> want;
  };
  const Case cases[] = {
      {"",   "",    100, {"a", "b", "b1", "b1x", "b2", "c"}},
      {"b",  "",    100, {"b", "b1", "b1x", "b2"}          },
      {"b",  "",    2,   {"b", "b1"}                       },
      {"b",  "b1",  2,   {"b1x", "b2"}                     },
      {"b",  "b2",  2,   {}                                },
      {"b",  "b1a", 9,   {"b1x", "b2"}                     },
      {"b",  "a",   9,   {"b", "b1", "b1x", "b2"}          },
      {"b",  "c",   9,   {}                                },
      {"b1", "b",   9,   {"b1", "b1x"}                     },
      {"",   "c",   9,   {}                                },
      {"z",  "",    9,   {}                                },
      {"",   "",    0,   {}                                },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(std::string(c.prefix) + " after " + c.after);
    EXPECT_EQ(names(directory.list("a", c.prefix, c.after, c.max)), c.want);
  }
}

TEST(Directory, KnowsWhoseDeadLettersGoWhere) {
  Directory directory;
  const auto source = [](std::uint32_t id, const std::string& name, const std::string& target,
                         const std::string& account = "a") {
    auto config = std::make_shared<QueueConfig>(*queue(id, name, account));
    if (!target.empty()) config->apply({Attribute::dead_letter_target, -1, target});
    return config;
  };
  std::uint32_t id = 1;
  for (const char* name : {"s3", "s1", "s2"}) directory.put(source(id++, name, "a/d"));
  directory.put(source(id++, "other", "a/dd"));
  directory.put(source(id++, "plain", ""));
  directory.put(source(id++, "foreign", "b/d"));
  const auto sources = [&](const char* name, const char* after, std::size_t max) {
    return names(directory.sources_of("a", name, after, max));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(sources("d", "", 100), (Names{"s1", "s2", "s3"}));
  EXPECT_EQ(sources("d", "", 2), (Names{"s1", "s2"}));
  EXPECT_EQ(sources("d", "s2", 2), (Names{"s3"}));
  EXPECT_EQ(sources("d", "s3", 2), Names{});
  EXPECT_EQ(sources("d", "", 0), Names{});
  EXPECT_EQ(sources("dd", "", 100), (Names{"other"}));
  EXPECT_EQ(sources("plain", "", 100), Names{});
  directory.put(source(2, "s1", "a/dd"));
  directory.put(source(3, "s2", ""));
  EXPECT_EQ(sources("d", "", 100), (Names{"s3"}));
  EXPECT_EQ(sources("dd", "", 100), (Names{"other", "s1"}));
  directory.drop(QueueId{1});
  EXPECT_EQ(sources("d", "", 100), Names{});
}

TEST(Directory, VisitsEveryQueue) {
  Directory directory;
  for (std::uint32_t id = 1; id <= 10; ++id) directory.put(queue(id, std::to_string(id)));
  int visited = 0;
  directory.for_each([&](const ConfigPtr&) { ++visited; });
  EXPECT_EQ(visited, 10);
}

TEST(Directory, KnowsWhatItTakesInACheckpoint) {
  Directory directory;
  EXPECT_EQ(directory.bytes(), 0u);
  directory.put(queue(1, "q"));
  const std::size_t one = directory.bytes();
  EXPECT_EQ(one, Directory::bytes_of(*queue(1, "q")));
  auto changed = std::make_shared<QueueConfig>(*queue(1, "q"));
  changed->apply({Attribute::policy, -1, std::string(1000, 'p')});
  changed->tags = {
      {"key", "value"}
  };
  directory.put(changed);
  EXPECT_GE(directory.bytes(), one + 1000 + 8);
  directory.put(queue(1, "q"));
  EXPECT_EQ(directory.bytes(), one);
  directory.put(queue(2, "longer name"));
  directory.drop(QueueId{1});
  directory.drop(QueueId{1});
  EXPECT_EQ(directory.bytes(), one + 10);
  directory.drop(QueueId{2});
  EXPECT_EQ(directory.bytes(), 0u);
}

// Recovery may read the records in this order: the deletion of the older queue comes last.
TEST(Directory, ForgetsWhoseDeadLettersWentWhereWhenTheNameIsAnothers) {
  Directory directory;
  auto config = std::make_shared<QueueConfig>(*queue(5, "s"));
  config->apply({Attribute::dead_letter_target, -1, "a/d"});
  directory.put(config);
  directory.put(queue(7, "s"));
  directory.drop(QueueId{5});
  EXPECT_TRUE(directory.sources_of("a", "d", "", 10).empty());
  ASSERT_NE(directory.find("a", "s"), nullptr);
  EXPECT_EQ((*directory.find("a", "s"))->id, QueueId{7});
}

TEST(ShardOf, IsStableAndMovesFewQueuesWhenAShardIsAdded) {
  std::array<int, 4> owned{};
  int moved = 0;
  for (int i = 0; i < 4000; ++i) {
    const std::string name = "queue-" + std::to_string(i);
    const ShardId three = shard_of("a", name, 3), four = shard_of("a", name, 4);
    EXPECT_EQ(four, shard_of("a", name, 4));
    if (three != four) {
      ++moved;
      EXPECT_EQ(four, ShardId{3}) << "only to the new shard";
    }
    ++owned[raw(four)];
  }
  EXPECT_NEAR(moved, 1000, 150);
  for (const int count : owned) EXPECT_NEAR(count, 1000, 150);
}

TEST(ShardOf, OfTheSameNameInTwoAccountsDiffers) {
  int same = 0;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = std::to_string(i);
    same += shard_of("a", name, 64) == shard_of("b", name, 64) ? 1 : 0;
  }
  EXPECT_LT(same, 60);
}

}  // namespace
}  // namespace pawl

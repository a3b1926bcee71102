// SPDX-License-Identifier: Apache-2.0
// A topic with a thousand subscriptions, each in its own row, through checkpoints, crashes and
// starts.
#include <fmt/core.h>

#include <map>

#include "tests/sim/two_shards_fixture.h"

namespace pawl::sim {
namespace {

class TopicRows : public TwoShards {
 protected:
  using Rows = std::map<std::uint64_t, std::string>;
  static constexpr std::uint64_t many = 1000;

  void SetUp() override {
    TwoShards::SetUp();
    QueueSpec spec{
        .account = "sns/0", .name = "topic", .changes = {{Attribute::topic, -1, "{}"}}, .tags = {}};
    Request create;
    create.op = Op::create_queue;
    create.spec = &spec;
    ASSERT_TRUE(ask(create, control_shard));
    topic = create.config->id;
  }
  static AttributeChange row(std::uint64_t number, std::string text) {
    return {Attribute::topic_row, static_cast<std::int64_t>(number), std::move(text)};
  }
  static std::string text_of(std::uint64_t number, int version) {
    return fmt::format("subscription {} version {} {}", number, version, std::string(60, 'x'));
  }
  Request& begin_change(std::vector<AttributeChange> changes) {
    changes_ = std::move(changes);
    change_ = {};
    change_.op = Op::set_attributes;
    change_.queue = topic;
    change_.changes = changes_;
    submit(change_, control_shard);
    return change_;
  }
  void change(std::vector<AttributeChange> changes) {
    for (const AttributeChange& one : changes) apply(expected, one);
    begin_change(std::move(changes));
    run(40'000);
    ASSERT_TRUE(answers.contains(&change_));
    ASSERT_EQ(change_.error, Errc::ok);
  }
  static void apply(Rows& rows, const AttributeChange& change) {
    const auto number = static_cast<std::uint64_t>(change.number);
    if (change.text.empty()) {
      rows.erase(number);
    } else {
      rows[number] = change.text;
    }
  }
  void subscribe_many() {
    for (std::uint64_t number = 1; number <= many; number += 20) {
      std::vector<AttributeChange> changes;
      for (std::uint64_t n = number; n < number + 20; ++n) changes.push_back(row(n, text_of(n, 1)));
      change(std::move(changes));
    }
  }
  // Deletes every seventh subscription, and changes every fifth.
  void change_some() {
    for (std::uint64_t number = 5; number <= many; ++number) {
      if (number % 7 == 0) {
        change({row(number, "")});
      } else if (number % 5 == 0) {
        change({row(number, text_of(number, 2))});
      }
    }
  }
  // Sends and deletes messages until the log's first segments are free and a startup reads a
  // checkpoint.
  void make_checkpoint() {
    const std::uint64_t first = world.loop(0).log().first_since({});
    for (int i = 0; i < 400 && world.loop(0).log().first_since({}) == first; ++i) {
      send({std::string(4000, 'x')});
      delete_messages(source, zero, receive(source, zero));
    }
    ASSERT_GT(world.loop(0).log().first_since({}), first);
  }
  void restart(Crash crash) {
    world.crash(crash);
    ASSERT_EQ(world.start(0), Start::up) << world.complaint();
  }
  Rows rows_of(std::uint32_t shard) {
    Rows rows;
    const ConfigPtr* const config = world.loop(shard).shard().directory().find(topic);
    if (config == nullptr) return rows;
    for (const auto& one : (*config)->rows) rows[one->number] = one->text;
    return rows;
  }
  void expect_all() {
    for (const std::uint32_t shard : {0u, 1u}) {
      EXPECT_EQ(rows_of(shard), expected) << shard;
      const Directory& directory = world.loop(shard).shard().directory();
      directory.for_each([&](const ConfigPtr& config) {
        EXPECT_EQ(config->kind, config->id == topic ? ConfigKind::topic : ConfigKind::queue)
            << shard;
      });
    }
  }
  // The directory's counts equal those of a new directory that receives the topic in its present
  // state.
  void expect_counted() {
    const Directory& directory = world.loop(0).shard().directory();
    Directory fresh;
    directory.for_each([&](const ConfigPtr& config) { fresh.put(config); });
    EXPECT_EQ(directory.bytes(), fresh.bytes());
    EXPECT_EQ(directory.config_memory(), fresh.config_memory());
  }

  QueueId topic{};
  Rows expected;

 private:
  std::vector<AttributeChange> changes_;
  Request change_;
};

TEST_F(TopicRows, AreThereAfterACheckpointAndWhatCameBehindIt) {
  subscribe_many();
  expect_all();
  make_checkpoint();
  change_some();
  expect_all();
  EXPECT_LT(expected.size(), many);
  for (const Crash crash : {Crash::process, Crash::power}) {
    restart(crash);
    expect_all();
    expect_counted();
  }
  make_checkpoint();  // contains all changes
  restart(Crash::power);
  expect_all();
}

// Rows that are changed together are all changed or none, as the response says; also without a
// response.
TEST_F(TopicRows, AreAsBeforeOrAsAskedForAfterACrashInTheMiddle) {
  subscribe_many();
  make_checkpoint();
  int undone = 0, done = 0;
  for (std::uint64_t round = 0; round < 60; ++round) {
    std::vector<AttributeChange> changes;
    for (std::uint64_t i = 0; i < 10; ++i) {
      const std::uint64_t number = 1 + (round * 10 + i) * 37 % many;
      const int version = static_cast<int>(round) + 2;
      changes.push_back(row(number, i % 4 == 0 ? "" : text_of(number, version)));
    }
    Rows asked = expected;
    for (const AttributeChange& one : changes) apply(asked, one);
    const Request& request = begin_change(std::move(changes));
    run(round * 10 % 400);
    const bool answered = answers.contains(&request);
    restart(round % 2 == 0 ? Crash::power : Crash::process);
    const Rows now = rows_of(0);
    EXPECT_EQ(rows_of(1), now);
    if (answered) {
      EXPECT_EQ(now, asked);
    }
    ASSERT_TRUE(now == asked || now == expected) << "round " << round;
    (now == expected ? undone : done) += 1;
    expected = now;
  }
  EXPECT_GT(undone, 5);
  EXPECT_GT(done, 5);
}

}  // namespace
}  // namespace pawl::sim

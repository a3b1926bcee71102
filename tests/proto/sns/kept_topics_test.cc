// SPDX-License-Identifier: Apache-2.0
// The parsed topics that a thread caches: their account covers their allocated bytes, and has a
// limit.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>

#include "proto/sns/topic.h"
#include "tests/core/allocations.h"

namespace pawl {
namespace {

// Runs the work in a new thread, which has no cached topics; no other thread allocates meanwhile.
template <typename Work>
void in_a_thread(Work work) {
  std::thread(work).join();
}

// A topic whose subscriptions have filters of `texts` texts each.
ConfigPtr make_row(std::uint32_t id, int subscriptions, int texts) {
  auto row = std::make_shared<QueueConfig>();
  row->id = QueueId{id};
  row->set_name(topic_account("000000000000"), "topic-with-a-long-name-" + std::to_string(id));
  row->apply({Attribute::topic, -1, R"({"attributes":{"DisplayName":"a display name"}})"});
  for (int n = 1; n <= subscriptions; ++n) {
    std::string policy = R"({"colour":[)";
    for (int text = 0; text < texts; ++text)
      policy += (text == 0 ? "\"" : ",\"") + std::to_string(text) + "\"";
    policy +=
        R"(,{"prefix":"a-prefix-of-the-colour"}],"size":[{"anything-but":["large","small"]}]})";
    SnsSubscription one{.id = "0123456789abcdef0123456789abcdef" + std::to_string(n),
                        .endpoint = "arn:aws:sqs:us-east-1:000000000000:q" + std::to_string(n),
                        .attributes = {{"FilterPolicy", policy}}};
    row->apply({Attribute::topic_row, n, one.json()});
  }
  return row;
}

struct Held {
  std::uint64_t account = 0, bytes = 0;
};

// The bytes held after each topic was used once and deleted. Rows count, because only the cache
// holds them.
Held keep(std::uint32_t topics, int subscriptions, int texts) {
  Held held;
  in_a_thread([&] {
    const std::uint64_t before = test::BrokerMemory::held();
    for (std::uint32_t id = 1; id <= topics; ++id) {
      const test::BrokerMemory scope;
      const auto topic = topic_of(make_row(id, subscriptions, texts));
      ASSERT_EQ(topic->subscriptions.size(), static_cast<std::size_t>(subscriptions));
      ASSERT_NE(topic->subscriptions.back().filter, nullptr);
    }
    held = {kept_topics_bytes(), test::BrokerMemory::held() - before};
  });
  std::printf("%u topics of %d subscriptions: account %lu held %lu\n", topics, subscriptions,
              held.account, held.bytes);
  return held;
}

void expect_covered(const Held& held) {
  EXPECT_LE(held.bytes, held.account + held.account * 15 / 100 + (256 << 10));
  EXPECT_LE(held.account, held.bytes + held.bytes / 4);  // nor is it much too large
}

TEST(KeptTopics, AreCovered) {
  expect_covered(keep(1'000, 1, 1));
  expect_covered(keep(200, 20, 2));
  expect_covered(keep(20, 50, 100));
}

TEST(KeptTopics, HaveALimitInBytes) {
  const Held held = keep(300, 50, 100);
  EXPECT_LE(held.account, kept_topics_bytes_max);
  expect_covered(held);
}

TEST(KeptTopics, HaveALimitInNumber) {
  const Held held = keep(4'000, 1, 1);
  EXPECT_GE(held.account, kept_topics_max * 1'000);
  EXPECT_LE(held.account, kept_topics_max * 4'000);
  expect_covered(held);
}

TEST(KeptTopics, TakeTheNewRowOfAKnownTopic) {
  in_a_thread([] {
    const ConfigPtr row = make_row(1, 1, 1);
    const auto topic = topic_of(row);
    const std::size_t bytes = kept_topics_bytes();
    EXPECT_EQ(topic_of(row), topic);
    EXPECT_EQ(topic_of(make_row(1, 2, 1))->subscriptions.size(), 2u);
    EXPECT_GT(kept_topics_bytes(), bytes);
    EXPECT_LT(kept_topics_bytes(), 2 * bytes);
    EXPECT_EQ(topic_of(row)->subscriptions.size(), 1u);
    EXPECT_EQ(kept_topics_bytes(), bytes);
  });
}

}  // namespace
}  // namespace pawl

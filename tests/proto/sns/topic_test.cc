// SPDX-License-Identifier: Apache-2.0
// A topic and its rows in the directory.
#include "proto/sns/topic.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace pawl {
namespace {

// Makes what the control shard makes of a change.
QueueConfig changed(const QueueConfig& row, const SnsTopic& after) {
  QueueConfig next = row;
  for (const AttributeChange& change : changes_between(row, SnsTopic::from(row), after))
    next.apply(change);
  return next;
}

QueueConfig row_with(std::string_view text) {
  QueueConfig row;
  row.apply({Attribute::topic, -1, std::string(text)});
  return row;
}

TEST(SnsTopic, KeepsWhatItWasSetTo) {
  SnsTopic topic;
  set_value(topic.attributes, "DisplayName", "\"quoted\"\n");
  topic.subscriptions.push_back({.id = "i", .endpoint = "arn:aws:sqs:r:000000000000:q"});
  set_value(topic.subscriptions[0].attributes, "FilterPolicy", R"({"a":["\u00e9"]})");
  set_value(topic.subscriptions[0].attributes, "RawMessageDelivery", "true");
  topic.subscriptions[0].created = Instant{1'764'400'000'123};
  const SnsTopic back = SnsTopic::from(changed(QueueConfig{}, topic));
  EXPECT_EQ(back.json(), topic.json());
  ASSERT_EQ(back.subscriptions.size(), 1u);
  EXPECT_EQ(back.subscriptions[0].json(), topic.subscriptions[0].json());
  EXPECT_TRUE(back.subscriptions[0].raw);
  EXPECT_TRUE(back.subscriptions[0].usable);
  EXPECT_EQ(back.subscriptions[0].queue, "q");
  EXPECT_EQ(back.subscriptions[0].created, Instant{1'764'400'000'123});
  EXPECT_TRUE(SnsTopic::from(row_with("{")).subscriptions.empty());
  EXPECT_TRUE(SnsTopic::from({}).subscriptions.empty());  // no null pointer for the parser
}

TEST(SnsTopic, ASubscriptionThatIsDamagedStaysAndGetsNothing) {
  const QueueConfig row =
      row_with(R"({"subscriptions":[{"id":"i","endpoint":"x","attributes":{}},7]})");
  const SnsTopic topic = SnsTopic::from(row);
  ASSERT_EQ(topic.subscriptions.size(), 1u);
  EXPECT_FALSE(topic.subscriptions[0].usable);
  EXPECT_TRUE(changed(row, topic).rows[0]->text.contains(R"("id":"i")"));
}

// Before, the thousandth subscription wrote all thousand: 116,035 bytes of JSON.
TEST(SnsTopic, OneSubscriptionMoreChangesOneRow) {
  QueueConfig row = row_with(R"({"attributes":{}})");
  for (int i = 1; i <= 200; ++i) {
    SnsTopic after = SnsTopic::from(row);
    after.subscriptions.push_back({.id = fmt::format("00000000-0000-4000-8000-{:012}", i),
                                   .endpoint = "arn:aws:sqs:us-east-1:000000000000:queue"});
    const auto changes = changes_between(row, SnsTopic::from(row), after);
    ASSERT_EQ(changes.size(), 1u);
    EXPECT_EQ(changes[0].attribute, Attribute::topic_row);
    EXPECT_LE(changes[0].text.size(), 200u);
    row = changed(row, after);
  }
  const SnsTopic all = SnsTopic::from(row);
  ASSERT_EQ(all.subscriptions.size(), 200u);
  EXPECT_TRUE(std::ranges::is_sorted(all.subscriptions, {}, &SnsSubscription::id))
      << "as they came";
  SnsTopic after = all;
  set_value(after.subscriptions[99].attributes, "RawMessageDelivery", "true");
  after.subscriptions.erase(after.subscriptions.begin() + 150);
  const auto changes = changes_between(row, all, after);
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(SnsTopic::from(changed(row, after)).subscriptions.size(), 199u);
  EXPECT_TRUE(SnsTopic::from(changed(row, after)).subscriptions[99].raw);
}

// Topics from before format version 3 have all subscriptions in the attribute.
TEST(SnsTopic, TheFirstChangeOfAnOldTopicMakesRowsOfItsSubscriptions) {
  const QueueConfig old = row_with(R"({"attributes":{"DisplayName":"d"},"subscriptions":[
      {"id":"1","endpoint":"arn:aws:sqs:r:000000000000:q","attributes":{}},
      {"id":"2","endpoint":"arn:aws:sqs:r:000000000000:p","attributes":{}}]})");
  SnsTopic after = SnsTopic::from(old);
  ASSERT_EQ(after.subscriptions.size(), 2u);
  after.subscriptions.erase(after.subscriptions.begin());
  const QueueConfig row = changed(old, after);
  EXPECT_EQ(row.text(Attribute::topic), R"({"attributes":{"DisplayName":"d"}})");
  ASSERT_EQ(row.rows.size(), 1u);
  ASSERT_EQ(SnsTopic::from(row).subscriptions.size(), 1u);
  EXPECT_EQ(SnsTopic::from(row).subscriptions[0].id, "2");
  // Recovery may find the rows, but not yet the attribute without them: no subscription is doubled.
  QueueConfig between = old;
  between.rows = row.rows;
  EXPECT_EQ(SnsTopic::from(between).subscriptions.size(), 2u);
}

TEST(SnsTopic, HasTheBytesOfItsAttributesAndRowsAfterAChange) {
  const QueueConfig row = row_with(R"({"attributes":{}})");
  SnsTopic after = SnsTopic::from(row);
  after.subscriptions.push_back({.id = "1", .endpoint = "arn:aws:sqs:r:1:q"});
  const auto changes = changes_between(row, SnsTopic::from(row), after);
  EXPECT_EQ(topic_bytes(row, {}), row.text(Attribute::topic).size());
  EXPECT_EQ(topic_bytes(row, changes), after.json().size() + after.subscriptions[0].json().size());
  EXPECT_TRUE(row.rows.empty()) << "the row itself does not change";
}

TEST(SnsAttributes, AreSortedAndDeletedByAnEmptyValue) {
  SnsAttributes attributes;
  for (const char* name : {"b", "c", "a"}) set_value(attributes, name, "1");
  set_value(attributes, "b", "2");
  EXPECT_EQ(attributes, (SnsAttributes{
                            {"a", "1"},
                            {"b", "2"},
                            {"c", "1"}
  }));
  set_value(attributes, "b", "");
  set_value(attributes, "d", "");
  EXPECT_EQ(attributes, (SnsAttributes{
                            {"a", "1"},
                            {"c", "1"}
  }));
  EXPECT_EQ(value_of(attributes, "c"), "1");
  EXPECT_EQ(value_of(attributes, "b"), "");
}

TEST(SnsSubscription, NamesTheAttributeThatCannotBeUsed) {
  constexpr std::string_view good = "arn:aws:sqs:r:1:q";
  constexpr struct {
    std::string_view endpoint, name, value, why;
  } cases[] = {
      {"q",                 "",                   "",                                               "SQS endpoint ARN"                       },
      {"arn:aws:sns:r:1:q", "",                   "",                                               "SQS endpoint ARN"                       },
      {good,                "RawMessageDelivery", "yes",                                            "RawMessageDelivery: Invalid value [yes]"},
      {good,                "FilterPolicyScope",  "Body",                                           "FilterPolicyScope: Invalid value [Body]"},
      {good,                "FilterPolicy",       "{",                                              "FilterPolicy: "                         },
      {good,                "RedrivePolicy",      "[",                                              "RedrivePolicy: failed to parse"         },
      {good,                "RedrivePolicy",      "{}",                                             "RedrivePolicy: deadLetterTarget"        },
      {good,                "RedrivePolicy",      R"({"deadLetterTargetArn":"arn:aws:sqs:r:2:d"})",
       "of the same account"                                                                                                                 },
  };
  for (const auto& c : cases) {
    SnsSubscription subscription{.id = "1", .endpoint = std::string(c.endpoint)};
    set_value(subscription.attributes, c.name, c.value);
    std::string why;
    EXPECT_FALSE(subscription.prepare(why)) << c.name << c.value;
    EXPECT_TRUE(why.contains(c.why)) << why;
  }
}

TEST(SnsSubscription, DerivesItsQueueItsFilterAndItsDeadLetterQueue) {
  SnsSubscription subscription{.id = "1", .endpoint = "arn:aws:sqs:r:1:q"};
  set_value(subscription.attributes, "RawMessageDelivery", "true");
  set_value(subscription.attributes, "FilterPolicy", R"({"a":["1"]})");
  set_value(subscription.attributes, "FilterPolicyScope", "MessageBody");
  set_value(subscription.attributes, "RedrivePolicy",
            R"({"deadLetterTargetArn":"arn:aws:sqs:r:1:d"})");
  std::string why;
  ASSERT_TRUE(subscription.prepare(why)) << why;
  EXPECT_EQ(subscription.account, "1");
  EXPECT_EQ(subscription.queue, "q");
  EXPECT_EQ(subscription.dead_letter_queue, "d");
  EXPECT_TRUE(subscription.raw);
  ASSERT_NE(subscription.filter, nullptr);
  EXPECT_TRUE(subscription.filter->matches("", R"({"a":"1"})"));
  EXPECT_FALSE(subscription.filter->matches("", R"({"a":"2"})"));
  subscription.attributes.clear();
  ASSERT_TRUE(subscription.prepare(why)) << why;
  EXPECT_FALSE(subscription.raw);
  EXPECT_EQ(subscription.filter, nullptr) << "it wants every message";
  EXPECT_EQ(subscription.dead_letter_queue, "");
}

TEST(SnsTopic, HasAnAccountThatNoQueueCanHave) {
  EXPECT_EQ(topic_account("000000000000"), "sns/000000000000");
  EXPECT_EQ(kind_of(topic_account("000000000000")), ConfigKind::topic);
  EXPECT_EQ(kind_of("000000000000"), ConfigKind::queue);
  EXPECT_EQ(owning_account(topic_account("000000000000")), "000000000000");
}

}  // namespace
}  // namespace pawl

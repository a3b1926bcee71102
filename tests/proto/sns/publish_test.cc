// SPDX-License-Identifier: Apache-2.0
// Publishing: to whom a message goes, in which form, and what happens where it cannot.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "proto/aws/message_attributes.h"
#include "proto/sns/filter_policy.h"
#include "proto/text/json_value.h"
#include "proto/text/text.h"
#include "tests/proto/sns/fixture.h"

namespace pawl {
namespace {

std::string member(const std::string& json, std::string_view key) {
  const auto members = json_members(json);
  if (!members) return "not JSON";
  const auto it = std::ranges::find(*members, key, &JsonMember::key);
  return it == members->end() ? "absent" : it->text;
}

TEST_F(SnsTest, EnvelopedMessagesSayWhereTheyComeFrom) {
  const std::string topic = make_topic("t"), arn = subscribe(topic, "q");
  now = Instant{1'700'000'000'123};
  const SqsResponse answer =
      publish(topic, "&Message=hello+%22you%22&Subject=greeting" + message_attribute(1, "a", "x"));
  ASSERT_EQ(answer.status, 200) << answer.body;
  ASSERT_EQ(bodies_of("q").size(), 1u);
  const std::string body = bodies_of("q")[0];
  EXPECT_EQ(member(body, "Type"), "Notification");
  EXPECT_EQ(member(body, "MessageId"), element(answer, "MessageId"));
  EXPECT_EQ(member(body, "TopicArn"), topic);
  EXPECT_EQ(member(body, "Subject"), "greeting");
  EXPECT_EQ(member(body, "Message"), "hello \"you\"");
  EXPECT_EQ(member(body, "Timestamp"), "2023-11-14T22:13:20.123Z");
  EXPECT_EQ(member(body, "SignatureVersion"), "1");
  EXPECT_EQ(
      member(body, "UnsubscribeURL"),
      "http://broker.test:9324/?Action=Unsubscribe&Version=2010-03-31&SubscriptionArn=" + arn);
  EXPECT_TRUE(body.contains(R"("MessageAttributes":{"a":{"Type":"String","Value":"x"}})")) << body;
  EXPECT_EQ(member(body, "SequenceNumber"), "absent");
  EXPECT_EQ(broker.messages[0].attributes, "");
}

TEST_F(SnsTest, ABodyIsParsedOnceForAllFilters) {
  const std::string topic = make_topic("t");
  for (const char* queue : {"a", "b", "c", "d", "e"}) {
    subscribe(topic, queue,
              attribute(1, "FilterPolicyScope", "MessageBody") +
                  attribute(2, "FilterPolicy", R"({"store":["shop"]})"));
  }
  const std::uint64_t before = FilterBody::parses();
  publish(topic, R"(&Message={"store":"shop"})");
  EXPECT_EQ(broker.messages.size(), 5u);
  EXPECT_EQ(FilterBody::parses() - before, 1u);
}

// A JSON list of so many texts; of a filter or of a message.
std::string texts(std::string_view prefix, int count) {
  std::string out = "[";
  for (int i = 0; i < count; ++i) out += fmt::format("{}\"{}{}\"", i == 0 ? "" : ",", prefix, i);
  return out + "]";
}

// One request does not keep its shard from others for longer than some 100,000 comparisons.
TEST_F(SnsTest, APublishThatComparesMuchLetsOthersHaveTheirTurn) {
  const std::string topic = make_topic("t");
  const auto want = [&](const std::string& queue, const std::string& values) {
    subscribe(topic, queue,
              std::string(raw) + attribute(1, "FilterPolicyScope", "MessageBody") +
                  attribute(2, "FilterPolicy", R"({"items":)" + values + "}"));
  };
  for (int i = 0; i < 8; ++i) want(fmt::format("q{}", i), texts("none", 150));
  want("wanted", R"(["i9999"])");
  const std::string message = R"({"items":)" + texts("i", 10'000) + "}";
  const int before = broker.seen[Op::none];
  EXPECT_EQ(publish(topic, "&Message=" + message).status, 200);
  EXPECT_GE(broker.seen[Op::none] - before, 8) << "70,000 comparisons for each of eight";
  EXPECT_TRUE(bodies_of("wanted") == std::vector<std::string>{message});
  EXPECT_EQ(broker.messages.size(), 1u);
  const int long_ones = broker.seen[Op::none];
  EXPECT_EQ(publish(topic, R"(&Message={"items":["i9999"]})").status, 200);
  EXPECT_EQ(broker.seen[Op::none], long_ones) << "a short one takes one turn";
  EXPECT_EQ(bodies_of("wanted").size(), 2u);
}

TEST_F(SnsTest, AMessageThatTakesTooManyComparisonsIsRefused) {
  const std::string topic = make_topic("t");
  subscribe(topic, "all", raw);
  const std::string arn = subscribe(
      topic, "q",
      std::string(raw) + attribute(1, "FilterPolicyScope", "MessageBody") +
          attribute(2, "FilterPolicy", R"({"items":[{"anything-but":["i1"]},{"prefix":"a"}]})"));
  for (const char* list : {"i", "a"}) {
    const SqsResponse answer = publish(topic, R"(&Message={"items":)" + texts(list, 29'000) + "}");
    EXPECT_EQ(answer.status, 200) << answer.body;
  }
  subscribe(topic, "many",
            std::string(raw) + attribute(1, "FilterPolicyScope", "MessageBody") +
                attribute(2, "FilterPolicy",
                          R"({"items":[{"prefix":"n1"},{"prefix":"n2"},{"prefix":"n3"},)"
                          R"({"prefix":"n4"},{"prefix":"n5"},{"prefix":"n6"}]})"));
  const std::size_t sent = broker.messages.size();
  const std::string message = R"({"items":)" + texts("i", 29'000) + "}";
  const SqsResponse answer = publish(topic, "&Message=" + message);
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(element(answer, "Code"), "InvalidParameter");
  EXPECT_TRUE(element(answer, "Message").contains("takes more than 200000 comparisons"))
      << answer.body;
  EXPECT_EQ(broker.messages.size(), sent) << "no subscription gets it";
  const SqsResponse batch =
      sns("PublishBatch",
          "&TopicArn=" + topic +
              "&PublishBatchRequestEntries.member.1.Id=a&PublishBatchRequestEntries.member.1."
              "Message=" +
              message +
              "&PublishBatchRequestEntries.member.2.Id=b&PublishBatchRequestEntries.member.2."
              "Message=short");
  EXPECT_EQ(batch.status, 200) << batch.body;
  EXPECT_TRUE(bodies_of("all").back() == "short");
  EXPECT_EQ(broker.messages.size(), sent + 1) << "the other entry is no JSON";
}

TEST_F(SnsTest, RawMessagesAreTheMessageAndItsAttributes) {
  const std::string topic = make_topic("t");
  subscribe(topic, "q", raw);
  publish(topic, "&Message=m&Subject=s" + message_attribute(1, "n", "7", "Number") +
                     "&MessageAttributes.entry.2.Name=b&MessageAttributes.entry.2.Value.DataType="
                     "Binary&MessageAttributes.entry.2.Value.BinaryValue=AAE%3D");
  ASSERT_EQ(bodies_of("q"), std::vector<std::string>{"m"});
  std::string want;
  append_attribute(want, {"b", "Binary", AttributeKind::bytes, std::string_view("\0\1", 2)});
  append_attribute(want, {"n", "Number", AttributeKind::text, "7"});
  EXPECT_EQ(broker.messages[0].attributes, want);
}

TEST_F(SnsTest, RawMessagesHaveAtMostTenAttributes) {
  const std::string topic = make_topic("t");
  subscribe(topic, "raw", raw);
  subscribe(topic, "enveloped");
  std::string more = "&Message=m";
  for (int i = 1; i <= 11; ++i) more += message_attribute(i, fmt::format("a{}", i), "x");
  EXPECT_EQ(publish(topic, more).status, 200);
  EXPECT_EQ(bodies_of("raw").size(), 0u);
  EXPECT_EQ(bodies_of("enveloped").size(), 1u);
}

TEST_F(SnsTest, EachSubscriptionGetsWhatItsPolicyWants) {
  const std::string topic = make_topic("t");
  subscribe(topic, "all", raw);
  subscribe(topic, "red",
            std::string(raw) + attribute(1, "FilterPolicy", "%7B%22c%22:%5B%22red%22%5D%7D"));
  subscribe(topic, "body",
            std::string(raw) + attribute(1, "FilterPolicy", "%7B%22c%22:%5B%22red%22%5D%7D") +
                attribute(2, "FilterPolicyScope", "MessageBody"));
  publish(topic, "&Message=1" + message_attribute(1, "c", "red"));
  publish(topic, "&Message=2" + message_attribute(1, "c", "blue"));
  publish(topic, "&Message=%7B%22c%22:%22red%22%7D");
  EXPECT_EQ(bodies_of("all").size(), 3u);
  EXPECT_EQ(bodies_of("red"), std::vector<std::string>{"1"});
  EXPECT_EQ(bodies_of("body"), std::vector<std::string>{R"({"c":"red"})"});
}

TEST_F(SnsTest, AFifoTopicKeepsGroupsAndDeduplicates) {
  const std::string fifo = attribute(1, "FifoTopic", "true");
  const std::string topic =
      make_topic("t.fifo", fifo + attribute(2, "ContentBasedDeduplication", "true"));
  subscribe(topic, "q.fifo", raw);
  subscribe(topic, "e.fifo");
  subscribe(topic, "standard", raw);
  const SqsResponse first = publish(topic, "&Message=m&MessageGroupId=g");
  ASSERT_EQ(first.status, 200) << first.body;
  const SqsResponse second =
      publish(topic, "&Message=m2&MessageGroupId=g&MessageDeduplicationId=d");
  const std::string number = element(first, "SequenceNumber");
  EXPECT_EQ(number.size(), 20u);
  EXPECT_LT(number, element(second, "SequenceNumber"));
  EXPECT_EQ(publish(topic, "&Message=m&MessageGroupId=g").status, 200) << "a duplicate";
  EXPECT_EQ(bodies_of("q.fifo"), (std::vector<std::string>{"m", "m2"}));
  ASSERT_EQ(bodies_of("e.fifo").size(), 2u);
  EXPECT_EQ(member(bodies_of("e.fifo")[0], "SequenceNumber"), number);
  EXPECT_EQ(member(bodies_of("e.fifo")[0], "Signature"), "absent");
  EXPECT_EQ(bodies_of("standard"), (std::vector<std::string>{"m", "m2"}));
  for (const auto& m : broker.messages) EXPECT_EQ(m.group.empty(), m.dedup_id.empty());
  expect_fault(publish(topic, "&Message=m"), 400, "InvalidParameter",
               "Invalid parameter: The MessageGroupId parameter is required for FIFO topics");
  const std::string strict = make_topic("s.fifo", fifo);
  expect_fault(publish(strict, "&Message=m&MessageGroupId=g"), 400, "InvalidParameter",
               "Invalid parameter: The topic should either have ContentBasedDeduplication enabled "
               "or MessageDeduplicationId provided explicitly");
  expect_fault(publish(make_topic("t"), "&Message=m&MessageDeduplicationId=d"), 400,
               "InvalidParameter",
               "Invalid parameter: MessageDeduplicationId Reason: The request includes "
               "MessageDeduplicationId parameter that is not valid for this topic type");
}

TEST_F(SnsTest, AGroupPassesFromStandardToStandard) {
  const std::string topic = make_topic("t");
  subscribe(topic, "q", raw);
  EXPECT_EQ(publish(topic, "&Message=m&MessageGroupId=tenant").status, 200);
  EXPECT_EQ(broker.messages.back().group, "tenant");
}

TEST_F(SnsTest, MessageStructureGivesQueuesTheirOwnText) {
  const std::string topic = make_topic("t");
  subscribe(topic, "q", raw);
  const auto structured = [&](std::string_view json) {
    return publish(topic, fmt::format("&MessageStructure=json&Message={}", json));
  };
  EXPECT_EQ(structured("%7B%22default%22:%22d%22,%22sqs%22:%22s%22%7D").status, 200);
  EXPECT_EQ(structured("%7B%22default%22:%22d%22%7D").status, 200);
  EXPECT_EQ(bodies_of("q"), (std::vector<std::string>{"s", "d"}));
  expect_fault(structured("%7B%22sqs%22:%22s%22%7D"), 400, "InvalidParameter",
               "Invalid parameter: Message Structure - No default entry in JSON message body");
  expect_fault(structured("%7B"), 400, "InvalidParameter",
               "Invalid parameter: Message Structure - JSON message body failed to parse");
  expect_fault(publish(topic, "&MessageStructure=xml&Message=m"), 400, "InvalidParameter",
               "Invalid parameter: MessageStructure");
}

TEST_F(SnsTest, WhatAMessageMustBe) {
  const std::string topic = make_topic("t");
  subscribe(topic, "q", raw);
  const auto refused = [&](const std::string& more, std::string_view code, std::string_view text) {
    expect_fault(publish(topic, more), 400, code, text);
  };
  refused("", "InvalidParameter", "Invalid parameter: Empty message");
  refused("&Message=m&Subject=a%0Ab", "InvalidParameter", "Invalid parameter: Subject");
  refused("&Message=m&Subject=" + std::string(101, 's'), "InvalidParameter",
          "Invalid parameter: Subject");
  refused("&Message=" + std::string(SnsCall::message_bytes_max + 1, 'm'), "InvalidParameter",
          "Invalid parameter: Message too long");
  refused(
      "&Message=" + std::string(SnsCall::message_bytes_max, 'm') + message_attribute(1, "a", "x"),
      "InvalidParameter", "Invalid parameter: Message too long");
  refused("&Message=m" + message_attribute(1, "a", ""), "ParameterValueInvalid",
          "Message (user) attribute 'a' must contain a non-empty value of type 'String'.");
  refused("&Message=m" + message_attribute(1, "a", "x") + message_attribute(2, "a", "x"),
          "ParameterValueInvalid", "Message attribute name 'a' already exists.");
  EXPECT_EQ(publish(topic, "&Message=%08").status, 400);
  EXPECT_EQ(publish(topic, "&Message=" + std::string(SnsCall::message_bytes_max, 'm')).status, 200);
  EXPECT_EQ(bodies_of("q").size(), 1u);
  expect_fault(sns("Publish", "&Message=m"), 400, "InvalidParameter",
               "Invalid parameter: TopicArn or TargetArn Reason: no value for required parameter");
  expect_fault(sns("Publish", "&Message=m&TopicArn=t"), 400, "InvalidParameter",
               "Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 1");
  EXPECT_EQ(sns("Publish", "&Message=m&TargetArn=" + topic).status, 200);
}

TEST_F(SnsTest, TextsOfRefusalsAreXmlForEveryParser) {
  const std::string topic = make_topic("t");
  const std::string entry = "&PublishBatchRequestEntries.member.1.";
  for (const std::string_view name : {"a%3C%26b", "a%01b", "a%EF%BF%BEb", "a%FFb"}) {
    const SqsResponse answer =
        sns("PublishBatch", "&TopicArn=" + topic + entry + "Id=a" + entry + "Message=m" + entry +
                                fmt::format("MessageAttributes.entry.1.Name={}", name) + entry +
                                "MessageAttributes.entry.1.Value.DataType=String" + entry +
                                "MessageAttributes.entry.1.Value.StringValue=v");
    EXPECT_EQ(answer.status, 400);
    EXPECT_EQ(element(answer, "Code"), "ParameterValueInvalid") << name;
    const std::string text = element(answer, "Message");
    EXPECT_TRUE(text.contains("'a")) << text;
    EXPECT_EQ(check_text(text), TextFault::none) << name << ": " << text;
  }
}

TEST_F(SnsTest, ABatchIsAnsweredEntryByEntry) {
  const std::string topic = make_topic("t");
  subscribe(topic, "q", raw);
  const std::string list = "&PublishBatchRequestEntries.member.";
  const std::string entries = list + "1.Id=a" + list + "1.Message=1" + list + "2.Id=b" + list +
                              "2.Message=" + list + "3.Id=c" + list + "3.Message=3" + list +
                              "3.MessageAttributes.entry.1.Name=k" + list +
                              "3.MessageAttributes.entry.1.Value.DataType=String" + list +
                              "3.MessageAttributes.entry.1.Value.StringValue=v";
  const SqsResponse answer = sns("PublishBatch", "&TopicArn=" + topic + entries);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(broker.seen[Op::fan_out], 2) << "one for each message";
  EXPECT_EQ(bodies_of("q"), (std::vector<std::string>{"1", "3"}));
  EXPECT_FALSE(broker.messages[1].attributes.empty());
  const std::size_t failed = answer.body.find("<Failed>");
  EXPECT_EQ(count(answer, "<MessageId>"), 2u);
  EXPECT_NE(answer.body.find("<Id>b</Id><Code>InvalidParameter</Code>", failed), std::string::npos);

  const auto refused = [&](const std::string& more, std::string_view code) {
    const SqsResponse refusal = sns("PublishBatch", "&TopicArn=" + topic + more);
    EXPECT_EQ(refusal.status, 400);
    EXPECT_EQ(element(refusal, "Code"), code);
  };
  refused("", "EmptyBatchRequest");
  refused(list + "1.Id=a" + list + "1.Message=1" + list + "2.Id=a" + list + "2.Message=1",
          "BatchEntryIdsNotDistinct");
  refused(list + "1.Id=a.b" + list + "1.Message=1", "InvalidBatchEntryId");
  std::string eleven, large;
  for (int i = 1; i <= 11; ++i) eleven += fmt::format("{0}{1}.Id=i{1}{0}{1}.Message=m", list, i);
  refused(eleven, "TooManyEntriesInBatchRequest");
  for (int i = 1; i <= 3; ++i) {
    large += fmt::format("{0}{1}.Id=i{1}{0}{1}.Message={2}", list, i, std::string(100'000, 'm'));
  }
  refused(large, "BatchRequestTooLong");
}

TEST_F(SnsTest, AShardGetsAMessageOnceForAllItsQueues) {
  const std::string topic = make_topic("t");
  for (int i = 0; i < 40; ++i) subscribe(topic, fmt::format("q{}", i));
  broker.seen.clear();
  EXPECT_EQ(publish(topic, "&Message=m").status, 200);
  EXPECT_EQ(broker.seen[Op::fan_out], 1);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(bodies_of(fmt::format("q{}", i)).size(), 1u) << i;
  EXPECT_LE(call.routes().size(), SnsCall::routes_max);
}

TEST_F(SnsTest, ATopicWithoutSubscriptionsTakesEverything) {
  EXPECT_EQ(publish(make_topic("t"), "&Message=m").status, 200);
}

TEST_F(SnsTest, APublishFailsIfAQueueCannotTakeItNow) {
  const std::string topic = make_topic("t");
  subscribe(topic, "q", raw);
  broker.refuse_with = Errc::no_space;
  const SqsResponse full = publish(topic, "&Message=m");
  EXPECT_EQ(full.status, 429);
  EXPECT_EQ(element(full, "Code"), "Throttled");
  EXPECT_TRUE(element(full, "Message").contains("disk is full"));
  broker.refuse_with = Errc::io;
  EXPECT_EQ(publish(topic, "&Message=m").status, 500);
  broker.refuse_with = Errc::ok;
  broker.refuse_entries = {Errc::no_memory};
  EXPECT_EQ(publish(topic, "&Message=m").status, 429);
}

TEST_F(SnsTest, WhatAQueueCanNeverTakeGoesToTheSubscriptionsDeadLetterQueue) {
  const std::string topic = make_topic("t");
  make_queue("dead");
  const std::string redrive =
      attribute(1, "RedrivePolicy",
                "%7B%22deadLetterTargetArn%22:%22arn:aws:sqs:us-east-1:000000000000:dead%22%7D");
  make_queue("small", R"({"MaximumMessageSize":"1024"})");
  sns("Subscribe", "&TopicArn=" + topic +
                       "&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:000000000000:small" +
                       std::string(raw) + redrive);
  subscribe(topic, "gone", std::string(raw) + redrive);
  subscribe(topic, "lost", raw);
  for (const std::string_view queue : {"gone", "lost"}) {
    broker.directory.drop((*broker.directory.find("000000000000", queue))->id);
  }
  EXPECT_EQ(publish(topic, "&Message=" + std::string(1025, 'm')).status, 200);
  EXPECT_EQ(bodies_of("small").size(), 0u);
  const auto dead = bodies_of("dead");
  ASSERT_EQ(dead.size(), 2u) << "once for each subscription";
  EXPECT_EQ(dead[0], std::string(1025, 'm')) << "raw, as the subscription is";

  // A queue that is deleted while the message is on its way, and a dead-letter queue that is too.
  subscribe(topic, "going", std::string(raw) + redrive);
  broker.refuse_with = Errc::no_such_queue;
  EXPECT_EQ(publish(topic, "&Message=m").status, 200);
}

TEST_F(SnsTest, APublishToAQueueWithoutMessageNumbersSaysWhatToDo) {
  const std::string topic = make_topic("t");
  subscribe(topic, "q", raw);
  broker.refuse_entries = {Errc::message_numbers_used_up};
  const SqsResponse refused = publish(topic, "&Message=m");
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(element(refused, "Code"), "InvalidParameter");
  EXPECT_EQ(element(refused, "Message"),
            "All message numbers of the subscribed queue q were used: it takes no more messages. "
            "Receive what is left in it, and subscribe a new queue instead.");
}

TEST_F(SnsTest, APublishToAQueueWithoutMessageNumbersGoesToTheDeadLetterQueue) {
  const std::string topic = make_topic("t");
  make_queue("dead");
  subscribe(topic, "q",
            std::string(raw) +
                attribute(1, "RedrivePolicy",
                          "%7B%22deadLetterTargetArn%22:%22arn:aws:sqs:us-east-1:000000000000:dead"
                          "%22%7D"));
  broker.refuse_entries = {Errc::message_numbers_used_up};
  const SqsResponse answer = publish(topic, "&Message=m");
  EXPECT_EQ(answer.status, 400) << "the dead-letter queue is refused as well";
  EXPECT_EQ(broker.seen[Op::fan_out], 2);
  EXPECT_TRUE(element(answer, "Message").contains("queue dead")) << element(answer, "Message");
}

TEST_F(SnsTest, WithoutKeysAnyAccountMayBeWritten) {
  make_topic("t");
  EXPECT_EQ(publish("arn:aws:sns:us-east-1:999999999999:t", "&Message=m").status, 200);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Topics and subscriptions of SNS: made, listed, changed, refused.

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>

#include "proto/aws/tags.h"
#include "proto/sns/topic.h"
#include "tests/proto/sns/fixture.h"

namespace pawl {
namespace {

TEST_F(SnsTest, CreateTopicIsIdempotent) {
  const std::string arn = make_topic("t", attribute(1, "DisplayName", "d"));
  EXPECT_EQ(arn, "arn:aws:sns:us-east-1:000000000000:t");
  EXPECT_EQ(make_topic("t"), arn);
  EXPECT_EQ(make_topic("t", attribute(1, "DisplayName", "d")), arn);
  EXPECT_EQ(broker.seen[Op::create_queue], 1);
  expect_fault(sns("CreateTopic", "&Name=t" + attribute(1, "DisplayName", "e")), 400,
               "InvalidParameter",
               "Invalid parameter: Attributes Reason: Topic already exists with different "
               "attributes");
  expect_fault(sns("CreateTopic", "&Name=t&Tags.member.1.Key=k&Tags.member.1.Value=v"), 400,
               "InvalidParameter",
               "Invalid parameter: Tags Reason: Topic already exists with different tags");
}

TEST_F(SnsTest, ATopicThatSomebodyElseMadeMeanwhileIsTheSameTopic) {
  const SqsResponse answer = sns("CreateTopic", "&Name=t");
  const ConfigPtr row = *broker.directory.find(topic_account("000000000000"), "t");
  SnsTopic changed = *topic_of(row);
  changed.attributes = {
      {"DisplayName", "theirs"}
  };
  auto theirs = std::make_shared<QueueConfig>(*row);
  theirs->apply({Attribute::topic, -1, changed.json()});
  broker.directory.drop(row->id);

  // The directory of the caller's shard does not know it yet; the control shard does.
  Directory before;
  std::swap(before, broker.directory);
  broker.refuse_with = Errc::queue_exists;
  broker.refused_with_config = theirs;
  EXPECT_EQ(sns("CreateTopic", "&Name=t").status, 200);
  EXPECT_EQ(sns("CreateTopic", "&Name=t" + attribute(1, "DisplayName", "mine")).status, 400);
}

TEST_F(SnsTest, AMissingQueueMayBeSubscribedWhenAskedToBeStrict) {
  const std::string topic = make_topic("t");
  const std::string subscribe_late = fmt::format(
      "&TopicArn={}&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:000000000000:late{}", topic, raw);
  EXPECT_EQ(sns("Subscribe", subscribe_late).status, 400);
  config.strict_sqs = true;
  EXPECT_EQ(sns("Subscribe", subscribe_late).status, 200);
  EXPECT_EQ(publish(topic, "&Message=early").status, 200);
  EXPECT_TRUE(broker.messages.empty());
  make_queue("late");
  EXPECT_EQ(publish(topic, "&Message=now").status, 200);
  EXPECT_EQ(bodies_of("late"), std::vector<std::string>{"now"});
}

TEST_F(SnsTest, TopicsAndQueuesOfOneNameAreTwoThings) {
  make_topic("same");
  make_queue("same");
  EXPECT_EQ(json("ListQueues", "{}").body,
            R"({"QueueUrls":["http://broker.test:9324/000000000000/same"]})");
  EXPECT_EQ(count(sns("ListTopics"), "<TopicArn>"), 1u);
  EXPECT_EQ(on_queue("GetQueueUrl", R"("QueueName":"other")").status, 400);
  make_topic("topic");
  EXPECT_EQ(
      json("GetQueueUrl", R"({"QueueName":"topic","QueueOwnerAWSAccountId":"sns/000000000000"})")
          .status,
      400);
}

TEST_F(SnsTest, NamesOfTopics) {
  const std::string_view wrong = "Invalid parameter: Topic Name";
  expect_fault(sns("CreateTopic", "&Name="), 400, "InvalidParameter", wrong);
  expect_fault(sns("CreateTopic", "&Name=a.b"), 400, "InvalidParameter", wrong);
  expect_fault(sns("CreateTopic", "&Name=t.fifo"), 400, "InvalidParameter", wrong);
  EXPECT_EQ(sns("CreateTopic", "&Name=" + std::string(257, 'n')).status, 400);
  EXPECT_EQ(sns("CreateTopic", "&Name=" + std::string(256, 'n')).status, 200);
  EXPECT_EQ(sns("CreateTopic", "&Name=t" + attribute(1, "FifoTopic", "true")).status, 400);
  EXPECT_EQ(sns("CreateTopic", "&Name=t.fifo" + attribute(1, "FifoTopic", "true")).status, 200);
}

TEST_F(SnsTest, AttributesOfTopics) {
  const std::string topic = make_topic("t"), at = "&TopicArn=" + topic;
  EXPECT_EQ(sns("SetTopicAttributes", at + "&AttributeName=DisplayName&AttributeValue=d").status,
            200);
  const SqsResponse all = sns("GetTopicAttributes", at);
  for (const std::string_view entry :
       {"<key>DisplayName</key><value>d</value>", "<key>Owner</key><value>000000000000</value>",
        "<key>SubscriptionsConfirmed</key><value>0</value>",
        "<key>TopicArn</key><value>arn:aws:sns:us-east-1:000000000000:t</value>"}) {
    EXPECT_TRUE(all.body.contains(entry)) << entry << "\n" << all.body;
  }
  EXPECT_FALSE(all.body.contains("FifoTopic"));
  expect_fault(sns("SetTopicAttributes", at + "&AttributeName=Colour&AttributeValue=red"), 400,
               "InvalidParameter",
               "Invalid parameter: Attributes Reason: Unknown attribute: Colour");
  EXPECT_EQ(sns("SetTopicAttributes", at + "&AttributeName=Policy&AttributeValue=%7B").status, 400);
  EXPECT_EQ(
      sns("SetTopicAttributes", at + "&AttributeName=ContentBasedDeduplication&AttributeValue=true")
          .status,
      400);
  expect_fault(sns("SetTopicAttributes", at + "&AttributeName=FifoTopic&AttributeValue=true"), 400,
               "InvalidParameter", "Invalid parameter: AttributeName");
  expect_fault(sns("GetTopicAttributes", at + "x"), 404, "NotFound", "Topic does not exist");
  expect_fault(sns("GetTopicAttributes"), 400, "InvalidParameter", "Invalid parameter: TopicArn");
}

TEST_F(SnsTest, AnAttributeOrTagNamedTwiceIsRefused) {
  expect_fault(sns("CreateTopic",
                   "&Name=t" + attribute(1, "DisplayName", "a") + attribute(2, "DisplayName", "a")),
               400, "InvalidParameter",
               "Invalid parameter: Attributes.entry names DisplayName twice: name it once");
  expect_fault(sns("CreateTopic",
                   "&Name=t&Tags.member.1.Key=k&Tags.member.1.Value=v"
                   "&Tags.member.2.Key=k&Tags.member.2.Value=v"),
               400, "InvalidParameter", "Invalid parameter: Duplicated keys are not allowed.");
}

// A text that JSON cannot hold would make the topic empty when it is read back.
TEST_F(SnsTest, AttributesAreOfTextThatCanBeSaidAgain) {
  const std::string topic = make_topic("t");
  const std::string subscription = subscribe(topic, "q");
  for (const std::string_view bytes : {"%FFx", "%01x", "a%00b", "%ED%A0%80"}) {
    const std::string value = "&AttributeValue=" + std::string(bytes);
    for (const std::string_view name : {"DisplayName", "KmsMasterKeyId", "TracingConfig"}) {
      EXPECT_EQ(sns("SetTopicAttributes",
                    fmt::format("&TopicArn={}&AttributeName={}{}", topic, name, value))
                    .status,
                400)
          << name << value;
    }
    EXPECT_EQ(sns("CreateTopic", "&Name=u" + attribute(1, "DisplayName", bytes)).status, 400);
    EXPECT_EQ(
        sns("SetSubscriptionAttributes",
            fmt::format("&SubscriptionArn={}&AttributeName=DeliveryPolicy{}", subscription, value))
            .status,
        400);
  }
  EXPECT_EQ(count(sns("ListSubscriptions"), "<SubscriptionArn>"), 1u);
}

TEST_F(SnsTest, ATopicIsNoLargerWhenItIsMadeThanWhenItIsChanged) {
  const std::string large(SnsTopic::topic_bytes_max, 'x');
  EXPECT_EQ(sns("CreateTopic", "&Name=t" + attribute(1, "KmsMasterKeyId", large)).status, 403);
  EXPECT_EQ(broker.seen[Op::create_queue], 0);
  const std::string half(SnsTopic::topic_bytes_max / 2, 'x');
  EXPECT_EQ(sns("CreateTopic", "&Name=t" + attribute(1, "KmsMasterKeyId", half)).status, 200);
}

TEST_F(SnsTest, AChangeIsMadeAnewWhenTheTopicHasChangedMeanwhile) {
  const std::string topic = make_topic("t");
  bool once = true;
  broker.before_changes = [&] {
    if (!std::exchange(once, false)) return;
    const ConfigPtr row = *broker.directory.find(topic_account("000000000000"), "t");
    auto other = std::make_shared<QueueConfig>(*row);
    other->apply({Attribute::topic, -1, R"({"attributes":{"DisplayName":"d"}})"});
    broker.directory.put(other);
  };
  make_queue("q");
  broker.seen.clear();
  subscribe(topic, "q");
  EXPECT_EQ(broker.seen[Op::set_attributes], 2);
  EXPECT_TRUE(sns("GetTopicAttributes", "&TopicArn=" + topic)
                  .body.contains("<key>DisplayName</key><value>d</value>"));
}

TEST_F(SnsTest, AChangeOfTagsIsMadeAnewWhenTheTopicHasChangedMeanwhile) {
  const std::string topic = make_topic("t", "&Tags.member.1.Key=a&Tags.member.1.Value=1");
  const std::string at = "&ResourceArn=" + topic;
  std::string added = "first";
  broker.before_changes = [&] {
    if (added.empty()) return;
    const ConfigPtr row = *broker.directory.find(topic_account("000000000000"), "t");
    auto other = std::make_shared<QueueConfig>(*row);
    put_tag(other->tags, std::exchange(added, {}), "x");
    broker.directory.put(other);
  };
  EXPECT_EQ(sns("TagResource", at + "&Tags.member.1.Key=b&Tags.member.1.Value=2").status, 200);
  added = "second";
  EXPECT_EQ(sns("UntagResource", at + "&TagKeys.member.1=a").status, 200);
  const std::string tags = sns("ListTagsForResource", at).body;
  for (const std::string_view key : {"b", "first", "second"}) {
    EXPECT_TRUE(tags.contains(fmt::format("<Key>{}</Key>", key))) << tags;
  }
  EXPECT_FALSE(tags.contains("<Key>a</Key>")) << tags;
}

TEST_F(SnsTest, AChangeOfTagsGivesUpWhenTheTopicAlwaysChanges) {
  const std::string topic = make_topic("t");
  broker.before_changes = [&] {
    const ConfigPtr row = *broker.directory.find(topic_account("000000000000"), "t");
    broker.directory.put(std::make_shared<QueueConfig>(*row));
  };
  broker.seen.clear();
  const SqsResponse given_up =
      sns("TagResource", "&ResourceArn=" + topic + "&Tags.member.1.Key=b&Tags.member.1.Value=2");
  EXPECT_EQ(element(given_up, "Code"), "Throttled") << given_up.body;
  EXPECT_EQ(broker.seen[Op::set_attributes], 1 + static_cast<int>(change_retries_max));
}

TEST_F(SnsTest, DeleteTopicAndUnsubscribeTwice) {
  const std::string topic = make_topic("t"), subscription = subscribe(topic, "q");
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(sns("Unsubscribe", "&SubscriptionArn=" + subscription).status, 200);
    EXPECT_EQ(count(sns("ListSubscriptions"), "<member>"), 0u);
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(sns("DeleteTopic", "&TopicArn=" + topic).status, 200);
    EXPECT_EQ(count(sns("ListTopics"), "<member>"), 0u);
  }
  EXPECT_EQ(sns("Unsubscribe", "&SubscriptionArn=" + subscription).status, 200);
}

TEST_F(SnsTest, SubscribeIsIdempotent) {
  const std::string topic = make_topic("t"), arn = subscribe(topic, "q");
  EXPECT_TRUE(arn.starts_with(topic + ":")) << arn;
  EXPECT_EQ(arn.size(), topic.size() + 1 + 36);
  EXPECT_EQ(subscribe(topic, "q"), arn);
  EXPECT_EQ(subscribe(topic, "q", attribute(1, "RawMessageDelivery", "false")), arn);
  EXPECT_NE(subscribe(topic, "r"), arn);
  const std::string again = "&TopicArn=" + topic +
                            "&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:000000000000:q" +
                            std::string(raw);
  expect_fault(sns("Subscribe", again), 400, "InvalidParameter",
               "Invalid parameter: Attributes Reason: Subscription already exists with different "
               "attributes");
}

TEST_F(SnsTest, SubscribeSaysWhatItDoesNotTake) {
  const std::string at = "&TopicArn=" + make_topic("t");
  make_queue("q");
  const std::string queue = "&Endpoint=arn:aws:sqs:us-east-1:000000000000:q";
  const auto refused = [&](const std::string& more, std::string_view text) {
    expect_fault(sns("Subscribe", at + more), 400, "InvalidParameter",
                 "Invalid parameter: " + std::string(text));
  };
  refused(queue, "Protocol");
  refused("&Protocol=email" + queue, "Protocol Reason: pawl delivers to sqs only, not to email");
  refused("&Protocol=pigeon" + queue, "Amazon SNS does not support this protocol string: pigeon");
  refused("&Protocol=sqs", "Endpoint");
  refused("&Protocol=sqs&Endpoint=http://x", "SQS endpoint ARN");
  refused("&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:000000000000:none",
          "Endpoint Reason: the queue arn:aws:sqs:us-east-1:000000000000:none does not exist");
  const std::string ours = "&Protocol=sqs" + queue;
  refused(ours + attribute(1, "Colour", "red"),
          "Attributes Reason: AttributeName Reason: Unknown subscription attribute: Colour");
  refused(ours + attribute(1, "RawMessageDelivery", "yes"),
          "Attributes Reason: RawMessageDelivery: Invalid value [yes]. Must be true or false.");
  refused(ours + attribute(1, "RawMessageDelivery", ""),
          "Attributes Reason: RawMessageDelivery: Invalid value []. Must be true or false.");
  refused(ours + attribute(1, "FilterPolicyScope", "Body"),
          "Attributes Reason: FilterPolicyScope: Invalid value [Body]. Please use either "
          "MessageBody or MessageAttributes");
  refused(ours + attribute(1, "FilterPolicy", "%7B%22a%22:%5B%7B%22like%22:1%7D%5D%7D"),
          "Attributes Reason: FilterPolicy: Unrecognized match type like");
  refused(ours + attribute(1, "FilterPolicy", "%7B%22a%22:%7B%22b%22:%5B1%5D%7D%7D"),
          "Attributes Reason: Filter policy scope MessageAttributes does not support nested filter "
          "policy");
  refused(ours + attribute(1, "RedrivePolicy", "%7B%7D"),
          "Attributes Reason: RedrivePolicy: deadLetterTargetArn is an invalid arn. It must be the "
          "ARN of an SQS queue of the same account");
  make_queue("q.fifo", R"({"FifoQueue":"true"})");
  refused("&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:000000000000:q.fifo",
          "Invalid parameter: Endpoint Reason: FIFO SQS Queues can not be subscribed to standard "
          "SNS topics");
  EXPECT_EQ(
      sns("Subscribe", at + "&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:111111111111:q").status,
      403);
}

// MassTransit sends "True"; AWS answers in lower case.
TEST_F(SnsTest, BooleanAttributesAreTakenInAnyCaseAndAnsweredInLowerCase) {
  const std::string topic = make_topic("t");
  const auto shown = [&](const std::string& arn) {
    return sns("GetSubscriptionAttributes", "&SubscriptionArn=" + arn).body;
  };
  int number = 0;
  for (const auto& [given, answered] : std::initializer_list<std::pair<const char*, const char*>>{
           {"True",  "true" },
           {"TRUE",  "true" },
           {"False", "false"},
           {"fAlSe", "false"}
  }) {
    const std::string arn =
        subscribe(topic, fmt::format("q{}", ++number), attribute(1, "RawMessageDelivery", given));
    const std::string want =
        fmt::format("<key>RawMessageDelivery</key><value>{}</value>", answered);
    EXPECT_TRUE(shown(arn).contains(want)) << given << shown(arn);
    EXPECT_EQ(sns("SetSubscriptionAttributes",
                  fmt::format("&SubscriptionArn={}&AttributeName=RawMessageDelivery&"
                              "AttributeValue={}",
                              arn, given))
                  .status,
              200);
    EXPECT_TRUE(shown(arn).contains(want)) << given << shown(arn);
  }
  EXPECT_EQ(sns("CreateTopic", "&Name=u.fifo" + attribute(1, "FifoTopic", "TRUE")).status, 200);
}

TEST_F(SnsTest, AttributesOfSubscriptions) {
  const std::string topic = make_topic("t"), arn = subscribe(topic, "q");
  const std::string at = "&SubscriptionArn=" + arn;
  const auto set = [&](std::string_view name, std::string_view value) {
    return sns("SetSubscriptionAttributes",
               fmt::format("{}&AttributeName={}&AttributeValue={}", at, name, value));
  };
  EXPECT_EQ(set("RawMessageDelivery", "true").status, 200);
  EXPECT_EQ(set("FilterPolicy", "%7B%22a%22:%5B1%5D%7D").status, 200);
  const SqsResponse all = sns("GetSubscriptionAttributes", at);
  for (const std::string_view entry :
       {"<key>RawMessageDelivery</key><value>true</value>",
        "<key>FilterPolicy</key><value>{&quot;a&quot;:[1]}</value>",
        "<key>FilterPolicyScope</key><value>MessageAttributes</value>",
        "<key>Protocol</key><value>sqs</value>",
        "<key>PendingConfirmation</key><value>false</value>"}) {
    EXPECT_TRUE(all.body.contains(entry)) << entry << "\n" << all.body;
  }
  const auto set_refused = [&](std::string_view name, std::string_view value,
                               std::string_view text) {
    expect_fault(set(name, value), 400, "InvalidParameter",
                 "Invalid parameter: " + std::string(text));
  };
  set_refused("FilterPolicy", "%7B%22a%22:1%7D",
              "FilterPolicy: \"a\" must be an object or an array");
  set_refused("FilterPolicy", "%7B%22a%22:%7B%22b%22:%5B1%5D%7D%7D",
              "Filter policy scope MessageAttributes does not support nested filter policy");
  set_refused("FilterPolicyScope", "Body",
              "FilterPolicyScope: Invalid value [Body]. Please use either MessageBody or "
              "MessageAttributes");
  EXPECT_EQ(set("FilterPolicy", "%7B%7D").status, 200);
  EXPECT_FALSE(sns("GetSubscriptionAttributes", at).body.contains("FilterPolicy"));
  expect_fault(sns("GetSubscriptionAttributes", "&SubscriptionArn=" + topic + ":none"), 404,
               "NotFound", "Subscription does not exist");
  EXPECT_EQ(set("Colour", "red").status, 400);
}

TEST_F(SnsTest, ListsHavePages) {
  for (int i = 0; i < 101; ++i) make_topic(fmt::format("t{:03}", i));
  const SqsResponse first = sns("ListTopics");
  EXPECT_EQ(count(first, "<member>"), 100u);
  const SqsResponse second = sns("ListTopics", "&NextToken=" + element(first, "NextToken"));
  EXPECT_EQ(count(second, "<member>"), 1u);
  EXPECT_EQ(element(second, "NextToken"), "");

  const std::string many = "arn:aws:sns:us-east-1:000000000000:t050";
  for (int i = 0; i < 130; ++i) subscribe(many, fmt::format("q{:03}", i));
  subscribe("arn:aws:sns:us-east-1:000000000000:t099", "q000");
  for (const std::string& list :
       {std::string("ListSubscriptionsByTopic"), std::string("ListSubscriptions")}) {
    const std::string of = list == "ListSubscriptions" ? "" : "&TopicArn=" + many;
    const SqsResponse page = sns(list, of);
    EXPECT_EQ(count(page, "<member>"), 100u);
    std::string token = element(page, "NextToken");
    token.replace(token.find(' '), 1, "+");
    const SqsResponse rest = sns(list, of + "&NextToken=" + token);
    EXPECT_EQ(count(rest, "<member>"), of.empty() ? 31u : 30u);
    EXPECT_EQ(element(rest, "NextToken"), "");
  }
  EXPECT_EQ(sns("ListSubscriptions", "&NextToken=x").status, 400);
}

TEST_F(SnsTest, TagsOfTopics) {
  const std::string topic = make_topic("t", "&Tags.member.1.Key=a&Tags.member.1.Value=1");
  const std::string at = "&ResourceArn=" + topic;
  EXPECT_EQ(sns("TagResource", at + "&Tags.member.1.Key=b&Tags.member.1.Value=2").status, 200);
  EXPECT_EQ(sns("UntagResource", at + "&TagKeys.member.1=a").status, 200);
  EXPECT_TRUE(sns("ListTagsForResource", at)
                  .body.contains("<Tags><member><Key>b</Key><Value>2</Value></member></Tags>"));
  EXPECT_EQ(sns("TagResource", at + "&Tags.member.1.Key=aws:x&Tags.member.1.Value=2").status, 400);
}

TEST_F(SnsTest, TooManySubscriptionsAreRefusedWithTheLimit) {
  const std::string topic = make_topic("t");
  const ConfigPtr row = *broker.directory.find(topic_account("000000000000"), "t");
  SnsTopic full;
  full.attributes = {
      {"Policy", std::string(SnsTopic::topic_bytes_max - 100, ' ')}
  };
  auto changed = std::make_shared<QueueConfig>(*row);
  changed->apply({Attribute::topic, -1, full.json()});
  broker.directory.put(changed);
  make_queue("q");
  const SqsResponse answer =
      sns("Subscribe",
          "&TopicArn=" + topic + "&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:000000000000:q");
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(element(answer, "Code"), "SubscriptionLimitExceeded");
  EXPECT_TRUE(element(answer, "Message").contains("the limit is 524288"));
}

TEST_F(SnsTest, FilterPoliciesOfATopicAreLimited) {
  const std::string topic = make_topic("t");
  for (std::size_t i = 0; i < SnsTopic::filter_policies_max; ++i) {
    subscribe(topic, fmt::format("q{}", i), attribute(1, "FilterPolicy", "%7B%22a%22:%5B1%5D%7D"));
  }
  make_queue("more");
  const SqsResponse answer =
      sns("Subscribe", "&TopicArn=" + topic +
                           "&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:000000000000:more" +
                           attribute(1, "FilterPolicy", "%7B%22a%22:%5B1%5D%7D"));
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(element(answer, "Code"), "FilterPolicyLimitExceeded");
}

TEST_F(SnsTest, UnknownActionsAndVersions) {
  expect_fault(sns("Frobnicate"), 400, "InvalidAction",
               "The action Frobnicate is not valid for this endpoint.");
  EXPECT_TRUE(query("Action=Publish&Version=2012-11-05&TopicArn=t&Message=m")
                  .body.contains("<Code>InvalidAction</Code>"));
}

}  // namespace
}  // namespace pawl

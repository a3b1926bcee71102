// SPDX-License-Identifier: Apache-2.0
// Answers of SNS that were recorded from AWS.
#include "proto/aws/message_attributes.h"
#include "tests/proto/sns/fixture.h"

namespace pawl {
namespace {

class SnsAsOnAws : public SnsTest {
 protected:
  static std::string entry(int n, std::string_view id, std::string_view more) {
    std::string all = fmt::format("&PublishBatchRequestEntries.member.{}.Id={}", n, id);
    for (std::size_t at = 0; at < more.size();) {
      const std::size_t end = std::min(more.find('&', at + 1), more.size());
      all += fmt::format("&PublishBatchRequestEntries.member.{}.{}", n,
                         more.substr(at + 1, end - at - 1));
      at = end;
    }
    return all;
  }
  SqsResponse batch(std::string_view topic, const std::string& entries) {
    return sns("PublishBatch", fmt::format("&TopicArn={}{}", topic, entries));
  }
};

TEST_F(SnsAsOnAws, ATopicHasADefaultPolicyAndDeliveryPolicy) {
  const std::string topic = make_topic("t");
  const SqsResponse all = sns("GetTopicAttributes", "&TopicArn=" + topic);
  const std::string body = xml_unescaped(all.body);
  for (
      const std::string_view part :
      {R"("Id":"__default_policy_ID")", R"("Sid":"__default_statement_ID")",
       R"("Principal":{"AWS":"*"})",
       R"("Action":["SNS:GetTopicAttributes","SNS:SetTopicAttributes","SNS:AddPermission",)"
       R"("SNS:RemovePermission","SNS:DeleteTopic","SNS:Subscribe","SNS:ListSubscriptionsByTopic",)"
       R"("SNS:Publish"])",
       R"("Condition":{"StringEquals":{"AWS:SourceOwner":"000000000000"}})",
       R"("minDelayTarget":20,"maxDelayTarget":20,"numRetries":3,"numMaxDelayRetries":0)",
       R"("backoffFunction":"linear"},"disableSubscriptionOverrides":false)",
       R"("headerContentType":"text/plain; charset=UTF-8")"})
    EXPECT_TRUE(body.contains(part)) << part << "\n" << body;
}

TEST_F(SnsAsOnAws, PermissionsAreStatementsOfThePolicy) {
  const std::string at = "&TopicArn=" + make_topic("t");
  const auto policy = [&] { return xml_unescaped(sns("GetTopicAttributes", at).body); };
  const std::string grant =
      at + "&Label=mine&AWSAccountId.member.1=111122223333&ActionName.member.1=Publish";
  EXPECT_EQ(sns("AddPermission", grant).status, 200);
  const std::string statement =
      R"({"Sid":"mine","Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:root"},)"
      R"("Action":"SNS:Publish","Resource":"arn:aws:sns:us-east-1:000000000000:t"})";
  EXPECT_TRUE(policy().contains(statement)) << policy();
  EXPECT_TRUE(policy().contains("__default_statement_ID")) << "the default statement stays";
  expect_fault(sns("AddPermission", grant), 400, "InvalidParameter",
               "Invalid parameter: Statement already exists");
  expect_fault(sns("AddPermission",
                   at + "&Label=x&AWSAccountId.member.1=111122223333&ActionName.member.1=Fly"),
               400, "InvalidParameter",
               "Invalid parameter: Policy statement action out of service scope!");
  expect_fault(sns("AddPermission", at + "&Label=x&AWSAccountId.member.1=1&ActionName.member.1="
                                         "Publish"),
               400, "InvalidParameter", "Invalid parameter: AWSAccountId");
  EXPECT_EQ(sns("AddPermission", at + "&Label=two&AWSAccountId.member.1=111122223333"
                                      "&AWSAccountId.member.2=444455556666"
                                      "&ActionName.member.1=Publish&ActionName.member.2=Subscribe")
                .status,
            200);
  EXPECT_TRUE(policy().contains(R"("Action":["SNS:Publish","SNS:Subscribe"])")) << policy();
  EXPECT_EQ(sns("RemovePermission", at + "&Label=mine").status, 200);
  EXPECT_FALSE(policy().contains(statement)) << policy();
  EXPECT_EQ(sns("RemovePermission", at + "&Label=mine").status, 400);
}

TEST_F(SnsAsOnAws, ActionsOfOtherSubscriptionsExist) {
  const std::string topic = make_topic("t");
  expect_fault(sns("ConfirmSubscription", "&Token=x&TopicArn=" + topic), 400, "InvalidParameter",
               "Invalid parameter: Token");
  const std::string at = "&ResourceArn=" + topic;
  EXPECT_EQ(element(sns("GetDataProtectionPolicy", at), "DataProtectionPolicy"), "");
  EXPECT_EQ(sns("PutDataProtectionPolicy", at + "&DataProtectionPolicy=x").status, 400);
  EXPECT_EQ(
      sns("PutDataProtectionPolicy", at + "&DataProtectionPolicy=%7B%22Name%22:%22n%22%7D").status,
      200);
  EXPECT_EQ(element(sns("GetDataProtectionPolicy", at), "DataProtectionPolicy"), R"({"Name":"n"})");
  EXPECT_FALSE(sns("GetTopicAttributes", "&TopicArn=" + topic).body.contains("DataProtection"));
}

TEST_F(SnsAsOnAws, ADeadLetterOfARawSubscriptionIsRaw) {
  const std::string topic = make_topic("t");
  make_queue("dead");
  subscribe(topic, "q",
            std::string(raw) + attribute(1, "RedrivePolicy",
                                         "%7B%22deadLetterTargetArn%22:%22arn:aws:sqs:us-east-1:"
                                         "000000000000:dead%22%7D"));
  json("DeleteQueue", R"({"QueueUrl":"q"})");
  EXPECT_EQ(publish(topic, "&Message=m" + message_attribute(1, "a", "x")).status, 200);
  ASSERT_EQ(bodies_of("dead"), std::vector<std::string>{"m"});
  std::string want;
  append_attribute(want, {"a", "String", AttributeKind::text, "x"});
  EXPECT_EQ(broker.messages.back().attributes, want);
  std::string eleven = "&Message=m2";
  for (int i = 1; i <= 11; ++i) eleven += message_attribute(i, fmt::format("a{}", i), "x");
  EXPECT_EQ(publish(topic, eleven).status, 200);
  ASSERT_EQ(bodies_of("dead").size(), 2u);
  EXPECT_TRUE(bodies_of("dead")[1].contains("\"Type\":\"Notification\""))
      << "more attributes than a message may have: kept in an envelope";
}

TEST_F(SnsAsOnAws, OneBadEntryRefusesTheWholeBatch) {
  const std::string topic = make_topic("t");
  subscribe(topic, "q", raw);
  const std::string good = entry(1, "a", "&Message=m");
  expect_fault(
      batch(topic, good + entry(2, "b",
                                "&Message=n&MessageAttributes.entry.1.Name=x"
                                "&MessageAttributes.entry.1.Value.DataType=Colour"
                                "&MessageAttributes.entry.1.Value.StringValue=v")),
      400, "ParameterValueInvalid",
      "The type of message (user) attribute 'x' is invalid. You must use only the following "
      "supported type prefixes: Binary, Number, String.");
  expect_fault(
      batch(topic, good + entry(2, "b", "&MessageStructure=json&Message=%7B%22sqs%22:%22s%22%7D")),
      400, "InvalidParameter",
      "Invalid parameter: Message Structure - No default entry in JSON message body");
  const std::string fifo = make_topic("t.fifo", attribute(1, "FifoTopic", "true"));
  subscribe(fifo, "q.fifo", raw);
  const std::string whole = entry(1, "a", "&Message=m&MessageGroupId=g&MessageDeduplicationId=d");
  expect_fault(batch(fifo, whole + entry(2, "b", "&Message=m&MessageDeduplicationId=e")), 400,
               "InvalidParameter",
               "Invalid parameter: The MessageGroupId parameter is required for FIFO topics");
  expect_fault(batch(fifo, whole + entry(2, "b", "&Message=m&MessageGroupId=g")), 400,
               "InvalidParameter",
               "Invalid parameter: The topic should either have ContentBasedDeduplication enabled "
               "or MessageDeduplicationId provided explicitly");
  EXPECT_EQ(broker.messages.size(), 0u) << "no entry is delivered";
}

TEST_F(SnsAsOnAws, AMessageThatIsPublishedAgainIsTheFirstOne) {
  const std::string fifo = attribute(1, "FifoTopic", "true");
  const std::string topic = make_topic("t.fifo", fifo), other = make_topic("u.fifo", fifo);
  subscribe(topic, "q.fifo", raw);
  subscribe(topic, "q", raw);
  subscribe(other, "q", raw);
  const auto send = [&](const std::string& to, std::string_view group, std::string_view id) {
    const SqsResponse answer = publish(
        to, fmt::format("&Message=m&MessageGroupId={}&MessageDeduplicationId={}", group, id));
    EXPECT_EQ(answer.status, 200) << answer.body;
    return std::pair(element(answer, "MessageId"), element(answer, "SequenceNumber"));
  };
  const auto first = send(topic, "g", "d");
  EXPECT_EQ(send(topic, "g", "d"), first);
  EXPECT_EQ(send(topic, "h", "d"), first) << "the id counts in the whole topic";
  EXPECT_EQ(bodies_of("q.fifo").size(), 1u);
  EXPECT_EQ(bodies_of("q").size(), 1u) << "a standard queue gets one copy, too";
  EXPECT_NE(send(topic, "g", "e").first, first.first);
  EXPECT_NE(send(other, "g", "d").first, first.first) << "another topic";
  EXPECT_EQ(bodies_of("q").size(), 3u);
  EXPECT_EQ(element(batch(topic, entry(1, "a",
                                       "&Message=m&MessageGroupId=g"
                                       "&MessageDeduplicationId=d")),
                    "MessageId"),
            first.first);
}

TEST_F(SnsAsOnAws, AGroupHasDeduplicationIdsOfItsOwnWhenAskedFor) {
  const std::string topic =
      make_topic("t.fifo", attribute(1, "FifoTopic", "true") +
                               attribute(2, "FifoThroughputScope", "MessageGroup"));
  subscribe(topic, "q", raw);
  for (const std::string_view group : {"g", "h", "g"}) {
    EXPECT_EQ(
        publish(topic, fmt::format("&Message=m&MessageGroupId={}&MessageDeduplicationId=d", group))
            .status,
        200);
  }
  EXPECT_EQ(bodies_of("q").size(), 2u);
}

// Beside the sends one request waits until the numbers are durable.
TEST_F(SnsAsOnAws, APublishWithoutNumbersIsRefused) {
  const std::string topic = make_topic("t.fifo", attribute(1, "FifoTopic", "true"));
  const std::string message = "&Message=m&MessageGroupId=g&MessageDeduplicationId=d";
  EXPECT_EQ(publish(topic, message).status, 200);
  EXPECT_EQ(broker.seen[Op::take_numbers], 2);
  broker.refuse_with = Errc::no_space;
  EXPECT_EQ(element(publish(topic, message), "Code"), "Throttled");
  broker.refuse_with = Errc::no_such_queue;
  expect_fault(publish(topic, message), 404, "NotFound", "Topic does not exist");
}

TEST_F(SnsAsOnAws, ABadEntryIdIsNamed) {
  const std::string topic = make_topic("t"), long_id(81, 'i');
  expect_fault(batch(topic, entry(1, long_id, "&Message=m")), 400, "InvalidBatchEntryId",
               "The Id of a batch entry in the batch request is too long: " + long_id);
  expect_fault(batch(topic, entry(1, "a.b", "&Message=m")), 400, "InvalidBatchEntryId",
               "The Id of a batch entry in the batch request contains an impermissible character: "
               "a.b");
}

TEST_F(SnsAsOnAws, ABadArnIsExplained) {
  const std::string topic = make_topic("t");
  const auto refused = [&](std::string_view action, std::string_view parameter,
                           std::string_view arn, std::string_view text) {
    expect_fault(sns(action, fmt::format("&{}={}", parameter, arn)), 400, "InvalidParameter",
                 fmt::format("Invalid parameter: {}", text));
  };
  refused("GetTopicAttributes", "TopicArn", "t",
          "TopicArn Reason: An ARN must have at least 6 elements, not 1");
  refused("GetTopicAttributes", "TopicArn", "arn:aws:sns:us-east-1:000000000000",
          "TopicArn Reason: An ARN must have at least 6 elements, not 5");
  refused("GetTopicAttributes", "TopicArn", "arn:aws:sqs:us-east-1:000000000000:t", "TopicArn");
  refused("GetTopicAttributes", "TopicArn", topic + ":id", "Topic Name");
  refused("Unsubscribe", "SubscriptionArn", "s",
          "SubscriptionArn Reason: An ARN must have at least 6 elements, not 1");
  refused("Unsubscribe", "SubscriptionArn", topic, "SubscriptionId");
  expect_fault(sns("GetSubscriptionAttributes",
                   "&SubscriptionArn=arn:aws:sns:us-east-1:000000000000:none:id"),
               404, "NotFound", "Subscription does not exist");
}

TEST_F(SnsAsOnAws, ATagIsNamedOnce) {
  const std::string twice =
      "&Tags.member.1.Key=k&Tags.member.1.Value=1&Tags.member.2.Key=k&Tags.member.2.Value=2";
  expect_fault(sns("TagResource", "&ResourceArn=" + make_topic("t") + twice), 400,
               "InvalidParameter", "Invalid parameter: Duplicated keys are not allowed.");
  expect_fault(sns("CreateTopic", "&Name=u" + twice), 400, "InvalidParameter",
               "Invalid parameter: Duplicated keys are not allowed.");
}

TEST_F(SnsAsOnAws, OddPublishesAreJudgedAsThere) {
  const std::string topic = make_topic("t");
  subscribe(topic, "q", raw);
  expect_fault(publish(topic, "&Message=m&Subject="), 400, "InvalidParameter",
               "Invalid parameter: Subject");
  EXPECT_EQ(
      element(publish(topic, "&Message=m" + message_attribute(1, "a", "x", "String.")), "Code"),
      "ParameterValueInvalid");
  EXPECT_EQ(element(publish(topic,
                            "&Message=m&MessageAttributes.entry.1.Name=a"
                            "&MessageAttributes.entry.1.Value.StringValue=x"),
                    "Code"),
            "ValidationError");
  EXPECT_EQ(publish(topic,
                    "&MessageStructure=json&Message=%7B%22default%22:%22a%22,%22default%22:%22b%22"
                    "%7D")
                .status,
            200);
  EXPECT_EQ(bodies_of("q"), std::vector<std::string>{"b"});
}

TEST_F(SnsAsOnAws, TheTraceHeaderOfAPublishReachesTheMessage) {
  const std::string topic = make_topic("t");
  subscribe(topic, "q", raw);
  const SqsResponse answer =
      http("POST / HTTP/1.1\r\nHost: h\r\nX-Amzn-Trace-Id: Root=1-5759e988\r\n",
           "Action=Publish&Version=2010-03-31&Message=m&TopicArn=" + topic);
  ASSERT_EQ(answer.status, 200) << answer.body;
  std::string want;
  append_trace_header(want, "Root=1-5759e988");
  ASSERT_EQ(broker.messages.size(), 1u);
  EXPECT_EQ(broker.messages[0].system, want);
}

TEST_F(SnsAsOnAws, SubscribingOrCreatingAgainWithLessFindsWhatIsThere) {
  const std::string tags = "&Tags.member.1.Key=k&Tags.member.1.Value=v&Tags.member.2.Key=l";
  const std::string topic = make_topic("t", tags);
  EXPECT_EQ(make_topic("t"), topic);
  EXPECT_EQ(make_topic("t", "&Tags.member.1.Key=k&Tags.member.1.Value=v"), topic);
  EXPECT_EQ(sns("CreateTopic", "&Name=t&Tags.member.1.Key=k&Tags.member.1.Value=w").status, 400);
  const std::string arn = subscribe(topic, "q", raw);
  EXPECT_EQ(subscribe(topic, "q"), arn);
  expect_fault(sns("Subscribe", "&TopicArn=" + topic +
                                    "&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:000000000000:q" +
                                    attribute(1, "RawMessageDelivery", "false")),
               400, "InvalidParameter",
               "Invalid parameter: Attributes Reason: Subscription already exists with different "
               "attributes");
}

TEST_F(SnsAsOnAws, AttributesOfASubscription) {
  const std::string topic = make_topic("t");
  const std::string arn = subscribe(topic, "q", attribute(1, "FilterPolicyScope", "MessageBody"));
  const auto shown = [&] {
    return sns("GetSubscriptionAttributes", "&SubscriptionArn=" + arn).body;
  };
  EXPECT_FALSE(shown().contains("FilterPolicyScope")) << "there is no FilterPolicy";
  EXPECT_TRUE(shown().contains(
      "<key>SubscriptionPrincipal</key><value>arn:aws:iam::000000000000:root</value>"))
      << shown();
  EXPECT_EQ(sns("SetSubscriptionAttributes",
                "&SubscriptionArn=" + arn + "&AttributeName=RedrivePolicy&AttributeValue=%7B%7D")
                .status,
            400)
      << "Subscribe refuses it, too";
  const std::string fifo = make_topic("t.fifo", attribute(1, "FifoTopic", "true"));
  make_queue("q.fifo", R"({"FifoQueue":"true"})");
  make_queue("dead");
  EXPECT_EQ(
      sns("Subscribe", "&TopicArn=" + fifo +
                           "&Protocol=sqs&Endpoint=arn:aws:sqs:us-east-1:000000000000:q.fifo" +
                           attribute(1, "RedrivePolicy",
                                     "%7B%22deadLetterTargetArn%22:%22arn:aws:sqs:us-east-1:"
                                     "000000000000:dead%22%7D"))
          .status,
      400)
      << "a standard dead-letter queue keeps no order";
}

}  // namespace
}  // namespace pawl

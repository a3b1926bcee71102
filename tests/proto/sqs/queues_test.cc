// SPDX-License-Identifier: Apache-2.0
// Queues: their names, URLs, attributes and tags, in lists and one by one.
#include "tests/proto/sqs/fixture.h"

#include <fmt/core.h>

namespace pawl {
namespace {

constexpr std::string_view invalid_value =
    "com.amazon.coral.service#InvalidParameterValueException";

class SqsQueues : public SqsTest {
 protected:
  SqsResponse create(std::string_view name, std::string_view attributes = "{}") {
    return json("CreateQueue",
                fmt::format(R"({{"QueueName":"{}","Attributes":{}}})", name, attributes));
  }
  SqsResponse set(std::string_view attributes) {
    return on_queue("SetQueueAttributes", fmt::format(R"("Attributes":{})", attributes));
  }
  SqsResponse attributes(std::string_view names) {
    return on_queue("GetQueueAttributes", fmt::format(R"("AttributeNames":[{}])", names));
  }
  static void expect_error(const SqsResponse& answer, std::string_view shape,
                           std::string_view text) {
    SqsTest::expect_error(answer, 400, shape, text);
  }
};

TEST_F(SqsQueues, ANewQueueIsAnsweredWithItsUrl) {
  EXPECT_EQ(create("q").body, R"({"QueueUrl":"http://broker.test:9324/000000000000/q"})");
  const SqsResponse xml = query(
      "Action=CreateQueue&QueueName=r&Attribute.1.Name=DelaySeconds"
      "&Attribute.1.Value=5&Tag.1.Key=k&Tag.1.Value=v");
  EXPECT_NE(xml.body.find("<CreateQueueResult><QueueUrl>http://broker.test:9324/000000000000/r"
                          "</QueueUrl></CreateQueueResult>"),
            std::string::npos)
      << xml.body;
  const QueueConfig& made = **broker.directory.find("000000000000", "r");
  EXPECT_EQ(made.number(Attribute::delay_seconds), 5);
  EXPECT_EQ(made.tags, (Tags{
                           {"k", "v"}
  }));
}

TEST_F(SqsQueues, DurabilityIsAnAttributeThatIsNotShownUntilItIsSet) {
  create("q");
  EXPECT_EQ(attributes(R"("All")").body.find("x-durability"), std::string::npos);
  EXPECT_EQ(attributes(R"("x-durability")").body, "{}");
  for (const std::string_view word : {"async", "memory"}) {
    EXPECT_EQ(set(fmt::format(R"({{"x-durability":"{}"}})", word)).status, 200);
    EXPECT_EQ(attributes(R"("x-durability")").body,
              fmt::format(R"({{"Attributes":{{"x-durability":"{}"}}}})", word));
    EXPECT_NE(attributes(R"("All")").body.find("x-durability"), std::string::npos);
  }
  EXPECT_EQ(set(R"({"x-durability":"fsync"})").status, 200);
  EXPECT_EQ(attributes(R"("x-durability")").body, "{}");
  for (const std::string_view bad : {"", "Async", "1", "none"}) {
    expect_error(set(fmt::format(R"({{"x-durability":"{}"}})", bad)),
                 "com.amazonaws.sqs#InvalidAttributeValue",
                 fmt::format("Invalid value for the parameter x-durability. Reason: It is {}; "
                             "write one of fsync, async, memory.",
                             bad.empty() ? "empty" : bad));
  }
}

TEST_F(SqsQueues, HowLongMessagesCanBeReplayedIsAnAttributeThatIsNotShownUntilItIsSet) {
  create("q");
  EXPECT_EQ(attributes(R"("All")").body.find("x-replay-retention"), std::string::npos);
  EXPECT_EQ(attributes(R"("x-replay-retention")").body, "{}");
  for (const std::string_view seconds : {"1", "3600", "31536000"}) {
    EXPECT_EQ(set(fmt::format(R"({{"x-replay-retention":"{}"}})", seconds)).status, 200);
    EXPECT_EQ(attributes(R"("x-replay-retention")").body,
              fmt::format(R"({{"Attributes":{{"x-replay-retention":"{}"}}}})", seconds));
    EXPECT_NE(attributes(R"("All")").body.find("x-replay-retention"), std::string::npos);
  }
  EXPECT_EQ(set(R"({"x-replay-retention":"0"})").status, 200);
  EXPECT_EQ(attributes(R"("x-replay-retention")").body, "{}");
  for (const std::string_view bad : {"-1", "31536001", "1.5", "1 ", "1w"}) {
    expect_error(
        set(fmt::format(R"({{"x-replay-retention":"{}"}})", bad)),
        "com.amazonaws.sqs#InvalidAttributeValue",
        fmt::format("Invalid value for the parameter x-replay-retention. Reason: It is {}; write "
                    "whole seconds from 1 to 31536000, as 90, 15m or 3d, or 0 for none.",
                    bad));
  }
}

TEST_F(SqsQueues, AQueueIsMadeWithWhatItKeepsAndIsAnotherWithoutIt) {
  EXPECT_EQ(create("q", R"({"x-replay-retention":"60"})").status, 200);
  EXPECT_EQ((*broker.directory.find("000000000000", "q"))->number(Attribute::replay_retention), 60);
  EXPECT_EQ(create("q", R"({"x-replay-retention":"60"})").status, 200);
  expect_error(create("q", R"({"x-replay-retention":"61"})"), "com.amazonaws.sqs#QueueNameExists",
               "A queue already exists with the same name and a different value for attribute "
               "x-replay-retention");
}

TEST_F(SqsQueues, NamesHaveUpTo80LettersDigitsHyphensAndUnderscores) {
  const std::string n80(80, 'n'), n81(81, 'n');
  for (const std::string_view good : {"a", "A-z_9", n80.c_str()}) {
    EXPECT_EQ(create(good).status, 200) << good;
  }
  for (const std::string_view bad : {n81.c_str(), "a b", "a.b", "a/b", "\u00e9", "q.fifo"}) {
    expect_error(create(bad), invalid_value,
                 "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in "
                 "length");
  }
  expect_error(create(""), invalid_value, "Queue name cannot be empty");
  expect_error(json("CreateQueue", "{}"),
               "com.amazon.coral.service#MissingRequiredParameterException",
               "Value for parameter QueueName is invalid. Reason: Must specify a queue name.");
  for (const std::string_view bad : {"a b.fifo", ".fifo"}) {
    expect_error(create(bad, R"({"FifoQueue":"true"})"), invalid_value,
                 "The name of a FIFO queue can only include alphanumeric characters, hyphens, or "
                 "underscores, must end with .fifo suffix and be 1 to 80 in length");
  }
}

TEST_F(SqsQueues, CreatingAQueueTwiceIsFineWhileWhatIsGivenIsWhatItHas) {
  make_queue("q", R"({"VisibilityTimeout":"40"})");
  for (const std::string_view same :
       {"{}", R"({"VisibilityTimeout":"40"})", R"({"DelaySeconds":"0","VisibilityTimeout":40})",
        R"({"SqsManagedSseEnabled":"TRUE"})"}) {
    EXPECT_EQ(create("q", same).status, 200) << same;
  }
  expect_error(
      create("q", R"({"DelaySeconds":"0","VisibilityTimeout":"41","MaximumMessageSize":"1024"})"),
      "com.amazonaws.sqs#QueueNameExists",
      "A queue already exists with the same name and a different value for attribute "
      "VisibilityTimeout");
  EXPECT_EQ(set(R"({"VisibilityTimeout":"41"})").status, 200);
  EXPECT_EQ(create("q", R"({"VisibilityTimeout":"41"})").status, 200);
  EXPECT_EQ(create("q", R"({"VisibilityTimeout":"40"})").status, 400);
}

TEST_F(SqsQueues, PoliciesAreComparedAsJson) {
  make_queue("q", R"({"Policy":"{\"Version\": \"1\", \"Statement\": [ {\"a\":1, \"b\":2} ]}"})");
  EXPECT_EQ(attributes(R"("Policy")").body,
            R"({"Attributes":{"Policy":"{\"Version\":\"1\",\"Statement\":[{\"a\":1,\"b\":2}]}"}})");
  EXPECT_EQ(
      create("q", R"({"Policy":"{\"Statement\":[{\"b\":2,\"a\":1}],\"Version\":\"1\"}"})").status,
      200);
  EXPECT_EQ(
      create("q", R"({"Policy":"{\"Statement\":[{\"b\":3,\"a\":1}],\"Version\":\"1\"}"})").status,
      400);
  EXPECT_EQ(create("q", R"({"Policy":"{\"Statement\":[{\"b\":\"2\",\"a\":1}],\"Version\":\"1\"}"})")
                .status,
            400);
}

TEST_F(SqsQueues, AFreshQueueShowsTwelveAttributes) {
  make_queue("q");
  EXPECT_EQ(attributes(R"("All")").body,
            R"({"Attributes":{"ApproximateNumberOfMessages":"3",)"
            R"("ApproximateNumberOfMessagesNotVisible":"2",)"
            R"("ApproximateNumberOfMessagesDelayed":"1","CreatedTimestamp":"1700000000",)"
            R"("LastModifiedTimestamp":"1700000000",)"
            R"("QueueArn":"arn:aws:sqs:us-east-1:000000000000:q","VisibilityTimeout":"30",)"
            R"("MaximumMessageSize":"1048576","MessageRetentionPeriod":"345600",)"
            R"("DelaySeconds":"0","ReceiveMessageWaitTimeSeconds":"0",)"
            R"("SqsManagedSseEnabled":"true"}})");
}

TEST_F(SqsQueues, OnlyCountsAreAskedOfTheShard) {
  make_queue("q");
  EXPECT_EQ(attributes(R"("QueueArn","DelaySeconds")").body,
            R"({"Attributes":{"QueueArn":"arn:aws:sqs:us-east-1:000000000000:q",)"
            R"("DelaySeconds":"0"}})");
  EXPECT_EQ(broker.seen[Op::count], 0);
  for (const auto& [name, count] : {std::pair("ApproximateNumberOfMessages", 3),
                                    std::pair("ApproximateNumberOfMessagesNotVisible", 2),
                                    std::pair("ApproximateNumberOfMessagesDelayed", 1)}) {
    EXPECT_EQ(attributes(fmt::format(R"("{}")", name)).body,
              fmt::format(R"({{"Attributes":{{"{}":"{}"}}}})", name, count));
  }
  EXPECT_EQ(broker.seen[Op::count], 3);
}

TEST_F(SqsQueues, AttributesThatAreNotThereAreLeftOut) {
  make_queue("q");
  EXPECT_EQ(on_queue("GetQueueAttributes", "").body, "{}");
  EXPECT_EQ(attributes("").body, "{}");
  EXPECT_EQ(attributes(R"("FifoQueue","DeduplicationScope","Policy","RedrivePolicy",)"
                       R"("KmsMasterKeyId","KmsDataKeyReusePeriodSeconds")")
                .body,
            "{}");
  EXPECT_NE(query("Action=GetQueueAttributes&QueueUrl=q").body.find("<GetQueueAttributesResult/>"),
            std::string::npos);
  expect_error(attributes(R"("QueueArn","Foo")"), "com.amazonaws.sqs#InvalidAttributeName",
               "Unknown Attribute Foo.");
}

TEST_F(SqsQueues, AttributesAreShownInXmlOneByOne) {
  make_queue("q");
  const SqsResponse xml = query(
      "Action=GetQueueAttributes&QueueUrl=q&AttributeName.1=DelaySeconds"
      "&AttributeName.7=QueueArn");
  EXPECT_NE(
      xml.body.find("<GetQueueAttributesResult><Attribute><Name>QueueArn</Name><Value>"
                    "arn:aws:sqs:us-east-1:000000000000:q</Value></Attribute><Attribute><Name>"
                    "DelaySeconds</Name><Value>0</Value></Attribute></GetQueueAttributesResult>"),
      std::string::npos)
      << xml.body;
  EXPECT_NE(query("Action=GetQueueAttributes&QueueUrl=q&AttributeName=DelaySeconds")
                .body.find("<Name>DelaySeconds</Name>"),
            std::string::npos);
}

TEST_F(SqsQueues, NumbersAreTakenWithinTheirRanges) {
  struct Case {
    std::string_view name;
    std::int64_t min, max;
  };
  const Case cases[] = {
      {"DelaySeconds",                  0,    900    },
      {"MaximumMessageSize",            1024, 1048576},
      {"MessageRetentionPeriod",        60,   1209600},
      {"ReceiveMessageWaitTimeSeconds", 0,    20     },
      {"VisibilityTimeout",             0,    43200  },
      {"KmsDataKeyReusePeriodSeconds",  60,   86400  },
  };
  make_queue("q");
  for (const Case& c : cases) {
    const auto with = [&](std::string_view value) {
      return set(fmt::format(R"({{"{}":"{}"}})", c.name, value));
    };
    EXPECT_EQ(with(std::to_string(c.min)).status, 200) << c.name;
    EXPECT_EQ(with(std::to_string(c.max)).status, 200) << c.name;
    for (const std::string& bad :
         {std::to_string(c.min - 1), std::to_string(c.max + 1), std::string(), std::string("x"),
          std::string("60s"), std::string("100.5"), std::string("99999999999999999999")}) {
      expect_error(with(bad), "com.amazonaws.sqs#InvalidAttributeValue",
                   fmt::format("Invalid value for the parameter {}.", c.name));
    }
  }
  EXPECT_EQ((*broker.directory.find(QueueId{1}))->number(Attribute::maximum_message_size), 1048576);
}

TEST_F(SqsQueues, AttributesThatCannotBeSetAreNamed) {
  struct Case {
    std::string_view attributes, shape, text;
  };
  const Case cases[] = {
      {R"({"Foo":"1"})",                                          "InvalidAttributeName",  "Unknown Attribute Foo."                 },
      {R"({"All":"1"})",                                          "InvalidAttributeName",  "Unknown Attribute All."                 },
      {R"({"QueueArn":"x"})",                                     "InvalidAttributeName",  "Unknown Attribute QueueArn."            },
      {R"({"ApproximateNumberOfMessages":"1"})",                  "InvalidAttributeName",
       "Unknown Attribute ApproximateNumberOfMessages."                                                                             },
      {R"({"FifoQueue":"true"})",                                 "InvalidAttributeName",  "Unknown Attribute FifoQueue."           },
      {R"({"FifoQueue":"false"})",                                "InvalidAttributeName",  "Unknown Attribute FifoQueue."           },
      {R"({"ContentBasedDeduplication":"true"})",                 "InvalidAttributeName",
       "Unknown Attribute ContentBasedDeduplication."                                                                               },
      {R"({"DeduplicationScope":"queue"})",                       "InvalidAttributeName",
       "You can specify the DeduplicationScope only when FifoQueue is set to true."                                                 },
      {R"({"FifoThroughputLimit":"perQueue"})",                   "InvalidAttributeName",
       "You can specify the FifoThroughputLimit only when FifoQueue is set to true."                                                },
      {R"({"KmsMasterKeyId":"k","SqsManagedSseEnabled":"true"})", "InvalidAttributeName",
       "You can use one type of server-side encryption (SSE) at one time. You can either enable "
       "KMS SSE or SQS SSE."                                                                                                        },
      {R"({"SqsManagedSseEnabled":"yes"})",                       "InvalidAttributeValue",
       "Invalid value for the parameter SqsManagedSseEnabled."                                                                      },
      {R"({"Policy":"x"})",                                       "InvalidAttributeValue", "Invalid value for the parameter Policy."},
      {R"({"Policy":"{\"Statement\":[{\"Sid\":\"\uFFFE\"}]}"})",  "InvalidAttributeValue",
       "Invalid value for the parameter Policy."                                                                                    },
      {R"({"Policy":"[]"})",                                      "InvalidAttributeValue", "Invalid value for the parameter Policy."},
      {R"({"Policy":"{\"Version\":\"1\"}"})",                     "InvalidAttributeValue",
       "Invalid value for the parameter Policy."                                                                                    },
      {R"({"KmsMasterKeyId":"\u0007"})",                          "InvalidAttributeValue",
       "Invalid value for the parameter KmsMasterKeyId."                                                                            },
      {R"({"DelaySeconds":"901","Foo":"1"})",                     "InvalidAttributeValue",
       "Invalid value for the parameter DelaySeconds."                                                                              },
  };
  make_queue("q");
  for (const Case& c : cases) {
    const std::string shape = fmt::format("com.amazonaws.sqs#{}", c.shape);
    expect_error(set(c.attributes), shape, c.text);
    if (c.attributes != R"({"FifoQueue":"true"})")
      expect_error(create("r", c.attributes), shape, c.text);
  }
  expect_error(create("r", R"({"FifoQueue":"true"})"),
               "com.amazon.coral.service#InvalidParameterValueException",
               "The name of a FIFO queue can only include alphanumeric characters, hyphens, or "
               "underscores, must end with .fifo suffix and be 1 to 80 in length");
  EXPECT_EQ(broker.seen[Op::set_attributes], 0);
  EXPECT_EQ(broker.seen[Op::create_queue], 1);
}

TEST_F(SqsQueues, TextsBeyondTheirLimitAreRefused) {
  make_queue("q");
  const auto key = [](std::size_t n) {
    return fmt::format(R"({{"KmsMasterKeyId":"{}"}})", std::string(n, 'k'));
  };
  EXPECT_EQ(set(key(8192)).status, 200);
  EXPECT_EQ(set(key(8193)).status, 400);
  std::string numbers = "9e9";
  while (numbers.size() < 8000) numbers += ",9e9";
  EXPECT_EQ(set(fmt::format(R"({{"Policy":"{{\"Statement\":[{}]}}"}})", numbers)).status, 400);
}

TEST_F(SqsQueues, SettingNothingIsAnError) {
  make_queue("q");
  constexpr std::string_view missing = "com.amazon.coral.service#MissingRequiredParameterException";
  constexpr std::string_view text = "The request must contain the parameter Attribute.Name.";
  expect_error(on_queue("SetQueueAttributes", ""), missing, text);
  expect_error(set("{}"), missing, text);
  EXPECT_NE(query("Action=SetQueueAttributes&QueueUrl=q&Attribute.1.Value=3").body.find(text),
            std::string::npos);
}

TEST_F(SqsQueues, AnOldClientMaySetTheOneAttributeWithoutANumber) {
  make_queue("q");
  EXPECT_EQ(query("Action=SetQueueAttributes&QueueUrl=q&Attribute.Name=DelaySeconds"
                  "&Attribute.Value=7")
                .status,
            200);
  EXPECT_EQ((*broker.directory.find(QueueId{1}))->number(Attribute::delay_seconds), 7);
}

TEST_F(SqsQueues, AKeyOfOnesOwnSwitchesTheOtherEncryptionOff) {
  make_queue("q");
  set(R"({"KmsMasterKeyId":"alias/x"})");
  EXPECT_EQ(
      attributes(R"("KmsMasterKeyId","KmsDataKeyReusePeriodSeconds","SqsManagedSseEnabled")").body,
      R"({"Attributes":{"SqsManagedSseEnabled":"false","KmsMasterKeyId":"alias/x",)"
      R"("KmsDataKeyReusePeriodSeconds":"300"}})");
  EXPECT_EQ(set(R"({"KmsMasterKeyId":"alias/y","SqsManagedSseEnabled":"false"})").status, 200);
  set(R"({"SqsManagedSseEnabled":"true"})");
  EXPECT_EQ(
      attributes(R"("KmsMasterKeyId","KmsDataKeyReusePeriodSeconds","SqsManagedSseEnabled")").body,
      R"({"Attributes":{"SqsManagedSseEnabled":"true"}})");
}

TEST_F(SqsQueues, AnEmptyTextTakesAPolicyOrAKeyAway) {
  make_queue("q");
  set(R"({"Policy":"{\"Statement\":[]}","KmsMasterKeyId":"k"})");
  EXPECT_EQ(set(R"({"Policy":""})").status, 200);
  EXPECT_EQ(attributes(R"("Policy")").body, "{}");
  EXPECT_EQ(set(R"({"KmsMasterKeyId":"","KmsDataKeyReusePeriodSeconds":"300"})").status, 200);
  EXPECT_EQ(
      attributes(R"("KmsMasterKeyId","KmsDataKeyReusePeriodSeconds","SqsManagedSseEnabled")").body,
      R"({"Attributes":{"SqsManagedSseEnabled":"false"}})");
}

TEST_F(SqsQueues, AUrlIsFoundByName) {
  make_queue("q");
  EXPECT_EQ(json("GetQueueUrl", R"({"QueueName":"q"})").body,
            R"({"QueueUrl":"http://broker.test:9324/000000000000/q"})");
  EXPECT_EQ(
      json("GetQueueUrl", R"({"QueueName":"q","QueueOwnerAWSAccountId":"000000000000"})").status,
      200);
  constexpr std::string_view none = "com.amazonaws.sqs#QueueDoesNotExist";
  for (const std::string_view unknown :
       {R"({"QueueName":"Q"})", R"({"QueueName":"Q","QueueOwnerAWSAccountId":"123456789012"})"}) {
    expect_error(json("GetQueueUrl", unknown), none, "The specified queue does not exist.");
  }
  expect_error(json("GetQueueUrl", R"({"QueueName":""})"), invalid_value,
               "Queue name cannot be empty");
}

// JSON refuses any member that is given twice (SqsProtocol); these are the same calls as forms.
TEST_F(SqsQueues, AnAttributeNamedTwiceIsRefusedInAForm) {
  make_queue("q");
  constexpr std::string_view twice =
      "&Attribute.1.Name=DelaySeconds&Attribute.1.Value=1"
      "&Attribute.2.Name=DelaySeconds&Attribute.2.Value=1";
  constexpr std::string_view with_the_old_form =
      "&Attribute.1.Name=DelaySeconds&Attribute.1.Value=1"
      "&Attribute.Name=DelaySeconds&Attribute.Value=1";
  const std::size_t applied = broker.applied();
  for (const std::string_view given : {twice, with_the_old_form}) {
    for (const std::string_view action :
         {"Action=SetQueueAttributes&QueueUrl=q", "Action=CreateQueue&QueueName=r"}) {
      const SqsResponse answer = query(fmt::format("{}{}", action, given));
      EXPECT_EQ(answer.status, 400) << action;
      EXPECT_NE(answer.body.find("<Code>InvalidQueryParameter</Code>"
                                 "<Message>Attribute names DelaySeconds twice: name it "
                                 "once.</Message>"),
                std::string::npos)
          << answer.body;
    }
  }
  EXPECT_EQ(broker.applied(), applied);
}

TEST_F(SqsQueues, ADeletedQueueIsGone) {
  make_queue("q");
  EXPECT_EQ(on_queue("DeleteQueue", "").status, 200);
  expect_error(on_queue("DeleteQueue", ""), "com.amazonaws.sqs#QueueDoesNotExist",
               "The specified queue does not exist.");
}

TEST_F(SqsQueues, AreListedByNameAndPrefix) {
  EXPECT_EQ(json("ListQueues", "{}").body, "{}");
  EXPECT_NE(query("Action=ListQueues&QueueNamePrefix=").body.find("<ListQueuesResult/>"),
            std::string::npos);
  for (const std::string_view name : {"b2", "a", "b1", "B"}) make_queue(name);
  EXPECT_EQ(json("ListQueues", R"({"QueueNamePrefix":"b"})").body,
            R"({"QueueUrls":["http://broker.test:9324/000000000000/b1",)"
            R"("http://broker.test:9324/000000000000/b2"]})");
  EXPECT_NE(query("Action=ListQueues")
                .body.find("<ListQueuesResult>"
                           "<QueueUrl>http://broker.test:9324/000000000000/B</QueueUrl>"
                           "<QueueUrl>http://broker.test:9324/000000000000/a</QueueUrl>"
                           "<QueueUrl>http://broker.test:9324/000000000000/b1</QueueUrl>"
                           "<QueueUrl>http://broker.test:9324/000000000000/b2</QueueUrl>"
                           "</ListQueuesResult>"),
            std::string::npos);
}

TEST_F(SqsQueues, AreListedPageByPage) {
  for (const std::string_view name : {"q1", "q2", "q3"}) make_queue(name);
  const SqsResponse first = json("ListQueues", R"({"MaxResults":2})");
  EXPECT_EQ(first.body, R"({"QueueUrls":["http://broker.test:9324/000000000000/q1",)"
                        R"("http://broker.test:9324/000000000000/q2"],"NextToken":"cTI="})");
  EXPECT_EQ(json("ListQueues", R"({"MaxResults":2,"NextToken":"cTI="})").body,
            R"({"QueueUrls":["http://broker.test:9324/000000000000/q3"]})");
  EXPECT_EQ(json("ListQueues", R"({"MaxResults":3})").body.find("NextToken"), std::string::npos);
  EXPECT_EQ(json("ListQueues", R"({"MaxResults":0})").body,
            json("ListQueues", R"({"MaxResults":1000})").body);
  for (const int bad : {-1, 1001}) {
    expect_error(json("ListQueues", fmt::format(R"({{"MaxResults":{}}})", bad)), invalid_value,
                 "Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer "
                 "between 1 and 1000.");
  }
  EXPECT_EQ(query("Action=ListQueues&MaxResults=x").status, 400);
  for (const std::string_view bad : {"!", "cTI", "YSBi"}) {
    expect_error(json("ListQueues", fmt::format(R"({{"MaxResults":2,"NextToken":"{}"}})", bad)),
                 invalid_value, "Invalid or expired next token.");
  }
}

TEST_F(SqsQueues, AreListedUpToAThousandAtATime) {
  for (int i = 0; i < 1001; ++i) {
    auto queue = std::make_shared<QueueConfig>();
    queue->id = QueueId{static_cast<std::uint32_t>(i + 1)};
    queue->account = "000000000000";
    queue->name = fmt::format("q{:04}", i);
    broker.directory.put(queue);
  }
  const auto count = [](const std::string& body) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = body.find("http://", at)) != std::string::npos; ++at) ++n;
    return n;
  };
  const SqsResponse all = json("ListQueues", "{}");
  EXPECT_EQ(count(all.body), 1000u);
  EXPECT_EQ(all.body.find("NextToken"), std::string::npos);
  const SqsResponse page = json("ListQueues", R"({"MaxResults":1000})");
  EXPECT_EQ(count(page.body), 1000u);
  EXPECT_NE(page.body.find("NextToken"), std::string::npos);
}

}  // namespace
}  // namespace pawl

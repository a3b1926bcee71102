// SPDX-License-Identifier: Apache-2.0
// Receives, and what is done with receipt handles afterwards.
#include "proto/aws/message_attributes.h"

#include <fmt/core.h>
#include "tests/proto/sqs/fixture.h"

namespace pawl {
namespace {

constexpr std::string_view invalid_value =
    "com.amazon.coral.service#InvalidParameterValueException";
constexpr std::string_view missing = "com.amazon.coral.service#MissingRequiredParameterException";
constexpr std::string_view handle_1 = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB";

class SqsReceive : public SqsTest {
 protected:
  void SetUp() override { make_queue("q"); }

  void send(std::string_view more = "") {
    const SqsResponse sent =
        on_queue("SendMessage", fmt::format(R"("MessageBody":"a\"<&\r\n"{})", more));
    ASSERT_EQ(sent.status, 200) << sent.body;
    id_ = sent.body.substr(14, 36);
  }
  SqsResponse receive(std::string_view members = "") { return on_queue("ReceiveMessage", members); }
  // A message in JSON, without attributes and with `more` after its body.
  std::string message_json(std::string_view more = "") const {
    return fmt::format(R"({{"Messages":[{{"MessageId":"{}","ReceiptHandle":"{}",)"
                       R"("MD5OfBody":"{}","Body":"a\"<&\r\n"{}}}]}})",
                       id_, handle_1, "e884b6174314d4e4cc3db265924dd917", more);
  }

  static std::size_t occurrences(std::string_view text, std::string_view of) {
    std::size_t count = 0;
    for (std::size_t at = 0; (at = text.find(of, at)) != text.npos; at += of.size()) ++count;
    return count;
  }

  std::string id_;
};

constexpr std::string_view three_attributes =
    R"(,"MessageAttributes":{"Help.Me":{"DataType":"String","StringValue":"Me"},)"
    R"("Hello":{"DataType":"String","StringValue":"There"},)"
    R"("General":{"DataType":"String","StringValue":"Kenobi"}})";

TEST_F(SqsReceive, NothingIsAnEmptyResult) {
  EXPECT_EQ(receive().body, "{}");
  EXPECT_NE(query("Action=ReceiveMessage&QueueUrl=q").body.find("<ReceiveMessageResult/>"),
            std::string::npos);
}

TEST_F(SqsReceive, AMessageComesWithoutWhatWasNotAskedFor) {
  send(three_attributes);
  EXPECT_EQ(receive().body, message_json());
  EXPECT_EQ(query("Action=ReceiveMessage&QueueUrl=q").body.find("Attribute"), std::string::npos);
}

TEST_F(SqsReceive, AnAnswerHasAMiBOfMessagesAndTheRestGoesBack) {
  for (Seq seq = 1; seq <= 10; ++seq)
    broker.messages.push_back({.seq = seq, .body = std::string(400 << 10, '"')});
  const SqsResponse xml = query("Action=ReceiveMessage&QueueUrl=q&MaxNumberOfMessages=10");
  EXPECT_EQ(xml.status, 200);
  EXPECT_EQ(occurrences(xml.body, "</Message>"), 2u);
  EXPECT_EQ(occurrences(xml.body, "&quot;"), 2u * (400 << 10));
  EXPECT_EQ(broker.returned, (std::vector<std::uint8_t>{3, 4, 5, 6, 7, 8, 9, 10}));

  broker.returned.clear();
  broker.messages.front().body.assign(1 << 20, '"');
  const SqsResponse json = receive(R"("MaxNumberOfMessages":10)");
  EXPECT_EQ(occurrences(json.body, "MessageId"), 1u);
  EXPECT_EQ(occurrences(json.body, "\\\""), 1u << 20);
  EXPECT_EQ(broker.returned, (std::vector<std::uint8_t>{2, 3, 4, 5, 6, 7, 8, 9, 10}));

  broker.returned.clear();
  EXPECT_EQ(receive().status, 200);  // one message, and nothing is left over
  EXPECT_TRUE(broker.returned.empty());
}

TEST_F(SqsReceive, InXmlABodyIsEscapedSoThatItsDigestHolds) {
  send();
  const SqsResponse xml = query("Action=ReceiveMessage&QueueUrl=q");
  EXPECT_NE(xml.body.find("<ReceiveMessageResult><Message><MessageId>" + id_ +
                          "</MessageId><ReceiptHandle>" + std::string(handle_1) +
                          "</ReceiptHandle><MD5OfBody>e884b6174314d4e4cc3db265924dd917</MD5OfBody>"
                          "<Body>a&quot;&lt;&amp;&#xD;\n</Body></Message></ReceiveMessageResult>"),
            std::string::npos)
      << xml.body;
}

TEST_F(SqsReceive, ADigestThatWasKeptIsNotComputedAgain) {
  send();
  static constexpr Md5 kept{1, 2, 3};
  const SqsResponse first = receive();
  EXPECT_NE(first.body.find("e884b6174314d4e4cc3db265924dd917"), std::string::npos);
  broker.body_md5 = &kept;
  EXPECT_NE(receive().body.find(R"("MD5OfBody":"01020300000000000000000000000000")"),
            std::string::npos);
}

TEST_F(SqsReceive, TenMessagesHaveTheDigestsOfTheirBodies) {
  for (Seq seq = 1; seq <= 10; ++seq)
    broker.messages.push_back({.seq = seq, .body = std::string(seq * 37 % 301, 'b')});
  const SqsResponse answer = receive(R"("MaxNumberOfMessages":10)");
  for (const auto& message : broker.messages) {
    std::string digest;
    append_hex(digest, md5(message.body));
    EXPECT_EQ(occurrences(answer.body,
                          fmt::format(R"("MD5OfBody":"{}","Body":"{}")", digest, message.body)),
              1u);
  }
}

TEST_F(SqsReceive, SystemAttributesComeByNameOrAll) {
  send(R"(,"MessageGroupId":"g","MessageSystemAttributes":{"AWSTraceHeader":)"
       R"({"DataType":"String","StringValue":"t"}})");
  constexpr std::string_view all =
      R"(,"Attributes":{"SenderId":"000000000000","SentTimestamp":"1700000000123",)"
      R"("ApproximateReceiveCount":"7","ApproximateFirstReceiveTimestamp":"1700000000456",)"
      R"("AWSTraceHeader":"t","MessageGroupId":"g"})";
  EXPECT_EQ(receive(R"("AttributeNames":["All"])").body, message_json(all));
  EXPECT_EQ(receive(R"("MessageSystemAttributeNames":["All"])").body, message_json(all));
  EXPECT_EQ(
      receive(R"("AttributeNames":["SenderId"],"MessageSystemAttributeNames":["MessageGroupId"])")
          .body,
      message_json(R"(,"Attributes":{"SenderId":"000000000000","MessageGroupId":"g"})"));
  EXPECT_EQ(receive(R"("AttributeNames":["AWSTraceHeader"])").body,
            message_json(R"(,"Attributes":{"AWSTraceHeader":"t"})"));
  EXPECT_EQ(receive(R"("AttributeNames":["SequenceNumber","DeadLetterQueueSourceArn"])").body,
            message_json());
  EXPECT_NE(query("Action=ReceiveMessage&QueueUrl=q&AttributeName.1=ApproximateReceiveCount"
                  "&MessageSystemAttributeName.1=SentTimestamp")
                .body.find("</Body><Attribute><Name>SentTimestamp</Name><Value>1700000000123"
                           "</Value></Attribute><Attribute><Name>ApproximateReceiveCount</Name>"
                           "<Value>7</Value></Attribute></Message>"),
            std::string::npos);
  expect_error(receive(R"("AttributeNames":["SenderId","Foo"])"), 400,
               "com.amazonaws.sqs#InvalidAttributeName", "Unknown Attribute Foo.");
  EXPECT_EQ(receive(R"("MessageSystemAttributeNames":["SenderId","Foo"])").body,
            receive(R"("MessageSystemAttributeNames":["SenderId"])").body);
}

TEST_F(SqsReceive, AGroupIdStoredAmongTheSystemAttributesIsShownAllTheSame) {
  broker.messages.push_back({.seq = 1, .body = "b"});
  append_attribute(broker.messages[0].system,
                   {"AWSTraceHeader", "String", AttributeKind::text, "t"});
  append_attribute(broker.messages[0].system,
                   {"MessageGroupId", "String", AttributeKind::text, "old"});
  EXPECT_NE(receive(R"("AttributeNames":["MessageGroupId"])")
                .body.find(R"("Attributes":{"MessageGroupId":"old"})"),
            std::string::npos);
}

TEST_F(SqsReceive, MessageAttributesComeByNamePrefixOrAllWithTheDigestOfWhatComes) {
  struct Case {
    std::string_view names, want;
  };
  constexpr std::string_view all =
      R"(,"MD5OfMessageAttributes":"4c360f3fdafd970e05fae2f149d997f5","MessageAttributes":{)"
      R"("General":{"StringValue":"Kenobi","DataType":"String"},)"
      R"("Hello":{"StringValue":"There","DataType":"String"},)"
      R"("Help.Me":{"StringValue":"Me","DataType":"String"}})";
  const Case cases[] = {
      {R"([])",                      ""                         },
      {R"(["All"])",                 all                        },
      {R"([".*"])",                  all                        },
      {R"(["*"])",                   all                        },
      {R"(["Foo","Help"])",          ""                         },
      {R"(["General","Hello"])",
       R"(,"MD5OfMessageAttributes":"fca026605781cb4126a1e9044df24232","MessageAttributes":{)"
       R"("General":{"StringValue":"Kenobi","DataType":"String"},)"
       R"("Hello":{"StringValue":"There","DataType":"String"}})"},
      {R"(["Foo","Hel.*","Gen.*"])", all                        },
  };
  send(three_attributes);
  for (const Case& c : cases) {
    EXPECT_EQ(receive(fmt::format(R"("MessageAttributeNames":{})", c.names)).body,
              message_json(c.want))
        << c.names;
  }
}

TEST_F(SqsReceive, BinaryAttributesComeBackAsTheyWereSent) {
  send(R"(,"MessageAttributes":{"B":{"DataType":"Binary.x","BinaryValue":"AP8="}})");
  EXPECT_NE(
      receive(R"("MessageAttributeNames":["All"])")
          .body.find(R"("MessageAttributes":{"B":{"BinaryValue":"AP8=","DataType":"Binary.x"}})"),
      std::string::npos);
  EXPECT_NE(query("Action=ReceiveMessage&QueueUrl=q&MessageAttributeName.1=All")
                .body.find("</MD5OfMessageAttributes><MessageAttribute><Name>B</Name><Value>"
                           "<BinaryValue>AP8=</BinaryValue><DataType>Binary.x</DataType></Value>"
                           "</MessageAttribute></Message>"),
            std::string::npos);
}

TEST_F(SqsReceive, SeveralMessagesComeUpToTheNumberAskedFor) {
  for (int i = 0; i < 3; ++i) send();
  const auto count = [](const std::string& body) {
    std::size_t n = 0;
    for (std::size_t at = 0; (at = body.find("MessageId", at)) != std::string::npos; ++at) ++n;
    return n;
  };
  EXPECT_EQ(count(receive().body), 1u);
  EXPECT_EQ(count(receive(R"("MaxNumberOfMessages":2)").body), 2u);
  EXPECT_EQ(count(receive(R"("MaxNumberOfMessages":10)").body), 3u);
  EXPECT_EQ(broker.last.deliveries.size(), 10u);
}

TEST_F(SqsReceive, TimesAreTheQueuesUnlessGiven) {
  receive();
  EXPECT_EQ(broker.last.receive.max, 1u);
  EXPECT_EQ(broker.last.receive.visibility, queue_default);
  EXPECT_EQ(broker.last.receive.wait, queue_default);
  receive(R"("VisibilityTimeout":0,"WaitTimeSeconds":0)");
  EXPECT_EQ(broker.last.receive.visibility, seconds(0));
  EXPECT_EQ(broker.last.receive.wait, seconds(0));
  receive(R"("VisibilityTimeout":43200,"WaitTimeSeconds":20,"ReceiveRequestAttemptId":"x")");
  EXPECT_EQ(broker.last.receive.visibility, seconds(43200));
  EXPECT_EQ(broker.last.receive.wait, seconds(20));
}

TEST_F(SqsReceive, NumbersOutOfRangeAreRefused) {
  struct Case {
    std::string_view name, value, reason;
  };
  const Case cases[] = {
      {"MaxNumberOfMessages", "0",     "Must be between 1 and 10, if provided." },
      {"MaxNumberOfMessages", "11",    "Must be between 1 and 10, if provided." },
      {"VisibilityTimeout",   "-1",    "Must be >= 0 and <= 43200, if provided."},
      {"VisibilityTimeout",   "43201", "Must be >= 0 and <= 43200, if provided."},
      {"WaitTimeSeconds",     "-1",    "Must be >= 0 and <= 20, if provided."   },
      {"WaitTimeSeconds",     "21",    "Must be >= 0 and <= 20, if provided."   },
  };
  for (const Case& c : cases) {
    const std::string text =
        fmt::format("Value {} for parameter {} is invalid. Reason: {}", c.value, c.name, c.reason);
    expect_error(receive(fmt::format(R"("{}":{})", c.name, c.value)), 400, invalid_value, text);
    const SqsResponse xml =
        query(fmt::format("Action=ReceiveMessage&QueueUrl=q&{}={}", c.name, c.value));
    EXPECT_NE(xml.body.find("<Code>InvalidParameterValue</Code>"), std::string::npos);
  }
}

TEST_F(SqsReceive, TooManyInFlightIsOverLimit) {
  broker.refuse_with = Errc::over_in_flight;
  const SqsResponse answer = receive();
  EXPECT_EQ(answer.status, 403);
  EXPECT_EQ(answer.header("x-amzn-query-error"), "OverLimit;Sender");
}

TEST_F(SqsReceive, AHandleIsGivenBackAsTheBytesThatWereHandedOut) {
  EXPECT_EQ(on_queue("DeleteMessage", fmt::format(R"("ReceiptHandle":"{}")", handle_1)).body, "");
  ReceiptHandle want;
  want.fill(1);
  EXPECT_EQ(broker.seen[Op::delete_message], 1);
  EXPECT_EQ(call.routes().front().request->receipts[0].handle, want);
  EXPECT_EQ(query(fmt::format("Action=ChangeMessageVisibility&QueueUrl=q&VisibilityTimeout=43200"
                              "&ReceiptHandle={}",
                              handle_1))
                .status,
            200);
  EXPECT_EQ(call.routes().front().request->receipts[0].handle, want);
  EXPECT_EQ(call.routes().front().request->receipts[0].visibility, seconds(43200));
}

TEST_F(SqsReceive, WhatIsNoHandleNeverReachesTheBroker) {
  for (const std::string_view bad :
       {"garbage", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB",
        "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=", "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE!"}) {
    const std::string text =
        fmt::format("The input receipt handle \\\"{}\\\" is not a valid receipt handle.", bad);
    expect_error(on_queue("DeleteMessage", fmt::format(R"("ReceiptHandle":"{}")", bad)), 404,
                 "com.amazonaws.sqs#ReceiptHandleIsInvalid", text);
    expect_error(on_queue("ChangeMessageVisibility",
                          fmt::format(R"("ReceiptHandle":"{}","VisibilityTimeout":1)", bad)),
                 404, "com.amazonaws.sqs#ReceiptHandleIsInvalid", text);
  }
  EXPECT_EQ(broker.seen[Op::delete_message] + broker.seen[Op::change_visibility], 0);
}

TEST_F(SqsReceive, WhatIsMissingIsNamed) {
  expect_error(on_queue("DeleteMessage", ""), 400, missing,
               "The request must contain the parameter ReceiptHandle.");
  expect_error(on_queue("ChangeMessageVisibility", R"("VisibilityTimeout":1)"), 400, missing,
               "The request must contain the parameter ReceiptHandle.");
  expect_error(on_queue("ChangeMessageVisibility", R"("ReceiptHandle":"x")"), 400, missing,
               "The request must contain the parameter VisibilityTimeout.");
}

TEST_F(SqsReceive, ATimeoutIsBetween0And43200) {
  for (const std::string_view bad : {"-1", "43201"}) {
    expect_error(
        on_queue("ChangeMessageVisibility",
                 fmt::format(R"("ReceiptHandle":"{}","VisibilityTimeout":{})", handle_1, bad)),
        400, invalid_value,
        fmt::format("Value {} for parameter VisibilityTimeout is invalid. Reason: Must be "
                    "between 0 and 43200.",
                    bad));
  }
}

TEST_F(SqsReceive, ATimeoutIsLongerWhereTheQueueAllowsIt) {
  auto lifted = std::make_shared<QueueConfig>(**broker.directory.find(QueueId{1}));
  lifted->apply({Attribute::max_visibility, 86'400, {}});
  broker.directory.put(lifted);
  receive(R"("VisibilityTimeout":86400)");
  EXPECT_EQ(broker.last.receive.visibility, seconds(86'400));
  expect_error(
      receive(R"("VisibilityTimeout":86401)"), 400, invalid_value,
      "Value 86401 for parameter VisibilityTimeout is invalid. Reason: Must be >= 0 and <= "
      "86400, the queue's x-max-visibility, if provided.");
  const auto change = [&](int timeout) {
    return on_queue(
        "ChangeMessageVisibility",
        fmt::format(R"("ReceiptHandle":"{}","VisibilityTimeout":{})", handle_1, timeout));
  };
  EXPECT_EQ(change(86'400).status, 200);
  EXPECT_EQ(broker.last.receipts[0].visibility, seconds(86'400));
  constexpr std::string_view reason =
      "Value 86401 for parameter VisibilityTimeout is invalid. Reason: Must be between 0 and "
      "86400, the queue's x-max-visibility.";
  expect_error(change(86'401), 400, invalid_value, reason);
  const SqsResponse batch = on_queue(
      "ChangeMessageVisibilityBatch",
      fmt::format(R"("Entries":[{{"Id":"a","ReceiptHandle":"{}","VisibilityTimeout":86401}}])",
                  handle_1));
  EXPECT_TRUE(batch.body.contains(reason)) << batch.body;
}

TEST_F(SqsReceive, AnErrorOfTheReceiptIsTheErrorOfTheCall) {
  broker.refuse_entries = {Errc::message_gone};
  expect_error(on_queue("ChangeMessageVisibility",
                        fmt::format(R"("ReceiptHandle":"{}","VisibilityTimeout":0)", handle_1)),
               400, invalid_value,
               fmt::format("Value {} for parameter ReceiptHandle is invalid. Reason: Message does "
                           "not exist or is not available for visibility timeout change.",
                           handle_1));
}

}  // namespace
}  // namespace pawl

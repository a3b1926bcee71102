// SPDX-License-Identifier: Apache-2.0
// Sends: what is accepted, what is refused and in which words, and the digests that go back.
#include "proto/aws/message_attributes.h"

#include <fmt/core.h>
#include "tests/proto/sqs/fixture.h"

namespace pawl {
namespace {

constexpr std::string_view invalid_value =
    "com.amazon.coral.service#InvalidParameterValueException";
constexpr std::string_view missing = "com.amazon.coral.service#MissingRequiredParameterException";

class SqsSend : public SqsTest {
 protected:
  void SetUp() override { make_queue("q"); }

  SqsResponse send(std::string_view members) { return on_queue("SendMessage", members); }
  SqsResponse send_attributes(std::string_view attributes) {
    return send(fmt::format(R"("MessageBody":"b","MessageAttributes":{})", attributes));
  }
  static void expect_error(const SqsResponse& answer, std::string_view shape,
                           std::string_view text) {
    SqsTest::expect_error(answer, 400, shape, text);
  }
};

std::string value(std::string_view text, std::string_view type = "String") {
  return fmt::format(R"({{"DataType":"{}","StringValue":"{}"}})", type, text);
}

TEST_F(SqsSend, SaysWhatTheAnswerMeans) {
  for (std::size_t i = 0; i < durability_words.size(); ++i) {
    broker.durability = Durability{static_cast<std::int64_t>(i)};
    EXPECT_EQ(send(R"("MessageBody":"b")").header("x-pawl-durability"), durability_words[i]);
    EXPECT_EQ(on_queue("DeleteMessage", R"("ReceiptHandle":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB")")
                  .header("x-pawl-durability"),
              durability_words[i]);
  }
  EXPECT_EQ(send(R"("MessageBody":"")").header("x-pawl-durability"), "") << "it was refused";
  EXPECT_EQ(on_queue("ReceiveMessage", "").header("x-pawl-durability"), "");
}

TEST_F(SqsSend, KeepsBodyAttributesAndDigest) {
  const SqsResponse answer = send_attributes(R"({"N":{"DataType":"Number.int","StringValue":"1"},)"
                                             R"("A":{"DataType":"String","StringValue":"x y"},)"
                                             R"("B":{"DataType":"Binary","BinaryValue":"AAE="}})");
  EXPECT_EQ(answer.status, 200);
  EXPECT_TRUE(
      answer.body.ends_with(R"(,"MD5OfMessageBody":"92eb5ffee6ae2fec3ad71c777531578f",)"
                            R"("MD5OfMessageAttributes":"9ad6553e8e8ba7bb22f9de3836ac9d69"})"))
      << answer.body;
  ASSERT_EQ(broker.messages.size(), 1u);
  std::string want;
  append_attribute(want, {"A", "String", AttributeKind::text, "x y"});
  append_attribute(want, {"B", "Binary", AttributeKind::bytes, std::string_view("\0\1", 2)});
  append_attribute(want, {"N", "Number.int", AttributeKind::text, "1"});
  EXPECT_EQ(broker.messages[0].attributes, want);
  ASSERT_NE(call.routes().front().request->sends[0].content.body_md5, nullptr);
  EXPECT_EQ(*call.routes().front().request->sends[0].content.body_md5, md5("b"));
}

TEST_F(SqsSend, AFormSaysTheSameInOtherWords) {
  const SqsResponse answer = query(
      "Action=SendMessage&QueueUrl=q&MessageBody=b"
      "&MessageAttribute.1.Name=N&MessageAttribute.1.Value.DataType=Number.int"
      "&MessageAttribute.1.Value.StringValue=1"
      "&MessageAttribute.3.Name=B&MessageAttribute.3.Value.DataType=Binary"
      "&MessageAttribute.3.Value.BinaryValue=AAE%3D"
      "&MessageAttribute.2.Name=A&MessageAttribute.2.Value.DataType=String"
      "&MessageAttribute.2.Value.StringValue=x+y"
      "&MessageSystemAttribute.1.Name=AWSTraceHeader"
      "&MessageSystemAttribute.1.Value.DataType=String"
      "&MessageSystemAttribute.1.Value.StringValue=some-trace-id");
  EXPECT_NE(answer.body.find(
                "<MD5OfMessageBody>92eb5ffee6ae2fec3ad71c777531578f</MD5OfMessageBody>"
                "<MD5OfMessageAttributes>9ad6553e8e8ba7bb22f9de3836ac9d69</MD5OfMessageAttributes>"
                "<MD5OfMessageSystemAttributes>fdce4f2818803f2f73becc09a54792c0"
                "</MD5OfMessageSystemAttributes></SendMessageResult>"),
            std::string::npos)
      << answer.body;
}

TEST_F(SqsSend, AFormMayHoldAMessageOfEscapes) {
  std::string form = "Action=SendMessage&QueueUrl=q&MessageBody=";
  for (std::size_t i = 0; i < 1 << 20; ++i) form += "%61";
  EXPECT_LE(form.size(), HttpCall::form_bytes_max);
  EXPECT_EQ(query(form).status, 200);
  EXPECT_TRUE(broker.messages.back().body == std::string(1 << 20, 'a'));
  form += "%61";
  EXPECT_EQ(query(form).status, 400) << "one byte more than a message may have";
  HttpRequest head;
  head.method = "POST";
  EXPECT_EQ(HttpCall::body_bytes_max(head), HttpCall::form_bytes_max);
}

TEST_F(SqsSend, TheMessageIdIsMadeOfQueueAndNumber) {
  const MessageId id = message_id(config.secret, QueueId{1}, 1);
  const std::string hex = fmt::format("{:016x}{:016x}", id.high, id.low);
  const std::string uuid = hex.substr(0, 8) + "-" + hex.substr(8, 4) + "-" + hex.substr(12, 4) +
                           "-" + hex.substr(16, 4) + "-" + hex.substr(20);
  EXPECT_TRUE(
      send(R"("MessageBody":"b")").body.starts_with(fmt::format(R"({{"MessageId":"{}")", uuid)));
}

TEST_F(SqsSend, DelaysOf0To900SecondsOverrideTheQueues) {
  struct Case {
    std::string_view member;
    Duration want;
  };
  const Case cases[] = {
      {"",                       queue_default},
      {R"(,"DelaySeconds":0)",   seconds(0)   },
      {R"(,"DelaySeconds":900)", seconds(900) },
      {R"(,"DelaySeconds":7.0)", seconds(7)   },
  };
  for (const Case& c : cases) {
    EXPECT_EQ(send(fmt::format(R"("MessageBody":"b"{})", c.member)).status, 200);
    EXPECT_EQ(broker.messages.back().delay, c.want);
  }
  for (const std::string_view bad : {"-1", "901", "9223372036854775808"}) {
    expect_error(send(fmt::format(R"("MessageBody":"b","DelaySeconds":{})", bad)), invalid_value,
                 fmt::format("Value {} for parameter DelaySeconds is invalid. Reason: DelaySeconds "
                             "must be >= 0 and <= 900.",
                             bad));
  }
  EXPECT_NE(query("Action=SendMessage&QueueUrl=q&MessageBody=b&DelaySeconds=x")
                .body.find("Value x for parameter DelaySeconds is invalid."),
            std::string::npos);
}

TEST_F(SqsSend, BodiesMustBeThere) {
  for (const std::string_view none : {"", R"("MessageBody":"")", R"("MessageBody":null)"}) {
    expect_error(send(none), missing, "The request must contain the parameter MessageBody.");
  }
}

TEST_F(SqsSend, BodiesAreOfTheCharactersOfXml) {
  for (const std::string_view good :
       {R"(\t)", R"(\n)", R"(\r)", " ", "\x7f", "\u0085", "\ud7ff", "\ue000", "\ufffd",
        "\U00010000", "\U0010ffff", "\U0001F600"}) {
    EXPECT_EQ(send(fmt::format(R"("MessageBody":"{}")", good)).status, 200) << good;
  }
  for (const std::string_view bad :
       {R"(\u0000)", R"(\u0008)", R"(\u000b)", R"(\u001f)", R"(\ufffe)", R"(\uffff)"}) {
    expect_error(send(fmt::format(R"("MessageBody":"a{}b")", bad)),
                 "com.amazonaws.sqs#InvalidMessageContents",
                 "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to "
                 "#xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF");
  }
  EXPECT_NE(query("Action=SendMessage&QueueUrl=q&MessageBody=%FF")
                .body.find("<Code>InvalidMessageContents</Code>"),
            std::string::npos);
}

TEST_F(SqsSend, AttributesFollowTheRulesOfSqs) {
  struct Case {
    std::string attributes;
    std::string text;
  };
  const std::string n257(257, 'n'), type256 = "String." + std::string(249, 't');
  const Case cases[] = {
      {R"({"":)" + value("v") + "}",
       "The request must contain non-empty message (user) attribute names."},
      {R"({")" + n257 + R"(":)" + value("v") + "}",
       "Message (user) attribute name must be shorter than 256 bytes."},
      {R"({"AWS.a":)" + value("v") + "}",
       "You can't use message attribute names beginning with 'AWS.' or 'Amazon'. These strings are "
       "reserved for internal use."},
      {R"({"a b":)" + value("v") + "}",
       "The message attribute name 'a b' is invalid. Attribute name can contain A-Z, a-z, 0-9, "
       "underscore (_), hyphen (-), and period (.) characters."},
      {R"({"a":{"StringValue":"v"}})",
       "The message (user) attribute 'a' must contain a non-empty message attribute type."},
      {R"({"a":)" + value("v", "") + "}",
       "The message (user) attribute 'a' must contain a non-empty message attribute type."},
      {R"({"a":)" + value("v", type256) + "}",
       "Message (user) attribute type must be shorter than 256 bytes."},
      {R"({"a":)" + value("v", "string") + "}",
       "The type of message (user) attribute 'a' is invalid. You must use only the following "
       "supported type prefixes: Binary, Number, String."},
      {R"({"a":{}})",
       "The message (user) attribute 'a' must contain a non-empty message attribute value."},
      {R"({"a":{"DataType":"String"}})",
       "The message (user) attribute 'a' must contain a non-empty message attribute value."},
      {R"({"a":{"DataType":"String","BinaryValue":"AAE="}})",
       "The message (user) attribute 'a' must contain a non-empty message attribute value."},
      {R"({"a":{"DataType":"Binary","StringValue":"v"}})",
       "The message (user) attribute 'a' must contain a non-empty message attribute value."},
      {R"({"a":)" + value("") + "}",
       "Message (user) attribute 'a' must contain a non-empty value of type 'String'."},
      {R"({"a":{"DataType":"Binary.x","BinaryValue":""}})",
       "Message (user) attribute 'a' must contain a non-empty value of type 'Binary'."},
      {R"({"a":)" + value("\\u0007") + "}",
       "Invalid characters found in the value of message (user) attribute 'a'. Valid unicode "
       "characters are #x9 | #xA | #xD | #x20 to #xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF"},
      {R"({"a":)" + value("12 apples", "Number") + "}",
       "Can't cast the value of message (user) attribute 'a' to a number."},
      {R"({"a":{"DataType":"String","StringValue":"v","StringListValues":["x"]}})",
       "Message attribute list values in SendMessage operation are not supported."},
      {R"({"a":{"DataType":"Binary","BinaryListValues":["AAE="]}})",
       "Message attribute list values in SendMessage operation are not supported."},
  };
  for (const Case& c : cases) expect_error(send_attributes(c.attributes), invalid_value, c.text);
  EXPECT_TRUE(broker.messages.empty());
  EXPECT_EQ(send_attributes(R"({"a":{"DataType":"String","StringValue":"v",)"
                            R"("StringListValues":[],"BinaryListValues":[]}})")
                .status,
            200);
}

TEST_F(SqsSend, AFormMayNameNoAttributeTwice) {
  const SqsResponse twice = query(
      "Action=SendMessage&QueueUrl=q&MessageBody=b"
      "&MessageAttribute.1.Name=a&MessageAttribute.1.Value.DataType=String"
      "&MessageAttribute.1.Value.StringValue=1"
      "&MessageAttribute.2.Name=a&MessageAttribute.2.Value.DataType=String"
      "&MessageAttribute.2.Value.StringValue=2");
  EXPECT_EQ(twice.status, 400);
  EXPECT_NE(twice.body.find("<Message>Message (user) attribute name 'a' already exists.</Message>"),
            std::string::npos)
      << twice.body;
}

TEST_F(SqsSend, UpToTenAttributesAreTaken) {
  std::string attributes = R"("a0":)" + value("v");
  for (int i = 1; i < 10; ++i) attributes += fmt::format(R"(,"a{}":{})", i, value("v"));
  EXPECT_EQ(send_attributes("{" + attributes + "}").status, 200);
  attributes += R"(,"b":)" + value("v");
  expect_error(send_attributes("{" + attributes + "}"), invalid_value,
               "Number of message attributes [11] exceeds the allowed maximum [10].");
}

TEST_F(SqsSend, BinaryValuesMustBeBase64) {
  expect_error(send_attributes(R"({"a":{"DataType":"Binary","BinaryValue":"A"}})"),
               "com.amazon.coral.service#SerializationException", "A BinaryValue is not base64");
  EXPECT_NE(query("Action=SendMessage&QueueUrl=q&MessageBody=b&MessageAttribute.1.Name=a"
                  "&MessageAttribute.1.Value.DataType=Binary"
                  "&MessageAttribute.1.Value.BinaryValue=A")
                .body.find("<Code>InvalidParameterValue</Code><Message>Value for parameter "
                           "MessageAttribute.1.Value.BinaryValue is invalid. Reason: Must be "
                           "base64.</Message>"),
            std::string::npos);
}

TEST_F(SqsSend, OnlyTheTraceHeaderMayBeSentAsASystemAttribute) {
  const auto with = [&](std::string_view name, std::string_view attribute) {
    return send(
        fmt::format(R"("MessageBody":"b","MessageSystemAttributes":{{"{}":{}}})", name, attribute));
  };
  const SqsResponse traced =
      with("AWSTraceHeader",
           value("Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"));
  EXPECT_TRUE(traced.body.ends_with(
      R"("MD5OfMessageSystemAttributes":"5ae4d5d7636402d80f4eb6d213245a88"})"))
      << traced.body;
  expect_error(with("x-foo", value("v")), invalid_value,
               "Message system attribute name 'x-foo' is invalid. There are AWSTraceHeader, "
               "x-not-before, x-ttl.");
  expect_error(with("foo", value("v")), invalid_value,
               "Message system attribute name 'foo' is invalid.");
  expect_error(with("AWSTraceHeader", value("1", "Number")), invalid_value,
               "The type of message (system) attribute 'AWSTraceHeader' is invalid. You must use "
               "only the following supported type prefixes: String.");
  expect_error(with("AWSTraceHeader", value("")), invalid_value,
               "The message (system) attribute 'AWSTraceHeader' must contain a non-empty message "
               "attribute value.");
  EXPECT_EQ(with("AWSTraceHeader", value(std::string(trace_header_max, 'x'))).status, 200);
  expect_error(with("AWSTraceHeader", value(std::string(trace_header_max + 1, 'x'))), invalid_value,
               "The value of message (system) attribute 'AWSTraceHeader' has 8193 bytes; the limit "
               "is 8192.");
}

TEST_F(SqsSend, ATraceHeaderOfTheRequestIsKeptButNotDigested) {
  const SqsResponse answer = json("SendMessage", R"({"QueueUrl":"q","MessageBody":"b"})", "/",
                                  "X-Amzn-Trace-Id: Root=1\r\n");
  EXPECT_EQ(answer.body.find("MD5OfMessageSystemAttributes"), std::string::npos);
  std::string want;
  append_attribute(want, {"AWSTraceHeader", "String", AttributeKind::text, "Root=1"});
  EXPECT_EQ(broker.messages.back().system, want);
  json("SendMessage",
       R"({"QueueUrl":"q","MessageBody":"b","MessageSystemAttributes":{"AWSTraceHeader":)" +
           value("mine") + "}}",
       "/", "X-Amzn-Trace-Id: Root=1\r\n");
  want.clear();
  append_attribute(want, {"AWSTraceHeader", "String", AttributeKind::text, "mine"});
  EXPECT_EQ(broker.messages.back().system, want);
}

TEST_F(SqsSend, AGroupIdMayBeSentToAnyQueue) {
  const std::string id128(128, '~');
  for (const std::string_view good : {"g", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~", id128.c_str()}) {
    const SqsResponse answer =
        send(fmt::format(R"("MessageBody":"b","MessageGroupId":"{}")", good));
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body.find("MD5OfMessageSystemAttributes"), std::string::npos);
    EXPECT_EQ(answer.body.find("SequenceNumber"), std::string::npos);
    EXPECT_EQ(broker.messages.back().group, good);
    EXPECT_EQ(broker.messages.back().system, "");
    EXPECT_EQ(broker.messages.back().dedup_id, "");
  }
  for (const std::string& bad :
       {std::string(), std::string("a b"), std::string("\u00e9"), std::string(129, 'g')}) {
    expect_error(send(fmt::format(R"("MessageBody":"b","MessageGroupId":"{}")", bad)),
                 invalid_value,
                 fmt::format("Value {} for parameter MessageGroupId is invalid. Reason: "
                             "MessageGroupId can only include alphanumeric and punctuation "
                             "characters. 1 to 128 in length.",
                             bad));
  }
}

TEST_F(SqsSend, ADeduplicationIdIsNotForStandardQueues) {
  expect_error(send(R"("MessageBody":"b","MessageDeduplicationId":"d")"), invalid_value,
               "Value d for parameter MessageDeduplicationId is invalid. Reason: The request "
               "includes a parameter that is not valid for this queue type.");
}

TEST_F(SqsSend, AMessageMayBeAsLargeAsTheQueueAllowsAndNotAByteLarger) {
  on_queue("SetQueueAttributes", R"("Attributes":{"MaximumMessageSize":"1024"})");
  const auto sized = [&](std::size_t body) {  // with 10 + 6 + 8 bytes of attributes
    return send(fmt::format(R"("MessageBody":"{}","MessageAttributes":{{"name":{},"x":{}}})",
                            std::string(body, 'b'), R"({"DataType":"String","StringValue":"v"})",
                            R"({"DataType":"Binary","BinaryValue":"AAECAwQF"})"));
  };
  EXPECT_EQ(sized(1024 - (4 + 6 + 1) - (1 + 6 + 6)).status, 200);
  expect_error(sized(1024 - (4 + 6 + 1) - (1 + 6 + 6) + 1), invalid_value,
               "One or more parameters are invalid. Reason: Message must be shorter than 1024 "
               "bytes.");
  // Characters of several bytes count as their bytes; ids do not count.
  std::string euros;
  for (int i = 0; i < 341; ++i) euros += "\u20ac";
  EXPECT_EQ(send(fmt::format(R"("MessageGroupId":"g","MessageBody":"{}a")", euros)).status, 200);
  EXPECT_EQ(send(fmt::format(R"("MessageBody":"{}ab")", euros)).status, 400);
}

TEST_F(SqsSend, OneMebibyteIsTaken) {
  EXPECT_EQ(send(fmt::format(R"("MessageBody":"{}")", std::string(1 << 20, 'b'))).status, 200);
  expect_error(send(fmt::format(R"("MessageBody":"{}")", std::string((1 << 20) + 1, 'b'))),
               invalid_value,
               "One or more parameters are invalid. Reason: Message must be shorter than 1048576 "
               "bytes.");
}

TEST_F(SqsSend, FaultsAreFoundInTheOrderOfAws) {
  // Each row adds the fault that comes before the others.
  struct Case {
    std::string_view members, text;
  };
  const Case cases[] = {
      {R"("MessageBody":"\u0001")",                                                           "Invalid characters found."                          },
      {R"("MessageBody":"\u0001","MessageDeduplicationId":"d")",
       "Value d for parameter MessageDeduplicationId"                                                                                              },
      {R"("MessageBody":"\u0001","MessageDeduplicationId":"d","MessageAttributes":{"a":{}})",
       "The message (user) attribute 'a'"                                                                                                          },
      {R"("MessageBody":"\u0001","MessageDeduplicationId":"d","MessageAttributes":{"a":{}},)"
       R"("DelaySeconds":-1)",                                                         "Value -1 for parameter DelaySeconds"                },
      {R"("MessageBody":"","MessageDeduplicationId":"d","MessageAttributes":{"a":{}},)"
       R"("DelaySeconds":-1)",                                                         "The request must contain the parameter MessageBody."},
  };
  for (const Case& c : cases) {
    const SqsResponse answer = send(c.members);
    EXPECT_NE(answer.body.find(c.text), std::string::npos) << answer.body;
  }
}

TEST_F(SqsSend, AnErrorOfTheEntryIsTheErrorOfTheCall) {
  broker.refuse_entries = {Errc::no_memory};
  EXPECT_EQ(send(R"("MessageBody":"b")").status, 429);
}

TEST_F(SqsSend, ALargeCallLeavesNothingBehindInTheNext) {
  send_attributes(R"({"A":)" + value(std::string(100'000, 'a')) + "}");
  EXPECT_EQ(send(R"("MessageBody":"b")").body.find("MD5OfMessageAttributes"), std::string::npos);
  EXPECT_EQ(broker.messages.back().attributes, "");
}

}  // namespace
}  // namespace pawl

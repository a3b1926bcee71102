// SPDX-License-Identifier: Apache-2.0
// Batches: what refuses them whole, what refuses one entry, and in which order all that is told.
#include "tests/proto/sqs/fixture.h"

#include <fmt/core.h>

namespace pawl {
namespace {

constexpr std::string_view handle_1 = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB";

struct Batch {
  std::string_view action;
  std::string_view entry;  // the members of a good entry, but for Id
};
constexpr Batch batches[] = {
    {"SendMessageBatch",             R"("MessageBody":"b")"                                 },
    {"DeleteMessageBatch",           R"("ReceiptHandle":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB")"},
    {"ChangeMessageVisibilityBatch",
     R"("ReceiptHandle":"AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB","VisibilityTimeout":5)"          },
};

class SqsBatch : public SqsTest {
 protected:
  void SetUp() override { make_queue("q"); }

  SqsResponse run(std::string_view action, std::string_view entries) {
    return on_queue(action, fmt::format(R"("Entries":[{}])", entries));
  }
  static std::string entry(std::string_view id, std::string_view members) {
    return fmt::format(R"({{"Id":"{}",{}}})", id, members);
  }
  static void expect_error(const SqsResponse& answer, std::string_view shape,
                           std::string_view text) {
    SqsTest::expect_error(answer, 400, shape, text);
  }
  static std::string failed(std::string_view id, std::string_view code, std::string_view text,
                            bool sender = true) {
    return fmt::format(R"({{"Id":"{}","SenderFault":{},"Code":"{}","Message":"{}"}})", id, sender,
                       code, text);
  }
};

TEST_F(SqsBatch, EachMessageHasTheDigestOfItsBody) {
  std::string entries;
  for (int i = 0; i < 10; ++i) {
    const std::string body(static_cast<std::size_t>(i) * 37 % 301 + 1, static_cast<char>('a' + i));
    const char* const refused = i % 4 == 1 ? R"(,"DelaySeconds":901)" : "";
    entries += (i == 0 ? "" : ",") +
               entry(fmt::format("i{}", i), fmt::format(R"("MessageBody":"{}"{})", body, refused));
  }
  const SqsResponse answer = run("SendMessageBatch", entries);
  ASSERT_EQ(broker.messages.size(), 7u);
  for (std::size_t i = 0; i < broker.messages.size(); ++i) {
    std::string digest;
    append_hex(digest, md5(broker.messages[i].body));
    EXPECT_NE(answer.body.find(fmt::format(R"("MD5OfMessageBody":"{}")", digest)),
              std::string::npos);
    const SendEntry& sent = call.routes().front().request->sends[i];
    EXPECT_EQ(*sent.content.body_md5, md5(broker.messages[i].body)) << i;
  }
}

TEST_F(SqsBatch, MustHaveOneToTenEntriesWithDistinctIds) {
  for (const Batch& batch : batches) {
    const auto with = [&](std::string_view id) { return entry(id, batch.entry); };
    const std::string entry_name = fmt::format("{}RequestEntry", batch.action);
    expect_error(run(batch.action, ""), "com.amazonaws.sqs#EmptyBatchRequest",
                 fmt::format("There should be at least one {} in the request.", entry_name));
    expect_error(on_queue(batch.action, ""), "com.amazonaws.sqs#EmptyBatchRequest",
                 fmt::format("There should be at least one {} in the request.", entry_name));

    std::string entries = with("i0");
    for (int i = 1; i < 10; ++i) entries += "," + with(fmt::format("i{}", i));
    EXPECT_EQ(run(batch.action, entries).status, 200);
    expect_error(run(batch.action, entries + "," + with("i10")),
                 "com.amazonaws.sqs#TooManyEntriesInBatchRequest",
                 "Maximum number of entries per request are 10. You have sent 11.");

    expect_error(run(batch.action, with("a") + fmt::format(",{{{}}}", batch.entry)),
                 "com.amazon.coral.service#MissingRequiredParameterException",
                 fmt::format("The request must contain the parameter {}.2.Id.", entry_name));
    const std::string id80(80, 'i'), id81(81, 'i');
    EXPECT_EQ(run(batch.action, with(id80)).status, 200);
    for (const std::string_view bad : {"", "a b", "a.b", "\u00e9", id81.c_str()}) {
      expect_error(run(batch.action, with("a") + "," + with(bad)),
                   "com.amazonaws.sqs#InvalidBatchEntryId",
                   "A batch entry id can only contain alphanumeric characters, hyphens and "
                   "underscores. It can be at most 80 letters long.");
    }
    expect_error(run(batch.action, with("a") + "," + with("b") + "," + with("b") + "," + with("a")),
                 "com.amazonaws.sqs#BatchEntryIdsNotDistinct", "Id b repeated.");
  }
}

TEST_F(SqsBatch, TheQueueIsLookedForFirst) {
  for (const Batch& batch : batches) {
    expect_error(json(batch.action, R"({"QueueUrl":"none","Entries":[]})"),
                 "com.amazonaws.sqs#QueueDoesNotExist", "The specified queue does not exist.");
  }
}

TEST_F(SqsBatch, SuccessesAreListedInOrderAndFailuresNotAtAll) {
  const SqsResponse sent = run("SendMessageBatch", entry("x", R"("MessageBody":"test")") + "," +
                                                       entry("a", R"("MessageBody":"test")"));
  EXPECT_TRUE(sent.body.starts_with(R"({"Successful":[{"Id":"x","MessageId":")")) << sent.body;
  EXPECT_NE(sent.body.find(R"({"Id":"a","MessageId":")"), std::string::npos);
  EXPECT_EQ(sent.body.find("Failed"), std::string::npos);
  for (const std::string_view action : {"DeleteMessageBatch", "ChangeMessageVisibilityBatch"}) {
    const std::string members =
        fmt::format(R"("ReceiptHandle":"{}","VisibilityTimeout":5)", handle_1);
    EXPECT_EQ(run(action, entry("x", members) + "," + entry("a", members)).body,
              R"({"Successful":[{"Id":"x"},{"Id":"a"}]})");
  }
}

TEST_F(SqsBatch, EntriesOfASendFailOneByOne) {
  on_queue("SetQueueAttributes", R"("Attributes":{"MaximumMessageSize":"1024"})");
  const std::string large(1025, 'b');
  const std::pair<std::string, std::string> cases[] = {
      {R"("MessageBody":"")",
       failed("e", "MissingParameter", "The request must contain the parameter MessageBody.")},
      {R"("MessageBody":"\u0001")",
       failed("e", "InvalidMessageContents",
       "Invalid characters found. Valid unicode characters are #x9 | #xA | #xD | #x20 to "
              "#xD7FF | #xE000 to #xFFFD | #x10000 to #x10FFFF")},
      {R"("MessageBody":"b","DelaySeconds":901)",
       failed("e", "InvalidParameterValue",
       "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 "
              "and <= 900.")},
      {R"("MessageBody":"b","MessageAttributes":{"a":{"DataType":"Number","StringValue":"x"}})",
       failed("e", "InvalidParameterValue",
       "Can't cast the value of message (user) attribute 'a' to a number.")},
      {R"("MessageBody":"b","MessageGroupId":"a b")",
       failed("e", "InvalidParameterValue",
       "Value a b for parameter MessageGroupId is invalid. Reason: MessageGroupId can only "
              "include alphanumeric and punctuation characters. 1 to 128 in length.")},
      {fmt::format(R"("MessageBody":"{}")", large),
       failed("e", "InvalidParameterValue",
       "One or more parameters cannot be validated. Reason: Message must be shorter than "
              "1024 bytes.")},
  };
  for (const auto& [members, want] : cases) {
    broker.messages.clear();
    const SqsResponse answer =
        run("SendMessageBatch", entry("a", R"("MessageBody":"1")") + "," + entry("e", members) +
                                    "," + entry("b", R"("MessageBody":"2")"));
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body.ends_with(fmt::format(R"(],"Failed":[{}]}})", want))) << answer.body;
    ASSERT_EQ(broker.messages.size(), 2u);
    EXPECT_EQ(broker.messages[1].body, "2");
    const MessageId id = message_id(config.secret, QueueId{1}, broker.messages[1].seq);
    EXPECT_NE(answer.body.find(fmt::format(R"({{"Id":"b","MessageId":"{:08x}-)", id.high >> 32)),
              std::string::npos);
    EXPECT_EQ(run("SendMessageBatch", entry("e", members)).body,
              fmt::format(R"({{"Failed":[{}]}})", want));
  }
}

TEST_F(SqsBatch, EntriesOfReceiptsFailOneByOne) {
  const std::string good = fmt::format(R"("ReceiptHandle":"{}","VisibilityTimeout":5)", handle_1);
  const std::string garbage =
      failed("e", "ReceiptHandleIsInvalid",
             "The input receipt handle \\\"garbage\\\" is not a valid receipt handle.");
  const std::string none =
      failed("e", "MissingParameter", "The request must contain the parameter ReceiptHandle.");
  for (const std::string_view action : {"DeleteMessageBatch", "ChangeMessageVisibilityBatch"}) {
    const auto one_bad = [&](std::string_view members) {
      return run(action, entry("e", members) + "," + entry("a", good)).body;
    };
    EXPECT_EQ(one_bad(R"("ReceiptHandle":"garbage","VisibilityTimeout":5)"),
              fmt::format(R"({{"Successful":[{{"Id":"a"}}],"Failed":[{}]}})", garbage));
    EXPECT_EQ(one_bad(R"("VisibilityTimeout":5)"),
              fmt::format(R"({{"Successful":[{{"Id":"a"}}],"Failed":[{}]}})", none));
  }
  EXPECT_EQ(
      run("ChangeMessageVisibilityBatch",
          entry("e", fmt::format(R"("ReceiptHandle":"{}","VisibilityTimeout":43201)", handle_1)))
          .body,
      fmt::format(R"({{"Failed":[{}]}})",
                  failed("e", "InvalidParameterValue",
                         "VisibilityTimeout must be an integer between 0 and 43200.")));
}

TEST_F(SqsBatch, WhatTheBrokerSaysOfAnEntryIsToldOfThatEntry) {
  const std::string good = fmt::format(R"("ReceiptHandle":"{}","VisibilityTimeout":5)", handle_1);
  broker.refuse_entries = {Errc::message_gone, Errc::ok, Errc::io};
  EXPECT_EQ(
      run("ChangeMessageVisibilityBatch",
          entry("bad", R"("ReceiptHandle":"x","VisibilityTimeout":5)") + "," + entry("gone", good) +
              "," + entry("fine", good) + "," + entry("disk", good))
          .body,
      fmt::format(
          R"({{"Successful":[{{"Id":"fine"}}],"Failed":[{},{},{}]}})",
          failed("bad", "ReceiptHandleIsInvalid",
                 "The input receipt handle \\\"x\\\" is not a valid receipt handle."),
          failed("gone", "InvalidParameterValue",
                 fmt::format("Value {} for parameter ReceiptHandle is invalid. Reason: "
                             "Message does not exist or is not available for visibility "
                             "timeout change.",
                             handle_1)),
          failed("disk", "InternalError", "The broker's disk failed; its log says more.", false)));
  broker.refuse_entries = {Errc::ok, Errc::no_memory};
  const SqsResponse sent = run("SendMessageBatch", entry("a", R"("MessageBody":"1")") + "," +
                                                       entry("b", R"("MessageBody":"2")"));
  EXPECT_EQ(sent.status, 200);
  EXPECT_NE(sent.body.find(failed("b", "RequestThrottled",
                                  "The memory for message bodies is used up. Receive and delete "
                                  "messages, or give the broker more memory, and retry.",
                                  false)),
            std::string::npos)
      << sent.body;
}

// boto3 and the JavaScript SDK send the halves of a cut emoji as escapes.
TEST_F(SqsBatch, HalfASurrogatePairFailsItsEntryAlone) {
  const SqsResponse sent =
      run("SendMessageBatch", entry("a", R"("MessageBody":"whole \ud83d\ude00")") + "," +
                                  entry("b", R"("MessageBody":"cut \ud83d")") + "," +
                                  entry("c", R"("MessageBody":"\ude00")"));
  EXPECT_EQ(sent.status, 200) << sent.body;
  EXPECT_TRUE(sent.body.contains(R"("Successful":[{"Id":"a")")) << sent.body;
  for (const char* id : {"b", "c"})
    EXPECT_TRUE(sent.body.contains(
        fmt::format(R"({{"Id":"{}","SenderFault":true,"Code":"InvalidMessageContents")", id)))
        << sent.body;
  ASSERT_EQ(broker.messages.size(), 1u);
  EXPECT_EQ(broker.messages[0].body, "whole \xf0\x9f\x98\x80");
  EXPECT_EQ(json("SendMessage", R"({"QueueUrl":"q","MessageBody":"\ud83d"})")
                .header("x-amzn-query-error"),
            "InvalidMessageContents;Sender");
}

TEST_F(SqsBatch, ABatchRefusedWholeIsAnError) {
  broker.refuse_with = Errc::overloaded;
  EXPECT_EQ(run("SendMessageBatch", entry("a", R"("MessageBody":"1")")).status, 429);
}

TEST_F(SqsBatch, ABatchMayBeAsLargeAsOneMessageAndNotAByteLarger) {
  const std::string half(1 << 19, 'b');
  const auto with = [&](std::string_view more) {
    return run("SendMessageBatch",
               entry("a", fmt::format(R"("MessageBody":"{}")", half)) + "," +
                   entry("b", fmt::format(R"("MessageBody":"{}{}")", half, more)));
  };
  EXPECT_EQ(with("").status, 200);
  expect_error(with("x"), "com.amazonaws.sqs#BatchRequestTooLong",
               "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.");
}

TEST_F(SqsBatch, TheSizeOfABatchCountsAttributes) {
  const std::string body((1 << 20) - 8, 'b');
  const auto with = [&](std::string_view value) {
    return run("SendMessageBatch",
               entry("a", fmt::format(R"("MessageBody":"{}","MessageAttributes":)"
                                      R"({{"n":{{"DataType":"String","StringValue":"{}"}}}})",
                                      body, value)));
  };
  EXPECT_EQ(with("v").status, 200);
  expect_error(with("vv"), "com.amazonaws.sqs#BatchRequestTooLong",
               "Batch requests cannot be longer than 1048576 bytes. You have sent 1048577 bytes.");
}

TEST_F(SqsBatch, FormsNumberTheirEntriesWithGaps) {
  const SqsResponse sent = query(
      "Action=SendMessageBatch&QueueUrl=q"
      "&SendMessageBatchRequestEntry.7.Id=second&SendMessageBatchRequestEntry.7.MessageBody=two"
      "&SendMessageBatchRequestEntry.7.DelaySeconds=9"
      "&SendMessageBatchRequestEntry.7.MessageGroupId=g"
      "&SendMessageBatchRequestEntry.7.MessageAttribute.1.Name=Foo"
      "&SendMessageBatchRequestEntry.7.MessageAttribute.1.Value.DataType=String"
      "&SendMessageBatchRequestEntry.7.MessageAttribute.1.Value.StringValue=Bar"
      "&SendMessageBatchRequestEntry.2.Id=first&SendMessageBatchRequestEntry.2.MessageBody=one"
      "&SendMessageBatchRequestEntry.9.Id=third");
  ASSERT_EQ(broker.messages.size(), 2u);
  EXPECT_EQ(broker.messages[0].body, "one");
  EXPECT_EQ(broker.messages[1].body, "two");
  EXPECT_EQ(broker.messages[1].delay, seconds(9));
  EXPECT_NE(sent.body.find("<SendMessageBatchResult><SendMessageBatchResultEntry><Id>first</Id>"),
            std::string::npos)
      << sent.body;
  EXPECT_NE(sent.body.find("<MD5OfMessageAttributes>ae7155c6026991b6d54b11589678bf9c"
                           "</MD5OfMessageAttributes></SendMessageBatchResultEntry>"
                           "<BatchResultErrorEntry><Id>third</Id><SenderFault>true</SenderFault>"
                           "<Code>MissingParameter</Code><Message>The request must contain the "
                           "parameter MessageBody.</Message></BatchResultErrorEntry>"
                           "</SendMessageBatchResult>"),
            std::string::npos)
      << sent.body;
}

TEST_F(SqsBatch, FormsOfTheOtherTwoAreReadAlike) {
  const SqsResponse removed =
      query(fmt::format("Action=DeleteMessageBatch&QueueUrl=q&DeleteMessageBatchRequestEntry.1.Id=a"
                        "&DeleteMessageBatchRequestEntry.1.ReceiptHandle={}",
                        handle_1));
  EXPECT_NE(removed.body.find("<DeleteMessageBatchResult><DeleteMessageBatchResultEntry><Id>a</Id>"
                              "</DeleteMessageBatchResultEntry></DeleteMessageBatchResult>"),
            std::string::npos)
      << removed.body;
  const SqsResponse changed =
      query(fmt::format("Action=ChangeMessageVisibilityBatch&QueueUrl=q"
                        "&ChangeMessageVisibilityBatchRequestEntry.1.Id=a"
                        "&ChangeMessageVisibilityBatchRequestEntry.1.ReceiptHandle={}"
                        "&ChangeMessageVisibilityBatchRequestEntry.1.VisibilityTimeout=8",
                        handle_1));
  EXPECT_NE(changed.body.find("<ChangeMessageVisibilityBatchResultEntry><Id>a</Id>"),
            std::string::npos);
  EXPECT_EQ(call.routes().front().request->receipts[0].visibility, seconds(8));
  std::string eleven = "Action=DeleteMessageBatch&QueueUrl=q";
  for (int i = 1; i <= 11; ++i) {
    eleven += fmt::format("&DeleteMessageBatchRequestEntry.{}.Id=i{}", i, i);
  }
  EXPECT_NE(
      query(eleven).body.find("Maximum number of entries per request are 10. You have sent 11."),
      std::string::npos);
  EXPECT_NE(query("Action=DeleteMessageBatch&QueueUrl=q")
                .body.find("There should be at least one DeleteMessageBatchRequestEntry"),
            std::string::npos);
}

}  // namespace
}  // namespace pawl

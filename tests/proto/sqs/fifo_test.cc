// SPDX-License-Identifier: Apache-2.0
// FIFO queues: their attributes, what a message for one must have, and what is told of it.
#include "tests/proto/sqs/fixture.h"

#include <fmt/core.h>

namespace pawl {
namespace {

constexpr std::string_view invalid_value =
    "com.amazon.coral.service#InvalidParameterValueException";
constexpr std::string_view missing = "com.amazon.coral.service#MissingRequiredParameterException";
constexpr std::string_view invalid_attribute = "com.amazonaws.sqs#InvalidAttributeValue";

constexpr std::string_view no_group = "The request must contain the parameter MessageGroupId.";
constexpr std::string_view no_dedup =
    "The queue should either have ContentBasedDeduplication enabled or MessageDeduplicationId "
    "provided explicitly";

class SqsFifo : public SqsTest {
 protected:
  void SetUp() override { make_queue("q.fifo", R"({"FifoQueue":"true"})"); }

  SqsResponse on_fifo(std::string_view action, std::string_view members = "") {
    return json(action,
                fmt::format(R"({{"QueueUrl":"q.fifo"{}{}}})", members.empty() ? "" : ",", members));
  }
  SqsResponse set(std::string_view attributes) {
    return on_fifo("SetQueueAttributes", fmt::format(R"("Attributes":{})", attributes));
  }
  SqsResponse create(std::string_view name, std::string_view attributes) {
    return json("CreateQueue",
                fmt::format(R"({{"QueueName":"{}","Attributes":{}}})", name, attributes));
  }
  std::string attributes(std::string_view names) {
    return on_fifo("GetQueueAttributes", fmt::format(R"("AttributeNames":[{}])", names)).body;
  }
  SqsResponse send(std::string_view members) { return on_fifo("SendMessage", members); }
  SqsResponse send_batch(std::string_view entries) {
    return on_fifo("SendMessageBatch", fmt::format(R"("Entries":[{}])", entries));
  }
  static std::string refused_id(std::string_view parameter, std::string_view id) {
    return fmt::format(
        "Value {0} for parameter {1} is invalid. Reason: {1} can only include alphanumeric and "
        "punctuation characters. 1 to 128 in length.",
        id, parameter);
  }
};

// --- attributes ---

TEST_F(SqsFifo, AFreshQueueShowsSixteenAttributes) {
  EXPECT_EQ(attributes(R"("All")"),
            R"({"Attributes":{"ApproximateNumberOfMessages":"3",)"
            R"("ApproximateNumberOfMessagesNotVisible":"2",)"
            R"("ApproximateNumberOfMessagesDelayed":"1","CreatedTimestamp":"1700000000",)"
            R"("LastModifiedTimestamp":"1700000000",)"
            R"("QueueArn":"arn:aws:sqs:us-east-1:000000000000:q.fifo","VisibilityTimeout":"30",)"
            R"("MaximumMessageSize":"1048576","MessageRetentionPeriod":"345600",)"
            R"("DelaySeconds":"0","ReceiveMessageWaitTimeSeconds":"0",)"
            R"("SqsManagedSseEnabled":"true","FifoQueue":"true",)"
            R"("ContentBasedDeduplication":"false","DeduplicationScope":"queue",)"
            R"("FifoThroughputLimit":"perQueue"}})");
}

TEST_F(SqsFifo, AttributesAreSetInAnyCaseAndShownInOne) {
  EXPECT_EQ(set(R"({"ContentBasedDeduplication":"True","DeduplicationScope":"messageGroup",)"
                R"("FifoThroughputLimit":"perMessageGroupId","FifoQueue":"TRUE"})")
                .status,
            200);
  EXPECT_EQ(attributes(R"("ContentBasedDeduplication","DeduplicationScope","FifoThroughputLimit")"),
            R"({"Attributes":{"ContentBasedDeduplication":"true",)"
            R"("DeduplicationScope":"messageGroup","FifoThroughputLimit":"perMessageGroupId"}})");
  EXPECT_EQ(query("Action=CreateQueue&QueueName=r.fifo&Attribute.1.Name=FifoQueue"
                  "&Attribute.1.Value=true&Attribute.2.Name=DeduplicationScope"
                  "&Attribute.2.Value=messageGroup")
                .status,
            200);
}

TEST_F(SqsFifo, WrongValuesAreRefused) {
  struct Case {
    std::string_view attributes, text;
  };
  const Case cases[] = {
      {R"({"FifoQueue":"false"})",
       "Invalid value for the parameter FifoQueue. Reason: Modifying queue type is not supported."                                         },
      {R"({"FifoQueue":"x"})",                                                        "Invalid value for the parameter FifoQueue."         },
      {R"({"ContentBasedDeduplication":"yes"})",
       "Invalid value for the parameter ContentBasedDeduplication."                                                                        },
      {R"({"DeduplicationScope":"Queue"})",                                           "Invalid value for the parameter DeduplicationScope."},
      {R"({"DeduplicationScope":""})",                                                "Invalid value for the parameter DeduplicationScope."},
      {R"({"FifoThroughputLimit":"perGroup"})",
       "Invalid value for the parameter FifoThroughputLimit."                                                                              },
      {R"({"FifoThroughputLimit":"perMessageGroupId"})",
       "The perMessageGroupId value is allowed only when the value for DeduplicationScope is "
       "messageGroup"                                                                                                                      },
      {R"({"FifoThroughputLimit":"perMessageGroupId","DeduplicationScope":"queue"})",
       "The perMessageGroupId value is allowed only when the value for DeduplicationScope is "
       "messageGroup"                                                                                                                      },
  };
  for (const Case& c : cases) expect_error(set(c.attributes), 400, invalid_attribute, c.text);
  EXPECT_EQ(broker.seen[Op::set_attributes], 0);
}

TEST_F(SqsFifo, TheScopeCannotBeTakenFromUnderTheLimit) {
  EXPECT_EQ(set(R"({"DeduplicationScope":"messageGroup"})").status, 200);
  EXPECT_EQ(set(R"({"FifoThroughputLimit":"perMessageGroupId"})").status, 200);
  expect_error(set(R"({"DeduplicationScope":"queue"})"), 400, invalid_attribute,
               "The perMessageGroupId value is allowed only when the value for DeduplicationScope "
               "is messageGroup");
  EXPECT_EQ(set(R"({"DeduplicationScope":"queue","FifoThroughputLimit":"perQueue"})").status, 200);
}

TEST_F(SqsFifo, CreatingTwiceComparesWithWhatTheQueueHas) {
  for (const std::string_view same :
       {R"({"FifoQueue":"true"})", R"({"FifoQueue":"True","ContentBasedDeduplication":"false"})",
        R"({"FifoQueue":"true","DeduplicationScope":"queue","FifoThroughputLimit":"perQueue"})"}) {
    EXPECT_EQ(create("q.fifo", same).status, 200) << same;
  }
  const std::pair<std::string_view, std::string_view> others[] = {
      {"ContentBasedDeduplication", "true"        },
      {"DeduplicationScope",        "messageGroup"},
  };
  for (const auto& [name, value] : others) {
    expect_error(create("q.fifo", fmt::format(R"({{"FifoQueue":"true","{}":"{}"}})", name, value)),
                 400, "com.amazonaws.sqs#QueueNameExists",
                 fmt::format("A queue already exists with the same name and a different value for "
                             "attribute {}",
                             name));
  }
  // A part of what it has is enough, also where one attribute wants another.
  set(R"({"DeduplicationScope":"messageGroup","FifoThroughputLimit":"perMessageGroupId"})");
  EXPECT_EQ(
      create("q.fifo", R"({"FifoQueue":"true","FifoThroughputLimit":"perMessageGroupId"})").status,
      200);
}

TEST_F(SqsFifo, NameAndAttributeGoTogether) {
  const std::string n80 = std::string(75, 'n') + ".fifo", n81 = std::string(76, 'n') + ".fifo";
  EXPECT_EQ(create(n80, R"({"FifoQueue":"true"})").status, 200);
  expect_error(create(n81, R"({"FifoQueue":"true"})"), 400, invalid_value,
               "The name of a FIFO queue can only include alphanumeric characters, hyphens, or "
               "underscores, must end with .fifo suffix and be 1 to 80 in length");
  for (const std::string_view none : {"{}", R"({"FifoQueue":"false"})"}) {
    expect_error(create("r.fifo", none), 400, invalid_value,
                 "Can only include alphanumeric characters, hyphens, or underscores. 1 to 80 in "
                 "length");
  }
}

// --- sends ---

TEST_F(SqsFifo, AMessageIsKeptWithItsGroupAndItsDeduplicationId) {
  const SqsResponse answer =
      send(R"("MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"d")");
  EXPECT_TRUE(answer.body.ends_with(R"(,"MD5OfMessageBody":"92eb5ffee6ae2fec3ad71c777531578f",)"
                                    R"("SequenceNumber":"00000000000000000001"})"))
      << answer.body;
  EXPECT_EQ(broker.messages[0].group, "g");
  EXPECT_EQ(broker.messages[0].dedup_id, "d");
  EXPECT_EQ(broker.messages[0].system, "");
  const SqsResponse xml = query(
      "Action=SendMessage&QueueUrl=q.fifo&MessageBody=b&MessageGroupId=g"
      "&MessageDeduplicationId=e");
  EXPECT_NE(xml.body.find("<SequenceNumber>00000000000000000002</SequenceNumber>"
                          "</SendMessageResult>"),
            std::string::npos)
      << xml.body;
}

TEST_F(SqsFifo, TheBodysDigestStandsForAMissingDeduplicationId) {
  set(R"({"ContentBasedDeduplication":"true"})");
  send(R"("MessageBody":"hello","MessageGroupId":"g","MessageAttributes":{"a":)"
       R"({"DataType":"String","StringValue":"x"}})");
  EXPECT_EQ(broker.messages[0].dedup_id,
            "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824");
  send(R"("MessageBody":"hello","MessageGroupId":"g","MessageDeduplicationId":"mine")");
  EXPECT_EQ(broker.messages[1].dedup_id, "mine");
}

TEST_F(SqsFifo, ADuplicateIsToldTheFirstsIdAndNumberButItsOwnDigest) {
  const auto with = [&](std::string_view body) {
    return send(
               fmt::format(
                   R"("MessageBody":"{}","MessageGroupId":"g","MessageDeduplicationId":"d")", body))
        .body;
  };
  const std::string first = with("a"), second = with("b");
  EXPECT_EQ(broker.messages.size(), 1u);
  EXPECT_EQ(second.substr(0, 52), first.substr(0, 52));  // {"MessageId":"...
  EXPECT_NE(second.find(R"("MD5OfMessageBody":"92eb5ffee6ae2fec3ad71c777531578f")"),
            std::string::npos);
  EXPECT_TRUE(second.ends_with(R"("SequenceNumber":"00000000000000000001"})"));

  const SqsResponse batch = send_batch(
      R"({"Id":"1","MessageBody":"a","MessageGroupId":"g","MessageDeduplicationId":"e"},)"
      R"({"Id":"2","MessageBody":"a","MessageGroupId":"g","MessageDeduplicationId":"e"})");
  const std::size_t number = batch.body.find(R"("SequenceNumber":"00000000000000000002")");
  EXPECT_NE(number, std::string::npos) << batch.body;
  EXPECT_NE(batch.body.find(R"("SequenceNumber":"00000000000000000002")", number + 1),
            std::string::npos);
}

TEST_F(SqsFifo, GroupAndDeduplicationIdAreNeeded) {
  expect_error(send(R"("MessageBody":"b","MessageDeduplicationId":"d")"), 400, missing, no_group);
  expect_error(send(R"("MessageBody":"b","MessageGroupId":"g")"), 400, invalid_value, no_dedup);
  set(R"({"ContentBasedDeduplication":"true"})");
  expect_error(send(R"("MessageBody":"b")"), 400, missing, no_group);
  EXPECT_EQ(send(R"("MessageBody":"b","MessageGroupId":"g")").status, 200);
  const SqsResponse xml = query("Action=SendMessage&QueueUrl=q.fifo&MessageBody=b");
  EXPECT_NE(
      xml.body.find(fmt::format("<Code>MissingParameter</Code><Message>{}</Message>", no_group)),
      std::string::npos)
      << xml.body;
}

TEST_F(SqsFifo, IdsAreOfPrintableCharacters) {
  const std::string id128(128, '~'), id129(129, 'i');
  for (const std::string_view good : {"!", "!#$%&'()*+,-./:;<=>?@[]^_`{|}~", id128.c_str()}) {
    EXPECT_EQ(send(fmt::format(
                       R"("MessageBody":"b","MessageGroupId":"{0}","MessageDeduplicationId":"{0}")",
                       good))
                  .status,
              200);
  }
  for (const std::string_view bad : {"", "a b", "\u00e9", id129.c_str()}) {
    expect_error(
        send(fmt::format(R"("MessageBody":"b","MessageGroupId":"{}","MessageDeduplicationId":"d")",
                         bad)),
        400, invalid_value, refused_id("MessageGroupId", bad));
    expect_error(
        send(fmt::format(R"("MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"{}")",
                         bad)),
        400, invalid_value, refused_id("MessageDeduplicationId", bad));
  }
}

TEST_F(SqsFifo, OnlyTheQueueMayDelay) {
  const auto delayed = [&](int delay) {
    return send(fmt::format(R"("MessageBody":"b","MessageGroupId":"g",)"
                            R"("MessageDeduplicationId":"d","DelaySeconds":{})",
                            delay));
  };
  EXPECT_EQ(delayed(0).status, 200);
  EXPECT_EQ(broker.messages[0].delay, queue_default) << "zero is not an answer to the queue's";
  expect_error(delayed(2), 400, invalid_value,
               "Value 2 for parameter DelaySeconds is invalid. Reason: The request include "
               "parameter that is not valid for this queue type.");
  expect_error(delayed(901), 400, invalid_value,
               "Value 901 for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 "
               "and <= 900.");
}

TEST_F(SqsFifo, FaultsAreFoundInTheOrderOfAws) {
  // Each row adds the fault that comes before the others.
  struct Case {
    std::string_view members, text;
  };
  const Case cases[] = {
      {R"("MessageBody":"\u0001","MessageGroupId":"g","MessageDeduplicationId":"d")",
       "Invalid characters found."                                                                                               },
      {R"("MessageBody":"\u0001","MessageGroupId":"g","MessageDeduplicationId":" ")",
       "parameter MessageDeduplicationId is invalid"                                                                             },
      {R"("MessageBody":"\u0001","MessageGroupId":" ","MessageDeduplicationId":" ")",
       "parameter MessageGroupId is invalid"                                                                                     },
      {R"("MessageBody":"\u0001","MessageGroupId":" ")",                              "The queue should either have"             },
      {R"("MessageBody":"\u0001")",                                                   "must contain the parameter MessageGroupId"},
      {R"("MessageBody":"\u0001","DelaySeconds":1)",                                  "The request include parameter"            },
      {R"("MessageBody":"\u0001","DelaySeconds":1,"MessageAttributes":{"a":{}})",
       "The message (user) attribute 'a'"                                                                                        },
      {R"("MessageBody":"\u0001","DelaySeconds":-1,"MessageAttributes":{"a":{}})",
       "DelaySeconds must be >= 0"                                                                                               },
      {R"("MessageBody":"","DelaySeconds":-1,"MessageAttributes":{"a":{}})",
       "must contain the parameter MessageBody"                                                                                  },
  };
  for (const Case& c : cases) {
    const SqsResponse answer = send(c.members);
    EXPECT_NE(answer.body.find(c.text), std::string::npos) << answer.body;
  }
}

TEST_F(SqsFifo, WhatEveryMessageNeedsIsAskedOfABatchAsAWhole) {
  constexpr std::string_view good =
      R"({"Id":"a","MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"d"})";
  const std::string large(1 << 20, 'b');
  struct Case {
    std::string entry, shape, text;
  };
  const Case cases[] = {
      {R"({"Id":"b","MessageBody":"b","MessageDeduplicationId":"d"})", std::string(invalid_value),
       std::string(no_group)},
      {R"({"Id":"b","MessageBody":"b","MessageGroupId":"g"})", std::string(invalid_value),
       std::string(no_dedup)},
      // Before the size, after the ids.
      {fmt::format(R"({{"Id":"b","MessageBody":"{}"}})", large), std::string(invalid_value),
       std::string(no_group)},
      {R"({"Id":"a","MessageBody":"b"})", "com.amazonaws.sqs#BatchEntryIdsNotDistinct",
       "Id a repeated."},
  };
  for (const Case& c : cases) {
    expect_error(send_batch(fmt::format("{},{}", good, c.entry)), 400, c.shape, c.text);
  }
  EXPECT_TRUE(broker.messages.empty());
  const SqsResponse xml = query(
      "Action=SendMessageBatch&QueueUrl=q.fifo&SendMessageBatchRequestEntry.1.Id=a"
      "&SendMessageBatchRequestEntry.1.MessageBody=b");
  EXPECT_EQ(xml.status, 400);
  EXPECT_NE(xml.body.find(
                fmt::format("<Code>InvalidParameterValue</Code><Message>{}</Message>", no_group)),
            std::string::npos)
      << xml.body;
}

TEST_F(SqsFifo, WhatOneMessageHasWrongIsThatMessagesFault) {
  const std::pair<std::string_view, std::string> cases[] = {
      {R"("MessageGroupId":"a b","MessageDeduplicationId":"d")",
       refused_id("MessageGroupId", "a b")},
      {R"("MessageGroupId":"","MessageDeduplicationId":"d")", refused_id("MessageGroupId", "")},
      {R"("MessageGroupId":"g","MessageDeduplicationId":"")",
       refused_id("MessageDeduplicationId", "")},
      {R"("MessageGroupId":"g","MessageDeduplicationId":"d","DelaySeconds":2)",
       "Value 2 for parameter DelaySeconds is invalid. Reason: The request include parameter that "
       "is not valid for this queue type."},
  };
  for (const auto& [members, text] : cases) {
    broker.messages.clear();
    const SqsResponse answer = send_batch(fmt::format(
        R"({{"Id":"bad","MessageBody":"b",{}}},)"
        R"({{"Id":"good","MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"x"}})",
        members));
    EXPECT_EQ(answer.status, 200);
    EXPECT_TRUE(answer.body.ends_with(
        fmt::format(R"("Failed":[{{"Id":"bad","SenderFault":true,"Code":"InvalidParameterValue",)"
                    R"("Message":"{}"}}]}})",
                    text)))
        << answer.body;
    EXPECT_EQ(broker.messages.size(), 1u);
  }
}

// --- receives ---

TEST_F(SqsFifo, AMessageComesWithGroupDeduplicationIdAndNumber) {
  send(R"("MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"d")");
  const auto asked = [&](std::string_view names) {
    const std::string body =
        on_fifo("ReceiveMessage", fmt::format(R"("MessageSystemAttributeNames":[{}])", names)).body;
    const std::size_t at = body.find(R"("Attributes":)");
    return at == std::string::npos ? std::string() : body.substr(at);
  };
  EXPECT_EQ(asked(R"("All")"),
            R"("Attributes":{"SenderId":"000000000000","SentTimestamp":"1700000000123",)"
            R"("ApproximateReceiveCount":"7",)"
            R"("ApproximateFirstReceiveTimestamp":"1700000000456","MessageGroupId":"g",)"
            R"("MessageDeduplicationId":"d","SequenceNumber":"00000000000000000001"}}]})");
  EXPECT_EQ(asked(R"("SequenceNumber")"),
            R"("Attributes":{"SequenceNumber":"00000000000000000001"}}]})");
  EXPECT_EQ(asked(R"("MessageGroupId","MessageDeduplicationId")"),
            R"("Attributes":{"MessageGroupId":"g","MessageDeduplicationId":"d"}}]})");
}

TEST_F(SqsFifo, ADeadLetterShowsItsIdAndWhereItCameFrom) {
  send(R"("MessageBody":"b","MessageGroupId":"g","MessageDeduplicationId":"d")");
  broker.messages[0].id = {0x0123456789abcdef, 0xfedcba9876543210};
  broker.messages[0].origin = "000000000000/source.fifo";
  const SqsResponse answer =
      on_fifo("ReceiveMessage", R"("AttributeNames":["DeadLetterQueueSourceArn"])");
  EXPECT_NE(answer.body.find(R"("MessageId":"01234567-89ab-cdef-fedc-ba9876543210")"),
            std::string::npos)
      << answer.body;
  EXPECT_NE(answer.body.find(R"("Attributes":{"DeadLetterQueueSourceArn":)"
                             R"("arn:aws:sqs:us-east-1:000000000000:source.fifo"})"),
            std::string::npos)
      << answer.body;
}

TEST_F(SqsFifo, AnAttemptIsNamedAndCheckedOnFifoQueuesOnly) {
  make_queue("q");
  const auto attempt = [&](std::string_view queue, std::string_view id) {
    return json("ReceiveMessage",
                fmt::format(R"({{"QueueUrl":"{}","ReceiveRequestAttemptId":"{}"}})", queue, id));
  };
  EXPECT_EQ(attempt("q.fifo", "try-1").status, 200);
  EXPECT_EQ(broker.last.receive.attempt, "try-1");
  const std::string long_id(129, 'a');
  for (const std::string_view bad : {"", "a b", long_id.c_str()}) {
    expect_error(attempt("q.fifo", bad), 400, invalid_value,
                 refused_id("ReceiveRequestAttemptId", bad));
    EXPECT_EQ(attempt("q", bad).status, 200);
    EXPECT_EQ(broker.last.receive.attempt, "");
  }
  broker.refuse_with = Errc::attempt_not_retryable;
  expect_error(attempt("q.fifo", "try-1"), 400, invalid_value,
               "Value try-1 for parameter ReceiveRequestAttemptId is invalid. Reason: The "
               "receiveRequestAttemptId is not valid anymore since the receive call is not "
               "retryable.");
}

TEST_F(SqsFifo, AnExpiredHandleIsSaidToBeThat) {
  constexpr std::string_view handle = "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB";
  const std::string text = fmt::format(
      "Value {} for parameter ReceiptHandle is invalid. Reason: The receipt handle has expired.",
      handle);
  broker.refuse_entries = {Errc::receipt_expired};
  expect_error(on_fifo("DeleteMessage", fmt::format(R"("ReceiptHandle":"{}")", handle)), 400,
               invalid_value, text);
  expect_error(on_fifo("ChangeMessageVisibility",
                       fmt::format(R"("ReceiptHandle":"{}","VisibilityTimeout":1)", handle)),
               400, invalid_value, text);
  EXPECT_EQ(on_fifo("DeleteMessageBatch",
                    fmt::format(R"("Entries":[{{"Id":"a","ReceiptHandle":"{}"}}])", handle))
                .body,
            R"({"Failed":[{"Id":"a","SenderFault":true,)"
            R"("Code":"ReceiptHandleIsInvalid","Message":"The receipt handle has expired"}]})");
  broker.refuse_entries = {Errc::receipt_invalid};
  EXPECT_EQ(on_fifo("DeleteMessageBatch",
                    fmt::format(R"("Entries":[{{"Id":"a","ReceiptHandle":"{}"}}])", handle))
                .body,
            fmt::format(R"({{"Failed":[{{"Id":"a","SenderFault":true,)"
                        R"("Code":"ReceiptHandleIsInvalid","Message":)"
                        R"("The receipt handle \"{}\" is not valid for this queue."}}]}})",
                        handle))
      << "a handle of another queue";
}

}  // namespace
}  // namespace pawl

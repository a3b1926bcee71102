// SPDX-License-Identifier: Apache-2.0
// Rules of every action: its protocol, its queue, and the form of results and errors.
#include "tests/proto/sqs/fixture.h"

#include <fmt/core.h>

namespace pawl {
namespace {

class SqsProtocol : public SqsTest {};

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  if (const std::size_t at = text.find(from); at != std::string::npos) {
    text.replace(at, from.size(), to);
  }
  return text;
}

TEST_F(SqsProtocol, ASendIsAnsweredInTheProtocolItCameIn) {
  make_queue("q");
  const SqsResponse json = on_queue("SendMessage", R"("MessageBody":"test")");
  EXPECT_EQ(json.status, 200);
  EXPECT_EQ(json.header("Content-Type"), "application/x-amz-json-1.0");
  EXPECT_TRUE(json.body.starts_with(R"({"MessageId":")")) << json.body;
  EXPECT_TRUE(json.body.ends_with(R"(","MD5OfMessageBody":"098f6bcd4621d373cade4e832627b4f6"})"))
      << json.body;

  const SqsResponse xml = query(
      "Action=SendMessage&Version=2012-11-05&QueueUrl=http%3A%2F%2Fh%2F000000000000%2Fq"
      "&MessageBody=a+b%2Bc%26%C3%A9%0A");
  EXPECT_EQ(xml.status, 200);
  EXPECT_EQ(xml.header("Content-Type"), "text/xml");
  EXPECT_TRUE(xml.body.starts_with(
      "<?xml version=\"1.0\"?><SendMessageResponse "
      "xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><SendMessageResult><MessageId>"))
      << xml.body;
  EXPECT_TRUE(xml.body.ends_with(
      "</MD5OfMessageBody></SendMessageResult><ResponseMetadata>"
      "<RequestId>" +
      xml.header("x-amzn-RequestId") + "</RequestId></ResponseMetadata></SendMessageResponse>"))
      << xml.body;
  ASSERT_EQ(broker.messages.size(), 2u);
  EXPECT_EQ(broker.messages[1].body, "a b+c&\u00e9\n");
}

TEST_F(SqsProtocol, EveryRequestHasAnIdOfItsOwn) {
  const SqsResponse a = json("ListQueues", "{}"), b = json("ListQueues", "{}");
  EXPECT_EQ(a.header("x-amzn-RequestId").size(), 36u);
  EXPECT_NE(a.header("x-amzn-RequestId"), b.header("x-amzn-RequestId"));
}

TEST_F(SqsProtocol, ErrorsComeInTheProtocolOfTheRequest) {
  const SqsResponse json = on_queue("PurgeQueue", "");
  EXPECT_EQ(json.status, 400);
  EXPECT_EQ(json.body, error_json("com.amazonaws.sqs#QueueDoesNotExist",
                                  "The specified queue does not exist."));
  EXPECT_EQ(json.header("x-amzn-query-error"), "AWS.SimpleQueueService.NonExistentQueue;Sender");

  const SqsResponse xml = query("Action=PurgeQueue&QueueUrl=q");
  EXPECT_EQ(xml.status, 400);
  EXPECT_EQ(xml.header("x-amzn-query-error"), "");
  EXPECT_EQ(xml.body,
            "<?xml version=\"1.0\"?><ErrorResponse "
            "xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><Error><Type>Sender</Type>"
            "<Code>AWS.SimpleQueueService.NonExistentQueue</Code><Message>The specified queue does "
            "not exist for this wsdl version.</Message><Detail/></Error><RequestId>" +
                xml.header("x-amzn-RequestId") + "</RequestId></ErrorResponse>");
}

TEST_F(SqsProtocol, OnlyClientsOfTheOldStatusesSee403And404) {
  make_queue("q");
  const std::string_view garbage = R"({"QueueUrl":"q","ReceiptHandle":"garbage"})";
  EXPECT_EQ(json("DeleteMessage", garbage).status, 404);
  EXPECT_EQ(json("DeleteMessage", garbage, "/", "").status, 400);
  EXPECT_EQ(query("Action=DeleteMessage&QueueUrl=q&ReceiptHandle=garbage").status, 404);
  broker.refuse_with = Errc::purge_in_progress;
  EXPECT_EQ(json("PurgeQueue", R"({"QueueUrl":"q"})").status, 403);
  EXPECT_EQ(json("PurgeQueue", R"({"QueueUrl":"q"})", "/", "").status, 400);
  EXPECT_EQ(query("Action=PurgeQueue&QueueUrl=q").status, 403);
}

TEST_F(SqsProtocol, EveryErrorOfTheBrokerHasOneNameStatusAndText) {
  struct Case {
    Errc code;
    int status;
    std::string_view shape, query_error, text;
  };
  const Case cases[] = {
      {Errc::no_such_queue,           400, "com.amazonaws.sqs#QueueDoesNotExist",
       "AWS.SimpleQueueService.NonExistentQueue;Sender",                                                                           "The specified queue does not exist."                                                    },
      {Errc::queue_exists,            400, "com.amazonaws.sqs#QueueNameExists",                       "QueueAlreadyExists;Sender",
       "A queue already exists with the same name and a different value for attribute "
       "VisibilityTimeout"                                                                                                                                                                                                  },
      {Errc::receipt_invalid,         404, "com.amazonaws.sqs#ReceiptHandleIsInvalid",
       "ReceiptHandleIsInvalid;Sender",                                                                                            "The input receipt handle \\\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA\\\" is not a valid receipt "
       "handle."                                                                                                                                                                     },
      {Errc::message_gone,            400, "com.amazon.coral.service#InvalidParameterValueException",
       "InvalidParameterValue;Sender",                                                                                             "Value AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA for parameter ReceiptHandle is invalid. Reason: "
       "Message does not exist or is not available for visibility timeout change."                                                                                                    },
      {Errc::visibility_beyond_max,   400, "com.amazon.coral.service#InvalidParameterValueException",
       "InvalidParameterValue;Sender",                                                                                             "Value 43200 for parameter VisibilityTimeout is invalid. Reason: Total VisibilityTimeout "
       "for the message is beyond the limit [43200 seconds]"                                                                                                                          },
      {Errc::over_in_flight,          403, "com.amazonaws.sqs#OverLimit",                             "OverLimit;Sender",
       "Too many messages of the queue q are in flight. Delete some, or wait until their "
       "visibility timeouts end."                                                                                                                                                                                           },
      {Errc::purge_in_progress,       403, "com.amazonaws.sqs#PurgeQueueInProgress",
       "AWS.SimpleQueueService.PurgeQueueInProgress;Sender",                                                                       "Only one PurgeQueue operation on q is allowed every 60 seconds."                        },
      {Errc::receipt_expired,         400, "com.amazon.coral.service#InvalidParameterValueException",
       "InvalidParameterValue;Sender",                                                                                             "Value AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA for parameter ReceiptHandle is invalid. Reason: The "
       "receipt handle has expired."                                                                                                                                                  },
      {Errc::attempt_not_retryable,   400, "com.amazon.coral.service#InvalidParameterValueException",
       "InvalidParameterValue;Sender",                                                                                             "Value  for parameter ReceiveRequestAttemptId is invalid. Reason: The "
       "receiveRequestAttemptId is not valid anymore since the receive call is not retryable."                                                                                        },
      {Errc::changed_meanwhile,       429, "com.amazonaws.sqs#RequestThrottled",
       "RequestThrottled;Sender",                                                                                                  "The queue was changed by others meanwhile. Retry."                                      },
      {Errc::task_running,            400, "com.amazon.coral.service#InvalidParameterValueException",
       "InvalidParameterValue;Sender",                                                                                             "There is already a task running. Only one active task is allowed for a source queue arn at "
       "a given time."                                                                                                                                                                },
      {Errc::no_such_task,            404, "com.amazonaws.sqs#ResourceNotFoundException",
       "ResourceNotFoundException;Sender",                                                                                         "Task does not exist."                                                                   },
      {Errc::task_ended,              400, "com.amazon.coral.service#InvalidParameterValueException",
       "InvalidParameterValue;Sender",                                                                                             "Value for parameter TaskHandle is invalid. Reason: The task is not running any more."   },
      {Errc::source_unknown,          400, "com.amazon.coral.service#InvalidParameterValueException",
       "InvalidParameterValue;Sender",                                                                                             "The message does not say which queue it was dead-lettered from."                        },
      {Errc::not_kept,                400, "com.amazon.coral.service#InvalidParameterValueException",
       "InvalidParameterValue;Sender",                                                                                             "Nothing that was sent to the queue is kept: its x-replay-retention is 0."               },
      {Errc::too_large,               400, "com.amazon.coral.service#InvalidParameterValueException",
       "InvalidParameterValue;Sender",                                                                                             "One or more parameters are invalid. Reason: Message must be shorter than 1048576 bytes."},
      {Errc::queue_ids_used_up,       400, "com.amazonaws.sqs#UnsupportedOperation",
       "AWS.SimpleQueueService.UnsupportedOperation;Sender",                                                                       "All 4294967294 queue ids of this data directory were used: no more queues can be created "
       "in it. Move to a new data directory."                                                                                                                   },
      {Errc::directory_full,          403, "com.amazonaws.sqs#OverLimit",                             "OverLimit;Sender",
       "The directory of queues is full. Limits: 200000 queues, topics and schedules, those of one "
       "account up to its own limit (--max-queues-per-account), and 64 MiB of their names, "
       "attributes, tags, subscriptions and definitions. Delete some that are not used."                                                                                                                                    },
      {Errc::not_supported,           400, "com.amazonaws.sqs#UnsupportedOperation",
       "AWS.SimpleQueueService.UnsupportedOperation;Sender",                                                                       "This version of pawl does not do this."                                                 },
      {Errc::overloaded,              429, "com.amazonaws.sqs#RequestThrottled",                      "RequestThrottled;Sender",
       "A table of the broker is full. Send fewer requests at a time, and retry."                                                                                                                                           },
      {Errc::no_memory,               429, "com.amazonaws.sqs#RequestThrottled",                      "RequestThrottled;Sender",
       "The memory for message bodies is used up. Receive and delete messages, or give the broker "
       "more memory, and retry."                                                                                                                                                                                            },
      {Errc::no_space,                429, "com.amazonaws.sqs#RequestThrottled",                      "RequestThrottled;Sender",
       "The broker's disk is full. Receive and delete messages, or free space on the disk, and "
       "retry."                                                                                                                                                                                                             },
      {Errc::not_ready,               429, "com.amazonaws.sqs#RequestThrottled",                      "RequestThrottled;Sender",
       "The broker is starting or stopping. Retry in a moment."                                                                                                                                                             },
      {Errc::io,                      500, "com.amazon.coral.service#InternalFailure",                "InternalFailure;Receiver",
       "The broker's disk failed; its log says more."                                                                                                                                                                       },
      {Errc::corrupt,                 500, "com.amazon.coral.service#InternalFailure",                "InternalFailure;Receiver",
       "Stored data is damaged; the broker's log says more."                                                                                                                                                                },
      {Errc::version,                 500, "com.amazon.coral.service#InternalFailure",                "InternalFailure;Receiver",
       "Stored data was written by a newer version of pawl."                                                                                                                                                                },
      {Errc::invalid,                 400, "com.amazon.coral.service#InvalidParameterValueException",
       "InvalidParameterValue;Sender",                                                                                             "One or more parameters are invalid."                                                    },
      {Errc::unauthorized,            403, "com.amazon.coral.service#AccessDeniedException",
       "AccessDenied;Sender",                                                                                                      "Access to the resource q is denied."                                                    },
      {Errc::queue_deleted_recently,  400, "com.amazonaws.sqs#QueueDeletedRecently",
       "AWS.SimpleQueueService.QueueDeletedRecently;Sender",                                                                       "You must wait 60 seconds after deleting a queue before you can create another with the "
       "same name."                                                                                                                                             },
      {Errc::message_numbers_used_up, 400, "com.amazonaws.sqs#UnsupportedOperation",
       "AWS.SimpleQueueService.UnsupportedOperation;Sender",                                                                       "All 281474976710654 message numbers of the queue q were used: it takes no more messages. "
       "Receive what is left in it, and send to a new queue."                                                                                                   },
  };
  make_queue("q");
  std::size_t code = 1;
  for (const Case& c : cases) {
    ASSERT_EQ(static_cast<std::size_t>(c.code), code++);  // none is left out
    broker.refuse_with = c.code;
    const SqsResponse answer =
        on_queue("ChangeMessageVisibility",
                 R"("ReceiptHandle":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","VisibilityTimeout":43200)");
    EXPECT_EQ(answer.status, c.status);
    EXPECT_EQ(answer.body, error_json(c.shape, c.text));
    EXPECT_EQ(answer.header("x-amzn-query-error"), c.query_error);
  }
  EXPECT_EQ(code, static_cast<std::size_t>(Errc::message_numbers_used_up) + 1);
}

TEST_F(SqsProtocol, BackPressureSaysWhenToRetryInBothUnits) {
  make_queue("q");
  broker.refuse_with = Errc::no_space;
  for (const SqsResponse& answer : {on_queue("SendMessage", R"("MessageBody":"x")"),
                                    query("Action=SendMessage&QueueUrl=q&MessageBody=x")}) {
    EXPECT_EQ(answer.status, 429);
    EXPECT_EQ(answer.header("Retry-After"), "5");
    EXPECT_EQ(answer.header("x-amz-retry-after"), "5000");
  }
  broker.refuse_with = Errc::overloaded;
  const SqsResponse soon = on_queue("SendMessage", R"("MessageBody":"x")");
  EXPECT_EQ(soon.header("Retry-After"), "1");
  EXPECT_EQ(soon.header("x-amz-retry-after"), "200");
}

TEST_F(SqsProtocol, UnknownActionsAreRefusedInTheProtocolOfTheCaller) {
  const SqsResponse json_answer = json("Nonsense", "{}");
  EXPECT_EQ(json_answer.status, 400);
  EXPECT_EQ(json_answer.body, error_json("com.amazon.coral.service#UnknownOperationException",
                                         "The action Nonsense is not valid for this endpoint."));
  const SqsResponse foreign =
      http("POST / HTTP/1.1\r\nHost: x\r\nX-Amz-Target: DynamoDB_20120810.ListTables\r\n", "{}");
  EXPECT_NE(foreign.body.find("#UnknownOperationException"), std::string::npos);
  const SqsResponse no_target =
      http("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\n", "{}");
  EXPECT_EQ(no_target.status, 400);
  EXPECT_NE(no_target.body.find("#UnknownOperationException"), std::string::npos);
  const SqsResponse xml = query("Action=Nonsense");
  EXPECT_EQ(xml.status, 400);
  EXPECT_NE(xml.body.find("<Code>InvalidAction</Code>"), std::string::npos);
}

TEST_F(SqsProtocol, AFormThatSaysItIsJsonIsReadAsTheFormItIs) {
  make_queue("q");
  const SqsResponse answer =
      http("POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-amz-json-1.0\r\n",
           "Action=PurgeQueue&QueueUrl=q");
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.header("Content-Type"), "text/xml");
}

TEST_F(SqsProtocol, ActionsWithoutAResultAnswerNoMoreThanTheirName) {
  make_queue("q");
  const SqsResponse json_answer = on_queue("PurgeQueue", "");
  EXPECT_EQ(json_answer.status, 200);
  EXPECT_EQ(json_answer.body, "");
  EXPECT_EQ(json_answer.header("Content-Length"), "0");
  const SqsResponse xml = query("Action=PurgeQueue&QueueUrl=q");
  EXPECT_EQ(replaced(xml.body, xml.header("x-amzn-RequestId"), "ID"),
            "<?xml version=\"1.0\"?><PurgeQueueResponse "
            "xmlns=\"http://queue.amazonaws.com/doc/2012-11-05/\"><ResponseMetadata><RequestId>ID"
            "</RequestId></ResponseMetadata></PurgeQueueResponse>");
}

TEST_F(SqsProtocol, JsonThatCannotBeReadIsASerializationException) {
  make_queue("q");
  struct Case {
    std::string_view body, text;
  };
  const Case cases[] = {
      {R"([])",                                          "Start of list found where not expected"             },
      {R"("q")",                                         "Expected a structure or map"                        },
      {R"({"QueueUrl":["q"]})",                          "Start of list found where not expected"             },
      {R"({"QueueUrl":{"a":"b"}})",                      "Start of structure or map found where not expected."},
      {R"({"QueueUrl":"q","MaxNumberOfMessages":"1"})",
       "STRING_VALUE can not be converted to an Integer"                                                      },
      {R"({"QueueUrl":"q","MaxNumberOfMessages":true})",
       "BOOLEAN_VALUE can not be converted to an Integer"                                                     },
      {R"({"QueueUrl":"q","MaxNumberOfMessages":1.5})",
       "NUMBER_VALUE can not be converted to an Integer"                                                      },
      {R"({"QueueUrl":"q","AttributeNames":"All"})",     "Expected a list"                                    },
      {R"({"QueueUrl":"q","AttributeNames":{"a":"b"}})",
       "Start of structure or map found where not expected."                                                  },
      {R"({"QueueUrl":"q","AttributeNames":[["All"]]})", "Start of list found where not expected"             },
      {R"({"QueueUrl":"q","QueueUrl":"r"})",             "The member QueueUrl is given twice"                 },
      {R"({"other":1,"QueueUrl":"q","other":2})",        "The member other is given twice"                    },
  };
  for (const Case& c : cases) {
    const SqsResponse answer = json("ReceiveMessage", c.body);
    EXPECT_EQ(answer.status, 400);
    EXPECT_EQ(answer.body, error_json("com.amazon.coral.service#SerializationException", c.text))
        << c.body;
    EXPECT_EQ(answer.header("x-amzn-query-error"), "SerializationException;Sender");
  }
  const std::string deep = R"({"x":)" + std::string(40, '[') + std::string(40, ']') + "}";
  for (const std::string_view bad :
       {std::string_view("{"), std::string_view(R"({"QueueUrl":"q"} x)"),
        std::string_view("{\"QueueUrl\":\"\xff\"}"), std::string_view(deep)}) {
    const SqsResponse answer = json("ReceiveMessage", bad);
    EXPECT_TRUE(answer.body.starts_with(
        R"({"__type":"com.amazon.coral.service#SerializationException","message":"The request body is not valid JSON)"))
        << answer.body;
  }
}

TEST_F(SqsProtocol, ListsAndMapsBeyondTheirLimitAreRefused) {
  make_queue("q");
  std::string names = "\"a\"";
  for (int i = 1; i < 1024; ++i) names += ",\"a\"";
  const auto with = [&](std::string_view more) {
    return on_queue("ReceiveMessage",
                    fmt::format(R"("MessageAttributeNames":[{}{}])", names, more));
  };
  EXPECT_EQ(with("").status, 200);
  EXPECT_EQ(with(",\"a\"").body, error_json("com.amazon.coral.service#SerializationException",
                                            "A list has too many members"));
}

TEST_F(SqsProtocol, FormsThatCannotBeReadAreRefused) {
  struct Case {
    std::string_view form, text;
  };
  const Case cases[] = {
      {"Action=ListQueues&QueueNamePrefix=%zz",
       "The request has a % that is not followed by two hex digits."  },
      {"Action=ListQueues&MaxResults=1&MaxResults=2",
       "The request has a parameter more than once."                  },
      {"Action=GetQueueAttributes&QueueUrl=q&AttributeName.0=All",
       "The numbers of the list AttributeName must be from 1 to 9999."},
  };
  make_queue("q");
  for (const Case& c : cases) {
    const SqsResponse answer = query(c.form);
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find(
                  fmt::format("<Code>InvalidQueryParameter</Code><Message>{}</Message>", c.text)),
              std::string::npos)
        << answer.body;
  }
  std::string many = "Action=ListQueues";
  for (int i = 0; i < 1024; ++i) many += fmt::format("&a{}=", i);
  EXPECT_NE(query(many).body.find("more than 1024 parameters"), std::string::npos);
}

TEST_F(SqsProtocol, UnknownMembersNullsAndEmptyListsAreIgnored) {
  make_queue("q");
  EXPECT_EQ(on_queue("ReceiveMessage",
                     R"("AttributeNames":[],"MessageSystemAttributeNames":[],)"
                     R"("MessageAttributeNames":[],"VisibilityTimeout":null,"Foo":{"a":[1]},)"
                     R"("AttributeNameX":"Nonsense","MessageBody":[])")
                .status,
            200);
}

TEST_F(SqsProtocol, ItemsOfListsMayHaveTheirNamesOfFormsInJson) {
  make_queue("q");
  on_queue("SendMessage", R"("MessageBody":"b")");
  const SqsResponse answer =
      on_queue("ReceiveMessage", R"("AttributeName.1":"ApproximateReceiveCount",)"
                                 R"("AttributeName.2":"SentTimestamp")");
  EXPECT_NE(answer.body.find(R"("Attributes":{"SentTimestamp":"1700000000123",)"
                             R"("ApproximateReceiveCount":"7"})"),
            std::string::npos)
      << answer.body;
}

TEST_F(SqsProtocol, AFormNeedsNoContentType) {
  make_queue("q");
  EXPECT_EQ(http("POST /000000000000/q HTTP/1.1\r\nHost: x\r\n",
                 "MaxNumberOfMessages=10&Action=ReceiveMessage&AttributeName.1=All")
                .status,
            200);
}

TEST_F(SqsProtocol, WhatAClientGaveIsRepeatedOnlyAsFarAsItCanBeWritten) {
  make_queue("q");
  const SqsResponse xml = query("Action=DeleteMessage&QueueUrl=q&ReceiptHandle=%01%FF%3Ca%3E");
  EXPECT_NE(xml.body.find("receipt handle &quot;??&lt;a&gt;&quot; is not"), std::string::npos)
      << xml.body;
  const std::string long_handle(5000, 'x');
  const SqsResponse cut =
      on_queue("DeleteMessage", fmt::format(R"("ReceiptHandle":"{}")", long_handle));
  EXPECT_LT(cut.body.size(), 1300u);
}

TEST_F(SqsProtocol, SignaturesOfEveryFormAreAcceptedAndNotLookedAt) {
  EXPECT_EQ(
      json("ListQueues", "{}", "/",
           "Authorization: AWS4-HMAC-SHA256 Credential=x/20260102/us-east-1/sqs/aws4_request, "
           "SignedHeaders=host, Signature=00\r\nX-Amz-Date: 20260102T030405Z\r\n"
           "X-Amz-Security-Token: t\r\n")
          .status,
      200);
  EXPECT_EQ(query("Action=ListQueues&AWSAccessKeyId=a&SignatureVersion=2&SignatureMethod=HmacSHA256"
                  "&Timestamp=2026&Signature=s")
                .status,
            200);
}

TEST_F(SqsProtocol, ACallMaySayWhatItWas) {
  make_queue("q");
  on_queue("SendMessage", R"("MessageBody":"")");
  EXPECT_EQ(call.action(), "SendMessage");
  EXPECT_EQ(call.status(), 400);
  get("/");
  EXPECT_EQ(call.action(), "");
  EXPECT_EQ(call.status(), 200);
}

TEST_F(SqsProtocol, AConnectionIsKeptIfTheClientWantsIt) {
  get("/");
  EXPECT_TRUE(call.keep_alive());
  const SqsResponse last = http("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n", "");
  EXPECT_FALSE(call.keep_alive());
  EXPECT_EQ(last.header("Connection"), "close");
}

}  // namespace
}  // namespace pawl

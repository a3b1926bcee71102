// SPDX-License-Identifier: Apache-2.0
// Query callers that accept JSON: the same results and errors as in XML, in AWS's form of JSON.
#include "tests/proto/sqs/fixture.h"

#include <fmt/core.h>

namespace pawl {
namespace {

constexpr std::string_view accept_json = "application/json";

class SqsQueryJson : public SqsTest {
 protected:
  SqsResponse accepting(std::string_view accept, std::string_view target) {
    return http(fmt::format("GET {} HTTP/1.1\r\nHost: h\r\nAccept: {}\r\n", target, accept), "");
  }

  SqsResponse posted(std::string_view form) {
    return http(fmt::format("POST / HTTP/1.1\r\nHost: h\r\nContent-Type: "
                            "application/x-www-form-urlencoded\r\nAccept: {}\r\n",
                            accept_json),
                form);
  }

  // The answer of that action, whose result has these members; no text: it has no result.
  static void expect_result(const SqsResponse& answer, std::string_view action,
                            std::string_view members) {
    const std::string result =
        members.empty() ? "" : fmt::format(R"("{}Result":{},)", action, members);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_EQ(answer.body,
              fmt::format(R"({{"{}Response":{{{}"ResponseMetadata":{{"RequestId":"{}"}}}}}})",
                          action, result, answer.header("x-amzn-RequestId")));
  }

  static void expect_refused(const SqsResponse& answer, int status, std::string_view code,
                             std::string_view message) {
    EXPECT_EQ(answer.status, status);
    EXPECT_EQ(answer.header("Content-Type"), "application/json");
    EXPECT_EQ(answer.header("x-amzn-query-error"), "");
    EXPECT_EQ(answer.body,
              fmt::format(R"({{"Error":{{"Code":"{}","Message":"{}"}},"RequestId":"{}"}})", code,
                          message, answer.header("x-amzn-RequestId")));
  }
};

TEST_F(SqsQueryJson, AMapIsAListOfNamesAndValues) {
  make_queue("q", R"({"DelaySeconds":"7"})");
  expect_result(
      accepting(accept_json,
                "/000000000000/q?Action=GetQueueAttributes&AttributeName.1=DelaySeconds"
                "&AttributeName.2=ApproximateNumberOfMessages"),
      "GetQueueAttributes",
      R"({"Attributes":[{"Name":"ApproximateNumberOfMessages","Value":"3"},{"Name":"DelaySeconds","Value":"7"}]})");
  query("Action=TagQueue&QueueUrl=q&Tag.1.Key=team&Tag.1.Value=x%3Dy");
  expect_result(accepting(accept_json, "/?Action=ListQueueTags&QueueUrl=q"), "ListQueueTags",
                R"({"Tags":[{"Key":"team","Value":"x=y"}]})");
}

TEST_F(SqsQueryJson, ListsOfQueuesAndMessagesBeginInLowerCase) {
  make_queue("q");
  expect_result(accepting(accept_json, "/?Action=ListQueues"), "ListQueues",
                R"({"queueUrls":["http://h/000000000000/q"]})");
  expect_result(posted("Action=ReceiveMessage&QueueUrl=q"), "ReceiveMessage", "{}");
  query(
      "Action=SendMessage&QueueUrl=q&MessageBody=test&MessageAttribute.1.Name=n"
      "&MessageAttribute.1.Value.DataType=String&MessageAttribute.1.Value.StringValue=v");
  const SqsResponse received = posted(
      "Action=ReceiveMessage&QueueUrl=q&AttributeName.1=ApproximateReceiveCount"
      "&MessageAttributeName.1=All");
  EXPECT_EQ(received.status, 200);
  EXPECT_TRUE(received.body.starts_with(
      R"({"ReceiveMessageResponse":{"ReceiveMessageResult":{"messages":[{"MessageId":")"))
      << received.body;
  EXPECT_TRUE(received.body.contains(
      R"("Body":"test","Attributes":[{"Name":"ApproximateReceiveCount","Value":"7"}],)"))
      << received.body;
  EXPECT_TRUE(received.body.contains(
      R"("MessageAttributes":[{"Name":"n","Value":{"StringValue":"v","DataType":"String"}}]}]},)"))
      << received.body;
}

TEST_F(SqsQueryJson, ABatchAndAnActionWithoutResultAreAnsweredToo) {
  make_queue("q");
  broker.refuse_entries = {Errc::ok, Errc::too_large};
  const SqsResponse batch = posted(
      "Action=SendMessageBatch&QueueUrl=q"
      "&SendMessageBatchRequestEntry.1.Id=a&SendMessageBatchRequestEntry.1.MessageBody=x"
      "&SendMessageBatchRequestEntry.2.Id=b&SendMessageBatchRequestEntry.2.MessageBody=y");
  EXPECT_TRUE(batch.body.starts_with(
      R"({"SendMessageBatchResponse":{"SendMessageBatchResult":{"Successful":[{"Id":"a",)"))
      << batch.body;
  EXPECT_TRUE(batch.body.contains(R"("Failed":[{"Id":"b","SenderFault":true,"Code":)"))
      << batch.body;
  broker.refuse_entries.clear();
  expect_result(posted("Action=PurgeQueue&QueueUrl=q"), "PurgeQueue", "");
}

TEST_F(SqsQueryJson, ErrorsAreJsonToo) {
  expect_refused(accepting(accept_json, "/000000000000/q?Action=GetQueueAttributes"), 400,
                 "AWS.SimpleQueueService.NonExistentQueue",
                 "The specified queue does not exist for this wsdl version.");
  expect_refused(accepting(accept_json, "/?AWSAccessKeyId=x&Action=GetNothing"), 400,
                 "InvalidAction", "The action GetNothing is not valid for this endpoint.");
  HttpHeader headers[] = {
      {"accept", "application/json"}
  };
  HttpRequest head;
  head.method = "POST";
  head.path = "/";
  head.set_headers(headers);
  call.deny(head, config, 403, "No.", 9);
  std::string out;
  call.write_response(out, "");
  EXPECT_TRUE(out.contains(R"({"Error":{"Code":"AccessDenied","Message":"No."},"RequestId":")"))
      << out;
  call.deny(head, config, 429, "Later.", 10);
  out.clear();
  call.write_response(out, "");
  EXPECT_TRUE(out.starts_with("HTTP/1.1 429 ") && out.contains(R"("Code":"RequestThrottled")"))
      << out;
}

TEST_F(SqsQueryJson, TheFirstTypeOfAcceptThatAnAnswerCanHaveDecides) {
  make_queue("q");
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"application/json",                                  "application/json"},
      {"Application/JSON;q=0.9",                            "application/json"},
      {"text/html , application/json , */*",                "application/json"},
      {"*/*",                                               "text/xml"        },
      {"",                                                  "text/xml"        },
      {"application/jsonx",                                 "text/xml"        },
      {"text/xml, application/json",                        "text/xml"        },
      {"text/html,application/xml;q=0.9,application/json,", "text/xml"        },
  };
  for (const auto& [accept, type] : rows)
    EXPECT_EQ(accepting(accept, "/?Action=ListQueues").header("Content-Type"), type) << accept;
  EXPECT_EQ(get("/?Action=ListQueues").header("Content-Type"), "text/xml");
}

TEST_F(SqsQueryJson, AGetWithoutAnActionIsXml) {
  make_queue("q");
  const SqsResponse none = accepting(accept_json, "/000000000000/q");
  EXPECT_EQ(none.status, 404);
  EXPECT_EQ(none.body, "<UnknownOperationException/>");
  EXPECT_EQ(none.header("Content-Type"), "text/xml");
}

}  // namespace
}  // namespace pawl

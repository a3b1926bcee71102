// SPDX-License-Identifier: Apache-2.0
// Which queue a request is for, and the URLs that name queues.
#include "tests/proto/sqs/fixture.h"

#include <fmt/core.h>

namespace pawl {
namespace {

class SqsUrl : public SqsTest {};

TEST_F(SqsUrl, AQueueIsFoundByWhateverUrlEndsInItsName) {
  make_queue("q");
  const std::string_view urls[] = {
      "http://broker.test:9324/000000000000/q",
      "https://sqs.us-east-1.amazonaws.com/000000000000/q",
      "https://queue.amazonaws.com/123456789012/q",
      "http://elsewhere/queue/q",
      "http://elsewhere/a/b/c/000000000000/q",
      "http://elsewhere//000000000000//q/",
      "000000000000/q",
      "/000000000000/q",
      "q",
  };
  for (const std::string_view url : urls) {
    EXPECT_EQ(json("PurgeQueue", fmt::format(R"({{"QueueUrl":"{}"}})", url)).status, 200) << url;
  }
  const std::string_view others[] = {"http://broker.test:9324/000000000000/Q", "http://q", "r",
                                     "http://broker.test/", "http://q/000000000000/q/x"};
  for (const std::string_view url : others) {
    const SqsResponse answer = json("PurgeQueue", fmt::format(R"({{"QueueUrl":"{}"}})", url));
    EXPECT_EQ(answer.header("x-amzn-query-error"), "AWS.SimpleQueueService.NonExistentQueue;Sender")
        << url;
  }
}

TEST_F(SqsUrl, AQueueOfAnotherAccountIsFoundUnderThatAccountFirst) {
  make_queue("q");
  auto other = std::make_shared<QueueConfig>();
  other->id = QueueId{99};
  other->account = "123456789012";
  other->name = "q";
  broker.directory.put(other);
  json("PurgeQueue", R"({"QueueUrl":"http://h/123456789012/q"})");
  EXPECT_EQ(broker.last.queue, QueueId{99});
  json("PurgeQueue", R"({"QueueUrl":"http://h/000000000000/q"})");
  EXPECT_EQ(broker.last.queue, QueueId{1});
  json("PurgeQueue", R"({"QueueUrl":"http://h/555555555555/q"})");
  EXPECT_EQ(broker.last.queue, QueueId{1});
  // GetQueueUrl follows the same rule for QueueOwnerAWSAccountId.
  for (const auto& [given, found] : std::initializer_list<std::pair<std::string, std::string>>{
           {"123456789012", "123456789012"},
           {"000000000000", "000000000000"},
           {"555555555555", "000000000000"},
           {"",             "000000000000"}
  }) {
    EXPECT_EQ(json("GetQueueUrl",
                   fmt::format(R"({{"QueueName":"q","QueueOwnerAWSAccountId":"{}"}})", given))
                  .body,
              fmt::format(R"({{"QueueUrl":"http://broker.test:9324/{}/q"}})", found))
        << given;
  }
}

TEST_F(SqsUrl, ARequestGoesToTheShardThatOwnsTheQueue) {
  make_queue("q");
  EXPECT_EQ(call.routes().front().target, control_shard);
  on_queue("PurgeQueue", "");
  EXPECT_EQ(call.routes().front().target, ShardId{1});
  on_queue("SetQueueAttributes", R"("Attributes":{"DelaySeconds":"1"})");
  EXPECT_EQ(call.routes().front().target, control_shard);
  on_queue("DeleteQueue", "");
  EXPECT_EQ(call.routes().front().target, control_shard);
}

TEST_F(SqsUrl, ThePathNamesTheQueueWhenNothingElseDoes) {
  make_queue("q");
  make_queue("r");
  EXPECT_EQ(json("PurgeQueue", "{}", "/000000000000/q").status, 200);
  EXPECT_EQ(broker.last.queue, QueueId{1});
  EXPECT_EQ(json("PurgeQueue", "", "/000000000000/q").status, 200);
  EXPECT_EQ(json("PurgeQueue", R"({"QueueUrl":"r"})", "/000000000000/q").status, 200);
  EXPECT_EQ(broker.last.queue, QueueId{2});
  // Celery's asynchronous receive: no Version, no QueueUrl.
  EXPECT_EQ(query("MaxNumberOfMessages=10&Action=ReceiveMessage", "/123456789012/q").status, 200);
  EXPECT_EQ(broker.last.queue, QueueId{1});
  EXPECT_EQ(query("Action=PurgeQueue&QueueUrl=r", "/000000000000/q").status, 200);
  EXPECT_EQ(broker.last.queue, QueueId{2});
}

TEST_F(SqsUrl, AQueryOnAQueuePathMayBeInTheUrl) {
  make_queue("q");
  const std::string_view signature =
      "&X-Amz-Expires=300&X-Amz-SignedHeaders=host&X-Amz-Signature=20d0&AWSAccessKeyId=x"
      "&SignatureMethod=y&Timestamp=z&Expires=1";
  const std::string read =
      fmt::format("/000000000000/q?Action=GetQueueAttributes&Version=2012-11-05{}", signature);
  EXPECT_EQ(get(read).status, 200);
  const std::string send = fmt::format(
      "/000000000000/q?Action=SendMessage&MessageBody=hello%20world&Version=2012-11-05{}",
      signature);
  const SqsResponse page = http(
      fmt::format("GET {} HTTP/1.1\r\nHost: h\r\nReferer: https://evil.example/\r\n", send), "");
  EXPECT_EQ(page.status, 403);
  EXPECT_TRUE(page.body.contains("by its header Referer a web page may have sent it")) << page.body;
  EXPECT_EQ(broker.messages.size(), 0u);
  EXPECT_EQ(get(send).status, 200);
  EXPECT_EQ(query("", send).status, 200);
  ASSERT_EQ(broker.messages.size(), 2u);
  EXPECT_EQ(broker.messages[0].body, "hello world");
}

TEST_F(SqsUrl, ActionsWithoutAQueueAreNotValidOnAQueuePath) {
  make_queue("q");
  for (const std::string_view action : {"ListQueues", "CreateQueue", "Nonsense"}) {
    const SqsResponse answer =
        get(fmt::format("/000000000000/q?Action={}&QueueName=other", action));
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find("<Code>InvalidAction</Code><Message>The action " +
                               std::string(action) + " is not valid for this endpoint.</Message>"),
              std::string::npos)
        << answer.body;
  }
  const SqsResponse url = get("/000000000000/other?Action=GetQueueUrl&QueueName=q");
  EXPECT_EQ(url.status, 200);
  EXPECT_NE(url.body.find("<QueueUrl>http://broker.test:9324/000000000000/q</QueueUrl>"),
            std::string::npos);
}

TEST_F(SqsUrl, WithoutAnActionAPathIsHealthOrUnknown) {
  for (const std::string_view path : {"/", "/health"}) {
    const SqsResponse health = get(path);
    EXPECT_EQ(health.status, 200) << path;
    EXPECT_TRUE(health.body.starts_with("pawl ")) << path;
  }
  for (const SqsResponse& answer :
       {get("/000000000000/q"), query("Version=1", "/000000000000/q")}) {
    EXPECT_EQ(answer.status, 404);
    EXPECT_EQ(answer.body, "<UnknownOperationException/>");
  }
  const SqsResponse none = query("QueueName=q");
  EXPECT_EQ(none.status, 400);
  EXPECT_NE(none.body.find("<Code>MissingAction</Code>"), std::string::npos);
}

TEST_F(SqsUrl, HeadIsAnsweredWithoutABodyAndOptionsWithTheMethods) {
  const SqsResponse head = http("HEAD / HTTP/1.1\r\nHost: x\r\n", "");
  EXPECT_EQ(head.status, 200);
  EXPECT_EQ(head.body, "");
  EXPECT_NE(head.header("Content-Length"), "0");
  const SqsResponse options = http("OPTIONS / HTTP/1.1\r\nHost: x\r\n", "");
  EXPECT_EQ(options.status, 204);
  EXPECT_EQ(options.header("Allow"), "GET, HEAD, POST, OPTIONS");
}

TEST_F(SqsUrl, QueueUrlsAreBuiltFromWhatTheClientCanReach) {
  struct Case {
    std::string_view base, host, want;
  };
  const Case cases[] = {
      {"",                       "10.0.0.7:9324", "http://10.0.0.7:9324/000000000000/q" },
      {"",                       "[::1]:9324",    "http://[::1]:9324/000000000000/q"    },
      {"https://queue.example",  "10.0.0.7",      "https://queue.example/000000000000/q"},
      {"https://queue.example/", "10.0.0.7",      "https://queue.example/000000000000/q"},
  };
  make_queue("q");
  for (const Case& c : cases) {
    config.base_url = c.base;
    const SqsResponse answer =
        http(fmt::format("POST / HTTP/1.1\r\nHost: {}\r\nX-Amz-Target: AmazonSQS.GetQueueUrl\r\n",
                         c.host),
             R"({"QueueName":"q"})");
    EXPECT_EQ(answer.body, fmt::format(R"({{"QueueUrl":"{}"}})", c.want));
  }
}

TEST_F(SqsUrl, AnOldClientThatNamesNoHostGetsALocalUrl) {
  make_queue("q");
  EXPECT_EQ(
      http("POST / HTTP/1.0\r\nX-Amz-Target: AmazonSQS.GetQueueUrl\r\n", R"({"QueueName":"q"})")
          .body,
      R"({"QueueUrl":"http://localhost/000000000000/q"})");
}

TEST_F(SqsUrl, MissingQueueUrlsAreNamed) {
  const SqsResponse answer = json("SendMessage", R"({"MessageBody":"x"})");
  EXPECT_EQ(answer.body, error_json("com.amazon.coral.service#MissingRequiredParameterException",
                                    "The request must contain the parameter QueueUrl."));
}

}  // namespace
}  // namespace pawl

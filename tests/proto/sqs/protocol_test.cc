// SPDX-License-Identifier: Apache-2.0
// Which of content type, target, path and Action decides the protocol and the action.
#include <fmt/core.h>

#include "tests/proto/sqs/fixture.h"

namespace pawl {
namespace {

class SqsProtocolChoice : public SqsTest {};

TEST_F(SqsProtocolChoice, TheContentTypeDecidesThenTheTargetThenTheAction) {
  make_queue("q");
  const std::string form = "Content-Type: application/x-www-form-urlencoded\r\n",
                    json = "Content-Type: application/x-amz-json-1.0\r\n";
  const std::string list_target = "X-Amz-Target: AmazonSQS.ListQueues\r\n";
  const struct {
    const char* name;
    std::string target_line, headers, body;
    int status;
    const char* answer;  // within the body
  } cases[] = {
      {"a form",                                      "POST /",                                                form,                                                  "Action=ListQueues",      200, "<ListQueuesResponse" },
      {"a form in capitals",                          "POST /",                                                "Content-Type: Application/X-WWW-Form-Urlencoded\r\n",
       "Action=ListQueues",                                                                                                                                                                     200, "<ListQueuesResponse" },
      {"a form with a charset",                       "POST /",
       "Content-Type: application/x-www-form-urlencoded; charset=utf-8\r\n",                                                                                          "Action=ListQueues",
       200,                                                                                                                                                                                          "<ListQueuesResponse" },
      {"a form with a target of JSON",                "POST /",                                                form + list_target,                                    "Action=ListQueues",      200,
       "<ListQueuesResponse"                                                                                                                                                                                               },
      {"a form with a target of another service",     "POST /",
       form + "X-Amz-Target: AmazonSQSv20121105.ListQueues\r\n",                                                                                                      "Action=ListQueues",      200,
       "<ListQueuesResponse"                                                                                                                                                                                               },
      {"a form whose target is another action",       "POST /",                                                form + list_target,
       "Action=GetQueueUrl&QueueName=q",                                                                                                                                                        200, "<GetQueueUrlResponse"},
      {"a form with a target and no action",          "POST /",                                                form + list_target,                                    "",                       400,
       "MissingAction"                                                                                                                                                                                                     },
      {"a form on a queue's path",                    "POST /000000000000/q",                                  form + list_target,
       "Action=SendMessage&MessageBody=m",                                                                                                                                                      200, "<SendMessageResponse"},
      {"the action in the URL, the rest in the body", "POST /000000000000/q?Action=SendMessage",
       form,                                                                                                                                                          "MessageBody=m",          200, "<SendMessageResponse"},
      {"all in the URL of a POST",                    "POST /000000000000/q?Action=SendMessage&MessageBody=m", form,
       "",                                                                                                                                                                                      200, "<SendMessageResponse"},
      {"a parameter in the URL and in the body",
       "POST /000000000000/q?Action=SendMessage&MessageBody=m",                                                form,                                                  "MessageBody=n",          400,
       "more than once"                                                                                                                                                                                                    },
      {"JSON",                                        "POST /",                                                json + list_target,                                    "{}",                     200, "QueueUrls"           },
      {"JSON on a queue's path",                      "POST /000000000000/q",
       json + "X-Amz-Target: AmazonSQS.SendMessage\r\n",                                                                                                              R"({"MessageBody":"m"})", 200,
       "MessageId"                                                                                                                                                                                                         },
      {"JSON whose target is of another service",     "POST /",
       json + "X-Amz-Target: AmazonSQSv20121105.ListQueues\r\n",                                                                                                      "{}",                     400, "UnknownOperation"    },
      {"JSON without a target",                       "POST /",                                                json,                                                  "{}",                     400, "UnknownOperation"    },
      {"a form that says it is JSON",                 "POST /",                                                json,                                                  "Action=ListQueues",      200,
       "<ListQueuesResponse"                                                                                                                                                                                               },
      {"a target without a content type",             "POST /",                                                list_target,                                           "{}",                     200, "QueueUrls"           },
      {"a form without a content type",               "POST /",                                                "",                                                    "Action=ListQueues",      200,
       "<ListQueuesResponse"                                                                                                                                                                                               },
      {"all in the URL of a GET",                     "GET /?Action=ListQueues",                               "",                                                    "",                       200, "<ListQueuesResponse" },
      {"a GET that says it is a form",                "GET /?Action=ListQueues",                               form,                                                  "",                       200,
       "<ListQueuesResponse"                                                                                                                                                                                               },
  };
  for (const auto& c : cases) {
    const SqsResponse answer =
        http(fmt::format("{} HTTP/1.1\r\nHost: h\r\n{}", c.target_line, c.headers), c.body);
    EXPECT_EQ(answer.status, c.status) << c.name << ": " << answer.body;
    EXPECT_TRUE(answer.body.contains(c.answer)) << c.name << ": " << answer.body;
  }
}

}  // namespace
}  // namespace pawl

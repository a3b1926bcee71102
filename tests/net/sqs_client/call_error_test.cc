// SPDX-License-Identifier: Apache-2.0
#include "net/sqs_client/call_error.h"

#include <gtest/gtest.h>

namespace pawl::sqs_client {
namespace {

TEST(SqsServiceError, IsReadFromTheBody) {
  struct Case {
    const char* name;
    std::string body, code, message, described;
  };
  const Case cases[] = {
      {"of SQS",
       R"({"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"The queue \"q\" is gone."})", "QueueDoesNotExist", "The queue \"q\" is gone.",
       "QueueDoesNotExist: The queue \"q\" is gone."                                                                                                                  },
      {"without a namespace", R"({"__type":"InvalidAddress","Message":"m"})",                      "InvalidAddress",    "m",
       "InvalidAddress: m"                                                                                                                                            },
      {"without a message",   R"({"__type":"Throttled"})",                                         "Throttled",         "",                         "Throttled"       },
      {"of other kinds",      R"({"__type":1,"message":[]})",                                      "",                  "",                         "HTTP 502"        },
      {"of SNS",
       "<ErrorResponse><Error><Type>Sender</Type><Code>NotFound</Code><Message>a &lt; "
       "b</Message></Error></ErrorResponse>",                                                      "NotFound",          "a < b",                    "NotFound: a < b" },
      {"no object",           "[]",                                                                "",                  "[]",                       "HTTP 502: []"    },
      {"no JSON",             "<html>",                                                            "",                  "<html>",                   "HTTP 502: <html>"},
      {"not printable",       "a\x1b[2J\xFF",                                                      "",                  "a?[2J?",                   "HTTP 502: a?[2J?"},
      {"a line",              "<html>\n\r\n",                                                      "",                  "<html>",                   "HTTP 502: <html>"},
      {"empty lines",         "\n \n",                                                             "",                  "",                         "HTTP 502"        },
      {"nothing",             "",                                                                  "",                  "",                         "HTTP 502"        },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const ServiceError error = service_error_of(c.body);
    EXPECT_EQ(error.code, c.code);
    EXPECT_EQ(error.message, c.message);
    EXPECT_EQ(describe(error, 502), c.described);
  }
}

TEST(SqsServiceError, IsLimited) {
  EXPECT_EQ(service_error_of(std::string(100'000, 'x')).message.size(), message_bytes_max);
  const std::string body = R"({"__type":"C","message":")" + std::string(100'000, 'x') + "\"}";
  EXPECT_EQ(service_error_of(body).message.size(), message_bytes_max);
}

}  // namespace
}  // namespace pawl::sqs_client

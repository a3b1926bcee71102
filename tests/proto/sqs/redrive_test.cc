// SPDX-License-Identifier: Apache-2.0
// Dead letters in attributes: RedrivePolicy, RedriveAllowPolicy, and which queues point to which.
#include "tests/proto/sqs/fixture.h"

#include <fmt/core.h>

namespace pawl {
namespace {

constexpr std::string_view invalid_value =
    "com.amazon.coral.service#InvalidParameterValueException";
constexpr std::string_view invalid_attribute = "com.amazonaws.sqs#InvalidAttributeValue";

// As a JSON string within JSON.
std::string quoted(std::string_view json) {
  std::string out = "\"";
  for (const char c : json) out.append(c == '"' || c == '\\' ? "\\" : "").push_back(c);
  return out + '"';
}

std::string arn(std::string_view name, std::string_view account = "000000000000") {
  return fmt::format("arn:aws:sqs:us-east-1:{}:{}", account, name);
}

std::string redrive(std::string_view target, std::string_view count = "5") {
  return fmt::format(R"({{"deadLetterTargetArn":"{}","maxReceiveCount":{}}})", target, count);
}

class SqsRedrive : public SqsTest {
 protected:
  void SetUp() override {
    make_queue("q");
    make_queue("dlq");
    make_queue("dlq.fifo", R"({"FifoQueue":"true"})");
  }

  SqsResponse set(std::string_view attribute, std::string_view value,
                  std::string_view queue = "q") {
    return json("SetQueueAttributes", fmt::format(R"({{"QueueUrl":"{}","Attributes":{{"{}":{}}}}})",
                                                  queue, attribute, quoted(value)));
  }
  std::string get(std::string_view attribute) {
    return on_queue("GetQueueAttributes", fmt::format(R"("AttributeNames":["{}"])", attribute))
        .body;
  }
  void expect_refused(std::string_view attribute, std::string_view value, std::string_view reason) {
    const std::string given = quoted(value);
    expect_error(set(attribute, value), 400, invalid_value,
                 fmt::format("Value {} for parameter {} is invalid. Reason: {}",
                             given.substr(1, given.size() - 2), attribute, reason));
    const SqsResponse xml = query(
        fmt::format("Action=SetQueueAttributes&QueueUrl=q&Attribute.1.Name={}&Attribute.1.Value={}",
                    attribute, percent_encoded(value)));
    EXPECT_EQ(xml.status, 400);
    EXPECT_NE(xml.body.find("<Code>InvalidParameterValue</Code>"), std::string::npos) << xml.body;
  }
  const QueueConfig& queue(std::string_view name) {
    return **broker.directory.find("000000000000", name);
  }
};

TEST_F(SqsRedrive, APolicyIsEchoedAndTakenApart) {
  for (const std::string_view count : {"1", "1000", "\"7\""}) {
    EXPECT_EQ(set("RedrivePolicy", redrive(arn("dlq"), count)).status, 200) << count;
  }
  EXPECT_EQ(set("RedrivePolicy",
                R"({ "maxReceiveCount" : 5, "deadLetterTargetArn": ")" + arn("dlq") + "\" }")
                .status,
            200);
  EXPECT_EQ(get("RedrivePolicy"),
            R"({"Attributes":{"RedrivePolicy":"{\"maxReceiveCount\":5,\"deadLetterTargetArn\":)"
            R"(\"arn:aws:sqs:us-east-1:000000000000:dlq\"}"}})");
  EXPECT_EQ(queue("q").text(Attribute::dead_letter_target), "000000000000/dlq");
  EXPECT_EQ(queue("q").number(Attribute::max_receive_count), 5);

  EXPECT_EQ(set("RedrivePolicy", "").status, 200);
  EXPECT_EQ(get("RedrivePolicy"), "{}");
  EXPECT_EQ(queue("q").text(Attribute::dead_letter_target), "");
  EXPECT_EQ(queue("q").number(Attribute::max_receive_count), 0);
}

TEST_F(SqsRedrive, APolicyFollowsTheRulesOfSqs) {
  auto theirs = std::make_shared<QueueConfig>();
  theirs->id = QueueId{99};
  theirs->account = "111111111111";
  theirs->name = "dlq";
  broker.directory.put(theirs);
  struct Case {
    std::string value;
    std::string_view reason;
  };
  const auto count = [](std::string_view shown) {
    return fmt::format(
        "Invalid value for maxReceiveCount: {}, valid values are from 1 to 1000 both inclusive.",
        shown);
  };
  const std::string zero = count("0"), thousand = count("1001"), minus = count("-1"),
                    word = count("x"), broken = count("1.5"), none = count("");
  const Case cases[] = {
      {R"({"deadLetterTargetArn":"x"})",
       "Redrive policy does not contain mandatory attribute: maxReceiveCount."},
      {R"({"maxReceiveCount":5})",
       "Redrive policy does not contain mandatory attribute: deadLetterTargetArn."},
      {R"({"deadLetterTargetArn":"x","maxReceiveCount":5,"more":1})",
       "Only following attributes are supported: [maxReceiveCount, deadLetterTargetArn]."},
      {redrive(arn("dlq"), "0"), zero},
      {redrive(arn("dlq"), "1001"), thousand},
      {redrive(arn("dlq"), "-1"), minus},
      {redrive(arn("dlq"), "\"x\""), word},
      {redrive(arn("dlq"), "1.5"), broken},
      {redrive(arn("dlq"), "true"), none},
      {redrive("dlq"), "Dead-letter target ARN should be fully qualified ARN."},
      {redrive("arn:aws:sqs:us-east-1:000000000000"),
       "Dead-letter target ARN should be fully qualified ARN."},
      {redrive("arn:aws:sns:us-east-1:000000000000:dlq"),
       "Only SQS queues are valid resources for deadLetterTargetArn."},
      {redrive(arn("none")), "Dead letter target does not exist."},
      {redrive(arn("none", "111111111111")),
       "Dead-letter target owner should be same as the source."},
      {redrive(arn("dlq", "111111111111")),
       "Dead-letter target owner should be same as the source."},
      {redrive(arn("dlq.fifo")), "Dead-letter queue must be same type of queue as the source."},
  };
  for (const Case& c : cases) expect_refused("RedrivePolicy", c.value, c.reason);
  for (const std::string_view bad : {"x", "[]", "5", "{", R"({"a":1,"a":2})"}) {
    expect_error(set("RedrivePolicy", bad), 400, invalid_attribute,
                 "Invalid value for the parameter RedrivePolicy. Reason: Redrive policy is not a "
                 "valid JSON map.");
  }
  EXPECT_EQ(broker.seen[Op::set_attributes], 0);
}

TEST_F(SqsRedrive, AFifoQueueWantsAFifoDeadLetterQueue) {
  make_queue("q.fifo", R"({"FifoQueue":"true"})");
  EXPECT_EQ(set("RedrivePolicy", redrive(arn("dlq.fifo")), "q.fifo").status, 200);
  const SqsResponse wrong = set("RedrivePolicy", redrive(arn("dlq")), "q.fifo");
  EXPECT_NE(wrong.body.find("must be same type of queue as the source."), std::string::npos);
}

TEST_F(SqsRedrive, AQueueMayBeItsOwnDeadLetterQueue) {
  EXPECT_EQ(set("RedrivePolicy", redrive(arn("q"))).status, 200);
  const SqsResponse made =
      json("CreateQueue", fmt::format(R"({{"QueueName":"n","Attributes":{{"RedrivePolicy":{}}}}})",
                                      pawl::quoted(redrive(arn("n")))));
  EXPECT_EQ(made.status, 200) << made.body;
  EXPECT_EQ(queue("n").text(Attribute::dead_letter_target), "000000000000/n");
  make_queue("q.fifo", R"({"FifoQueue":"true"})");
  EXPECT_EQ(set("RedrivePolicy", redrive(arn("q.fifo")), "q.fifo").status, 200);
}

TEST_F(SqsRedrive, ANewQueueMayHaveAPolicyAtOnce) {
  const auto create = [&](std::string_view policy) {
    return json(
        "CreateQueue",
        fmt::format(R"({{"QueueName":"n","Attributes":{{"RedrivePolicy":{}}}}})", quoted(policy)));
  };
  expect_error(create(redrive(arn("none"))), 400, invalid_value,
               R"(Value {\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:none\",)"
               R"(\"maxReceiveCount\":5} for parameter RedrivePolicy is invalid. Reason: Dead )"
               "letter target does not exist.");
  EXPECT_EQ(create(redrive(arn("dlq"))).status, 200);
  // The same again, in other words.
  EXPECT_EQ(create(R"({"maxReceiveCount":5, "deadLetterTargetArn":")" + arn("dlq") + "\"}").status,
            200);
  expect_error(create(redrive(arn("dlq"), "6")), 400, "com.amazonaws.sqs#QueueNameExists",
               "A queue already exists with the same name and a different value for attribute "
               "RedrivePolicy");
}

TEST_F(SqsRedrive, AnAllowPolicyFollowsTheRulesOfSqs) {
  constexpr std::string_view format =
      "Amazon SQS can't create the redrive allow policy, as it's in an unsupported format.";
  std::string eleven = "\"" + arn("q") + "\"";
  for (int i = 1; i < 11; ++i) eleven += ",\"" + arn(fmt::format("q{}", i)) + "\"";
  const auto by_queue = [](std::string_view arns) {
    return fmt::format(R"({{"redrivePermission":"byQueue","sourceQueueArns":[{}]}})", arns);
  };
  struct Case {
    std::string value;
    std::string_view reason;
  };
  const Case cases[] = {
      {"x",                                                          format                                                          },
      {"{}",                                                         format                                                          },
      {R"({"redrivePermission":"some"})",                            format                                                          },
      {R"({"redrivePermission":1})",                                 format                                                          },
      {R"({"redrivePermission":"byQueue","sourceQueueArns":"x"})",   format                                                          },
      {R"({"redrivePermission":"byQueue","sourceQueueArns":[1]})",   format                                                          },
      {R"({"redrivePermission":"allowAll","other":"x"})",            format                                                          },
      {R"({"redrivePermission":"byQueue"})",
       "When you specify the byQueue permission type, you must also specify one or more "
       "sourceQueueArns values."                                                                                                     },
      {by_queue(""),
       "When you specify the byQueue permission type, you must also specify one or more "
       "sourceQueueArns values."                                                                                                     },
      {by_queue(eleven),                                             "The maximum number of source queue ARNs you can specify is 10."},
      {R"({"redrivePermission":"denyAll","sourceQueueArns":["a"]})",
       "To specify one or more source queue ARNs, you must set redrivePermission to byQueue."                                        },
  };
  for (const Case& c : cases) expect_refused("RedriveAllowPolicy", c.value, c.reason);
  EXPECT_EQ(set("RedriveAllowPolicy", by_queue(eleven.substr(0, eleven.rfind(',')))).status, 200);
  EXPECT_EQ(
      set("RedriveAllowPolicy", R"({"redrivePermission":"denyAll","sourceQueueArns":[]})").status,
      200);
  // Terraform sends null for a member that is not set.
  EXPECT_EQ(
      set("RedriveAllowPolicy", R"({"redrivePermission":"denyAll","sourceQueueArns":null})").status,
      200);
  EXPECT_EQ(get("RedriveAllowPolicy"),
            R"({"Attributes":{"RedriveAllowPolicy":"{\"redrivePermission\":\"denyAll\"}"}})");
  expect_refused("RedrivePolicy", R"({"maxReceiveCount":null,"deadLetterTargetArn":"a"})",
                 "Redrive policy does not contain mandatory attribute: maxReceiveCount.");
  EXPECT_EQ(set("RedriveAllowPolicy", R"({"redrivePermission": "allowAll"})").status, 200);
  EXPECT_EQ(get("RedriveAllowPolicy"),
            R"({"Attributes":{"RedriveAllowPolicy":"{\"redrivePermission\":\"allowAll\"}"}})");
  EXPECT_EQ(set("RedriveAllowPolicy", "").status, 200);
  EXPECT_EQ(get("RedriveAllowPolicy"), "{}");
}

TEST_F(SqsRedrive, ATargetMayRefuseSources) {
  struct Case {
    std::string policy;
    int status;
  };
  const Case cases[] = {
      {"",                                                                               200},
      {R"({"redrivePermission":"allowAll"})",                                            200},
      {R"({"redrivePermission":"denyAll"})",                                             400},
      {R"({"redrivePermission":"byQueue","sourceQueueArns":[")" + arn("other") + "\"]}", 400},
      {R"({"redrivePermission":"byQueue","sourceQueueArns":[")" + arn("other") + "\",\"" +
           arn("q") + "\"]}",
       200                                                                                  },
  };
  for (const Case& c : cases) {
    EXPECT_EQ(set("RedrivePolicy", "").status, 200);
    EXPECT_EQ(set("RedriveAllowPolicy", c.policy, "dlq").status, 200);
    const SqsResponse answer = set("RedrivePolicy", redrive(arn("dlq")));
    EXPECT_EQ(answer.status, c.status) << c.policy;
    if (c.status == 200) continue;
    EXPECT_NE(answer.body.find("Dead letter target does not allow this queue as a source."),
              std::string::npos);
  }
}

TEST_F(SqsRedrive, SourcesOfADeadLetterQueueAreListed) {
  const auto sources = [&](std::string_view more = "") {
    return json("ListDeadLetterSourceQueues", fmt::format(R"({{"QueueUrl":"dlq"{}}})", more)).body;
  };
  EXPECT_EQ(sources(), R"({"queueUrls":[]})");
  EXPECT_NE(query("Action=ListDeadLetterSourceQueues&QueueUrl=dlq")
                .body.find("<ListDeadLetterSourceQueuesResult/>"),
            std::string::npos);
  for (const std::string_view name : {"c", "a", "b"}) {
    make_queue(name);
    EXPECT_EQ(set("RedrivePolicy", redrive(arn("dlq")), name).status, 200);
  }
  const auto url = [](std::string_view name) {
    return fmt::format("\"http://broker.test:9324/000000000000/{}\"", name);
  };
  EXPECT_EQ(sources(), fmt::format(R"({{"queueUrls":[{},{},{}]}})", url("a"), url("b"), url("c")));
  EXPECT_EQ(sources(R"(,"MaxResults":2)"),
            fmt::format(R"({{"queueUrls":[{},{}],"NextToken":"Yg=="}})", url("a"), url("b")));
  EXPECT_EQ(sources(R"(,"MaxResults":2,"NextToken":"Yg==")"),
            fmt::format(R"({{"queueUrls":[{}]}})", url("c")));
  EXPECT_NE(query("Action=ListDeadLetterSourceQueues&QueueUrl=dlq&MaxResults=1")
                .body.find("<QueueUrl>http://broker.test:9324/000000000000/a</QueueUrl>"
                           "<NextToken>YQ==</NextToken>"),
            std::string::npos);
  expect_error(json("ListDeadLetterSourceQueues", R"({"QueueUrl":"dlq","MaxResults":1001})"), 400,
               invalid_value,
               "Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer "
               "between 1 and 1000.");
  expect_error(json("ListDeadLetterSourceQueues", R"({"QueueUrl":"dlq","NextToken":"!"})"), 400,
               invalid_value, "Invalid or expired next token.");
  set("RedrivePolicy", "", "a");
  EXPECT_EQ(sources(), fmt::format(R"({{"queueUrls":[{},{}]}})", url("b"), url("c")));
}

}  // namespace
}  // namespace pawl

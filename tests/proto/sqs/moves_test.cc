// SPDX-License-Identifier: Apache-2.0
// Move tasks: who may start one, the handle that names it, and what is told of it.
#include "proto/text/base64.h"

#include <fmt/core.h>
#include "tests/proto/sqs/fixture.h"

namespace pawl {
namespace {

constexpr std::string_view invalid_value =
    "com.amazon.coral.service#InvalidParameterValueException";
constexpr std::string_view missing = "com.amazon.coral.service#MissingRequiredParameterException";
constexpr std::string_view not_found = "com.amazonaws.sqs#ResourceNotFoundException";

std::string arn(std::string_view name) {
  return fmt::format("arn:aws:sqs:us-east-1:000000000000:{}", name);
}

class SqsMoves : public SqsTest {
 protected:
  void SetUp() override {
    make_queue("dlq");
    make_queue("q", R"({"RedrivePolicy":"{\"deadLetterTargetArn\":)"
                    R"(\"arn:aws:sqs:us-east-1:000000000000:dlq\",\"maxReceiveCount\":3}"})");
  }

  SqsResponse start(std::string_view source, std::string_view more = "") {
    return json("StartMessageMoveTask", fmt::format(R"({{"SourceArn":"{}"{}}})", source, more));
  }
  SqsResponse cancel(std::string_view handle) {
    return json("CancelMessageMoveTask", fmt::format(R"({{"TaskHandle":"{}"}})", handle));
  }
  SqsResponse list(std::string_view more = "") {
    return json("ListMessageMoveTasks", fmt::format(R"({{"SourceArn":"{}"{}}})", arn("dlq"), more));
  }
  // {"TaskHandle":"..."}
  static std::string handle_of(const SqsResponse& started) {
    EXPECT_EQ(started.status, 200) << started.body;
    return started.body.substr(15, started.body.size() - 17);
  }
  static std::string encoded(std::string_view text) {
    std::string out;
    append_base64(out, {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()});
    return out;
  }
};

TEST_F(SqsMoves, GoToTheShardOfTheSource) {
  start(arn("dlq"), R"(,"DestinationArn":"arn:aws:sqs:us-east-1:000000000000:q",)"
                    R"("MaxNumberOfMessagesPerSecond":500)");
  EXPECT_EQ(broker.last.op, Op::start_move);
  EXPECT_EQ(call.routes().front().target, ShardId{1});
  EXPECT_EQ(broker.last.queue, (*broker.directory.find("000000000000", "dlq"))->id);
  EXPECT_EQ(broker.tasks[0].destination, "000000000000/q");
  EXPECT_EQ(broker.tasks[0].rate, 500u);
  start(arn("dlq"));
  EXPECT_EQ(broker.tasks[0].destination, "");
  EXPECT_EQ(broker.tasks[0].rate, 0u);
}

TEST_F(SqsMoves, AreRefusedInTheWordsOfSqs) {
  make_queue("q.fifo", R"({"FifoQueue":"true"})");
  constexpr std::string_view format =
      "You must use this format to specify the {}: "
      "arn:<partition>:<service>:<region>:<account-id>:<resource-id>";
  struct Case {
    std::string source, more;
    int status;
    std::string_view shape;
    std::string text;
  };
  const std::string dlq = arn("dlq");
  const Case cases[] = {
      {"dlq", "", 400, invalid_value, fmt::format(fmt::runtime(format), "SourceArn")},
      {"", "", 400, invalid_value, fmt::format(fmt::runtime(format), "SourceArn")},
      {"arn:aws:sqs:us-east-1:000000000000", "", 400, invalid_value,
       fmt::format(fmt::runtime(format), "SourceArn")},
      {arn("none"), "", 404, not_found,
       "The resource that you specified for the SourceArn parameter doesn't exist."},
      {"arn:aws:sns:us-east-1:000000000000:dlq", "", 404, not_found,
       "The resource that you specified for the SourceArn parameter doesn't exist."},
      {arn("q"), "", 400, invalid_value, "Source queue must be configured as a Dead Letter Queue."},
      {dlq, R"(,"DestinationArn":"q")", 400, invalid_value,
       fmt::format(fmt::runtime(format), "DestinationArn")},
      {dlq, R"(,"DestinationArn":")" + arn("none") + "\"", 404, not_found,
       "The resource that you specified for the DestinationArn parameter doesn't exist."},
      {dlq, R"(,"DestinationArn":")" + dlq + "\"", 400, invalid_value,
       "Source queue arn and destination queue arn cannot be the same."},
      {dlq, R"(,"DestinationArn":")" + arn("q.fifo") + "\"", 400, invalid_value,
       "The source queue and destination queue must be of the same queue type."},
      {dlq, R"(,"DestinationArn":"arn:aws:sqs:us-east-1:000000000000/sns:t")", 400, invalid_value,
       "You must use this format to specify the DestinationArn: "
       "arn:<partition>:<service>:<region>:<account-id>:<resource-id>"},
      {dlq, R"(,"MaxNumberOfMessagesPerSecond":0)", 400, invalid_value,
       "Value for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: You must enter a "
       "number that's between 1 and 500."},
      {dlq, R"(,"MaxNumberOfMessagesPerSecond":501)", 400, invalid_value,
       "Value for parameter MaxNumberOfMessagesPerSecond is invalid. Reason: You must enter a "
       "number that's between 1 and 500."},
  };
  for (const Case& c : cases) {
    expect_error(start(c.source, c.more), c.status, c.shape, c.text);
  }
  expect_error(json("StartMessageMoveTask", "{}"), 400, missing,
               "The request must contain the parameter SourceArn.");
  EXPECT_EQ(broker.seen[Op::start_move], 0);
  broker.refuse_with = Errc::task_running;
  expect_error(start(dlq), 400, invalid_value,
               "There is already a task running. Only one active task is allowed for a source "
               "queue arn at a given time.");
  // Without the mode of Query, the old statuses are one.
  EXPECT_EQ(
      json("StartMessageMoveTask", fmt::format(R"({{"SourceArn":"{}"}})", arn("none")), "/", "")
          .status,
      400);
}

TEST_F(SqsMoves, HaveAHandleThatSaysWhichAndCannotBeMadeUp) {
  const std::string first = handle_of(start(arn("dlq")));
  const std::string second = handle_of(start(arn("dlq")));
  EXPECT_NE(first, second);
  std::string text;
  ASSERT_TRUE(decode_base64(first, text));
  EXPECT_TRUE(text.starts_with(R"({"taskId":")")) << text;
  EXPECT_TRUE(text.ends_with(R"(","sourceArn":"arn:aws:sqs:us-east-1:000000000000:dlq"})")) << text;

  EXPECT_EQ(cancel(second).body, R"({"ApproximateNumberOfMessagesMoved":42})");
  EXPECT_EQ(broker.last.op, Op::cancel_move);
  EXPECT_EQ(broker.last.move.number, 2u);
  EXPECT_EQ(call.routes().front().target, ShardId{1});
  const SqsResponse xml =
      query(fmt::format("Action=CancelMessageMoveTask&TaskHandle={}", percent_encoded(first)));
  EXPECT_NE(xml.body.find("<CancelMessageMoveTaskResult><ApproximateNumberOfMessagesMoved>41"
                          "</ApproximateNumberOfMessagesMoved></CancelMessageMoveTaskResult>"),
            std::string::npos)
      << xml.body;
  EXPECT_EQ(broker.seen[Op::cancel_move], 2);

  // Another number or another queue: a handle that was never made.
  std::string other_number = text, other_queue = text, no_queue = text;
  other_number[text.find("\",\"sourceArn") - 1] ^= 2;
  other_queue.replace(other_queue.find(":dlq"), 4, ":q");
  no_queue.replace(no_queue.find(":dlq"), 4, ":none");
  for (const std::string& unknown : {other_number, other_queue}) {
    expect_error(cancel(encoded(unknown)), 404, not_found, "Task does not exist.");
  }
  constexpr std::string_view made_up_id =
      R"({"taskId": "10f6c2b0-4d5a-4c1e-9a52-8c1d1d7a1b11", "sourceArn": "arn:aws:sqs:us-east-1:000000000000:none"})";
  for (const std::string_view unknown : {std::string_view(no_queue), made_up_id}) {
    expect_error(cancel(encoded(unknown)), 404, not_found,
                 "The resource that you specified for the SourceArn parameter doesn't exist.");
  }
  for (const std::string& bad :
       {std::string(), std::string("!"), encoded("x"), encoded("{}"),
        encoded(R"({"taskId":"x","sourceArn":"arn:aws:sqs:r:0:dlq"})"),
        encoded(text.substr(0, text.find("arn:")) + "dlq\"}"), std::string(2000, 'A')}) {
    expect_error(cancel(bad), 400, invalid_value, "Value for parameter TaskHandle is invalid.");
  }
  expect_error(json("CancelMessageMoveTask", "{}"), 400, missing,
               "The request must contain the parameter TaskHandle.");
  EXPECT_EQ(broker.seen[Op::cancel_move], 2);
  broker.refuse_with = Errc::no_such_task;
  expect_error(cancel(first), 404, not_found, "Task does not exist.");
}

TEST_F(SqsMoves, AreListedNewestFirst) {
  EXPECT_EQ(list().body, "{}");
  const std::string handle = handle_of(start(arn("dlq"), R"(,"MaxNumberOfMessagesPerSecond":7)"));
  broker.tasks[0].moved = 3;
  broker.tasks[0].to_move = 10;
  broker.tasks[0].started = Instant{1'700'000'000'123};
  const std::string running =
      fmt::format(R"({{"TaskHandle":"{}","Status":"RUNNING","SourceArn":"{}",)"
                  R"("MaxNumberOfMessagesPerSecond":7,"ApproximateNumberOfMessagesMoved":3,)"
                  R"("ApproximateNumberOfMessagesToMove":10,"StartedTimestamp":1700000000123}})",
                  handle, arn("dlq"));
  EXPECT_EQ(list().body, fmt::format(R"({{"Results":[{}]}})", running));

  using Status = MoveTask::Status;
  const auto older = [&](Status status, Errc failure, std::string_view destination) {
    broker.tasks.push_back({.number = 1,
                            .status = status,
                            .failure = failure,
                            .destination = std::string(destination)});
  };
  older(Status::completed, Errc::ok, "000000000000/q");
  older(Status::cancelled, Errc::ok, "");
  older(Status::failed, Errc::no_such_queue, "000000000000/gone");
  older(Status::failed, Errc::source_unknown, "");
  older(Status::failed, Errc::message_numbers_used_up, "000000000000/q");
  const auto ended = [&](std::string_view status, std::string_view destination,
                         std::string_view reason) {
    return fmt::format(R"({{"Status":"{}","SourceArn":"{}"{},)"
                       R"("ApproximateNumberOfMessagesMoved":0,)"
                       R"("ApproximateNumberOfMessagesToMove":0{},"StartedTimestamp":0}})",
                       status, arn("dlq"), destination, reason);
  };
  EXPECT_EQ(list().body, fmt::format(R"({{"Results":[{}]}})", running)) << "one, unless asked";
  EXPECT_EQ(list(R"(,"MaxResults":10)").body,
            fmt::format(R"({{"Results":[{},{},{},{},{},{}]}})", running,
                        ended("COMPLETED", fmt::format(R"(,"DestinationArn":"{}")", arn("q")), ""),
                        ended("CANCELLED", "", ""),
                        ended("FAILED", fmt::format(R"(,"DestinationArn":"{}")", arn("gone")),
                              R"(,"FailureReason":"AWS.SimpleQueueService.NonExistentQueue")"),
                        ended("FAILED", "", R"(,"FailureReason":"CouldNotDetermineMessageSource")"),
                        ended("FAILED", fmt::format(R"(,"DestinationArn":"{}")", arn("q")),
                              R"(,"FailureReason":"MessageNumbersUsedUp")")));
  const SqsResponse xml =
      query("Action=ListMessageMoveTasks&MaxResults=2&SourceArn=" + percent_encoded(arn("dlq")));
  EXPECT_NE(xml.body.find("<ListMessageMoveTasksResult><ListMessageMoveTasksResultEntry>"
                          "<TaskHandle>"),
            std::string::npos);
  EXPECT_NE(xml.body.find("<StartedTimestamp>1700000000123</StartedTimestamp>"
                          "</ListMessageMoveTasksResultEntry><ListMessageMoveTasksResultEntry>"
                          "<Status>COMPLETED</Status>"),
            std::string::npos)
      << xml.body;
}

TEST_F(SqsMoves, AreListedForAQueueThatIsThereAndTenAtMost) {
  for (const std::string_view bad : {"0", "11", "-1"}) {
    expect_error(list(fmt::format(R"(,"MaxResults":{})", bad)), 400, invalid_value,
                 "Value for parameter MaxResults is invalid. Reason: MaxResults must be an integer "
                 "between 1 and 10.");
  }
  expect_error(json("ListMessageMoveTasks", "{}"), 400, missing,
               "The request must contain the parameter SourceArn.");
  expect_error(json("ListMessageMoveTasks", fmt::format(R"({{"SourceArn":"{}"}})", arn("none"))),
               404, not_found,
               "The resource that you specified for the SourceArn parameter doesn't exist.");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/scheduler/schedule.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/proto/scheduler/definitions.h"

namespace pawl {
namespace {

std::string target(std::string_view arn, std::string_view more = {}) {
  return fmt::format(
      R"({{"Arn":"{}","RoleArn":"arn:aws:iam::000000000000:role/service-role/r"{}}})", arn, more);
}

std::string members_of(const Schedule& schedule) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  schedule.append_members(json, out);
  json.end_object();
  return out;
}

TEST(Schedule, HasDefaultsThatAreAnsweredButNotKept) {
  const Schedule schedule = schedule_of(request_text("rate(5 minutes)"));
  EXPECT_EQ(members_of(schedule),
            R"j({"ActionAfterCompletion":"NONE","FlexibleTimeWindow":{"Mode":"OFF"},)j"
            R"j("ScheduleExpression":"rate(5 minutes)","ScheduleExpressionTimezone":"UTC",)j"
            R"j("State":"ENABLED","Target":{"Arn":"arn:aws:sqs:us-east-1:000000000000:q",)j"
            R"j("RetryPolicy":{"MaximumEventAgeInSeconds":86400,"MaximumRetryAttempts":185},)j"
            R"j("RoleArn":"arn:aws:iam::000000000000:role/r"}})j");
  EXPECT_EQ(schedule.text(),
            R"j({"FlexibleTimeWindow":{"Mode":"OFF"},"ScheduleExpression":"rate(5 minutes)",)j"
            R"j("Target":{"Arn":"arn:aws:sqs:us-east-1:000000000000:q",)j"
            R"j("RoleArn":"arn:aws:iam::000000000000:role/r"},"CreationDate":1700000000.123,)j"
            R"j("From":1700000000.122})j");
}

TEST(Schedule, IsReadFromItsText) {
  Schedule schedule = schedule_of(request_text(
      "cron(0 9 ? * MON-FRI *)",
      R"(,"ScheduleExpressionTimezone":"Europe/Berlin","Description":"d \"é","State":"DISABLED",
          "StartDate":1700000000,"EndDate":1800000000.5,"ActionAfterCompletion":"DELETE","ClientToken":"t-1",
          "x-catch-up":"all","x-overlap":"skip","x-nonexistent":"next","Unknown":1)",
      target("arn:aws:sqs:us-east-1:000000000000:q.fifo",
             R"(,"Input":"{\"a\": 1}\n","SqsParameters":{"MessageGroupId":"g"},
                 "RetryPolicy":{"MaximumEventAgeInSeconds":60,"MaximumRetryAttempts":0},
                 "DeadLetterConfig":{"Arn":"arn:aws:sqs:us-east-1:000000000000:dead"})")));
  const auto again = Schedule::from_text(schedule.text());
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->same_request(schedule));
  EXPECT_EQ(again->text(), schedule.text());
  EXPECT_EQ(again->created, test_now);
  EXPECT_EQ(again->from, test_now);
  EXPECT_EQ(again->modified, test_now);
  EXPECT_FALSE(schedule.text().contains("LastModificationDate")) << "equal to the creation";
  schedule.note_change(schedule_of(request_text("rate(1 minute)")), test_now + seconds(9));
  EXPECT_EQ(Schedule::from_text(schedule.text())->modified, test_now + seconds(9));
  EXPECT_EQ(Schedule::from_text(schedule.text())->from, test_now + seconds(9));
  EXPECT_EQ(again->token, token_digest("t-1"));
  EXPECT_EQ(again->token.size(), 16u);
  EXPECT_EQ(again->timing.end->ms, 1'800'000'000'500);
  EXPECT_EQ(again->target.input, "{\"a\": 1}\n");
  EXPECT_EQ(again->target.attempts, 0);
  EXPECT_EQ(again->catch_up, CatchUp::all);
  EXPECT_TRUE(again->skips_overlap && again->ends_deleted && !again->timing.enabled);
  EXPECT_EQ(members_of(*again), members_of(schedule));
}

TEST(Schedule, IsNothingForOtherTexts) {
  for (const char* text : {"", "{}", "[]", "null", R"({"CreationDate":1})",
                           R"j({"ScheduleExpression":"rate(1 minute)"})j"})
    EXPECT_FALSE(Schedule::from_text(text)) << text;
  std::string flexible = schedule_of(request_text("rate(1 minute)")).text();
  flexible.replace(flexible.find("OFF"), 3, "FLEXIBLE");
  EXPECT_FALSE(Schedule::from_text(flexible)) << "a window of no length";
}

TEST(Schedule, RefusesWhatAwsRefuses) {
  const struct {
    std::string request;
    const char* text;  // begin of the fault
  } cases[] = {
      {request_text("rate(10 seconds)"), "Invalid Schedule Expression rate(10 seconds). "},
      {request_text("cron(0 1 * * * *)"), "Invalid Schedule Expression cron(0 1 * * * *). "},
      {request_text("at(2021-12-31T23:59:59Z)"),
       "Invalid Schedule Expression at(2021-12-31T23:59:59Z). "},
      {request_text(" rate(10 minutes)"), "Invalid Schedule Expression  rate(10 minutes). "},
      {request_text("rate(1 minute)", R"(,"ScheduleExpressionTimezone":"Mars/Base")"),
       "Invalid ScheduleExpressionTimezone Mars/Base: "},
      {request_text("rate(1 minute)", R"(,"StartDate":1699999000)"),
       "The StartDate you specify cannot be earlier than 5 minutes ago."},
      {request_text("rate(1 minute)", R"(,"EndDate":1699999000)"),
       "The EndDate you specify must be in the future."},
      {request_text("rate(1 minute)", R"(,"StartDate":1800000000,"EndDate":1800000000)"),
       "The StartDate you specify must come before the EndDate you specify."},
      {request_text("rate(1 minute)", R"(,"State":"ON")"),
       "1 validation error detected: Value 'ON' at 'state' failed to satisfy constraint: Member "
       "must satisfy "
       "enum value set: [ENABLED, DISABLED]"},
      {request_text("rate(1 minute)", R"(,"FlexibleTimeWindow":{"Mode":"FLEXIBLE"})"),
       "1 validation error detected: Value null at 'flexibleTimeWindow.maximumWindowInMinutes' "
       "failed"},
      {request_text("rate(1 minute)",
       R"(,"FlexibleTimeWindow":{"Mode":"FLEXIBLE","MaximumWindowInMinutes":1441})"),
       "1 validation error detected: Value '1441' at 'flexibleTimeWindow.maximumWindowInMinutes' "
       "failed"},
      {R"({"FlexibleTimeWindow":{"Mode":"OFF"}})",
       "1 validation error detected: Value null at 'scheduleExpression' failed"},
      {R"j({"ScheduleExpression":"rate(1 minute)"})j",
       "1 validation error detected: Value null at 'flexibleTimeWindow' failed"},
      {R"j({"ScheduleExpression":"rate(1 minute)","FlexibleTimeWindow":{}})j",
       "1 validation error detected: Value null at 'flexibleTimeWindow.mode' failed"},
      {R"j({"ScheduleExpression":"rate(1 minute)","FlexibleTimeWindow":{"Mode":"OFF"}})j",
       "1 validation error detected: Value null at 'target' failed"},
      {request_text("rate(1 minute)", "", R"({"Arn":"a"})"),
       "1 validation error detected: Value null at 'target.roleArn' failed"},
      {request_text("rate(1 minute)", "", R"({"Arn":"a","RoleArn":"n/a"})"),
       "1 validation error detected: Value 'n/a' at 'target.roleArn' failed to satisfy constraint: "
       "Member must "
       "satisfy regular expression pattern: ^arn:aws(-[a-z]+)?:iam::"},
      {request_text("rate(1 minute)", "", "7"),
       "1 validation error detected: Value '7' at 'target' failed to satisfy constraint: Member "
       "must "
       "be an object"},
      {request_text("rate(1 minute)", R"(,"KmsKeyArn":"arn:aws:kms:us-east-1:000000000000:key/k")"),
       "kmsKeyArn is not supported by this server: "},
      {request_text("rate(1 minute)", R"(,"x-overlaps":"skip")"),
       "x-overlaps is not a member of a schedule: there are x-catch-up, x-overlap and "
       "x-nonexistent. "
       "Did you mean "
       "\"x-overlap\"?"},
      {request_text("rate(1 minute)", R"(,"x-catch-up":"some")"),
       "1 validation error detected: Value 'some' at 'x-catch-up' failed to satisfy constraint: "
       "Member must "
       "satisfy enum value set: [none, last, all]"},
      {request_text("rate(1 minute)", R"(,"ClientToken":"a b")"),
       "1 validation error detected: Value 'a b' at 'clientToken'"},
  };
  for (const auto& [request, text] : cases)
    EXPECT_TRUE(fault_of(request).starts_with(text)) << fault_of(request);
  EXPECT_EQ(fault_of(request_text("rate(1 minute)", R"(,"StartDate":1699999800)")), "")
      << "within 5 minutes";
}

TEST(Schedule, RefusesTargetsThatThisServerDoesNotHave) {
  const struct {
    std::string target;
    const char* text;
  } cases[] = {
      {target("arn:aws:lambda:us-east-1:000000000000:function:f"),
       "Provided Arn is not in correct format, or not "},
      {target("arn:aws:scheduler:::aws-sdk:sqs:sendMessage"),
       "Provided Arn is not in correct format, or not "},
      {target("arn:aws:sqs:us-east-1:111111111111:q"),
       "Provided Arn is not in correct format, or not possible here: "
       "arn:aws:sqs:us-east-1:111111111111:q. A target is a queue, as "
       "arn:aws:sqs:us-east-1:000000000000:NAME, or a topic"},
      {target("arn:aws:sns:us-east-1:000000000000:t:sub"), "Provided Arn is not in correct format"},
      {target("q"), "Provided Arn is not in correct format"},
      {target("arn:aws:sns:us-east-1:000000000000:t.fifo"),
       "arn:aws:sns:us-east-1:000000000000:t.fifo is a FIFO topic"},
      {target("arn:aws:sqs:us-east-1:000000000000:q.fifo"),
       "Target.SqsParameters.MessageGroupId is required"},
      {target("arn:aws:sns:us-east-1:000000000000:t", R"(,"SqsParameters":{"MessageGroupId":"g"})"),
       "Target.SqsParameters are for queues"},
      {target("arn:aws:sqs:us-east-1:000000000000:q.fifo",
       R"(,"SqsParameters":{"MessageGroupId":"a b"})"),
       "1 validation error detected: Value 'a b' at 'target.sqsParameters.messageGroupId'"},
      {target("arn:aws:sqs:us-east-1:000000000000:q",
       R"(,"DeadLetterConfig":{"Arn":"arn:aws:sqs:us-east-1:000000000000:d.fifo"})"),
       "1 validation error detected: Value 'arn:aws:sqs:us-east-1:000000000000:d.fifo' at "
       "'target.deadLetterConfig.arn'"},
      {target("arn:aws:sqs:us-east-1:000000000000:q",
       R"(,"DeadLetterConfig":{"Arn":"arn:aws:sqs:us-east-1:111111111111:d"})"),
       "The DeadLetterConfig Arn arn:aws:sqs:us-east-1:111111111111:d must be a queue of the "
       "account 000000000000."},
      {target("arn:aws:sqs:us-east-1:000000000000:q", R"(,"EcsParameters":{})"),
       "target.ecsParameters is not supported by this server: a target is a queue"},
      {target("arn:aws:sqs:us-east-1:000000000000:q",
       R"(,"RetryPolicy":{"MaximumRetryAttempts":186})"),
       "1 validation error detected: Value '186' at 'target.retryPolicy.maximumRetryAttempts'"},
      {target("arn:aws:sqs:us-east-1:000000000000:q", R"(,"Input":"")"),
       "1 validation error detected: Value '' at 'target.input'"},
  };
  for (const auto& [text, begin] : cases) {
    const std::string fault = fault_of(request_text("rate(1 minute)", "", text));
    EXPECT_TRUE(fault.starts_with(begin)) << fault;
  }
  const std::string input(schedule_bytes_max - 100, 'x');
  const std::string fault = fault_of(request_text(
      "rate(1 minute)", "",
      target("arn:aws:sqs:us-east-1:000000000000:q", fmt::format(R"(,"Input":"{}")", input))));
  EXPECT_TRUE(fault.ends_with("bytes; the limit is 262144. Shorten its Input.")) << fault;
}

TEST(Schedule, IsNotMovedByChangesThatDoNotConcernItsTimes) {
  const Schedule before = schedule_of(request_text("rate(5 minutes)"));
  const Instant later = test_now + seconds(1000);
  Schedule same = schedule_of(request_text("rate(5 minutes)", R"(,"Description":"new")"));
  same.note_change(before, later);
  EXPECT_EQ(same.from, before.from);
  EXPECT_EQ(same.created, test_now);
  EXPECT_EQ(same.modified, later);
  for (const char* more :
       {R"(,"State":"DISABLED")", R"(,"ScheduleExpressionTimezone":"Europe/Berlin")",
        R"(,"EndDate":1800000000)", R"(,"x-nonexistent":"next")"}) {
    Schedule moved = schedule_of(request_text("rate(5 minutes)", more));
    moved.note_change(before, later);
    EXPECT_EQ(moved.from, later) << more;
  }
  Schedule elsewhere = schedule_of(request_text("rate(5 minutes)"));
  elsewhere.target.arn += "-2";
  elsewhere.note_change(before, later);
  EXPECT_EQ(elsewhere.from, later) << "its new queue gets no fire of before";
}

TEST(Schedule, ARateBeginsAtItsStartOrWithAFireAtItsCreation) {
  Schedule rate = schedule_of(request_text("rate(1 hour)"));
  const QueueId id{7};
  EXPECT_EQ(next_fire_of(rate.timing, rate.created, id, rate.from), test_now);
  EXPECT_EQ(next_fire_of(rate.timing, rate.created, id, test_now), test_now + seconds(3600));
  rate =
      schedule_of(request_text("rate(1 hour)", R"(,"StartDate":1700001000,"EndDate":1700010000)"));
  EXPECT_EQ(rate.from, test_now);
  EXPECT_EQ(next_fire_of(rate.timing, rate.created, id, rate.from).ms, 1'700'001'000'000);
  EXPECT_EQ(next_fire_of(rate.timing, rate.created, id, {1'700'001'000'000}).ms, 1'700'004'600'000);
  EXPECT_EQ(next_fire_of(rate.timing, rate.created, id, {1'700'008'200'000}), never)
      << "past its end";
}

TEST(Schedule, ACronFiresBetweenItsStartAndItsEnd) {
  const Schedule cron = schedule_of(
      request_text("cron(0 * * * ? *)", R"(,"StartDate":1700006400,"EndDate":1700010000)"));
  const QueueId id{7};
  EXPECT_EQ(next_fire_of(cron.timing, cron.created, id, test_now).ms, 1'700'006'400'000)
      << "at its start";
  EXPECT_EQ(next_fire_of(cron.timing, cron.created, id, {1'700'006'400'000}).ms, 1'700'010'000'000)
      << "at its end";
  EXPECT_EQ(next_fire_of(cron.timing, cron.created, id, {1'700'010'000'000}), never);
}

TEST(Schedule, AnAtIgnoresStartAndEndAndFiresOnce) {
  const Schedule at = schedule_of(request_text(
      "at(2023-11-15T00:00:00)",
      R"(,"StartDate":1800000000,"EndDate":1900000000,"ScheduleExpressionTimezone":"Europe/Berlin")"));
  const QueueId id{7};
  const Instant fire = next_fire_of(at.timing, at.created, id, test_now);
  EXPECT_EQ(fire.ms, 1'700'002'800'000);
  EXPECT_EQ(next_fire_of(at.timing, at.created, id, fire), never);
}

TEST(Schedule, AFlexibleWindowDelaysAllFiresByOneTime) {
  const Schedule s = schedule_of(request_text(
      "rate(1 hour)",
      R"(,"StartDate":1700001000,"FlexibleTimeWindow":{"Mode":"FLEXIBLE","MaximumWindowInMinutes":15})"));
  std::int64_t sum = 0;
  for (std::uint32_t id = 1; id <= 100; ++id) {
    const Instant first = next_fire_of(s.timing, s.created, QueueId{id}, s.from);
    const std::int64_t part = first.ms - 1'700'001'000'000;
    EXPECT_TRUE(part >= 0 && part < 15 * 60'000) << part;
    EXPECT_EQ(next_fire_of(s.timing, s.created, QueueId{id}, first) - first, seconds(3600));
    EXPECT_EQ(scheduled_time(s.timing, QueueId{id}, first).ms, 1'700'001'000'000);
    sum += part;
  }
  EXPECT_NEAR(static_cast<double>(sum) / 100, 450'000, 100'000) << "not spread";
}

TEST(Schedule, HasNamesAndArns) {
  EXPECT_EQ((ScheduleName{"g", "n"}.text()), "g/n");
  EXPECT_EQ(ScheduleName::from_text("g/n").group, "g");
  EXPECT_EQ(ScheduleName::from_text("g/n").name, "n");
  EXPECT_EQ(ScheduleName::from_text("g").group, "g");
  EXPECT_EQ(ScheduleName::from_text("g").name, "");
  EXPECT_EQ(schedule_account("000000000000"), "scheduler/000000000000");
  EXPECT_EQ(schedule_arn("eu-west-1", "000000000000", {"g", "n"}),
            "arn:aws:scheduler:eu-west-1:000000000000:schedule/g/n");
  EXPECT_EQ(group_arn("eu-west-1", "000000000000", "g"),
            "arn:aws:scheduler:eu-west-1:000000000000:schedule-group/g");
}

TEST(Schedule, AGroupHasItsDatesAndToken) {
  const ScheduleGroupText group{
      .created = test_now, .modified = test_now, .token = token_digest("t")};
  const auto again = ScheduleGroupText::from_text(group.text());
  EXPECT_EQ(again.created, test_now);
  EXPECT_EQ(again.token, group.token);
  EXPECT_EQ(ScheduleGroupText::from_text("").created.ms, 0);
  EXPECT_FALSE(Schedule::from_text(group.text()));
}

}  // namespace
}  // namespace pawl

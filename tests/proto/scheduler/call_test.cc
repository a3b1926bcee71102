// SPDX-License-Identifier: Apache-2.0
#include "proto/scheduler/call.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/scheduler/reader.h"
#include "tests/proto/scheduler/fixture.h"

namespace pawl {
namespace {

TEST_F(SchedulerTest, OwnsItsPathsAndNoQueues) {
  for (const char* path : {"/schedules", "/schedules/", "/schedules/a", "/schedules/a/b",
                           "/schedule-groups/g", "/tags/arn", "/tags"})
    EXPECT_TRUE(SchedulerCall::owns(path)) << path;
  for (const char* path : {"/", "/schedulesx", "/000000000000/schedules", "/schedule", "/tag/a"})
    EXPECT_FALSE(SchedulerCall::owns(path)) << path;
}

TEST_F(SchedulerTest, CreatesAndDescribesASchedule) {
  const SqsResponse made = create("n", R"(,"Description":"d")");
  EXPECT_EQ(made.status, 200);
  EXPECT_EQ(made.body,
            R"({"ScheduleArn":"arn:aws:scheduler:us-east-1:000000000000:schedule/default/n"})");
  EXPECT_EQ(made.header("Content-Type"), "application/json");
  EXPECT_EQ(made.header("X-Amzn-ErrorType"), "");
  EXPECT_EQ(call.action(), "CreateSchedule");
  EXPECT_EQ(call.protocol(), "scheduler");
  EXPECT_EQ(call.error_code(), "");
  const ConfigPtr* const row = broker.directory.find("scheduler/000000000000", "default/n");
  ASSERT_NE(row, nullptr);
  EXPECT_EQ((*row)->kind, ConfigKind::schedule);
  const SqsResponse got = rest("GET", "/schedules/n?groupName=default");
  EXPECT_EQ(got.body,
            R"j({"Arn":"arn:aws:scheduler:us-east-1:000000000000:schedule/default/n",)j"
            R"j("CreationDate":1700000000.123,"GroupName":"default",)j"
            R"j("LastModificationDate":1700000000.123,"Name":"n","ActionAfterCompletion":"NONE",)j"
            R"j("Description":"d","FlexibleTimeWindow":{"Mode":"OFF"},)j"
            R"j("ScheduleExpression":"rate(5 minutes)","ScheduleExpressionTimezone":"UTC",)j"
            R"j("State":"ENABLED","Target":{"Arn":"arn:aws:sqs:us-east-1:000000000000:q",)j"
            R"j("RetryPolicy":{"MaximumEventAgeInSeconds":86400,"MaximumRetryAttempts":185},)j"
            R"j("RoleArn":"arn:aws:iam::000000000000:role/r"}})j");
  const DefinitionReader reader(config, "");
  EXPECT_TRUE(reader.terms(**row).enabled);
}

TEST_F(SchedulerTest, ACreationIsRepeatedByItsTokenAlone) {
  EXPECT_EQ(create("n", R"(,"ClientToken":"t1")").status, 200);
  now = now + seconds(60);
  EXPECT_EQ(create("n", R"(,"ClientToken":"t1")").status, 200);
  const auto conflict = [](const SqsResponse& answer) {
    expect_fault(answer, 409, "ConflictException", "Schedule n already exists.");
  };
  conflict(create("n", R"(,"ClientToken":"t2")"));
  conflict(create("n"));
  conflict(create("n", R"(,"ClientToken":"t1","Description":"other")"));
  EXPECT_EQ(broker.seen[Op::create_queue], 1);
  EXPECT_EQ(create("m").status, 200);
  expect_fault(create("m"), 409, "ConflictException", "Schedule m already exists.");
  EXPECT_EQ(call.error_code(), "ConflictException");
}

// Somebody else creates it between the look into the directory and the control shard.
TEST_F(SchedulerTest, ACreationThatComesSecondConflicts) {
  EXPECT_EQ(create("n").status, 200);
  const ConfigPtr row = *broker.directory.find("scheduler/000000000000", "default/n");
  broker.refuse_with = Errc::queue_exists;
  broker.refused_with_config = row;
  expect_fault(create("m"), 409, "ConflictException", "Schedule m already exists.");
}

TEST_F(SchedulerTest, AScheduleWhoseGroupIsDeletedMeanwhileIsDeletedToo) {
  create_group("g");
  HttpParser parser;
  const std::string body = request_text("rate(1 hour)", R"(,"GroupName":"g")");
  const std::string text = fmt::format(
      "POST /schedules/n HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
      "Content-Length: {}\r\n\r\n{}",
      body.size(), body);
  std::size_t taken = 0;
  ASSERT_EQ(parser.feed(text, taken), HttpParser::State::complete);
  ASSERT_EQ(call.begin(parser.request(), broker.directory, config, now, 1), CallStep::route);
  broker.apply(*call.routes()[0].request);
  broker.directory.drop((*broker.directory.find("scheduler/000000000000", "g"))->id);
  ASSERT_EQ(call.resume(broker.directory), CallStep::route);
  EXPECT_EQ(call.routes()[0].request->op, Op::delete_queue);
  broker.apply(*call.routes()[0].request);
  ASSERT_EQ(call.resume(broker.directory), CallStep::respond);
  EXPECT_EQ(call.status(), 404);
  EXPECT_EQ(broker.directory.find("scheduler/000000000000", "g/n"), nullptr);
}

TEST_F(SchedulerTest, UpdatesReplaceAllMembers) {
  create("n", R"(,"Description":"d","State":"DISABLED","ClientToken":"t")");
  now = now + seconds(60);
  const SqsResponse changed = rest("PUT", "/schedules/n", request_text("rate(1 hour)"));
  EXPECT_EQ(changed.status, 200) << changed.body;
  EXPECT_EQ(changed.body,
            R"({"ScheduleArn":"arn:aws:scheduler:us-east-1:000000000000:schedule/default/n"})");
  const SqsResponse got = rest("GET", "/schedules/n");
  EXPECT_EQ(member(got, "Description"), "absent");
  EXPECT_EQ(member(got, "State"), "ENABLED");
  EXPECT_EQ(member(got, "ScheduleExpression"), "rate(1 hour)");
  EXPECT_EQ(member(got, "CreationDate"), "1700000000.123");
  EXPECT_EQ(member(got, "LastModificationDate"), "1700000060.123");
  const DefinitionReader reader(config, "");
  const QueueConfig& row = **broker.directory.find("scheduler/000000000000", "default/n");
  EXPECT_EQ(reader.terms(row).from, now) << "a change never fires";
  expect_not_found(rest("PUT", "/schedules/m", request_text("rate(1 hour)")),
                   "Schedule m does not exist.");
}

TEST_F(SchedulerTest, AnUpdateThatConflictsIsTriedAgain) {
  create("n");
  int others = 0;
  broker.before_changes = [&] {
    if (++others > 2) return;
    const ConfigPtr is = *broker.directory.find("scheduler/000000000000", "default/n");
    broker.directory.put(std::make_shared<QueueConfig>(*is));
  };
  EXPECT_EQ(rest("PUT", "/schedules/n", request_text("rate(1 hour)")).status, 200);
  EXPECT_EQ(broker.seen[Op::set_attributes], 3);
  EXPECT_EQ(member(rest("GET", "/schedules/n"), "ScheduleExpression"), "rate(1 hour)");
}

TEST_F(SchedulerTest, OwnMembersAreAnsweredIfTheyAreNotTheDefault) {
  create("n", R"(,"x-catch-up":"all","x-overlap":"skip","x-nonexistent":"next")");
  const SqsResponse got = rest("GET", "/schedules/n");
  EXPECT_EQ(member(got, "x-catch-up"), "all");
  EXPECT_EQ(member(got, "x-overlap"), "skip");
  EXPECT_EQ(member(got, "x-nonexistent"), "next");
  create("m", R"(,"x-catch-up":"last","x-overlap":"allow","x-nonexistent":"skip")");
  EXPECT_FALSE(rest("GET", "/schedules/m").body.contains("x-"));
}

TEST_F(SchedulerTest, LooksForOverlapInQueuesAlone) {
  const std::string topic = R"({"Arn":"arn:aws:sns:us-east-1:000000000000:t",)"
                            R"("RoleArn":"arn:aws:iam::000000000000:role/r"})";
  const auto made = [&](std::string_view more) {
    return rest("POST", "/schedules/n", request_text("rate(5 minutes)", more, topic));
  };
  EXPECT_TRUE(made(R"(,"x-overlap":"skip")").body.contains("x-overlap is skip"));
  EXPECT_EQ(made(R"(,"x-overlap":"allow")").status, 200);
}

TEST_F(SchedulerTest, RefusesATargetThatCannotExist) {
  for (const char* name : {"bad name!", "a.b", "x/y", ".fifo", "q:r"}) {
    const std::string target = fmt::format(R"({{"Arn":"arn:aws:sqs:us-east-1:000000000000:{}",)"
                                           R"("RoleArn":"arn:aws:iam::000000000000:role/r"}})",
                                           name);
    const SqsResponse made =
        rest("POST", "/schedules/n", request_text("rate(5 minutes)", {}, target));
    EXPECT_EQ(made.status, 400) << name;
    EXPECT_TRUE(made.body.contains("Provided Arn is not in correct format")) << made.body;
  }
}

TEST_F(SchedulerTest, TheTokenOfAGroupIsOneOfItsTags) {
  const auto made = [&](std::string_view tags) {
    return rest("POST", "/schedule-groups/tagged",
                fmt::format(R"({{"ClientToken":"k","Tags":[{}]}})", tags))
        .status;
  };
  EXPECT_EQ(made(R"({"Key":"a","Value":"1"})"), 200);
  EXPECT_EQ(made(R"({"Key":"a","Value":"1"})"), 200);
  EXPECT_EQ(made(R"({"Key":"a","Value":"2"})"), 409);
  EXPECT_EQ(made(""), 409);
}

TEST_F(SchedulerTest, DeletesASchedule) {
  create("n");
  const SqsResponse gone = rest("DELETE", "/schedules/n?clientToken=t");
  EXPECT_EQ(gone.status, 200);
  EXPECT_EQ(gone.body, "{}");
  expect_not_found(rest("DELETE", "/schedules/n"), "Schedule n does not exist.");
  expect_not_found(rest("GET", "/schedules/n"), "Schedule n does not exist.");
  expect_not_found(rest("GET", "/schedules/n?groupName=g"), "Schedule group g does not exist.");
  expect_not_found(create("n", R"(,"GroupName":"g")"), "Schedule group g does not exist.");
}

TEST_F(SchedulerTest, ListsSchedulesByGroupNameAndState) {
  create_group("g2");
  for (const char* group : {"default", "g2"}) {
    for (const char* name : {"a1", "a2", "b1"}) {
      const bool off = std::string_view(name) == "a2";
      create(name,
             fmt::format(R"(,"GroupName":"{}","State":"{}")", group, off ? "DISABLED" : "ENABLED"));
    }
  }
  EXPECT_EQ(names(rest("GET", "/schedules")), "a1 a2 b1 a1 a2 b1");
  EXPECT_EQ(names(rest("GET", "/schedules?ScheduleGroup=g2")), "a1 a2 b1");
  EXPECT_EQ(names(rest("GET", "/schedules?ScheduleGroup=g2&NamePrefix=a")), "a1 a2");
  EXPECT_EQ(names(rest("GET", "/schedules?NamePrefix=b")), "b1 b1");
  EXPECT_EQ(names(rest("GET", "/schedules?State=DISABLED")), "a2 a2");
  expect_not_found(rest("GET", "/schedules?ScheduleGroup=g3"), "Schedule group g3 does not exist.");
  const SqsResponse one = rest("GET", "/schedules?MaxResults=1&NamePrefix=a1");
  EXPECT_TRUE(one.body.starts_with(
      R"({"Schedules":[{"Arn":"arn:aws:scheduler:us-east-1:000000000000:schedule/default/a1",)"
      R"("CreationDate":1700000000.123,"GroupName":"default","LastModificationDate":1700000000.123,)"
      R"("Name":"a1","State":"ENABLED","Target":{"Arn":"arn:aws:sqs:us-east-1:000000000000:q"}}],)"
      R"("NextToken":")"))
      << one.body;
  std::string all, token;
  for (int page = 0; page < 10 && token != "absent"; ++page) {
    std::string escaped;
    for (const char c : token) escaped += c == '=' ? "%3D" : c == '+' ? "%2B" : std::string(1, c);
    const SqsResponse answer =
        rest("GET", "/schedules?MaxResults=2" + (token.empty() ? "" : "&NextToken=" + escaped));
    all += names(answer) + "|";
    token = member(answer, "NextToken");
  }
  EXPECT_EQ(all, "a1 a2|b1 a1|a2 b1|");
}

TEST_F(SchedulerTest, ALongListTakesSeveralTurns) {
  for (std::uint32_t i = 0; i < 1300; ++i) {
    const bool wanted = i == 1299;
    broker.directory.put(std::make_shared<QueueConfig>(schedule_row(
        100 + i, fmt::format("default/n{:05}", i),
        schedule_of(request_text("rate(1 hour)", wanted ? R"(,"State":"DISABLED")" : "")))));
  }
  EXPECT_EQ(names(rest("GET", "/schedules?State=DISABLED")), "n01299");
  EXPECT_EQ(broker.seen[Op::none], 2);
  const SqsResponse page = rest("GET", "/schedules");
  EXPECT_TRUE(names(page).ends_with("n00099"));
  EXPECT_NE(member(page, "NextToken"), "absent");
}

TEST_F(SchedulerTest, GroupsAreCreatedDescribedAndListed) {
  EXPECT_EQ(names(rest("GET", "/schedule-groups"), "ScheduleGroups"), "default");
  const SqsResponse made = rest("POST", "/schedule-groups/g", R"({"ClientToken":"t"})");
  EXPECT_EQ(made.body,
            R"({"ScheduleGroupArn":"arn:aws:scheduler:us-east-1:000000000000:schedule-group/g"})");
  EXPECT_EQ(rest("POST", "/schedule-groups/g", R"({"ClientToken":"t"})").status, 200);
  expect_fault(rest("POST", "/schedule-groups/g", R"({"ClientToken":"u"})"), 409,
               "ConflictException", "Schedule group g already exists.");
  expect_fault(rest("POST", "/schedule-groups/default", "{}"), 409, "ConflictException",
               "Schedule group default already exists.");
  EXPECT_EQ(rest("GET", "/schedule-groups/g").body,
            R"({"Arn":"arn:aws:scheduler:us-east-1:000000000000:schedule-group/g",)"
            R"("CreationDate":1700000000.123,"LastModificationDate":1700000000.123,"Name":"g",)"
            R"("State":"ACTIVE"})");
  EXPECT_EQ(member(rest("GET", "/schedule-groups/default"), "State"), "ACTIVE");
  expect_not_found(rest("GET", "/schedule-groups/h"), "Schedule group h does not exist.");
  for (const char* name : {"a", "a-b", "h"}) create_group(name);
  for (const char* group : {"default", "a", "g"})
    create("n", fmt::format(R"(,"GroupName":"{}")", group));
  EXPECT_EQ(names(rest("GET", "/schedule-groups"), "ScheduleGroups"), "a a-b default g h");
  EXPECT_EQ(names(rest("GET", "/schedule-groups?NamePrefix=a"), "ScheduleGroups"), "a a-b");
  EXPECT_EQ(names(rest("GET", "/schedule-groups?NamePrefix=d"), "ScheduleGroups"), "default");
  EXPECT_EQ(names(rest("GET", "/schedule-groups?NamePrefix=x"), "ScheduleGroups"), "");
  std::string all, token;
  for (int page = 0; page < 10 && token != "absent"; ++page) {
    const SqsResponse answer =
        rest("GET", "/schedule-groups?MaxResults=2" + (token.empty() ? "" : "&NextToken=" + token));
    all += names(answer, "ScheduleGroups") + "|";
    token = member(answer, "NextToken");
    while (token.ends_with('=')) token.replace(token.find('='), 1, "%3D");
  }
  EXPECT_EQ(all, "a a-b|default g|h|");
}

TEST_F(SchedulerTest, AGroupIsDeletedWithItsSchedules) {
  for (const char* group : {"g", "g2"}) create_group(group);
  for (std::uint32_t i = 0; i < 300; ++i)
    broker.directory.put(std::make_shared<QueueConfig>(schedule_row(
        100 + i, fmt::format("g/n{:05}", i), schedule_of(request_text("rate(1 hour)")))));
  create("kept", R"(,"GroupName":"g2")");
  EXPECT_EQ(rest("DELETE", "/schedule-groups/g").body, "{}");
  EXPECT_EQ(broker.seen[Op::delete_queue], 301);
  EXPECT_EQ(names(rest("GET", "/schedules")), "kept");
  expect_not_found(rest("DELETE", "/schedule-groups/g"), "Schedule group g does not exist.");
  expect_fault(rest("DELETE", "/schedule-groups/default"), 400, "ValidationException",
               "The schedule group default cannot be deleted.");
  broker.refuse_with = Errc::overloaded;
  EXPECT_EQ(rest("DELETE", "/schedule-groups/g2").header("X-Amzn-ErrorType"),
            "ThrottlingException");
}

TEST_F(SchedulerTest, GroupsHaveTags) {
  const std::string arn = "arn%3Aaws%3Ascheduler%3Aus-east-1%3A000000000000%3Aschedule-group%2Fg";
  EXPECT_EQ(rest("POST", "/schedule-groups/g", R"({"Tags":[{"Key":"a","Value":"1"}]})").status,
            200);
  EXPECT_EQ(rest("POST", "/tags/" + arn,
                 R"({"Tags":[{"Key":"b c","Value":"2"},{"Key":"c","Value":"3"}]})")
                .body,
            "{}");
  EXPECT_EQ(
      rest("GET", "/tags/" + arn).body,
      R"({"Tags":[{"Key":"a","Value":"1"},{"Key":"b c","Value":"2"},{"Key":"c","Value":"3"}]})");
  EXPECT_EQ(rest("DELETE", "/tags/" + arn + "?TagKeys=b%20c&TagKeys=a&TagKeys=zz").status, 200);
  EXPECT_EQ(rest("GET", "/tags/" + arn).body, R"({"Tags":[{"Key":"c","Value":"3"}]})");
  const std::string other = "arn%3Aaws%3Ascheduler%3Aus-east-1%3A000000000000%3Aschedule-group%2F";
  expect_not_found(rest("GET", "/tags/" + other + "x"), "Schedule group x does not exist.");
  EXPECT_EQ(rest("GET", "/tags/" + other + "default").body, R"({"Tags":[]})");
  EXPECT_EQ(
      rest("POST", "/tags/" + other + "default", R"({"Tags":[{"Key":"b","Value":"2"}]})").status,
      400);
  EXPECT_EQ(rest("GET", "/tags/arn%3Aaws%3Asqs%3Aus-east-1%3A000000000000%3Aq")
                .header("X-Amzn-ErrorType"),
            "ValidationException");
  for (const char* tags :
       {R"([{"Key":"","Value":"2"}])", R"([{"Key":"b","Value":""}])",
        R"([{"Key":"aws:b","Value":"2"}])", R"([{"Key":"b"}])", R"([7])", R"(7)", "null"})
    EXPECT_EQ(rest("POST", "/tags/" + arn, fmt::format(R"({{"Tags":{}}})", tags))
                  .header("X-Amzn-ErrorType"),
              "ValidationException")
        << tags;
  expect_fault(rest("DELETE", "/tags/" + arn), 400, "ValidationException",
               "1 validation error detected: Value null at 'tagKeys' failed to satisfy constraint: "
               "Member must not be null");
}

TEST_F(SchedulerTest, RefusesInTheFormOfAws) {
  const auto invalid = [](const SqsResponse& answer, std::string_view text) {
    expect_fault(answer, 400, "ValidationException", text);
  };
  invalid(create("a%20b"),
          "1 validation error detected: Value 'a b' at 'name' failed to satisfy constraint: Member "
          "must "
          "satisfy regular expression pattern: ^[0-9a-zA-Z-_.]+$");
  invalid(
      create(std::string(65, 'n')),
      fmt::format("1 validation error detected: Value '{}' at 'name' failed to satisfy constraint: "
                  "Member must have length less than or equal to 64",
                  std::string(65, 'n')));
  invalid(create("n", R"(,"GroupName":"g/h")"),
          "1 validation error detected: Value 'g/h' at 'groupName' failed to satisfy constraint: "
          "Member must "
          "satisfy regular expression pattern: ^[0-9a-zA-Z-_.]+$");
  EXPECT_EQ(create("n", "", "rate(5 minute)").header("X-Amzn-ErrorType"), "ValidationException");
  for (const char* query : {"MaxResults=0", "MaxResults=101", "MaxResults=x", "State=on",
                            "NamePrefix=a%20b", "NextToken=*", "ScheduleGroup=", "a=%zz"})
    EXPECT_EQ(rest("GET", fmt::format("/schedules?{}", query)).header("X-Amzn-ErrorType"),
              "ValidationException")
        << query;
  EXPECT_EQ(rest("GET", "/schedules/%zz").status, 400);
  expect_fault(rest("POST", "/schedules/n", "[]"), 400, "SerializationException",
               "The body is not a JSON object.");
  const SqsResponse unknown = rest("DELETE", "/schedules");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_EQ(unknown.header("X-Amzn-ErrorType"), "UnknownOperationException");
  broker.refuse_with = Errc::directory_full;
  EXPECT_EQ(create("n").status, 402);
  EXPECT_EQ(create("n").header("X-Amzn-ErrorType"), "ServiceQuotaExceededException");
  broker.refuse_with = Errc::io;
  EXPECT_EQ(create("n").status, 500);
}

TEST_F(SchedulerTest, LeavesRequestsOfOtherApisAlone) {
  EXPECT_EQ(query("Action=ListQueues", "/schedules").status, 200);
  EXPECT_EQ(call.protocol(), "query");
  EXPECT_EQ(get("/schedules?Action=ListQueues").status, 200);
  EXPECT_EQ(call.action(), "ListQueues");
  EXPECT_EQ(json("ListQueues", "{}", "/schedules/n").status, 200);
  EXPECT_EQ(call.protocol(), "json");
  EXPECT_EQ(query("x=y", "/schedules/n").header("X-Amzn-ErrorType"), "SerializationException");
  EXPECT_EQ(rest("PUT", "/000000000000/q", "{}").status, 405);
  EXPECT_EQ(rest("PUT", "/000000000000/q").status, 405);
  EXPECT_EQ(rest("DELETE", "/000000000000/q").status, 405);
  config.strict_sqs = true;
  EXPECT_EQ(rest("PUT", "/schedules/n").status, 405);
  EXPECT_EQ(rest("GET", "/schedules").body.find("Schedules"), std::string::npos);
}

TEST_F(SchedulerTest, AnAccountSeesItsOwnAlone) {
  create("n");
  config.account = "111122223333";
  expect_not_found(rest("GET", "/schedules/n"), "Schedule n does not exist.");
  EXPECT_EQ(names(rest("GET", "/schedules")), "");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/scheduler/reader.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "proto/aws/message_attributes.h"
#include "proto/aws/notification.h"
#include "proto/sns/topic.h"
#include "proto/text/json_value.h"
#include "tests/proto/scheduler/definitions.h"

namespace pawl {
namespace {

constexpr std::string_view arn_begin = "arn:aws:sqs:us-east-1:000000000000:";
const Instant fire_time{1'700'002'800'000};  // 2023-11-14T23:00:00Z

class DefinitionReaderTest : public ::testing::Test {
 protected:
  void add(std::uint32_t id, std::string_view name, std::uint32_t shard = 0,
           std::int64_t bytes = 1 << 20) {
    QueueConfig queue;
    queue.id = QueueId{id};
    queue.owner = ShardId{static_cast<std::uint8_t>(shard)};
    queue.set_name(test_account, name);
    queue.apply({Attribute::fifo_queue, name.ends_with(".fifo") ? 1 : 0, {}});
    queue.apply({Attribute::maximum_message_size, bytes, {}});
    directory_.put(std::make_shared<const QueueConfig>(std::move(queue)));
  }

  // Subscriptions as JSON objects.
  void add_topic(std::uint32_t id, std::string_view name,
                 const std::vector<std::string>& subscriptions) {
    QueueConfig topic;
    topic.id = QueueId{id};
    topic.set_name(topic_account(test_account), name);
    topic.apply({Attribute::topic, -1, "{}"});
    std::int64_t row = 0;
    for (const std::string& one : subscriptions) topic.apply({Attribute::topic_row, ++row, one});
    directory_.put(std::make_shared<const QueueConfig>(std::move(topic)));
  }
  static std::string subscription(std::uint32_t number, std::string_view queue,
                                  std::string_view attributes = "") {
    return fmt::format(
        R"({{"id":"00000000-0000-4000-8000-{:012}","endpoint":"{}{}","attributes":{{{}}}}})",
        number, arn_begin, queue, attributes);
  }

  std::vector<FiredMessage> fire(std::string_view arn, std::string_view more = "",
                                 std::uint32_t shard = 0) {
    const Schedule schedule = schedule_of(
        request_text("cron(0 * * * ? *)", "",
                     fmt::format(R"({{"Arn":"{}","RoleArn":"arn:aws:iam::000000000000:role/r"{}}})",
                                 arn, more)));
    return reader_.messages(schedule_row(77, "default/hourly", schedule), fire_time, directory_,
                            ShardId{static_cast<std::uint8_t>(shard)});
  }
  std::vector<FiredMessage> fire_at_queue(std::string_view queue, std::string_view more = "",
                                          std::uint32_t shard = 0) {
    return fire(std::string(arn_begin) + std::string(queue), more, shard);
  }
  static std::map<std::string, std::string> attributes_of(const FiredMessage& message) {
    std::map<std::string, std::string> found;
    AttributeReader in(message.attributes);
    MessageAttribute one;
    while (in.next(one)) found[std::string(one.name)] = one.value;
    EXPECT_TRUE(in.at_end());
    EXPECT_EQ(check_attributes(message.attributes), Errc::ok);
    return found;
  }
  static std::vector<std::uint32_t> queues_of(const FiredMessage& message) {
    std::vector<std::uint32_t> ids;
    for (const FanOutTarget& target : message.targets) ids.push_back(raw(target.queue));
    return ids;
  }

  Directory directory_;
  DefinitionReader reader_{CallSettings(), "http://here:9324"};
};

TEST_F(DefinitionReaderTest, KnowsTheTermsOfASchedule) {
  const Schedule schedule = schedule_of(
      request_text("cron(0 * * * ? *)",
                   R"(,"x-catch-up":"none","x-overlap":"skip","ActionAfterCompletion":"DELETE")"));
  const ScheduleTerms terms = reader_.terms(schedule_row(1, "g/n", schedule));
  EXPECT_TRUE(terms.enabled && terms.skips_overlap && terms.ends_deleted);
  EXPECT_EQ(terms.catch_up, CatchUp::none);
  EXPECT_EQ(terms.from, test_now);
  EXPECT_EQ(reader_.next(schedule_row(1, "g/n", schedule), test_now), fire_time);
  EXPECT_FALSE(
      reader_
          .terms(schedule_row(1, "g/n",
                              schedule_of(request_text("rate(1 hour)", R"(,"State":"DISABLED")"))))
          .enabled);
}

TEST_F(DefinitionReaderTest, FiresNoGroupAndNoDefinitionThatItCannotRead) {
  const Schedule schedule = schedule_of(request_text("rate(1 hour)"));
  QueueConfig group = schedule_row(1, "g", schedule);  // has no '/'
  QueueConfig broken = schedule_row(2, "g/n", schedule);
  broken.apply({Attribute::schedule, -1, "{"});
  for (const QueueConfig& row : {group, broken}) {
    EXPECT_FALSE(reader_.terms(row).enabled);
    EXPECT_EQ(reader_.next(row, test_now), never);
    EXPECT_TRUE(reader_.messages(row, fire_time, directory_, ShardId{}).empty());
  }
}

TEST_F(DefinitionReaderTest, SendsInputToItsQueueOnTheShardOfTheQueueAlone) {
  add(1, "q", 1);
  EXPECT_TRUE(fire_at_queue("q", "", 0).empty());
  const auto messages = fire_at_queue("q", R"(,"Input":"tick")", 1);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].body, "tick");
  EXPECT_EQ(queues_of(messages[0]), (std::vector<std::uint32_t>{1}));
  EXPECT_EQ(
      messages[0].group + messages[0].dedup_id + messages[0].attributes + messages[0].notification,
      "");
}

TEST_F(DefinitionReaderTest, SendsADescriptionWithoutInput) {
  add(1, "q");
  const auto messages = fire_at_queue("q");
  ASSERT_EQ(messages.size(), 1u);
  const std::string& body = messages[0].body;
  EXPECT_TRUE(body.starts_with(R"({"version":"0","id":")")) << body;
  EXPECT_TRUE(body.ends_with(
      R"(,"detail-type":"Scheduled Event","source":"aws.scheduler","account":"000000000000",)"
      R"("time":"2023-11-14T23:00:00Z","region":"us-east-1",)"
      R"("resources":["arn:aws:scheduler:us-east-1:000000000000:schedule/default/hourly"],"detail":"{}"})"))
      << body;
}

TEST_F(DefinitionReaderTest, ReplacesTheWordsOfAws) {
  add(1, "q");
  const auto messages = fire_at_queue(
      "q",
      R"(,"Input":"<aws.scheduler.schedule-arn>|<aws.scheduler.scheduled-time>|<aws.scheduler.attempt-number>|<aws.scheduler.x>|<aws.scheduler.execution-id>|")");
  ASSERT_EQ(messages.size(), 1u);
  const std::string begin =
      "arn:aws:scheduler:us-east-1:000000000000:schedule/default/"
      "hourly|2023-11-14T23:00:00Z|1|<aws.scheduler.x>|";
  EXPECT_TRUE(messages[0].body.starts_with(begin)) << messages[0].body;
  EXPECT_EQ(messages[0].body.size(), begin.size() + 37);
  EXPECT_EQ(fire_at_queue("q", R"(,"Input":"<aws.scheduler.execution-id>")")[0].body,
            fire_at_queue("q", R"(,"Input":"<aws.scheduler.execution-id>")")[0].body)
      << "one fire has one id";
}

TEST_F(DefinitionReaderTest, SendsToFifoQueuesOnceAFire) {
  add(1, "q.fifo");
  const auto messages =
      fire_at_queue("q.fifo", R"(,"Input":"x","SqsParameters":{"MessageGroupId":"g"})");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].group, "g");
  EXPECT_EQ(messages[0].dedup_id, "77-1700002800000");
}

TEST_F(DefinitionReaderTest, SendsToTheDeadLettersWhatItsTargetCannotTake) {
  add(2, "dead", 3);
  add(3, "small", 0, 1024);
  const std::string dead = fmt::format(R"(,"DeadLetterConfig":{{"Arn":"{}dead"}})", arn_begin);
  EXPECT_TRUE(fire_at_queue("gone", "", 3).empty()) << "without a dead-letter queue";
  const auto nobodys = fire_at_queue("gone");
  ASSERT_EQ(nobodys.size(), 1u) << "the control shard counts it";
  EXPECT_TRUE(nobodys[0].targets.empty());
  EXPECT_TRUE(fire_at_queue("gone", dead, 0).empty()) << "on another shard";
  const auto messages = fire_at_queue("gone", R"(,"Input":"tick")" + dead, 3);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].body, "tick");
  EXPECT_EQ(queues_of(messages[0]), (std::vector<std::uint32_t>{2}));
  auto attributes = attributes_of(messages[0]);
  EXPECT_EQ(attributes.size(), 8u);
  EXPECT_EQ(attributes["ERROR_CODE"], "AWS.SimpleQueueService.NonExistentQueue");
  EXPECT_EQ(attributes["SCHEDULE_ARN"],
            "arn:aws:scheduler:us-east-1:000000000000:schedule/default/hourly");
  EXPECT_EQ(attributes["TARGET_ARN"], "arn:aws:sqs:us-east-1:000000000000:gone");
  EXPECT_EQ(attributes["SCHEDULED_TIME"], "2023-11-14T23:00:00Z");
  const auto long_one =
      fire_at_queue("small", fmt::format(R"(,"Input":"{}")", std::string(1025, 'x')) + dead, 3);
  ASSERT_EQ(long_one.size(), 1u);
  EXPECT_EQ(attributes_of(long_one[0])["ERROR_CODE"], "InvalidParameterValue");
  const auto topic = fire("arn:aws:sns:us-east-1:000000000000:gone", dead, 3);
  ASSERT_EQ(topic.size(), 1u);
  EXPECT_EQ(attributes_of(topic[0])["ERROR_CODE"], "NotFound");
}

TEST_F(DefinitionReaderTest, PublishesToTheQueuesOfATopicOnThisShard) {
  add(1, "a");
  add(2, "b");
  add(3, "c");
  add(4, "other", 1);
  add(5, "filtered");
  add(6, "dead");
  const std::string raw = R"("RawMessageDelivery":"true")";
  add_topic(
      9, "t",
      {subscription(1, "c", raw), subscription(2, "a"), subscription(3, "b", raw),
       subscription(4, "other", raw),
       subscription(5, "filtered",
                    R"("FilterPolicyScope":"MessageBody","FilterPolicy":"{\"n\":[2]}")"),
       subscription(
           6, "gone",
           raw +
               R"(,"RedrivePolicy":"{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:000000000000:dead\"}")"),
       subscription(7, "gone", raw)});
  const std::string topic = "arn:aws:sns:us-east-1:000000000000:t";
  const auto messages = fire(topic, R"(,"Input":"{\"n\":1}")");
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(queues_of(messages[0]), (std::vector<std::uint32_t>{1, 2, 3, 6}));
  EXPECT_EQ(messages[0].body, R"({"n":1})");
  const auto& targets = messages[0].targets;
  EXPECT_NE(targets[0].subscription, MessageId{}) << "in an envelope";
  for (const std::size_t i : {1, 2, 3}) EXPECT_EQ(targets[i].subscription, MessageId{}) << "raw";

  std::string envelope;
  append_envelope(envelope, {.body = messages[0].body,
                             .notification = messages[0].notification,
                             .subscription = targets[0].subscription});
  const auto members = json_members(envelope);
  ASSERT_TRUE(members) << envelope;
  std::map<std::string, std::string> texts;
  for (const JsonMember& one : *members) texts[one.key] = one.text;
  EXPECT_EQ(texts["Type"], "Notification");
  EXPECT_EQ(texts["TopicArn"], topic);
  EXPECT_EQ(texts["Message"], R"({"n":1})");
  EXPECT_EQ(texts["Timestamp"], "2023-11-14T23:00:00.000Z");
  EXPECT_EQ(texts["UnsubscribeURL"],
            "http://here:9324/?Action=Unsubscribe&Version=2010-03-31&SubscriptionArn=" + topic +
                ":00000000-0000-4000-8000-000000000002");

  EXPECT_EQ(queues_of(fire(topic, "", 1).at(0)), (std::vector<std::uint32_t>{4}));
  EXPECT_EQ(queues_of(fire(topic, R"(,"Input":"{\"n\":2}")").at(0)),
            (std::vector<std::uint32_t>{1, 2, 3, 5, 6}));
}

// The fire may be made up for much later.
TEST_F(DefinitionReaderTest, AQueueThatWasSubscribedLaterGetsNoEarlierFire) {
  add(1, "a");
  add(2, "b");
  add(3, "c");
  const auto made_at = [](std::uint32_t number, std::string_view queue, std::int64_t ms) {
    return fmt::format(R"({{"id":"00000000-0000-4000-8000-{:012}","endpoint":"{}{}",)"
                       R"("created":{},"attributes":{{}}}})",
                       number, arn_begin, queue, ms);
  };
  add_topic(
      9, "t",
      {made_at(1, "a", fire_time.ms), made_at(2, "b", fire_time.ms + 1), subscription(3, "c")});
  EXPECT_EQ(queues_of(fire("arn:aws:sns:us-east-1:000000000000:t").at(0)),
            (std::vector<std::uint32_t>{1, 3}))
      << "the time of an older subscription is not known";
}

// 100,000 schedules are read at a startup.
}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/call.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "core/queue/receipt.h"
#include "proto/pawl/peek_series.h"
#include "tests/proto/sqs/fixture.h"

namespace pawl {
namespace {

using State = PeekedMessage::State;

class PawlCallTest : public SqsTest {
 protected:
  SqsResponse action(std::string_view name, std::string_view body) {
    return http(fmt::format("POST / HTTP/1.1\r\nHost: h\r\nX-Amz-Target: Pawl.{}\r\n"
                            "Content-Type: application/x-amz-json-1.0\r\n",
                            name),
                body);
  }
  // Five messages: in flight, delayed, visible, unreadable, visible.
  void fill() {
    make_queue("q");
    for (const char* body : {"a", "b", "c", "d", "e"})
      on_queue("SendMessage", fmt::format(R"("MessageBody":"{}")", body));
    broker.messages.erase(broker.messages.begin() + 3);
    broker.peeked = {
        {.seq = 1, .state = State::in_flight, .until = now + seconds(12), .receive_count = 2},
        {.seq = 2, .state = State::delayed, .until = now + seconds(5)},
        {.seq = 3, .state = State::visible},
        {.seq = 4, .state = State::visible},
        {.seq = 5, .state = State::visible, .behind = 2}
    };
  }
  std::string id_of(Seq seq) const {
    const std::array<char, 36> text = uuid_text(message_id(config.secret, QueueId{1}, seq));
    return {text.data(), text.size()};
  }
  void refused(std::string_view words, std::string_view name, std::string_view body) {
    const SqsResponse answer = action(name, body);
    EXPECT_EQ(answer.status, 400) << name << ' ' << body;
    EXPECT_TRUE(answer.body.contains(words)) << name << ' ' << body << ' ' << answer.body;
  }
};

TEST_F(PawlCallTest, PeeksSliceAfterSlice) {
  fill();
  const SqsResponse all = action("PeekMessages", R"({"QueueUrl":"q"})");
  EXPECT_EQ(all.status, 200);
  EXPECT_EQ(all.header("Content-Type"), "application/x-amz-json-1.0");
  EXPECT_EQ(broker.seen[Op::peek], 3) << "slices of two";
  EXPECT_TRUE(json_members(all.body)) << all.body;
  EXPECT_TRUE(all.body.starts_with(fmt::format(R"({{"Messages":[{{"MessageId":"{}",)", id_of(1))));
  EXPECT_TRUE(all.body.contains(R"({"Number":4,"State":"unreadable"})")) << all.body;
  EXPECT_TRUE(all.body.ends_with(R"("Number":5,"State":"visible","Behind":2}]})")) << all.body;
  EXPECT_EQ(call.action(), "PeekMessages");
  EXPECT_EQ(broker.seen[Op::receive], 0);
}

TEST_F(PawlCallTest, PeeksWhatIsAskedFor) {
  fill();
  const SqsResponse some =
      action("PeekMessages", R"({"QueueUrl":"q","States":["visible","delayed"],"MaxMessages":2})");
  EXPECT_FALSE(some.body.contains("in_flight")) << some.body;
  EXPECT_TRUE(some.body.contains(R"("Number":2)")) << some.body;
  EXPECT_TRUE(some.body.contains(R"("Number":3)")) << some.body;
  EXPECT_TRUE(some.body.ends_with(R"(],"Next":4})")) << some.body;
  const SqsResponse rest = action("PeekMessages", R"({"QueueUrl":"q","From":4})");
  EXPECT_FALSE(rest.body.contains(R"("Number":3)")) << rest.body;
  EXPECT_FALSE(rest.body.contains("Next")) << rest.body;
  broker.messages[1].group = "g";
  const SqsResponse group = action("PeekMessages", R"({"QueueUrl":"q","MessageGroupId":"g"})");
  EXPECT_TRUE(
      group.body.starts_with(fmt::format(R"({{"Messages":[{{"MessageId":"{}",)", id_of(2))));
  EXPECT_FALSE(group.body.contains(R"("Number":3)")) << group.body;
  broker.peeked.clear();
  EXPECT_EQ(action("PeekMessages", R"({"QueueUrl":"q"})").body, R"({"Messages":[]})");
}

TEST_F(PawlCallTest, EndsACallAfterManySlicesAndSaysWhereToGoOn) {
  fill();
  broker.peeked.clear();
  for (Seq seq = 1; seq <= 200; ++seq)
    broker.peeked.push_back({.seq = seq, .state = State::delayed});
  const SqsResponse none = action("PeekMessages", R"({"QueueUrl":"q","States":["visible"]})");
  EXPECT_EQ(none.body, R"({"Messages":[],"Next":129})");
  const SqsResponse searched =
      action("ExplainMessage", fmt::format(R"({{"QueueUrl":"q","MessageId":"{}"}})", id_of(150)));
  EXPECT_EQ(searched.body, R"({"Next":129})");
  const SqsResponse found =
      action("ExplainMessage",
             fmt::format(R"({{"QueueUrl":"q","MessageId":"{}","From":129}})", id_of(150)));
  EXPECT_TRUE(found.body.contains(R"("Number":150)")) << found.body;
}

TEST_F(PawlCallTest, ExplainsAMessageByIdOrNumber) {
  fill();
  std::string upper = id_of(1);
  for (char& c : upper) c = static_cast<char>(std::toupper(c));
  const SqsResponse by_id =
      action("ExplainMessage", fmt::format(R"({{"QueueUrl":"q","MessageId":"{}"}})", upper));
  EXPECT_TRUE(by_id.body.starts_with(fmt::format(
      R"({{"MessageId":"{}","Number":1,"State":"in_flight","Explanation":"A consumer )", id_of(1))))
      << by_id.body;
  EXPECT_TRUE(by_id.body.contains("in 12.0 s")) << by_id.body;
  EXPECT_TRUE(by_id.body.contains(R"("ReceiveCount":2)")) << by_id.body;
  EXPECT_TRUE(by_id.body.contains(R"("ExpiresAt":1700345600123)")) << by_id.body;
  EXPECT_EQ(action("ExplainMessage", R"({"QueueUrl":"q","Number":1})").body, by_id.body);
  EXPECT_TRUE(action("ExplainMessage", R"({"QueueUrl":"q","Number":4})")
                  .body.contains(R"("State":"unreadable")"));
  EXPECT_TRUE(action("ExplainMessage", R"({"QueueUrl":"q","Number":9})")
                  .body.starts_with(R"({"State":"absent",)"));
  broker.messages[2].id = {7, 9};  // it was moved here with its id
  const std::array<char, 36> kept = uuid_text(MessageId{7, 9});
  EXPECT_TRUE(action("ExplainMessage", fmt::format(R"({{"QueueUrl":"q","MessageId":"{}"}})",
                                                   std::string_view(kept.data(), kept.size())))
                  .body.contains(R"("Number":3)"));
}

TEST_F(PawlCallTest, NamesTheMessageThatHoldsAnotherOne) {
  fill();
  const SqsResponse held = action("ExplainMessage", R"({"QueueUrl":"q","Number":5})");
  EXPECT_TRUE(
      held.body.contains("It waits for message 2 before it in its group, which is delayed "
                         "for another 5.0 s."))
      << held.body;
  EXPECT_TRUE(held.body.contains(R"("Behind":2)")) << held.body;
  broker.peeked.erase(broker.peeked.begin() + 1);
  EXPECT_TRUE(action("ExplainMessage", R"({"QueueUrl":"q","Number":5})")
                  .body.contains("which has just left the queue."));
}

TEST_F(PawlCallTest, ListsStatisticsAPageAtATime) {
  for (const char* name : {"a1", "a2", "a3", "b1"}) make_queue(name);
  broker.figures[QueueId{2}] = {};
  const SqsResponse first = action("ListQueueStatistics", R"({"MaxResults":2})");
  EXPECT_EQ(first.status, 200);
  EXPECT_TRUE(first.body.starts_with(R"({"Queues":[{"QueueName":"a1","QueueUrl":"http://h/)"));
  EXPECT_TRUE(first.body.contains(R"(,{"QueueName":"a2",)")) << first.body;
  EXPECT_TRUE(first.body.contains(R"("Statistics":{"Timestamp":1700000000000,)")) << first.body;
  EXPECT_TRUE(first.body.ends_with(R"(],"NextToken":"YTI="})")) << first.body;
  const SqsResponse second = action("ListQueueStatistics", R"({"NextToken":"YTI="})");
  EXPECT_TRUE(second.body.contains(R"("QueueName":"a3")")) << second.body;
  EXPECT_TRUE(second.body.contains(R"("QueueName":"b1")")) << second.body;
  EXPECT_FALSE(second.body.contains("NextToken")) << second.body;
  const SqsResponse some =
      action("ListQueueStatistics", R"({"QueueNamePrefix":"a","MaxResults":3})");
  EXPECT_TRUE(some.body.contains("a3")) << some.body;
  EXPECT_FALSE(some.body.contains("NextToken")) << "no fourth has this prefix";
  EXPECT_EQ(action("ListQueueStatistics", R"({"QueueNamePrefix":"c"})").body, R"({"Queues":[]})");
  EXPECT_EQ(action("ListQueueStatistics", "").status, 200);
  EXPECT_EQ(call.action(), "ListQueueStatistics");
  EXPECT_EQ(broker.seen[Op::count], 0);
}

TEST_F(PawlCallTest, ListsQueuesOfTheCallersAccountOnly) {
  make_queue("mine");
  config.account = "111111111111";
  make_queue("theirs");
  EXPECT_FALSE(action("ListQueueStatistics", "{}").body.contains("mine"));
  config.account = "000000000000";
  const std::string body = action("ListQueueStatistics", "{}").body;
  EXPECT_TRUE(body.contains("mine")) << body;
  EXPECT_FALSE(body.contains("theirs")) << body;
}

TEST_F(PawlCallTest, EndsAPageOfStatisticsThatIsFull) {
  const std::string policy =
      fmt::format(R"({{"RedrivePolicy":"{{\"deadLetterTargetArn\":\"arn:aws:sqs:us-east-1:)"
                  R"(000000000000:{}\",\"maxReceiveCount\":9}}"}})",
                  "dead");
  make_queue("dead");
  for (int i = 0; i < 999; ++i) {
    make_queue(fmt::format("{}{:03}", std::string(77, 'q'), i), policy);
    broker.figures[QueueId{static_cast<std::uint32_t>(i + 2)}] = {};
  }
  const SqsResponse page = action("ListQueueStatistics", "{}");
  EXPECT_EQ(page.status, 200);
  EXPECT_GT(page.body.size(), 1u << 20);
  EXPECT_LT(page.body.size(), (1u << 20) + 4096);
  EXPECT_TRUE(page.body.contains("NextToken"));
}

TEST_F(PawlCallTest, RefusesWhatItDoesNotKnow) {
  fill();
  refused(
      "It has, with the method POST: PeekMessages, ExplainMessage, ListQueueStatistics, "
      "StartReplay, ListReplays, CancelReplay.",
      "Wrong", "{}");
  refused("MaxResults is 0; it must be a whole number from 1 to 1000.", "ListQueueStatistics",
          R"({"MaxResults":0})");
  refused("QueueNamePrefix is not a text", "ListQueueStatistics", R"({"QueueNamePrefix":1})");
  refused("QueueNamePrefix has 81 bytes; a name has 80 at most.", "ListQueueStatistics",
          fmt::format(R"({{"QueueNamePrefix":"{}"}})", std::string(81, 'q')));
  refused("NextToken is !; it must be that of the response before.", "ListQueueStatistics",
          R"({"NextToken":"!"})");
  refused("has no member QueueUrl. It has QueueNamePrefix,", "ListQueueStatistics",
          R"({"QueueUrl":"q"})");
  EXPECT_EQ(broker.seen[Op::list_queues], 0);
  refused("is not a JSON object", "PeekMessages", "[]");
  refused("has no member Bad. It has QueueUrl, States,", "PeekMessages",
          R"({"QueueUrl":"q","Bad":1})");
  refused("must contain the parameter QueueUrl", "PeekMessages", "{}");
  refused("queue does not exist", "PeekMessages", R"({"QueueUrl":"none"})");
  refused("States has x;", "PeekMessages", R"({"QueueUrl":"q","States":["x"]})");
  refused("MaxMessages is 1001; it must be a whole number from 1 to 1000.", "PeekMessages",
          R"({"QueueUrl":"q","MaxMessages":1001})");
  refused("AttributeValue needs AttributeName", "PeekMessages",
          R"({"QueueUrl":"q","AttributeValue":"v"})");
  refused("needs MessageId, or Number", "ExplainMessage", R"({"QueueUrl":"q"})");
  refused("needs MessageId, or Number", "ExplainMessage",
          R"({"QueueUrl":"q","Number":1,"MessageId":"x"})");
  EXPECT_EQ(broker.seen[Op::peek], 0);
  broker.refuse_with = Errc::no_such_queue;
  refused("queue does not exist", "PeekMessages", R"({"QueueUrl":"q"})");
  refused("queue does not exist", "ExplainMessage", R"({"QueueUrl":"q","Number":1})");
}

TEST_F(PawlCallTest, IsNoActionOfAStrictServer) {
  fill();
  config.strict_sqs = true;
  const SqsResponse answer = action("PeekMessages", R"({"QueueUrl":"q"})");
  EXPECT_EQ(answer.status, 400);
  EXPECT_TRUE(answer.body.contains("UnknownOperationException")) << answer.body;
  EXPECT_EQ(broker.seen[Op::peek], 0);
}

TEST_F(PawlCallTest, CountsItsMemoryAndGivesItBack) {
  fill();
  const std::size_t before = call.memory();
  action("PeekMessages", R"({"QueueUrl":"q"})");
  EXPECT_GT(call.memory(), before + PeekSeries::slice_messages * sizeof(Delivery));
  call.clear();
  EXPECT_LT(call.memory(), before + sizeof(Delivery));
}

TEST_F(PawlCallTest, StartsListsAndCancelsReplays) {
  make_queue("q");
  make_queue("into");
  EXPECT_EQ(action("StartReplay", R"({"QueueUrl":"q"})").body, R"({"Number":1})");
  const SqsResponse second =
      action("StartReplay",
             R"({"QueueUrl":"q","From":1000,"To":2000,"MaxNumberOfMessagesPerSecond":7,)"
             R"("DestinationQueue":"into","FilterPolicy":"{\"a\":[\"b\"]}","IncludeCopies":1})");
  EXPECT_EQ(second.body, R"({"Number":2})");
  ASSERT_EQ(broker.replays.size(), 2u);
  EXPECT_TRUE(broker.replays[0].copies);
  EXPECT_FALSE(broker.replays[1].copies);
  EXPECT_TRUE(broker.replays[1].destination.ends_with("/q"));
  const SqsResponse listed = action("ListReplays", R"({"QueueUrl":"q"})");
  EXPECT_TRUE(json_members(listed.body)) << listed.body;
  EXPECT_TRUE(listed.body.contains(R"("From":1000,"To":2000)")) << listed.body;
  EXPECT_TRUE(listed.body.contains(
      R"("DestinationQueue":"into","MaxNumberOfMessagesPerSecond":7,"FilterPolicy":"{\"a\":[\"b\"]}")"))
      << listed.body;
  EXPECT_TRUE(listed.body.contains(R"("Number":1,"Status":"RUNNING")")) << listed.body;
  EXPECT_EQ(action("CancelReplay", R"({"QueueUrl":"q","Number":2})").body,
            R"({"NumberOfMessagesSent":52})");
}

TEST_F(PawlCallTest, RefusesReplaysThatCannotBe) {
  make_queue("q");
  make_queue("f.fifo", R"({"FifoQueue":"true"})");
  refused("DestinationQueue none", "StartReplay", R"({"QueueUrl":"q","DestinationQueue":"none"})");
  refused("one is FIFO", "StartReplay", R"({"QueueUrl":"q","DestinationQueue":"f.fifo"})");
  refused("not before To", "StartReplay", R"({"QueueUrl":"q","From":5,"To":5})");
  refused("is no filter policy", "StartReplay", R"({"QueueUrl":"q","FilterPolicy":"x"})");
  refused("0 to 1000000", "StartReplay",
          R"({"QueueUrl":"q","MaxNumberOfMessagesPerSecond":1000001})");
  refused("at most 4096", "StartReplay",
          fmt::format(R"({{"QueueUrl":"q","FilterPolicy":"{}"}})", std::string(4097, ' ')));
  refused("needs Number", "CancelReplay", R"({"QueueUrl":"q"})");
  refused("has no member Rate", "ListReplays", R"({"QueueUrl":"q","Rate":1})");
  EXPECT_TRUE(broker.replays.empty());
}

}  // namespace
}  // namespace pawl

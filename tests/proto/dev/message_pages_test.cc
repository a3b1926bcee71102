// SPDX-License-Identifier: Apache-2.0
#include "proto/dev/message_pages.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/time_shift.h"

namespace pawl {
namespace {

using State = PeekedMessage::State;

// The test answers the peeks in place of a shard.
class MessagePagesTest : public ::testing::Test {
 protected:
  MessagePagesTest() {
    settings_.shift = &shift_;
    settings_.region = "here";
    QueueConfig config;
    config.id = QueueId{3};
    config.owner = ShardId{1};
    config.account = account;
    config.name = "q";
    directory_.put(std::make_shared<const QueueConfig>(std::move(config)));
  }

  CallStep begin(const std::string& target, const std::string& headers = {}) {
    bytes_ = fmt::format("GET {} HTTP/1.1\r\nHost: h\r\n{}\r\n", target, headers);
    parser_ = HttpParser();
    std::size_t consumed = 0;
    EXPECT_EQ(parser_.feed(bytes_, consumed), HttpParser::State::complete) << target;
    return pages_.begin(parser_.request(), account, directory_, settings_);
  }
  // The request of a page that asks.
  Request& asked() {
    const CallRoute route = pages_.route();
    EXPECT_EQ(route.target, ShardId{1});
    EXPECT_EQ(route.request->op, Op::peek);
    EXPECT_EQ(route.request->queue, QueueId{3});
    EXPECT_EQ(route.request->deliveries.size(), PeekSeries::slice_messages);
    return *route.request;
  }
  // Answers with messages of rising numbers, and goes on.
  CallStep answer(std::vector<PeekedMessage> messages, Seq next, std::string_view body = "b") {
    Request& request = asked();
    request.delivered = 0;
    for (const PeekedMessage& message : messages) {
      if (message.state == State::unreadable) continue;
      Delivery& delivery = request.deliveries[request.delivered++];
      delivery = Delivery();
      delivery.seq = message.seq;
      delivery.content.body = body;
    }
    request.peek->messages = std::move(messages);
    request.peek->next = next;
    return pages_.resume();
  }
  void refused(std::uint16_t status, std::string_view words, const std::string& target,
               const std::string& headers = {}) {
    EXPECT_EQ(begin(target, headers), CallStep::respond) << target;
    EXPECT_EQ(pages_.status(), status) << target << ' ' << pages_.body();
    EXPECT_TRUE(pages_.body().contains(words)) << target << ' ' << pages_.body();
  }

  static constexpr std::string_view account = "000000000000";
  static constexpr const char* json = "Accept: application/json\r\n";
  Directory directory_;
  TimeShift shift_;
  CallSettings settings_;
  std::string bytes_;
  HttpParser parser_;
  MessagePages pages_;
};

TEST_F(MessagePagesTest, FollowsTheSlicesAndNamesEveryState) {
  ASSERT_EQ(begin("/_pawl/messages?queue=q"), CallStep::route);
  EXPECT_EQ(asked().peek->from, 0u);
  EXPECT_EQ(asked().peek->states, PeekSlice::all_states);
  ASSERT_EQ(answer(
                {
                    {.seq = 1, .state = State::in_flight, .until = Instant{9}, .receive_count = 2},
                    {.seq = 2, .state = State::unreadable}
  },
                5),
            CallStep::route);
  EXPECT_EQ(asked().peek->from, 5u);
  ASSERT_EQ(answer(
                {
                    {.seq = 5, .state = State::visible, .behind = 1}
  },
                0),
            CallStep::respond);
  EXPECT_EQ(pages_.status(), 200);
  EXPECT_EQ(pages_.content_type(), "application/json");
  const std::string& body = pages_.body();
  EXPECT_TRUE(body.contains(R"("Number":1,"State":"in_flight","VisibleAt":9})")) << body;
  EXPECT_TRUE(body.contains(R"("ApproximateReceiveCount":"2")")) << body;
  EXPECT_TRUE(body.contains(R"({"Number":2,"State":"unreadable"})")) << body;
  EXPECT_TRUE(body.ends_with(R"("Number":5,"State":"visible","Behind":1}]})")) << body;
}

TEST_F(MessagePagesTest, EndsAtTheLimitAndSaysWhereToGoOn) {
  ASSERT_EQ(begin("/_pawl/messages?queue=q&limit=2&from=7&state=delayed"), CallStep::route);
  EXPECT_EQ(asked().peek->from, 7u);
  EXPECT_EQ(asked().peek->states, PeekSlice::bit(State::delayed));
  ASSERT_EQ(answer(
                {
                    {.seq = 7,  .state = State::delayed},
                    {.seq = 8,  .state = State::delayed},
                    {.seq = 12, .state = State::delayed}
  },
                0),
            CallStep::respond);
  EXPECT_TRUE(pages_.body().ends_with(R"(],"next":12})")) << pages_.body();
  ASSERT_EQ(begin("/_pawl/messages?queue=q"), CallStep::route);
  const std::string large(MessagePages::bytes_max, 'x');
  ASSERT_EQ(answer(
                {
                    {.seq = 1, .state = State::visible}
  },
                3, large),
            CallStep::route);
  ASSERT_EQ(answer(
                {
                    {.seq = 3, .state = State::visible}
  },
                0),
            CallStep::respond);
  EXPECT_TRUE(pages_.body().ends_with(R"(],"next":3})"));
}

TEST_F(MessagePagesTest, ShowsNoMessageOfAGroupInFlightOnLocalStacksPage) {
  ASSERT_EQ(begin("/_aws/sqs/messages/here/000000000000/q", json), CallStep::route);
  EXPECT_EQ(asked().peek->states, PeekSlice::bit(State::visible));
  ASSERT_EQ(answer(
                {
                    {.seq = 1, .state = State::visible, .behind = 7},
                    {.seq = 2, .state = State::visible}
  },
                0),
            CallStep::respond);
  EXPECT_TRUE(pages_.body().starts_with(
      R"({"ReceiveMessageResponse":{"ReceiveMessageResult":{"Message":{"MessageId":)"))
      << pages_.body();
  ASSERT_EQ(begin("/_aws/sqs/messages?QueueUrl=http://h/000000000000/q&ShowInvisible=True&"
                  "ShowDelayed=1"),
            CallStep::route);
  EXPECT_EQ(asked().peek->states, 0b11110u);
  ASSERT_EQ(answer({}, 0), CallStep::respond);
  EXPECT_EQ(pages_.content_type(), "text/xml");
  EXPECT_TRUE(pages_.body().contains("<ReceiveMessageResult></ReceiveMessageResult>"));
}

TEST_F(MessagePagesTest, RefusesWhatItDoesNotKnow) {
  refused(400, "needs queue=NAME", "/_pawl/messages");
  refused(404, "no queue x", "/_pawl/messages?queue=x");
  for (const char* wrong : {"state=lost", "from=-1", "limit=0", "limit=10001", "color=red"})
    refused(400, "This page has queue=NAME", fmt::format("/_pawl/messages?queue=q&{}", wrong));
  const std::string page(MessagePages::localstack_path);
  refused(400, "NonExistentQueue</Code>", page);
  refused(400, R"({"ErrorResponse":{"Error":{"Code":"AWS.Simple)", page + "/away/000000000000/q",
          json);
  refused(404, "InvalidAddress", page + "?QueueUrl=http://h/q");
  refused(400, "only accepts ReceiveMessage", page + "?Action=SendMessage");
  refused(400, "InvalidRequest", page + "?a=1&a=2");
}

TEST_F(MessagePagesTest, SaysThatAShardRefusesAndThatTheQueueIsGone) {
  for (const auto& [error, status] : {
           std::pair{Errc::overloaded,    503},
           {Errc::no_such_queue, 404}
  }) {
    ASSERT_EQ(begin("/_pawl/messages?queue=q"), CallStep::route);
    asked().error = error;
    EXPECT_EQ(pages_.resume(), CallStep::respond);
    EXPECT_EQ(pages_.status(), status);
    EXPECT_EQ(pages_.content_type(), "text/plain; charset=utf-8");
  }
  EXPECT_GT(pages_.memory(), PeekSeries::slice_messages * sizeof(Delivery));
}

}  // namespace
}  // namespace pawl

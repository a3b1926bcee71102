// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/api_call.h"

#include "proto/binary/payloads.h"
#include "proto/call.h"
#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

class ApiCallTest : public BinarySessionTest {
 protected:
  ApiCallTest() { config_.api = &settings_; }

  static std::string words(std::string_view action, std::string_view members) {
    std::string out;
    put_struct(out, payload::Call{action, {members}});
    return out;
  }
  // The response, and its HTTP status in front.
  std::string called() {
    const Answer response = answer();
    EXPECT_EQ(response.status(), Status::ok);
    BinaryReader in(response.payload);
    const auto [status, body] = take_struct<payload::CallResponse>(in);
    EXPECT_TRUE(in.finished());
    return std::to_string(status) + " " + std::string(body.text);
  }

  CallSettings settings_;
};

TEST_F(ApiCallTest, PeeksAtAQueueByName) {
  greet_and_open();
  session_.set_now(Instant{5000});
  ASSERT_EQ(begin(BinaryOp::call, words("PeekMessages", R"({"QueueUrl":"q"})")), Next::route);
  EXPECT_EQ(call_.op(), BinaryOp::call);
  EXPECT_EQ(call_.target(), ShardId{2});
  Request& request = call_.request();
  ASSERT_EQ(request.op, Op::peek);
  EXPECT_GT(call_.memory(), sizeof(SqsState));
  request.peek->messages.push_back({.seq = 7, .state = PeekedMessage::State::not_durable});
  ASSERT_EQ(resume(), Next::respond);
  const std::string response = called();
  EXPECT_TRUE(response.starts_with(R"(200 {"Messages":[{)")) << response;
  EXPECT_TRUE(response.contains(R"("Number":7,"State":"not_durable")")) << response;
}

TEST_F(ApiCallTest, ExplainsByTheTimeOfTheCall) {
  greet_and_open();
  session_.set_now(Instant{5000});
  ASSERT_EQ(begin(BinaryOp::call, words("ExplainMessage", R"({"QueueUrl":"q","Number":7})")),
            Next::route);
  call_.request().peek->messages.push_back(
      {.seq = 7, .state = PeekedMessage::State::delayed, .until = Instant{7000}});
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_TRUE(called().contains(R"("Number":7)"));
}

// Each shard has its slice; they are asked one after the other.
TEST_F(ApiCallTest, AsksSeveralShardsInTurn) {
  auto other = std::make_shared<QueueConfig>();
  other->id = QueueId{8};
  other->owner = ShardId{1};
  other->account = config_.account;
  other->name = "r";
  directory_.put(other);
  greet_and_open();
  Next next = begin(BinaryOp::call, words("ListQueueStatistics", "{}"));
  std::size_t asked = 0;
  for (; next == Next::route && asked < 16; ++asked) next = resume();
  EXPECT_GE(asked, 2u);
  ASSERT_EQ(next, Next::respond);
  EXPECT_TRUE(called().starts_with(R"(200 {"Queues":[)"));
}

TEST_F(ApiCallTest, RefusesAsTheHttpPortDoes) {
  greet_and_open();
  ASSERT_EQ(begin(BinaryOp::call, words("Dance", "{}")), Next::respond);
  EXPECT_TRUE(called().contains("is not an action of this server"));
  ASSERT_EQ(begin(BinaryOp::call, words("PeekMessages", R"({"QueueUrl":"none"})")), Next::respond);
  const std::string response = called();
  EXPECT_TRUE(response.starts_with("400 {")) << response;
  EXPECT_TRUE(response.contains("QueueDoesNotExist")) << response;
  ASSERT_EQ(begin(BinaryOp::call, words("PeekMessages", R"({"QueueUrl":"q","Maximum":3})")),
            Next::respond);
  EXPECT_TRUE(called().contains("Maximum"));
}

TEST_F(ApiCallTest, HasLimits) {
  greet_and_open();
  EXPECT_EQ(refused(BinaryOp::call, words("", "{}")), Status::bad_frame);
  EXPECT_EQ(refused(BinaryOp::call, "PeekMessages"), Status::bad_frame);
  const std::string large(ApiCall::body_bytes_max + 1, ' ');
  EXPECT_EQ(refused(BinaryOp::call, words("PeekMessages", large)), Status::invalid);
  EXPECT_EQ(ApiCall::body_bytes_max, HttpCall::small_body_bytes_max);
  settings_.strict_sqs = true;
  EXPECT_EQ(refused(BinaryOp::call, words("PeekMessages", R"({"QueueUrl":"q"})")),
            Status::unknown_op);
  config_.api = nullptr;
  EXPECT_EQ(refused(BinaryOp::call, words("PeekMessages", R"({"QueueUrl":"q"})")),
            Status::unknown_op);
}

}  // namespace
}  // namespace pawl

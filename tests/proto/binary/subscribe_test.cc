// SPDX-License-Identifier: Apache-2.0
// SUBSCRIBE, DELIVER, ACKNOWLEDGE and UNSUBSCRIBE: requests to the shard, credit, and the end.
#include "proto/binary/subscribe.h"

#include <array>
#include <memory>

#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

std::string subscribe(std::uint32_t credit, std::uint32_t visibility = binary_queue_default,
                      std::uint32_t bytes = 0) {
  std::string out;
  put_all(out, credit, visibility, bytes);
  return out;
}

std::string acknowledge(std::uint32_t subscription, std::uint32_t credit, std::uint32_t receipts) {
  std::string out;
  put_all(out, subscription, credit, receipts);
  return out.append(std::size_t{receipts} * receipt_bytes, '\1');
}

class SubscriptionSession : public BinarySessionTest {
 protected:
  void SetUp() override { q_ = greet_and_open(); }

  // The shard returns the receive with these messages.
  Next deliver(std::initializer_list<std::string_view> bodies) {
    Request& request = call_.request();
    EXPECT_LE(bodies.size(), request.deliveries.size());
    request.delivered = 0;
    for (const std::string_view body : bodies) {
      Delivery& delivery = request.deliveries[request.delivered++];
      delivery = Delivery();
      delivery.seq = ++seq_;
      delivery.content.body = body;
    }
    return resume();
  }
  Next push() { return call_.push(session_, directory_, config_); }
  // Another call of the connection. Returns its response.
  Answer other(BinaryOp op, std::string_view payload) {
    std::string frame;
    const std::size_t at = begin_frame(
        frame, {.op = static_cast<std::uint8_t>(op), .correlation = ++correlation_, .queue = q_});
    frame.append(payload);
    finish_frame(frame, at);
    BinaryCall call;
    last_ = call.begin(session_, frame, directory_, config_);
    if (last_ == Next::route) {
      receipts_ = call.request().receipts.size();
      op_ = call.request().op;
      call.resume(session_, directory_, config_);
    }
    std::string out;
    call.write_response(out);
    const auto header = parse_header(out);
    return {*header, std::string(payload_of(*header, out).value_or(""))};
  }

  std::uint32_t q_ = 0;
  Seq seq_ = 0;
  Next last_{};
  Op op_{};
  std::size_t receipts_ = 0;
};

TEST_F(SubscriptionSession, ReceivesForTheQueueAndDelivers) {
  ASSERT_EQ(begin(BinaryOp::subscribe, subscribe(100, 5'000, 4096), q_), Next::route);
  const std::uint32_t correlation = correlation_;
  const Request& request = call_.request();
  EXPECT_EQ(request.op, Op::receive);
  EXPECT_EQ(raw(request.queue), 7u);
  EXPECT_EQ(call_.target(), ShardId{2});
  EXPECT_EQ(request.receive.visibility, seconds(5));
  EXPECT_EQ(request.receive.bytes_max, 4096u);
  EXPECT_EQ(request.receive.max, Subscription::capacity_min);
  EXPECT_GT(request.receive.wait, seconds(20));
  ASSERT_EQ(deliver({"one", "two"}), Next::deliver);
  const Answer delivered = answer();
  EXPECT_EQ(delivered.header.op, static_cast<std::uint8_t>(BinaryOp::deliver));
  EXPECT_EQ(delivered.header.flags, flag_answer);
  EXPECT_EQ(delivered.header.correlation, correlation);
  EXPECT_EQ(BinaryReader(delivered.payload).take<std::uint32_t>(), 2u);
  EXPECT_TRUE(delivered.payload.ends_with("two"));
  ASSERT_NE(call_.subscription(), nullptr);
  EXPECT_EQ(call_.subscription()->credit, 98u);
  EXPECT_EQ(push(), Next::route);
  EXPECT_EQ(call_.request().op, Op::receive);
}

TEST_F(SubscriptionSession, PausesWithoutCreditUntilAnAcknowledgementGrantsSome) {
  ASSERT_EQ(begin(BinaryOp::subscribe, subscribe(2), q_), Next::route);
  const std::uint32_t subscription = correlation_;
  EXPECT_EQ(call_.request().receive.max, 2u);
  ASSERT_EQ(deliver({"one", "two"}), Next::deliver);
  answer();
  EXPECT_EQ(push(), Next::pause);
  EXPECT_EQ(push(), Next::pause);
  const Answer answered = other(BinaryOp::acknowledge, acknowledge(subscription, 1, 2));
  EXPECT_EQ(last_, Next::route);
  EXPECT_EQ(op_, Op::delete_message);
  EXPECT_EQ(receipts_, 2u);
  EXPECT_EQ(answered.payload.size(), 4u + 2 * 2);
  ASSERT_EQ(push(), Next::route);
  EXPECT_EQ(call_.request().receive.max, 1u);
}

TEST_F(SubscriptionSession, AWaitingReceiveOfItsOwnShardGetsSpaceForNewCredit) {
  for (const bool own : {true, false}) {
    SCOPED_TRACE(own);
    config_.home = own ? ShardId{2} : ShardId{0};
    ASSERT_EQ(begin(BinaryOp::subscribe, subscribe(2), q_), Next::route);
    const std::uint32_t subscription = correlation_;
    other(BinaryOp::acknowledge, acknowledge(subscription, 3, 0));
    EXPECT_FALSE(call_.widen()) << "the shard has not parked the receive yet";
    call_.request().waiter = 9;
    const std::uint32_t capacity = own ? 5 : 2;
    EXPECT_EQ(call_.widen(), own);
    EXPECT_FALSE(call_.widen()) << "it has the space";
    EXPECT_EQ(call_.request().receive.max, capacity);
    EXPECT_EQ(call_.request().deliveries.size(), capacity);
    call_.request().waiter = 0;
    ASSERT_EQ(deliver({"one"}), Next::deliver);
    answer();
    call_.end_subscription(session_, Status::ok);
    answer();
  }
}

TEST_F(SubscriptionSession, CreditAloneNeedsNoShard) {
  ASSERT_EQ(begin(BinaryOp::subscribe, subscribe(1), q_), Next::route);
  const Answer granted = other(BinaryOp::acknowledge, acknowledge(correlation_, 5, 0));
  EXPECT_EQ(last_, Next::respond);
  EXPECT_EQ(granted.status(), Status::ok);
  EXPECT_EQ(granted.payload, std::string(4, '\0'));
  EXPECT_EQ(call_.subscription()->credit, 6u);
}

TEST_F(SubscriptionSession, ReceivesAgainAfterAWaitWithoutMessages) {
  ASSERT_EQ(begin(BinaryOp::subscribe, subscribe(1), q_), Next::route);
  EXPECT_EQ(deliver({}), Next::route);
  EXPECT_EQ(call_.request().op, Op::receive);
  EXPECT_EQ(call_.request().delivered, 0u);
  EXPECT_EQ(call_.subscription()->credit, 1u);
}

TEST_F(SubscriptionSession, UnsubscribeEndsItWithTheResponseToSubscribe) {
  ASSERT_EQ(begin(BinaryOp::subscribe, subscribe(10), q_), Next::route);
  const std::uint32_t subscription = correlation_;
  std::string payload;
  put(payload, subscription);
  EXPECT_EQ(other(BinaryOp::unsubscribe, payload).status(), Status::ok);
  ASSERT_EQ(deliver({"under way"}), Next::deliver);
  answer();
  ASSERT_EQ(push(), Next::respond);
  const Answer ended = answer();
  EXPECT_EQ(ended.status(), Status::ok);
  EXPECT_EQ(ended.header.op, static_cast<std::uint8_t>(BinaryOp::subscribe));
  EXPECT_EQ(ended.header.correlation, subscription);
  EXPECT_TRUE(ended.payload.empty());
  EXPECT_EQ(call_.subscription(), nullptr);
  EXPECT_EQ(session_.subscriptions().size(), 0u);
  EXPECT_EQ(other(BinaryOp::unsubscribe, payload).status(), Status::ok) << "it has ended";
  EXPECT_EQ(other(BinaryOp::acknowledge, acknowledge(subscription, 5, 0)).status(), Status::ok);
}

TEST_F(SubscriptionSession, ARefusalOfTheShardEndsIt) {
  ASSERT_EQ(begin(BinaryOp::subscribe, subscribe(10), q_), Next::route);
  call_.request().error = Errc::overloaded;
  ASSERT_EQ(resume(), Next::respond);
  const Answer ended = answer();
  EXPECT_EQ(ended.status(), Status::overloaded);
  EXPECT_EQ(ended.header.op, static_cast<std::uint8_t>(BinaryOp::subscribe));
  EXPECT_EQ(session_.subscriptions().size(), 0u);
}

TEST_F(SubscriptionSession, MessagesThatDoNotFitReturnAndCostNoCredit) {
  ASSERT_EQ(begin(BinaryOp::subscribe, subscribe(10, 5'000, 10), q_), Next::route);
  ASSERT_EQ(deliver({"123456789", "abcdefghi"}), Next::route);
  EXPECT_EQ(call_.request().op, Op::undeliver);
  EXPECT_EQ(call_.request().receipts.size(), 1u);
  ASSERT_EQ(resume(), Next::deliver);
  EXPECT_EQ(BinaryReader(answer().payload).take<std::uint32_t>(), 1u);
  EXPECT_EQ(call_.subscription()->credit, 9u);
}

TEST_F(SubscriptionSession, PausesWhenThePeerReadsNothing) {
  ASSERT_EQ(begin(BinaryOp::subscribe, subscribe(10), q_), Next::route);
  call_.limit_answer(0);
  ASSERT_EQ(deliver({"one"}), Next::route);
  EXPECT_EQ(call_.request().op, Op::undeliver);
  ASSERT_EQ(resume(), Next::pause);
  EXPECT_EQ(call_.subscription()->credit, 10u);
  EXPECT_EQ(push(), Next::route);
}

TEST_F(SubscriptionSession, WrongRequestsAreRefused) {
  EXPECT_EQ(refused(BinaryOp::subscribe, subscribe(0), q_), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::subscribe, subscribe(subscription_credit_max + 1), q_),
            Status::invalid);
  EXPECT_EQ(refused(BinaryOp::subscribe, subscribe(1, 0), q_), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::subscribe, subscribe(1, 43'200'001), q_), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::subscribe, subscribe(1), 99), Status::bad_handle);
  EXPECT_EQ(refused(BinaryOp::subscribe, subscribe(1) + "x", q_), Status::bad_frame);
  EXPECT_EQ(refused(BinaryOp::unsubscribe, "abc", q_), Status::bad_frame);
  EXPECT_EQ(refused(BinaryOp::acknowledge, acknowledge(1, 0, 1025), q_), Status::invalid);
  const std::string whole = acknowledge(1, 0, 2);
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_EQ(refused(BinaryOp::acknowledge, whole.substr(0, length), q_), Status::bad_frame);
  EXPECT_EQ(refused(BinaryOp::deliver, "", q_), Status::unknown_op);
  EXPECT_EQ(session_.subscriptions().size(), 0u);
}

TEST_F(SubscriptionSession, TooMuchCreditRefusesTheDeletesToo) {
  ASSERT_EQ(begin(BinaryOp::subscribe, subscribe(2), q_), Next::route);
  const Answer refused =
      other(BinaryOp::acknowledge, acknowledge(correlation_, subscription_credit_max, 1));
  EXPECT_EQ(last_, Next::respond);
  EXPECT_EQ(refused.status(), Status::invalid);
  EXPECT_EQ(call_.subscription()->credit, 2u);
}

TEST_F(SubscriptionSession, OneConnectionHasALimitedNumber) {
  for (std::uint32_t i = 0; i < subscriptions_max; ++i)
    ASSERT_NE(
        session_.subscriptions().add({.request = {.correlation = 1'000'000 + i}, .visibility = {}}),
        nullptr);
  EXPECT_EQ(refused(BinaryOp::subscribe, subscribe(1), q_), Status::overloaded);
}

}  // namespace
}  // namespace pawl

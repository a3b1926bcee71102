// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/expected_end.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/aws/message_attributes.h"

namespace pawl {
namespace {

using State = PeekedMessage::State;

constexpr Instant now{1'000'000'000};
constexpr Duration four_days = seconds(4 * 86'400);

class ExpectedEndTest : public ::testing::Test {
 protected:
  ExpectedEndTest() {
    message_.state = State::visible;
    delivery_.sent = delivery_.deliver_at = now - seconds(10);
  }
  void delay_until(Instant time) {
    message_.state = State::delayed;
    message_.until = time;
    message_.never_delivered = true;
  }
  void set(Attribute attribute, std::int64_t number) { queue_.apply({attribute, number, {}}); }
  void give_life(std::string_view time) {
    life_.clear();
    append_attribute(life_, {"x-ttl", "String", AttributeKind::text, time});
    delivery_.content.system = life_;
  }
  void live_for(Duration time) { message_.record.time_to_live = time; }
  ExpectedEnd end() { return expected_end(queue_, message_, delivery_, now); }
  // Time to the expected end.
  std::int64_t left() { return (end().at.value_or(Instant{0}) - now).ms; }

  QueueConfig queue_;
  PeekedMessage message_;
  Delivery delivery_;
  std::string life_;
};

TEST_F(ExpectedEndTest, IsTheRetentionWithoutATimeToLive) {
  EXPECT_EQ(end().at, delivery_.sent + four_days);
  EXPECT_EQ(end().text, "");
  delivery_.deliver_at = now - seconds(3);
  EXPECT_EQ(end().at, delivery_.sent + four_days) << "x-max-delay was not set at its send";
  message_.record.aged_apart = true;
  EXPECT_EQ(end().at, delivery_.deliver_at + four_days);
}

TEST_F(ExpectedEndTest, CountsTheRetentionFromTheDeliveryTimeAsTheMessageDoes) {
  set(Attribute::max_delay, 60);
  delivery_.deliver_at = now + seconds(9);
  delay_until(now + seconds(9));
  EXPECT_EQ(end().at, delivery_.sent + four_days) << "it was sent before x-max-delay was set";
  message_.aged_apart = true;
  EXPECT_EQ(end().at, message_.until + four_days);
  set(Attribute::max_delay, 0);
  EXPECT_EQ(end().at, message_.until + four_days) << "it keeps the rule of its send";
  message_.record.aged_apart = true;
  delivery_.deliver_at = now - seconds(1);
  message_.never_delivered = false;  // its consumer has returned it uncounted
  EXPECT_EQ(end().at, delivery_.deliver_at + four_days);
}

TEST_F(ExpectedEndTest, CountsALifeFromTheFirstVisibility) {
  give_life("30s");
  live_for(seconds(30));
  EXPECT_EQ(left(), 20'000);
  EXPECT_EQ(end().text, " By its x-ttl it lives for 30.0 s from when it first becomes visible.");
  delay_until(now + seconds(5));
  message_.life_ahead = seconds(30);
  EXPECT_EQ(left(), 35'000);
}

TEST_F(ExpectedEndTest, IsUnknownAfterANewDeliveryTime) {
  give_life("5s");
  live_for(seconds(5));
  delay_until(now + seconds(60));
  EXPECT_FALSE(end().at);
  EXPECT_TRUE(end().text.starts_with(" By its x-ttl")) << end().text;
}

TEST_F(ExpectedEndTest, IsTheEarlierOfMessageAndQueue) {
  live_for(seconds(15));
  set(Attribute::message_ttl, 3600);  // since its send
  EXPECT_EQ(left(), 5'000);
  EXPECT_EQ(end().text,
            " By the queue's x-message-ttl at its send it lives for 15.0 s from when it first "
            "becomes visible.");
  give_life("30s");
  EXPECT_TRUE(end().text.contains("x-message-ttl")) << end().text;
  give_life("15s");
  EXPECT_TRUE(end().text.contains("its x-ttl")) << end().text;
  set(Attribute::message_retention_period, 11);
  EXPECT_EQ(left(), 1'000) << "the retention ends earlier";
}

TEST_F(ExpectedEndTest, WaitsForTheEndOfALease) {
  give_life("5s");
  live_for(seconds(5));
  message_.state = State::in_flight;
  message_.until = now + seconds(7);
  EXPECT_EQ(left(), 7'000);
  EXPECT_TRUE(end().text.ends_with("it expires when it comes back.")) << end().text;
  live_for(seconds(60));
  EXPECT_EQ(left(), 50'000);
  EXPECT_FALSE(end().text.contains("comes back")) << end().text;
}

TEST_F(ExpectedEndTest, IsTheReturnOfACancelledMessage) {
  set(Attribute::dlq_on_expiry, 1);
  queue_.apply({Attribute::dead_letter_target, -1, "000000000000/dead"});
  live_for(seconds(5));
  message_.state = State::in_flight;
  message_.until = now + seconds(7);
  message_.cancelled = true;
  EXPECT_FALSE(end().at);
  EXPECT_EQ(end().text, "");
}

TEST_F(ExpectedEndTest, ReadsTheSecondChannelWhereTheQueueDoes) {
  give_life("30s");
  delivery_.content.attributes = life_;
  delivery_.content.system = {};
  live_for(seconds(30));
  EXPECT_TRUE(end().text.contains("x-message-ttl")) << end().text;
  set(Attribute::attribute_channel, 1);
  EXPECT_TRUE(end().text.contains("its x-ttl")) << end().text;
}

TEST_F(ExpectedEndTest, OfADeadLetterIsThatOfItsQueue) {
  give_life("1s");
  delivery_.moved = now - seconds(2);
  EXPECT_EQ(end().at, delivery_.sent + four_days);
  EXPECT_EQ(end().text, "") << "a time to live stays behind";
  delivery_.deliver_at = delivery_.moved;
  EXPECT_EQ(end().at, delivery_.moved + four_days) << "its retention began anew";
  live_for(seconds(15));
  EXPECT_EQ(left(), 13'000);
  EXPECT_TRUE(end().text.contains("x-message-ttl when it came")) << end().text;
  delivery_.deliver_at = delivery_.sent;
  live_for(seconds(0));
  set(Attribute::fifo_queue, 1);
  EXPECT_EQ(end().at, delivery_.moved + four_days) << "as on SQS";
}

TEST_F(ExpectedEndTest, NamesTheDeadLetterQueueOfExpiredMessages) {
  set(Attribute::dlq_on_expiry, 1);
  EXPECT_EQ(end().text, "") << "it has none";
  queue_.apply({Attribute::dead_letter_target, -1, "000000000000/dead"});
  EXPECT_EQ(end().text, " When it expires it moves to the dead-letter queue dead.");
  message_.state = State::in_flight;
  message_.until = delivery_.sent + four_days + seconds(1);
  EXPECT_EQ(end().at, message_.until) << "when its consumer gives it back";
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/peek_series.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace pawl {
namespace {

using State = PeekedMessage::State;

class PeekSeriesTest : public ::testing::Test {
 protected:
  PeekSeriesTest() {
    QueueConfig config;
    config.id = QueueId{3};
    config.owner = ShardId{1};
    queue_ = std::make_shared<const QueueConfig>(std::move(config));
  }
  // Answers with these messages, and notes what is visited up to `last`.
  CallStep answer(std::vector<PeekedMessage> messages, Seq next, Seq last = seq_max) {
    Request& request = *series_.route().request;
    for (const PeekedMessage& message : messages)
      if (message.state != State::unreadable)
        request.deliveries[request.delivered++].seq = message.seq;
    request.peek->messages = std::move(messages);
    request.peek->next = next;
    return series_.resume([&](const PeekedMessage& message, const Delivery* delivery) {
      EXPECT_EQ(delivery == nullptr, message.state == State::unreadable);
      EXPECT_TRUE(delivery == nullptr || delivery->seq == message.seq);
      if (message.seq > last) return false;
      visited_.push_back(message.seq);
      return true;
    });
  }

  ConfigPtr queue_;
  PeekSeries series_;
  std::vector<Seq> visited_;
};

TEST_F(PeekSeriesTest, AsksUntilTheQueueEnds) {
  ASSERT_EQ(series_.begin(queue_, 4, 0x3F, 9), CallStep::route);
  const CallRoute route = series_.route();
  EXPECT_EQ(route.target, ShardId{1});
  EXPECT_EQ(route.request->op, Op::peek);
  EXPECT_EQ(route.request->queue, QueueId{3});
  EXPECT_EQ(route.request->peek->from, 4u);
  EXPECT_EQ(route.request->peek->states, 0x3Fu);
  EXPECT_EQ(route.request->receive.bytes_max, PeekSeries::slice_bytes);
  ASSERT_EQ(answer(
                {
                    {.seq = 5, .state = State::visible   },
                    {.seq = 6, .state = State::unreadable}
  },
                8),
            CallStep::route);
  EXPECT_EQ(series_.route().request->peek->from, 8u);
  ASSERT_EQ(answer(
                {
                    {.seq = 8, .state = State::visible}
  },
                0),
            CallStep::respond);
  EXPECT_EQ(series_.next(), 0u);
  EXPECT_EQ(visited_, (std::vector<Seq>{5, 6, 8}));
}

TEST_F(PeekSeriesTest, EndsWhereItsUserDoesAndAtItsLastSlice) {
  ASSERT_EQ(series_.begin(queue_, 0, 0x3F, 2), CallStep::route);
  EXPECT_EQ(answer(
                {
                    {.seq = 1, .state = State::visible},
                    {.seq = 2, .state = State::visible}
  },
                0, 1),
            CallStep::respond);
  EXPECT_EQ(series_.next(), 2u);
  ASSERT_EQ(series_.begin(queue_, 0, 0x3F, 2), CallStep::route);
  ASSERT_EQ(answer({}, 7), CallStep::route);
  EXPECT_EQ(answer({}, 9), CallStep::respond);
  EXPECT_EQ(series_.next(), 9u);
}

TEST_F(PeekSeriesTest, EndsWithTheErrorOfTheShard) {
  ASSERT_EQ(series_.begin(queue_, 0, 0x3F, 2), CallStep::route);
  series_.route().request->error = Errc::no_such_queue;
  EXPECT_EQ(answer({}, 7), CallStep::respond);
  EXPECT_EQ(series_.error(), Errc::no_such_queue);
  EXPECT_TRUE(visited_.empty());
}

TEST(PeekedStates, HaveNamesAndBits) {
  for (const State state : {State::not_durable, State::delayed, State::visible, State::in_flight,
                            State::moving, State::unreadable}) {
    EXPECT_EQ(state_bit(name_of(state)), PeekSlice::bit(state));
    EXPECT_TRUE(state_names_text.contains(name_of(state)));
  }
  EXPECT_EQ(state_bit("inflight"), 0u);
}

}  // namespace
}  // namespace pawl

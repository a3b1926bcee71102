// SPDX-License-Identifier: Apache-2.0
// SEND_ONCE: the numbers of a producer's messages.
#include <gtest/gtest.h>

#include <bit>

#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

using Next = BinaryCall::Next;

TEST_F(BinarySessionTest, NumbersTheMessagesOfAProducer) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::send_once,
                  producer(7, 41, 12) + batch({entry("one"), entry(""), entry("three")}), q),
            Next::route);
  Request& request = call_.request();
  EXPECT_EQ(request.op, Op::send);
  EXPECT_EQ(request.producer.id, 7u);
  EXPECT_EQ(request.producer.floor, 12u);
  ASSERT_EQ(request.sends.size(), 2u) << "an empty body is refused";
  EXPECT_EQ(request.sends[0].sequence, 41u);
  EXPECT_EQ(request.sends[1].sequence, 43u) << "it keeps its number";
  EXPECT_EQ(request.sends[1].content.body, "three");
}

TEST_F(BinarySessionTest, AnswersAMessageSentAgainWithItsNumberIfThatIsKnown) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::send_once, producer(7, 1, 1) + batch({entry("one"), entry("two")}), q),
            Next::route);
  for (SendEntry& sent : call_.request().sends) sent.duplicate = true;
  call_.request().sends[1].seq = 5;
  ASSERT_EQ(resume(), Next::respond);
  const Answer got = answer();
  BinaryReader in(got.payload);
  EXPECT_EQ(in.take<std::uint32_t>(), 2u);
  for (const Seq seq : {Seq{0}, Seq{5}}) {
    EXPECT_EQ(in.take<std::uint16_t>(), static_cast<std::uint16_t>(Status::ok));
    EXPECT_EQ(in.take<std::uint64_t>(), seq);
    const MessageId id = seq ? message_id(config_.secret, QueueId{7}, seq) : MessageId{};
    EXPECT_EQ(std::byteswap(in.take<std::uint64_t>()), id.high);
    EXPECT_EQ(std::byteswap(in.take<std::uint64_t>()), id.low);
  }
  EXPECT_TRUE(in.finished());
}

TEST_F(BinarySessionTest, RefusesProducersWithImpossibleNumbers) {
  const std::uint32_t q = greet_and_open();
  constexpr struct {
    const char* name;
    std::uint64_t id, first, floor;
    bool good;
  } cases[] = {
      {"no id",                      0, 1,                 1, false},
      {"no sequence",                7, 0,                 0, false},
      {"below its floor",            7, 5,                 6, false},
      {"the last sequences",         7, UINT64_MAX - 10,   1, false},
      {"at its floor",               7, 5,                 5, true },
      {"no floor",                   7, 5,                 0, true },
      {"the largest first sequence", 7, UINT64_MAX - 1024, 1, true },
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const std::string payload = producer(c.id, c.first, c.floor) + batch({entry("a")});
    if (c.good) {
      EXPECT_EQ(begin(BinaryOp::send_once, payload, q), Next::route);
    } else {
      EXPECT_EQ(refused(BinaryOp::send_once, payload, q), Status::invalid);
    }
  }
}

TEST_F(BinarySessionTest, HasNoProducersInAFifoQueue) {
  const std::uint32_t q = greet_and_open();
  auto fifo = std::make_shared<QueueConfig>(**directory_.find(QueueId{7}));
  fifo->apply({Attribute::fifo_queue, 1, {}});
  directory_.put(fifo);
  EXPECT_EQ(refused(BinaryOp::send_once, producer(7, 1, 1) + batch({entry("a")}), q),
            Status::not_supported);
}

TEST_F(BinarySessionTest, SendsWithoutAProducerAfterOne) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::send_once, producer(7, 1, 1) + batch({entry("a")}), q), Next::route);
  ASSERT_EQ(resume(), Next::respond);
  answer();
  ASSERT_EQ(begin(BinaryOp::send, batch({entry("a")}), q), Next::route);
  EXPECT_EQ(call_.request().producer.id, 0u);
}

}  // namespace
}  // namespace pawl

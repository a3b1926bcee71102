// SPDX-License-Identifier: Apache-2.0
#include "net/client/pipeline.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/client/raw_peer.h"

namespace pawl::client {
namespace {

using Code = Client::Code;
using std::chrono_literals::operator""s;

// A pipeline with a credit of 2 frames and 1000 bytes, and its peer.
struct Line {
  Line() { pipeline.grant(2, 1000); }

  std::expected<Client::Ticket, Client::Error> submit(const std::string& payload,
                                                      BinaryOp op = BinaryOp::ping) {
    pipeline.begin(op, 7).append(payload);
    return pipeline.finish();
  }
  FrameHeader read_request(std::string* payload = nullptr) {
    std::string frame = peer.read(frame_header_bytes);
    const auto header = parse_header(frame);
    CHECK(header);
    frame += peer.read(header->length - frame_header_bytes);
    if (payload != nullptr) *payload = payload_of(*header, frame).value();
    return *header;
  }
  void respond(FrameHeader header, const std::string& payload = {}) {
    header.flags |= flag_answer;
    write(header, payload);
  }
  void write(const FrameHeader& header, const std::string& payload = {}) {
    std::string frame;
    const std::size_t begin = begin_frame(frame, header);
    frame += payload;
    finish_frame(frame, begin);
    peer.write(frame);
  }
  std::vector<Answer> turn() {
    std::vector<Answer> answers;
    pipeline.turn(answers, 10s);
    return answers;
  }

  RawPeer peer;
  Pipeline pipeline{connect_socket(peer), Client::Options{}};
};

TEST(Pipeline, MatchesResponsesWithTicketsInAnyOrder) {
  Line line;
  const auto first = line.submit("one"), second = line.submit("two", BinaryOp::stats);
  ASSERT_TRUE(first && second);
  EXPECT_NE(*first, *second);
  EXPECT_EQ(line.pipeline.outstanding(), 2u);
  line.pipeline.flush();
  std::string payload;
  const FrameHeader one = line.read_request(&payload), two = line.read_request();
  EXPECT_EQ(one.correlation, *first);
  EXPECT_EQ(one.queue, 7u);
  EXPECT_EQ(payload, "one");
  line.respond(two, "TWO");
  std::vector<Answer> answers = line.turn();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].ticket, *second);
  EXPECT_EQ(answers[0].op, BinaryOp::stats);
  EXPECT_EQ(answers[0].error.code, Code::ok);
  EXPECT_EQ(answers[0].payload, "TWO");
  line.respond(one, "ONE");
  answers = line.turn();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].ticket, *first);
  EXPECT_EQ(answers[0].payload, "ONE");
  EXPECT_EQ(line.pipeline.outstanding(), 0u);
}

TEST(Pipeline, WaitsForCreditInFrames) {
  Line line;
  ASSERT_TRUE(line.submit("a") && line.submit("b"));
  ASSERT_TRUE(line.pipeline.obstacle());
  EXPECT_EQ(line.pipeline.obstacle()->code, Code::would_block);
  line.pipeline.flush();
  line.respond(line.read_request());
  ASSERT_EQ(line.turn().size(), 1u);
  EXPECT_FALSE(line.pipeline.obstacle());
  EXPECT_TRUE(line.submit("c"));
  EXPECT_TRUE(line.pipeline.obstacle());
}

TEST(Pipeline, WaitsForCreditInBytesUnlessNothingIsOutstanding) {
  Line line;
  ASSERT_TRUE(line.submit(std::string(2000, 'a'))) << "a single frame may exceed the credit";
  ASSERT_TRUE(line.pipeline.obstacle());
  line.pipeline.flush();
  line.respond(line.read_request());
  ASSERT_EQ(line.turn().size(), 1u);
  ASSERT_TRUE(line.submit(std::string(600, 'b')));
  EXPECT_FALSE(line.pipeline.obstacle());
  const auto refused = line.submit(std::string(600, 'c'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::would_block);
  const std::size_t left = 1000 - (600 + frame_header_bytes) - frame_header_bytes;
  EXPECT_FALSE(line.submit(std::string(left + 1, 'd')));
  ASSERT_TRUE(line.submit(std::string(left, 'd')));
  line.pipeline.flush();
  std::string payload;
  line.read_request(&payload);
  EXPECT_EQ(payload, std::string(600, 'b'));
  line.read_request(&payload);
  EXPECT_EQ(payload, std::string(left, 'd')) << "nothing of a refused frame is sent";
}

TEST(Pipeline, AlwaysHasCreditForOneFrame) {
  Line line;
  line.pipeline.grant(0, 0);
  EXPECT_TRUE(line.submit("a"));
  EXPECT_TRUE(line.pipeline.obstacle());
}

TEST(Pipeline, RefusesAFrameBeyondTheProtocolsLimitAndGoesOn) {
  Line line;
  const auto refused = line.submit(std::string(frame_bytes_max - frame_header_bytes + 1, 'a'));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::too_large);
  EXPECT_EQ(line.pipeline.outstanding(), 0u);
  line.pipeline.begin(BinaryOp::ping, 0) += "abandoned";
  line.pipeline.abandon();
  ASSERT_TRUE(line.submit("next"));
  line.pipeline.flush();
  std::string payload;
  line.read_request(&payload);
  EXPECT_EQ(payload, "next");
}

TEST(Pipeline, AddsAChecksumOnlyWhenAsked) {
  Line line;
  ASSERT_TRUE(line.submit("plain"));
  line.pipeline.use_checksum(true);
  ASSERT_TRUE(line.submit("checked"));
  line.pipeline.flush();
  EXPECT_EQ(line.read_request().length, frame_header_bytes + 5);
  std::string payload;
  const FrameHeader checked = line.read_request(&payload);
  EXPECT_EQ(checked.length, frame_header_bytes + 7 + frame_checksum_bytes);
  EXPECT_EQ(payload, "checked");
}

TEST(Pipeline, DecodesARefusal) {
  Line line;
  const auto ticket = line.submit("a");
  line.pipeline.flush();
  FrameHeader header = line.read_request();
  header.status = static_cast<std::uint16_t>(Code::overloaded);
  std::string payload;
  put(payload, std::uint32_t{1500});
  put(payload, std::uint32_t{42});
  line.respond(header, payload);
  const std::vector<Answer> answers = line.turn();
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_EQ(answers[0].ticket, *ticket);
  EXPECT_EQ(answers[0].error.code, Code::overloaded);
  EXPECT_EQ(answers[0].error.retry_after, std::chrono::milliseconds(1500));
  EXPECT_EQ(answers[0].error.detail, 42u);
  EXPECT_TRUE(answers[0].payload.empty());
  EXPECT_FALSE(line.pipeline.failure()) << "a refusal does not break the connection";
}

// A slot is used again with another ticket: a late response to the earlier request is recognised.
TEST(Pipeline, BreaksOnAResponseThatNoRequestWaitsFor) {
  const struct {
    const char* name;
    std::function<void(FrameHeader&)> change;
    std::uint8_t flags;
  } cases[] = {
      {"another operation",        [](FrameHeader& h) { h.op = 99; },                flag_answer},
      {"an unused slot",           [](FrameHeader& h) { h.correlation ^= 1; },       flag_answer},
      {"a slot beyond the credit", [](FrameHeader& h) { h.correlation += 1000; },    flag_answer},
      {"an earlier use",           [](FrameHeader& h) { h.correlation -= 0x10000; }, flag_answer},
      {"a request",                [](FrameHeader&) {},                              0          },
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    Line line;
    line.pipeline.grant(1, 1000);
    const auto first = line.submit("a");
    line.pipeline.flush();
    line.respond(line.read_request());
    ASSERT_EQ(line.turn().size(), 1u);
    const auto second = line.submit("a");
    ASSERT_TRUE(first && second);
    EXPECT_NE(*first, *second);
    line.pipeline.flush();
    FrameHeader header = line.read_request();
    header.flags |= c.flags;
    c.change(header);
    line.write(header);
    const std::vector<Answer> answers = line.turn();
    ASSERT_EQ(answers.size(), 1u);
    EXPECT_EQ(answers[0].ticket, *second);
    EXPECT_EQ(answers[0].error.code, Code::bad_answer);
    EXPECT_TRUE(line.pipeline.failure());
    EXPECT_EQ(line.pipeline.descriptor(), -1);
  }
}

TEST(Pipeline, CompletesEachTicketOnceAfterTheFirstFailure) {
  Line line;
  const auto first = line.submit("a"), second = line.submit("b");
  line.pipeline.flush();
  line.peer.close();
  const std::vector<Answer> answers = line.turn();
  ASSERT_EQ(answers.size(), 2u);
  EXPECT_EQ(answers[0].ticket, *first);
  EXPECT_EQ(answers[1].ticket, *second);
  for (const Answer& answer : answers) EXPECT_EQ(answer.error.code, Code::broken);
  EXPECT_EQ(line.pipeline.outstanding(), 0u);
  EXPECT_TRUE(line.turn().empty());
  line.pipeline.fail(error_of(Code::timed_out));
  EXPECT_EQ(line.pipeline.failure()->code, Code::broken) << "the first failure is kept";
  EXPECT_EQ(line.pipeline.obstacle()->code, Code::broken);
}

TEST(Pipeline, GrantsNoCreditToRequestsInFlight) {
  Line line;
  ASSERT_TRUE(line.submit("one"));
  EXPECT_DEATH(line.pipeline.grant(2, 1000), "1 requests are in flight");
}

TEST(Pipeline, BeginsNoRequestWithoutCredit) {
  Line line;
  ASSERT_TRUE(line.submit("one"));
  ASSERT_TRUE(line.submit("two"));
  EXPECT_DEATH(line.pipeline.begin(BinaryOp::ping, 7), "without credit");
}

}  // namespace
}  // namespace pawl::client

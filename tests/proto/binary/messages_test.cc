// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/messages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <sstream>

#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

TEST_F(BinarySessionTest, SendsABatchAndAnswersEachEntry) {
  const std::uint32_t q = greet_and_open();
  const std::string attributes = attribute("A", "String", "x") + attribute("B", "Number", "1");
  const std::string trace = attribute("AWSTraceHeader", "String", "Root=1");
  ASSERT_EQ(begin(BinaryOp::send,
                  batch({entry("one"), entry("two", attributes, trace, 1500), entry("three")}), q),
            Next::route);
  Request& request = call_.request();
  EXPECT_EQ(request.op, Op::send);
  EXPECT_EQ(request.queue, QueueId{7});
  ASSERT_EQ(request.sends.size(), 3u);
  EXPECT_EQ(request.sends[0].content.body, "one");
  EXPECT_EQ(request.sends[0].delay, queue_default);
  EXPECT_EQ(request.sends[1].content.body, "two");
  EXPECT_EQ(request.sends[1].content.attributes, attributes);
  EXPECT_EQ(request.sends[1].content.system, trace);
  EXPECT_EQ(request.sends[1].delay, milliseconds(1500));
  request.sends[0].seq = 5;
  request.sends[1].error = Errc::no_memory;
  request.sends[2].seq = 6;
  ASSERT_EQ(resume(), Next::respond);

  const Answer got = answer();
  BinaryReader in(got.payload);
  EXPECT_EQ(in.take<std::uint32_t>(), 3u);
  constexpr std::pair<Status, Seq> want[] = {
      {Status::ok,        5},
      {Status::no_memory, 0},
      {Status::ok,        6}
  };
  for (const auto& [status, seq] : want) {
    EXPECT_EQ(in.take<std::uint16_t>(), static_cast<std::uint16_t>(status));
    EXPECT_EQ(in.take<std::uint64_t>(), seq);
    const MessageId id = seq ? message_id(config_.secret, QueueId{7}, seq) : MessageId{};
    EXPECT_EQ(std::byteswap(in.take<std::uint64_t>()), id.high);
    EXPECT_EQ(std::byteswap(in.take<std::uint64_t>()), id.low);
  }
  EXPECT_TRUE(in.finished());
}

TEST_F(BinarySessionTest, KeepsWrongMessagesOutOfABatchAndSendsTheOthers) {
  const std::uint32_t q = greet_and_open();
  auto small = std::make_shared<QueueConfig>(**directory_.find(QueueId{7}));
  small->numbers[static_cast<std::size_t>(Attribute::maximum_message_size)] = 1024;
  directory_.put(small);
  const std::string a = attribute("A", "String", "x");
  struct Case {
    std::string entry;
    Status status;
  };
  const Case cases[] = {
      {entry("good"), Status::ok},
      {entry(""), Status::invalid},
      {entry(std::string(1024, 'a')), Status::ok},
      {entry(std::string(1025, 'a')), Status::too_large},
      {entry(std::string(1016, 'a'), a), Status::ok}, // 1 + 6 + 1 more
      {entry(std::string(1017, 'a'), a), Status::too_large},
      {entry(std::string("\0", 1)), Status::bad_text},
      {entry("\xFF"), Status::bad_text},
      {entry("a", a.substr(1)), Status::bad_attributes},
      {entry("a", a + a), Status::bad_attributes},
      {entry("a", {}, a), Status::bad_attributes},
      {entry("a", {}, attribute("AWSTraceHeader", "Number", "1")), Status::bad_attributes},
      {entry("a", {}, attribute("AWSTraceHeader", "String", std::string(8000, 'x'))), Status::ok},
      {entry("a", {}, attribute("AWSTraceHeader", "String", std::string(8192, 'x'))),
       Status::bad_attributes},
      {entry("a", {}, {}, 900'000), Status::ok},
      {entry("a", {}, {}, 900'001), Status::invalid},
  };
  std::string payload;
  put(payload, static_cast<std::uint32_t>(std::size(cases)));
  for (const Case& c : cases) payload += c.entry;
  ASSERT_EQ(begin(BinaryOp::send, payload, q), Next::route);
  const auto good = static_cast<std::size_t>(std::ranges::count(cases, Status::ok, &Case::status));
  ASSERT_EQ(call_.request().sends.size(), good);
  Seq seq = 100;
  for (SendEntry& e : call_.request().sends) e.seq = seq++;
  ASSERT_EQ(resume(), Next::respond);
  const Answer got = answer();
  BinaryReader in(got.payload);
  in.take<std::uint32_t>();
  seq = 100;
  for (const Case& c : cases) {
    SCOPED_TRACE(&c - cases);
    EXPECT_EQ(static_cast<Status>(in.take<std::uint16_t>()), c.status);
    EXPECT_EQ(in.take<std::uint64_t>(), c.status == Status::ok ? seq++ : 0);
    in.take_bytes(16);
  }
}

TEST_F(BinarySessionTest, TakesTheLimitsOfTheQueue) {
  const std::uint32_t q = greet_and_open();
  const auto give = [&](std::initializer_list<std::pair<Attribute, std::int64_t>> numbers) {
    auto changed = std::make_shared<QueueConfig>(**directory_.find(QueueId{7}));
    for (const auto& [attribute, number] : numbers) changed->apply({attribute, number, {}});
    directory_.put(changed);
  };
  give({
      {Attribute::max_delay,      1'000    },
      {Attribute::max_visibility, 2'592'000}
  });
  ASSERT_EQ(begin(BinaryOp::send, batch({entry("a", {}, {}, 1'000'000)}), q), Next::route);
  EXPECT_EQ(call_.request().sends[0].delay, seconds(1'000));
  EXPECT_EQ(begin(BinaryOp::send, batch({entry("a", {}, {}, 1'000'001)}), q), Next::respond);
  give({
      {Attribute::max_delay, delay_max.ms / 1000}
  });
  ASSERT_EQ(begin(BinaryOp::send, batch({entry("a", {}, {}, 0xFFFF'FFFE)}), q), Next::route);
  EXPECT_EQ(call_.request().sends[0].delay, milliseconds(0xFFFF'FFFE)) << "all that 32 bits hold";
  ASSERT_EQ(begin(BinaryOp::receive, receive(1, 0, 2'592'000'000), q), Next::route);
  EXPECT_EQ(call_.request().receive.visibility, visibility_max);
  EXPECT_EQ(refused(BinaryOp::receive, receive(1, 0, 2'592'000'001), q), Status::invalid);
}

TEST_F(BinarySessionTest, TakesATimeInTheSystemAttributes) {
  const std::uint32_t q = greet_and_open();
  session_.set_now(Instant{1'798'135'200'000});
  const auto at = [](std::string_view time, std::optional<std::uint32_t> delay = {}) {
    return entry("a", {}, attribute("x-not-before", "String", time), delay);
  };
  ASSERT_EQ(begin(BinaryOp::send,
                  batch({at("2026-12-24T18:01:00Z"), at("1"), at("1", 0), at("1", 5), at("soon"),
                         at("2027-12-24T18:01:00Z")}),
                  q),
            Next::route);
  const auto& sends = call_.request().sends;
  ASSERT_EQ(sends.size(), 3u);
  EXPECT_EQ(sends[0].delay, milliseconds(60'001));
  EXPECT_EQ(sends[0].content.system, attribute("x-not-before", "String", "2026-12-24T18:01:00Z"));
  EXPECT_EQ(sends[1].delay, Duration{0});
  EXPECT_EQ(sends[2].delay, Duration{0});
}

TEST_F(BinarySessionTest, TakesATimeToLiveInTheSystemAttributes) {
  const std::uint32_t q = greet_and_open();
  const auto living = [](std::string_view time) {
    return entry("a", {}, attribute("x-ttl", "String", time));
  };
  ASSERT_EQ(
      begin(BinaryOp::send,
            batch({living("1500ms"), living("0"), living("15d"), living("soon"), entry("a")}), q),
      Next::route);
  const auto& sends = call_.request().sends;
  ASSERT_EQ(sends.size(), 2u);
  EXPECT_EQ(sends[0].time_to_live, milliseconds(1'500));
  EXPECT_EQ(sends[0].content.system, attribute("x-ttl", "String", "1500ms"));
  EXPECT_EQ(sends[1].time_to_live, Duration{0});
}

TEST_F(BinarySessionTest, DoesNotRouteABatchWithNothingGoodInIt) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::send, batch({entry("")}), q), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(got.status(), Status::ok);
  BinaryReader in(got.payload);
  EXPECT_EQ(in.take<std::uint32_t>(), 1u);
  EXPECT_EQ(static_cast<Status>(in.take<std::uint16_t>()), Status::invalid);
}

TEST_F(BinarySessionTest, RefusesEntryBitsItDoesNotKnowAndSaysWhichEntry) {
  const std::uint32_t q = greet_and_open();
  std::string strange = entry("b");
  strange[3] = '\x08';
  ASSERT_EQ(begin(BinaryOp::send, batch({entry("a"), strange}), q), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(got.status(), Status::bad_frame);
  BinaryReader in(got.payload);
  in.take<std::uint32_t>();
  EXPECT_EQ(in.take<std::uint32_t>(), 1u);
}

Delivery delivery(Seq seq, std::string_view body, std::string_view attributes = {},
                  std::string_view system = {}) {
  Delivery made;
  made.seq = seq;
  made.handle.fill(static_cast<std::uint8_t>(seq));
  made.receive_count = 2;
  made.first_received = Instant{1001};
  made.sent = Instant{1000};
  made.content.body = body;
  made.content.attributes = attributes;
  made.content.system = system;
  return made;
}

TEST_F(BinarySessionTest, ReceivesWithTheParametersGivenAndDeliversAllOfAMessage) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::receive, receive(10, 20'000, 43'200'000), q), Next::route);
  Request& request = call_.request();
  EXPECT_EQ(request.op, Op::receive);
  EXPECT_EQ(request.receive.max, 10u);
  EXPECT_EQ(request.receive.wait, seconds(20));
  EXPECT_EQ(request.receive.visibility, seconds(43'200));
  ASSERT_EQ(request.deliveries.size(), 10u);
  const std::string attributes = attribute("A", "String", "x");
  const std::string trace = attribute("AWSTraceHeader", "String", "Root=1");
  request.deliveries[0] = delivery(1, "first", attributes, trace);
  request.deliveries[1] = delivery(2, "second");
  request.delivered = 2;
  ASSERT_EQ(resume(), Next::respond);

  const Answer got = answer();
  BinaryReader in(got.payload);
  ASSERT_EQ(in.take<std::uint32_t>(), 2u);
  for (const Seq seq : {Seq{1}, Seq{2}}) {
    EXPECT_EQ(in.take_bytes(receipt_bytes), std::string(receipt_bytes, static_cast<char>(seq)));
    const MessageId id = message_id(config_.secret, QueueId{7}, seq);
    EXPECT_EQ(std::byteswap(in.take<std::uint64_t>()), id.high);
    EXPECT_EQ(std::byteswap(in.take<std::uint64_t>()), id.low);
    EXPECT_EQ(in.take<std::uint64_t>(), seq);
    EXPECT_EQ(in.take<std::int64_t>(), 1000);
    EXPECT_EQ(in.take<std::int64_t>(), 1001);
    EXPECT_EQ(in.take<std::uint32_t>(), 2u);
    if (seq == 1) {
      EXPECT_EQ(in.take<std::uint32_t>(), 5 | entry_has_attributes | entry_has_system);
      EXPECT_EQ(in.take<std::uint32_t>(), attributes.size());
      EXPECT_EQ(in.take<std::uint32_t>(), trace.size());
      EXPECT_EQ(in.take_bytes(5), "first");
      EXPECT_EQ(in.take_bytes(attributes.size()), attributes);
      EXPECT_EQ(in.take_bytes(trace.size()), trace);
    } else {
      EXPECT_EQ(in.take<std::uint32_t>(), 6u);
      EXPECT_EQ(in.take_bytes(6), "second");
    }
  }
  EXPECT_TRUE(in.finished());
}

TEST_F(BinarySessionTest, RefusesReceivesOutsideTheirRanges) {
  const std::uint32_t q = greet_and_open();
  EXPECT_EQ(refused(BinaryOp::receive, receive(1, 20'001), q), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::receive, receive(1, 0, 43'200'001), q), Status::invalid);
  ASSERT_EQ(begin(BinaryOp::receive, receive(1), q), Next::route);
  EXPECT_EQ(call_.request().receive.wait, queue_default);
  EXPECT_EQ(call_.request().receive.visibility, queue_default);
}

TEST_F(BinarySessionTest, GivesBackWhatDoesNotFitIntoTheAnswer) {
  const std::uint32_t q = greet_and_open();
  constexpr std::uint32_t each = 72;  // bytes around a body
  struct Case {
    std::uint32_t bytes_max;
    std::uint32_t delivered;
  };
  constexpr Case cases[] = {
      {1,                   1}, // one always
      {2 * (each + 10) - 1, 1},
      {2 * (each + 10),     2},
      {3 * (each + 10),     3},
      {0,                   3},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.bytes_max);
    ASSERT_EQ(begin(BinaryOp::receive, receive(10, 0, 0, c.bytes_max), q), Next::route);
    for (Seq seq = 1; seq <= 3; ++seq)
      call_.request().deliveries[seq - 1] = delivery(seq, "0123456789");
    call_.request().delivered = 3;
    if (c.delivered == 3) {
      ASSERT_EQ(resume(), Next::respond);
    } else {
      ASSERT_EQ(resume(), Next::route);
      EXPECT_EQ(call_.target(), ShardId{2});
      EXPECT_EQ(call_.request().op, Op::undeliver);
      EXPECT_EQ(call_.request().queue, QueueId{7});
      ASSERT_EQ(call_.request().receipts.size(), 3 - c.delivered);
      EXPECT_EQ(call_.request().receipts[0].handle[0], c.delivered + 1);
      ASSERT_EQ(resume(), Next::respond);
    }
    const Answer got = answer();
    EXPECT_EQ(BinaryReader(got.payload).take<std::uint32_t>(), c.delivered);
    EXPECT_EQ(got.payload.size(), 4 + c.delivered * (each + 10));
  }
}

TEST_F(BinarySessionTest, GivesBackWhatWasNotFetched) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::receive, receive(10, 0, 0, 100), q), Next::route);
  EXPECT_EQ(call_.request().receive.bytes_max, 100u);
  for (Seq seq = 1; seq <= 3; ++seq) call_.request().deliveries[seq - 1] = delivery(seq, "x");
  call_.request().delivered = 3;
  call_.request().unfetched = 2;
  ASSERT_EQ(resume(), Next::route);
  EXPECT_EQ(call_.request().op, Op::undeliver);
  ASSERT_EQ(call_.request().receipts.size(), 2u);
  EXPECT_EQ(call_.request().receipts[0].handle[0], 2);
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(BinaryReader(answer().payload).take<std::uint32_t>(), 1u);
}

TEST_F(BinarySessionTest, ReturnsAllMessagesWhenTheOutputIsFull) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::receive, receive(10), q), Next::route);
  call_.request().deliveries[0] = delivery(1, "x");
  call_.request().delivered = 1;
  call_.limit_answer(0);
  ASSERT_EQ(resume(), Next::route);
  EXPECT_EQ(call_.request().receipts.size(), 1u);
  ASSERT_EQ(resume(), Next::respond);
  const Answer got = answer();
  EXPECT_EQ(got.status(), Status::ok);
  EXPECT_EQ(BinaryReader(got.payload).take<std::uint32_t>(), 0u);
}

TEST_F(BinarySessionTest, LooksForManyBeforeItWaitsForSome) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::receive, receive(1024, 20'000), q), Next::route);
  EXPECT_EQ(call_.request().receive.wait, Duration{0});
  EXPECT_EQ(call_.request().deliveries.size(), 1024u);
  EXPECT_GT(call_.memory(), 1024 * sizeof(Delivery));
  ASSERT_EQ(resume(), Next::route);
  EXPECT_EQ(call_.request().op, Op::receive);
  EXPECT_EQ(call_.request().receive.wait, seconds(20));
  EXPECT_EQ(call_.request().receive.max, binary::waiting_max);
  EXPECT_EQ(call_.request().deliveries.size(), binary::waiting_max);
  EXPECT_LT(call_.memory(), 2 * binary::waiting_max * sizeof(Delivery));
  call_.request().deliveries[0] = delivery(1, "x");
  call_.request().delivered = 1;
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(BinaryReader(answer().payload).take<std::uint32_t>(), 1u);

  ASSERT_EQ(begin(BinaryOp::receive, receive(binary::waiting_max, 20'000), q), Next::route);
  EXPECT_EQ(call_.request().receive.wait, seconds(20)) << "so few wait at once";

  ASSERT_EQ(begin(BinaryOp::receive, receive(1024, 20'000), q), Next::route);
  call_.request().error = Errc::over_in_flight;
  ASSERT_EQ(resume(), Next::route) << "it may wait for that too";
  EXPECT_EQ(call_.request().receive.wait, seconds(20));
  EXPECT_EQ(call_.request().error, Errc::ok);
}

TEST_F(BinarySessionTest, OnlySendsAreRefusedWhileTheHostHoldsTooMuch) {
  const std::uint32_t q = greet_and_open();
  session_.refuse_sends(true);
  EXPECT_EQ(refused(BinaryOp::send, batch({entry("a")}), q), Status::no_memory);
  EXPECT_EQ(begin(BinaryOp::receive, receive(1), q), Next::route);
  session_.refuse_sends(false);
  EXPECT_EQ(begin(BinaryOp::send, batch({entry("a")}), q), Next::route);
}

TEST_F(BinarySessionTest, PromisesLessWhenMoreIsUnderWay) {
  const std::uint32_t q = greet_and_open();
  const auto promised = [&](std::size_t before) {
    session_.set_promised(before);
    EXPECT_EQ(begin(BinaryOp::receive, receive(10), q), Next::route);
    return call_.promised();
  };
  EXPECT_EQ(promised(0), config_.receive_bytes_max);
  EXPECT_EQ(promised(8 << 20), std::size_t{2 << 20});
  EXPECT_EQ(promised(100 << 20), BinarySettings::receive_bytes_min);
}

TEST_F(BinarySessionTest, DeletesAndChangesByReceiptAndAnswersEach) {
  const std::uint32_t q = greet_and_open();
  const std::string a(receipt_bytes, 'a');
  const std::string b(receipt_bytes, 'b');
  ASSERT_EQ(begin(BinaryOp::delete_message, batch({a, b}), q), Next::route);
  EXPECT_EQ(call_.request().op, Op::delete_message);
  ASSERT_EQ(call_.request().receipts.size(), 2u);
  EXPECT_EQ(call_.request().receipts[1].handle[0], 'b');
  call_.request().receipts[1].error = Errc::receipt_invalid;
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(answer().payload, std::string("\x02\0\0\0\0\0\x4E\x04", 8)) << "1102 is 0x044E";

  std::string later = b;
  put(later, std::uint32_t{43'200'000});
  std::string too_late = a;
  put(too_late, std::uint32_t{43'200'001});
  ASSERT_EQ(begin(BinaryOp::change, batch({later, too_late}), q), Next::route);
  EXPECT_EQ(call_.request().op, Op::change_visibility);
  EXPECT_EQ(call_.request().receipts[0].visibility, seconds(43'200));
  EXPECT_EQ(call_.request().receipts[0].error, Errc::ok);
  EXPECT_EQ(call_.request().receipts[1].error, Errc::invalid) << "for the owner to leave alone";
}

TEST_F(BinarySessionTest, AnswersWithAChecksumWhenAskedWithOne) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::stats, "", q, flag_checksum), Next::route);
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(answer().header.flags, flag_checksum | flag_answer);
  ASSERT_EQ(begin(BinaryOp::stats, "", q + 1, flag_checksum), Next::respond);
  EXPECT_EQ(answer().header.flags, flag_checksum | flag_answer) << "refusals too";
}

TEST_F(BinarySessionTest, PassesOnEveryRefusalOfTheBroker) {
  const std::uint32_t q = greet_and_open();
  for (const Errc code :
       {Errc::overloaded, Errc::no_space, Errc::not_ready, Errc::over_in_flight, Errc::io}) {
    ASSERT_EQ(begin(BinaryOp::receive, receive(1), q), Next::route);
    call_.request().error = code;
    ASSERT_EQ(resume(), Next::respond);
    EXPECT_EQ(answer().status(), status_of(code));
  }
}

// --- PROTOCOL.md ---

// The bytes of the example with that title: a fenced block of hexadecimal bytes, "#" begins a
// comment.
std::string example(std::string_view title) {
  std::ifstream file(PAWL_SOURCES "/proto/PROTOCOL.md");
  EXPECT_TRUE(file);
  std::string line;
  while (std::getline(file, line) && line != "```hex " + std::string(title)) continue;
  std::string bytes;
  while (std::getline(file, line) && line != "```") {
    std::istringstream words(line.substr(0, line.find('#')));
    for (std::string word; words >> word;)
      bytes.push_back(static_cast<char>(std::stoi(word, nullptr, 16)));
  }
  return bytes;
}

TEST_F(BinarySessionTest, SpeaksTheWorkedExampleOfTheDocumentByteForByte) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(q, 1u);
  ASSERT_EQ(begin_frame_bytes(example("request")), Next::route);
  ASSERT_EQ(call_.request().sends.size(), 1u);
  EXPECT_EQ(call_.request().sends[0].content.body, "hello");
  EXPECT_EQ(call_.request().sends[0].delay, milliseconds(1500));
  call_.request().sends[0].seq = 42;
  ASSERT_EQ(resume(), Next::respond);
  std::string out;
  call_.write_response(out);
  EXPECT_EQ(out, example("answer"));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/session.h"

#include <gtest/gtest.h>

#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

TEST_F(BinarySessionTest, ClosesWhenFramingIsLostAndOnlyThen) {
  greet_and_open();
  std::string good;
  finish_frame(good, begin_frame(good, {.op = 2}));
  std::string checksummed;
  finish_frame(checksummed, begin_frame(checksummed, {.op = 2, .flags = flag_checksum}));
  checksummed.back() ^= 1;
  std::string from_a_server;
  finish_frame(from_a_server, begin_frame(from_a_server, {.op = 2, .flags = flag_answer}));
  std::string unknown_flag;
  finish_frame(unknown_flag, begin_frame(unknown_flag, {.op = 2, .flags = 0x10}));
  struct Case {
    const char* name;
    std::string frame;
    Next next;
    Status status;
  };
  const Case cases[] = {
      {"nothing",       "",             Next::close,   Status::bad_frame   },
      {"half a header", good.substr(8), Next::close,   Status::bad_frame   },
      {"a longer one",  good + "x",     Next::close,   Status::bad_frame   },
      {"bad checksum",  checksummed,    Next::close,   Status::bad_checksum},
      {"an answer",     from_a_server,  Next::respond, Status::bad_frame   },
      {"unknown flag",  unknown_flag,   Next::respond, Status::bad_frame   },
      {"a good one",    good,           Next::respond, Status::ok          },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_EQ(begin_frame_bytes(c.frame), c.next);
    EXPECT_EQ(answer().status(), c.status);
  }
}

TEST_F(BinarySessionTest, RefusesEveryTruncationAndEveryTrailingByteOfEveryOperation) {
  const std::uint32_t q = greet_and_open();
  const std::string receipt(receipt_bytes, 'r');
  struct Case {
    BinaryOp op;
    std::string payload;
    Next next;
  };
  const Case cases[] = {
      {BinaryOp::ping, "", Next::respond},
      {BinaryOp::open_queue, open("q"), Next::respond},
      {BinaryOp::create_queue, create("new", queue_attributes({{"DelaySeconds", "5"}})),
       Next::route},
      {BinaryOp::delete_queue, "", Next::route},
      {BinaryOp::set_attributes, queue_attributes({{"DelaySeconds", "5"}}), Next::route},
      {BinaryOp::get_attributes, "", Next::route},
      {BinaryOp::list_queues, std::string("\0\0\0\0\x0A\0", 6), Next::respond},
      {BinaryOp::purge, "", Next::route},
      {BinaryOp::stats, "", Next::route},
      {BinaryOp::send, batch({entry("a", attribute("n", "String", "v"), {}, 5), entry("b")}),
       Next::route},
      {BinaryOp::send_once, producer(7, 5, 3) + batch({entry("a"), entry("b")}), Next::route},
      {BinaryOp::receive, receive(5, 0, 0), Next::route},
      {BinaryOp::delete_message, batch({receipt, receipt}), Next::route},
      {BinaryOp::change, batch({receipt + std::string(4, '\0')}), Next::route},
      {BinaryOp::return_uncounted, batch({receipt + std::string(4, '\0')}), Next::route},
      {BinaryOp::cancel, batch({std::string(16, 'i') + std::string(1, '\1')}), Next::route},
      {BinaryOp::reschedule, batch({std::string(16, 'i') + std::string(8, '\0')}), Next::route},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(static_cast<int>(c.op));
    EXPECT_EQ(begin(c.op, c.payload, q), c.next);
    EXPECT_EQ(refused(c.op, c.payload + "x", q), Status::bad_frame);
    for (std::size_t size = 0; size < c.payload.size(); ++size) {
      EXPECT_EQ(refused(c.op, c.payload.substr(0, size), q), Status::bad_frame) << size;
    }
  }
}

TEST_F(BinarySessionTest, RefusesCountsThatPromiseMoreThanThereIs) {
  const std::uint32_t q = greet_and_open();
  for (const BinaryOp op : {BinaryOp::send, BinaryOp::delete_message, BinaryOp::change,
                            BinaryOp::cancel, BinaryOp::reschedule, BinaryOp::return_uncounted}) {
    for (const std::uint32_t count : {0u, 1025u, 0xFFFF'FFFFu}) {
      std::string payload;
      put(payload, count);
      EXPECT_EQ(refused(op, payload, q), Status::invalid) << count;
    }
    std::string payload;
    put(payload, 1024u);
    EXPECT_EQ(refused(op, payload, q), Status::bad_frame);
  }
  EXPECT_EQ(refused(BinaryOp::send_once, producer(7, 5, 3) + batch({}), q), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::receive, receive(0), q), Status::invalid);
  EXPECT_EQ(refused(BinaryOp::receive, receive(1025), q), Status::invalid);
}

TEST_F(BinarySessionTest, RefusesOperationsItDoesNotKnow) {
  greet_and_open();
  for (const int op : {0, 14, 27, 31, 255})
    EXPECT_EQ(refused(static_cast<BinaryOp>(op), ""), Status::unknown_op);
}

TEST_F(BinarySessionTest, RefusesHandlesItDidNotGive) {
  const std::uint32_t q = greet_and_open();
  for (const std::uint32_t handle : {0u, q + 1, 0xFFFF'FFFFu}) {
    EXPECT_EQ(refused(BinaryOp::purge, "", handle), Status::bad_handle);
  }
}

TEST_F(BinarySessionTest, ResumesNoCallThatRoutedNothing) {
  greet_and_open();
  ASSERT_EQ(begin(BinaryOp::ping, ""), Next::respond);
  EXPECT_DEATH(resume(), "a call that routed nothing is resumed");
}

}  // namespace
}  // namespace pawl

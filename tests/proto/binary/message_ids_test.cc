// SPDX-License-Identifier: Apache-2.0
#include "proto/binary/message_ids.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "core/queue/receipt.h"
#include "proto/binary/messages.h"
#include "tests/proto/binary/session_fixture.h"

namespace pawl {
namespace {

using By = ReceiptEntry::By;

constexpr MessageId id{0x0123'4567'89AB'CDEF, 0xFEDC'BA98'7654'3210};

std::string id_row(auto... rest) {
  std::string row;
  put_all(row, binary::bytes_of(id), rest...);
  return row;
}
std::string cancel_row(std::uint8_t flags) { return id_row(flags); }
std::string reschedule_row(std::uint64_t delay_ms) { return id_row(delay_ms); }

TEST(BinaryIds, AreTheBytesOfTheText) {
  const payload::Uuid bytes = binary::bytes_of(id);
  EXPECT_EQ(bytes[0], 0x01);
  EXPECT_EQ(bytes[15], 0x10);
  EXPECT_EQ(binary::id_of(bytes), id);
}

TEST_F(BinarySessionTest, CancelsByIdAndTellsTheOutcomeOfEach) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::cancel, batch({cancel_row(0), cancel_row(1), cancel_row(0)}), q),
            Next::route);
  EXPECT_EQ(call_.request().op, Op::delete_message);
  const auto receipts = call_.request().receipts;
  ASSERT_EQ(receipts.size(), 3u);
  EXPECT_EQ(receipts[0].by, By::id);
  EXPECT_EQ(receipts[0].id, id);
  EXPECT_EQ(receipts[1].by, By::id_even_in_flight);
  receipts[0].error = Errc::message_in_flight;
  receipts[0].cancelled = true;  // core tells that it is there
  receipts[1].cancelled = true;
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(answer().payload, std::string("\x03\0\0\0\x5E\x04\0\0\0\x01\0\0\0", 13)) << "1118";
  EXPECT_EQ(refused(BinaryOp::cancel, batch({cancel_row(2)}), q), Status::invalid);
}

TEST_F(BinarySessionTest, ReschedulesWithinTheDelaysOfTheQueue) {
  const std::uint32_t q = greet_and_open();
  ASSERT_EQ(begin(BinaryOp::reschedule, batch({reschedule_row(0), reschedule_row(900'000)}), q),
            Next::route);
  EXPECT_EQ(call_.request().op, Op::change_visibility);
  const auto receipts = call_.request().receipts;
  EXPECT_EQ(receipts[1].by, By::id);
  EXPECT_EQ(receipts[1].visibility, seconds(900));
  receipts[1].error = Errc::message_gone;
  ASSERT_EQ(resume(), Next::respond);
  EXPECT_EQ(answer().payload, std::string("\x02\0\0\0\0\0\x4F\x04", 8)) << "1103";
  EXPECT_EQ(refused(BinaryOp::reschedule, batch({reschedule_row(900'001)}), q), Status::invalid);
}

TEST_F(BinarySessionTest, GivesDeliveriesBackUncounted) {
  const std::uint32_t q = greet_and_open();
  std::string row(receipt_bytes, 'r');
  put(row, std::uint32_t{250});
  ASSERT_EQ(begin(BinaryOp::return_uncounted, batch({row}), q), Next::route);
  EXPECT_EQ(call_.request().op, Op::change_visibility);
  const ReceiptEntry& entry = call_.request().receipts.front();
  EXPECT_TRUE(entry.uncounted);
  EXPECT_EQ(entry.by, By::handle);
  EXPECT_EQ(entry.visibility, milliseconds(250));
  ASSERT_EQ(begin(BinaryOp::change, batch({row}), q), Next::route);
  EXPECT_FALSE(call_.request().receipts.front().uncounted);
}

}  // namespace
}  // namespace pawl

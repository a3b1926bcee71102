// SPDX-License-Identifier: Apache-2.0
#include "core/queue/slot.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(SlotPos, HoldsEveryLogPosition) {
  for (const LogPos position :
       {log_pos_none, LogPos{64}, LogPos{UINT32_MAX}, LogPos{UINT32_MAX} + 1, log_pos_max}) {
    EXPECT_EQ(LogPos{SlotPos(position)}, position);
  }
  EXPECT_EQ(LogPos{SlotPos()}, log_pos_none);
}

TEST(Slot, RemembersTheFirstAndTheLastReceive) {
  Slot slot;
  slot.set_received(3, Instant{1'000'000}, Instant{1'090'000});
  EXPECT_EQ(slot.receive_count, 3u);
  EXPECT_EQ(slot.first_received(), Instant{1'000'000});
  EXPECT_EQ(slot.since, Instant{1'090'000});
}

TEST(Slot, SpansTheLongestRetentionBetweenItsReceives) {
  const Duration retention = seconds(14 * 86'400);
  const Instant first{1'700'000'000'000};
  Slot slot;
  slot.set_received(2, first, first + retention);
  EXPECT_EQ(slot.first_received(), first);
}

TEST(Slot, SpansTwoYearsBetweenItsReceivesToTheSecond) {
  const Instant first{1'700'000'000'000};
  for (const std::int64_t days : {24, 25, 49, 50, 732}) {
    const Instant last = first + seconds(days * 86'400);
    Slot slot;
    slot.set_received(2, first, last);
    EXPECT_EQ(slot.first_received(), first) << days;
    slot.set_received(2, first - milliseconds(1), last);
    EXPECT_LT(first - slot.first_received(), seconds(1)) << days;
  }
  EXPECT_EQ(span_of(stored_span(Duration{-5})), Duration{0});
}

TEST(Slot, TakesAFirstReceiveBehindTheLastOneForTheSameTime) {
  Slot slot;
  slot.set_received(1, Instant{2000}, Instant{1000});
  EXPECT_EQ(slot.first_received(), Instant{1000});
}

TEST(Slot, IsJustReturnedForASecondFromItsDeadlineOn) {
  const Slot slot{.deadline = Instant{10'000}};
  EXPECT_TRUE(slot.just_returned(Instant{10'000}));
  EXPECT_TRUE(slot.just_returned(Instant{10'999}));
  EXPECT_FALSE(slot.just_returned(Instant{11'000}));
}

}  // namespace
}  // namespace pawl

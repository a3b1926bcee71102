// SPDX-License-Identifier: Apache-2.0
// A log that passes position 2^48, where the low 48 bits of positions, which the core keeps,
// repeat.
#include <gtest/gtest.h>

#include <string>

#include "tests/wal/log_fixture.h"

namespace pawl {
namespace {

class WrapTest : public LogTest {
 protected:
  static constexpr std::size_t body_bytes = 12'000;  // one an extent, four a segment

  void SetUp() override {
    options.first_segment = (log_pos_max + 1) / options.segment_bytes - 2;
    open();
    settle();
  }
  void send_some(Seq first, Seq last) {
    for (Seq seq = first; seq <= last; ++seq) {
      ASSERT_EQ(log->check_free_space(body_bytes), Errc::ok) << "at " << log->appended();
      send(seq, body_of(seq, body_bytes));
      alive[seq] = log_pos(alive[seq]);
    }
  }
  void expect_bodies(Seq first, Seq last) {
    for (Seq seq = first; seq <= last; ++seq)
      EXPECT_EQ(body_at(log_pos(alive.at(seq))), body_of(seq, body_bytes)) << seq;
  }
};

TEST_F(WrapTest, MessagesOnBothSidesAreReadAndFoundAgain) {
  send_some(1, 20);
  EXPECT_LT(alive.at(20), alive.at(1)) << "the log has not come to 2^48";
  EXPECT_GT(log->appended(), log_pos_max);
  expect_bodies(1, 20);
  open();
  expect_bodies(1, 20);
}

TEST_F(WrapTest, ACheckpointNamesMessagesOnBothSides) {
  send_some(1, 12);
  checkpoint();
  settle();
  send_some(13, 16);
  delete_message(2);
  delete_message(15);
  settle();
  open();
  ASSERT_EQ(alive.size(), 14u);
  expect_bodies(1, 1);
  expect_bodies(3, 14);
  expect_bodies(16, 16);
}

TEST_F(WrapTest, SegmentsBeforeItAreUsedAgain) {
  send_some(1, 8);
  const LogStats before = log->stats();
  for (Seq seq = 1; seq <= 8; ++seq) delete_message(seq);
  send_some(9, 16);
  checkpoint();
  settle();
  send_some(17, 24);
  EXPECT_LE(log->stats().span, 4 * options.segment_bytes);
  EXPECT_GT(log->stats().end, before.end);
  expect_bodies(9, 24);
}

}  // namespace
}  // namespace pawl

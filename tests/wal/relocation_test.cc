// SPDX-License-Identifier: Apache-2.0
// Relocation empties segments with few live bytes, and loses no message.
#include "wal/relocation.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "tests/wal/log_fixture.h"

namespace pawl {
namespace {

class Relocations : public LogTest {
 protected:
  static constexpr std::size_t body_bytes = 12'000;  // one an extent, four a segment

  void SetUp() override {
    options.dead_bytes_max = 0;
    open();
    settle();
  }
  void send_some(int messages) {
    for (; messages > 0; --messages) {
      ++seq;
      send(seq, body_of(seq, body_bytes));
    }
  }
  // Keeps every eighth of 40 messages; all of them are older than the checkpoint.
  void leave_few() {
    delete_most();
    move_start();
  }
  void delete_most() {
    send_some(40);
    for (Seq s = 1; s <= 40; ++s) {
      if (s % 8 != 0) delete_message(s);
    }
    send_some(8);
  }
  // From the checkpoint on, segments are emptied.
  void move_start() {
    checkpoint();
    settle();
  }
  // The relocation step of a shard loop's turn. True: there was something to do.
  bool relocate() {
    FoundSend next;
    bool any = false;
    while (log->next_relocatable(next)) {
      any = true;
      const auto it = alive.find(next.stored.seq);
      if (it != alive.end() && it->second == next.position) {
        it->second = log->relocate(next, std::array<std::size_t, 1>{0}, now);
        ++moved;
      }
    }
    appended = log->appended();
    return any;
  }
  void relocate_all() {
    for (int i = 0; i < 100; ++i) {
      settle();
      relocate();
    }
  }
  void expect_all() {
    for (const auto& [s, position] : alive) {
      EXPECT_EQ(body_at(position), body_of(s, body_bytes)) << s;
    }
  }
  std::uint64_t segment(Seq s) const { return alive.at(s) / options.segment_bytes; }

  Seq seq = 0;
  int moved = 0;
};

TEST_F(Relocations, EmptySegmentsWithLittleLeftInThem) {
  leave_few();
  const std::uint64_t before = log->stats().segments;
  const auto was = alive;
  relocate_all();
  EXPECT_GT(moved, 2);
  EXPECT_LT(log->stats().segments, before);
  EXPECT_GT(segment(8), was.at(8) / options.segment_bytes);
  EXPECT_GT(log->stats().relocated_bytes, 2 * body_bytes);
  expect_all();

  const auto now_at = alive;
  open();
  EXPECT_EQ(alive, now_at);
  expect_all();
}

// The tail stays in its segment: nothing else makes the log look at the others.
TEST_F(Relocations, BeginASecondAfterTheMessagesWent) {
  send_some(48);
  move_start();
  relocate_all();
  EXPECT_EQ(moved, 0) << "all messages are there";
  const std::uint64_t tail = log->appended() / options.segment_bytes;
  for (Seq s = 1; s <= 40; ++s) {
    if (s % 8 != 0) delete_message(s);
  }
  settle();
  EXPECT_EQ(log->appended() / options.segment_bytes, tail);
  EXPECT_LE(log->next_due(), now + seconds(1));
  now = now + seconds(1);
  relocate_all();
  EXPECT_GT(moved, 2);
  expect_all();
}

// The bound is that of the disk, so files that are ready or retired are part of it.
TEST_F(Relocations, CountFilesWithoutMessagesAsDead) {
  leave_few();
  const LogStats stats = log->stats();
  const std::uint64_t ahead = stats.disk_bytes - stats.used_bytes;
  ASSERT_GT(ahead, 0u);
  log->set_dead_bytes_max(stats.used_bytes);
  relocate_all();
  EXPECT_GT(moved, 0);
  EXPECT_LE(log->stats().used_bytes, stats.used_bytes - options.segment_bytes);
}

TEST_F(Relocations, RecoveryFromTheNextCheckpointKnowsTheNewPositions) {
  leave_few();
  relocate_all();
  checkpoint();
  settle();
  const auto now_at = alive;
  open();
  EXPECT_EQ(alive, now_at);
  expect_all();
}

TEST_F(Relocations, LoseNothingInACrashBeforeTheyAreDurable) {
  leave_few();
  const auto was = alive;
  settle();
  disk->hold = true;  // no write of relocated messages finishes
  while (!relocate()) {
    pump(true);
    disk->finish_all();
  }
  ASSERT_GT(moved, 0);
  for (int i = 0; i < 100; ++i) pump(true);
  EXPECT_TRUE(disk->files.contains(segment_name(was.at(8) / options.segment_bytes)))
      << "the new place is not durable";
  auto after = disk->copy();
  log.reset();
  disk = std::move(after);
  open();
  EXPECT_EQ(alive.size(), was.size());
  expect_all();
}

TEST_F(Relocations, LeaveSegmentsAloneWhenEnoughIsAlive) {
  send_some(40);
  for (Seq s = 1; s <= 40; s += 4) delete_message(s);
  checkpoint();
  settle();
  relocate_all();
  EXPECT_EQ(moved, 0);
}

TEST_F(Relocations, LeaveSegmentsAloneWhileLittleIsDead) {
  options.dead_bytes_max = std::uint64_t{1} << 30;
  open();
  leave_few();
  relocate_all();
  EXPECT_EQ(moved, 0);
}

// These messages fill three quarters of their extents, wherever they are: relocation frees no
// space.
TEST_F(Relocations, ComeToRest) {
  send_some(5);
  const auto some_turns = [&] {
    for (int i = 0; i < 50; ++i) {
      if (log->wants_checkpoint()) checkpoint();
      settle();
      relocate();
    }
  };
  some_turns();
  const int before = moved;
  EXPECT_GT(before, 0);
  some_turns();
  EXPECT_EQ(moved, before);
  expect_all();

  // After some deletes, relocation is worthwhile again.
  for (Seq s = 1; s <= 3; ++s) delete_message(s);
  send_some(8);
  some_turns();
  EXPECT_GT(moved, before);
}

TEST_F(Relocations, OfADeletedMessageAreForgotten) {
  leave_few();
  relocate_all();
  ASSERT_GT(moved, 0);
  delete_message(8);
  settle();
  open();
  EXPECT_FALSE(alive.contains(8));
}

TEST_F(Relocations, WhatIsDamagedStaysAndIsLeftAlone) {
  delete_most();
  settle();
  const LogPos at = alive.at(8);
  disk->content(segment_name(at / options.segment_bytes))[at % options.segment_bytes + 100] ^=
      std::byte{1};
  move_start();
  relocate_all();
  EXPECT_GT(moved, 0) << "the others";
  EXPECT_EQ(alive.at(8), at);
  EXPECT_TRUE(disk->files.contains(segment_name(at / options.segment_bytes)));
  const int before = moved;
  send_some(20);
  relocate_all();
  EXPECT_EQ(alive.at(8), at);
  EXPECT_LT(moved, before + 20) << "it is not tried for ever";
}

TEST_F(Relocations, KnowAfterRecoveryHowMuchWasSentInASegment) {
  options.dead_bytes_max = std::uint64_t{1} << 30;
  open();
  leave_few();
  options.dead_bytes_max = 0;
  open();
  send_some(8);  // the log enters another segment
  relocate_all();
  EXPECT_GT(moved, 2) << "with nothing known of a segment it counts as full";
  expect_all();
}

TEST_F(Relocations, FreeSpaceOnAFullDisk) {
  options.dead_bytes_max = std::uint64_t{1} << 30;
  open();
  leave_few();
  disk->capacity = 0;
  for (const auto& [name, bytes] : disk->files) disk->capacity += bytes->size();
  for (int i = 0; i < 200 && log->check_free_space(1000) == Errc::ok; ++i) {
    ++seq;
    append_send(seq, body_of(seq, 1000));
    settle();
  }
  ASSERT_EQ(log->check_free_space(1000), Errc::no_space);
  for (int i = 0; i < 10; ++i) {
    now = now + seconds(2);
    relocate_all();
  }
  EXPECT_GT(moved, 0);
  EXPECT_EQ(log->check_free_space(1000), Errc::ok) << "segments that were emptied are used again";
}

}  // namespace
}  // namespace pawl

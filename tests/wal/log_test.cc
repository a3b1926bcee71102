// SPDX-License-Identifier: Apache-2.0
#include "wal/log.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/wal/log_fixture.h"

namespace pawl {
namespace {

class Commit : public LogTest {
 protected:
  // Opens a log without background work: only the log's own writes are in progress.
  void SetUp() override {
    options.segment_bytes = 1 << 20;
    open();
    settle();
    disk->hold = true;
  }
  std::size_t writes() const { return disk->under_way(); }
};

TEST_F(Commit, AMessageIsReadFromWhereItWasAppended) {
  const LogPos a = append_send(1, "one");
  const LogPos b = append_send(2, "two");
  EXPECT_EQ(message(a).content.body, "one");
  EXPECT_EQ(message(a).seq, 1u);
  EXPECT_EQ(message(b).content.body, "two");
  EXPECT_EQ(message(b).queue, test_queue);
  EXPECT_EQ(message(b).sent, now);
}

TEST_F(Commit, NothingIsDurableBeforeItsWriteIsDone) {
  append_send(1, "one");
  EXPECT_TRUE(log->pending());
  EXPECT_FALSE(log->write_in_flight());
  pump();
  EXPECT_TRUE(log->write_in_flight());
  EXPECT_LT(log->durable(), appended);
  disk->finish(0);
  EXPECT_LT(log->durable(), appended) << "looked at in pump() alone";
  EXPECT_EQ(log->committed(), log->durable());
  pump();
  EXPECT_GE(log->durable(), appended);
  EXPECT_EQ(log->committed(), log->durable()) << "this log commits what is on its disk";
  EXPECT_FALSE(log->pending());
  EXPECT_EQ(log->durable(), log->appended());
}

TEST_F(Commit, ASecondWriteStartsOnlyForAGoodReason) {
  struct Case {
    const char* name;
    std::size_t bytes;        // pending behind the first write
    std::uint64_t waited_us;  // wait of the oldest record; flushes take 1000
    bool idle;
    std::size_t want;
  };
  constexpr Case cases[] = {
      {"busy and little",           100,   0,    false, 1},
      {"busy and much",             12000, 0,    false, 1},
      {"busy and late",             100,   9000, false, 1},
      {"idle and little and early", 100,   500,  true,  1},
      {"idle and late",             100,   501,  true,  2},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    log.reset();
    disk = std::make_unique<MemoryDisk>();
    SetUp();
    append_send(1, "first");
    pump();
    now_us += 1000;
    disk->finish_all();
    pump();
    ASSERT_EQ(log->stats().flush_us_ewma, 1000u);
    append_send(2, "second");
    pump();
    append_send(3, body_of(3, c.bytes));
    pump(false);
    now_us += c.waited_us;
    pump(c.idle);
    EXPECT_EQ(writes(), c.want);
  }
}

TEST_F(Commit, WhenIdleEnoughBytesStartASecondWriteAtOnceButNeverAThird) {
  append_send(1, "first");
  pump();
  for (Seq seq = 2; seq < 6; ++seq) append_send(seq, body_of(seq, 9000));
  pump(true);
  EXPECT_EQ(writes(), 2u);
  append_send(9, body_of(9, 9000));
  now_us += 1'000'000;
  pump(true);
  EXPECT_EQ(writes(), 2u);
  settle();
  EXPECT_FALSE(log->pending());
}

// A send in the first turn after a start would be refused, although a segment can be made.
TEST_F(Commit, AnOpenedLogIsPumpedBeforeItsFirstAppend) {
  log.reset();
  auto opened = open_log(*disk, options, found, report, complaint);
  ASSERT_TRUE(opened) << complaint;
  log = std::move(*opened);
  EXPECT_TRUE(log->finished_io());
  EXPECT_EQ(log->next_due(), Instant{0});
  settle();
  EXPECT_FALSE(log->finished_io());
}

TEST_F(Commit, DurableWaitsForTheOlderOfTwoWrites) {
  append_send(1, "first");
  const Lsn first = appended;
  pump();
  append_send(2, "second");
  log->flush_all();
  pump(true);
  ASSERT_EQ(writes(), 2u);
  disk->finish(1);
  pump();
  EXPECT_LT(log->durable(), first);
  disk->finish(0);
  pump();
  EXPECT_GE(log->durable(), appended);
}

TEST_F(Commit, AWriteBehindOneThatIsNotDoneMayStartWhenItsNeighbourIs) {
  for (Seq seq = 1; seq <= 3; ++seq) {
    append_send(seq, "x");
    log->flush_all();
    pump(true);
  }
  ASSERT_EQ(writes(), 2u);
  disk->finish(1);
  pump(true);
  EXPECT_EQ(writes(), 2u) << "the third took the second's place";
  disk->finish(1);
  pump(true);
  EXPECT_LT(log->durable(), log->appended());
  disk->finish(0);
  pump();
  EXPECT_EQ(log->durable(), log->appended());
}

TEST_F(Commit, ReceivesAloneWaitForCompany) {
  append_receive(1);
  pump(true);
  EXPECT_EQ(writes(), 0u);
  EXPECT_EQ(log->next_due(), now + options.lazy_max);
  now = now + options.lazy_max - Duration{1};
  pump(true);
  EXPECT_EQ(writes(), 0u);
  now = now + Duration{1};
  pump(false);
  EXPECT_EQ(writes(), 1u);
  EXPECT_EQ(log->next_due(), never);
}

TEST_F(Commit, TheLastFrameIsVouchedForWhenTheLogRests) {
  append_send(1, "one");
  pump();
  disk->finish_all();
  pump();
  ASSERT_EQ(log->durable(), log->appended());
  const std::uint64_t before = log->stats().manifests;
  EXPECT_EQ(log->next_due(), now + options.vouch_after);
  now = now + options.vouch_after - Duration{1};
  pump();
  EXPECT_EQ(log->stats().manifests, before);
  now = now + Duration{1};
  settle();
  EXPECT_EQ(log->stats().manifests, before + 1);
  EXPECT_EQ(log->next_due(), never) << "once for each rest";
  // One bit of the last frame changes: the frame was acknowledged, so it is not a torn write.
  const LogPos at = alive.at(1);
  disk->content(segment_name(at / options.segment_bytes))[at % options.segment_bytes + 40] ^=
      std::byte{1};
  EXPECT_EQ(try_open(), Errc::corrupt);
  EXPECT_NE(complaint.find("manifest"), std::string::npos) << complaint;
}

TEST_F(Commit, ADeleteTakesWaitingReceivesAlong) {
  append_receive(1);
  append_delete(1);
  pump();
  ASSERT_EQ(writes(), 1u);
  disk->finish_all();
  pump();
  EXPECT_FALSE(log->pending());
  EXPECT_EQ(log->next_due(), now + options.vouch_after);
}

TEST_F(Commit, FlushAllWritesReceivesToo) {
  append_receive(1);
  log->flush_all();
  pump();
  EXPECT_EQ(writes(), 1u);
}

TEST_F(Commit, ManyReceivesDoNotWait) {
  effects.clear();
  for (Seq seq = 1; seq <= 1000; ++seq) {
    effects.receives.push_back(
        {test_queue, seq * 1000003, 0x12345678, 1, now + seconds(30), Instant{0}, now});
  }
  while (log->appended() - log->durable() < FrameWriter::lazy_bytes_max) {
    log->append(effects, now);
  }
  pump();
  EXPECT_EQ(writes(), 1u);
}

TEST_F(Commit, AFailedWriteIsFinal) {
  struct Case {
    const char* name;
    std::int32_t result;
    int want;
  };
  constexpr Case cases[] = {
      {"an error",      -EIO,    EIO   },
      {"a full disk",   -ENOSPC, ENOSPC},
      {"a short write", 512,     EIO   },
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    log.reset();
    disk = std::make_unique<MemoryDisk>();
    SetUp();
    append_send(1, "first");
    pump();
    const Lsn durable = log->durable();
    disk->finish(0, c.result);
    pump();
    ASSERT_TRUE(log->failure());
    EXPECT_EQ(log->failure()->sys, c.want);
    EXPECT_EQ(log->failure()->lsn, block_bytes);
    EXPECT_EQ(log->check_free_space(1), Errc::io);
    append_send(2, "second");
    log->flush_all();
    pump(true);
    EXPECT_EQ(writes(), 0u);
    EXPECT_EQ(log->durable(), durable);
    EXPECT_FALSE(log->close_clean());
  }
}

TEST_F(Commit, AWriteThatIsDoneBehindAFailedOneDoesNotCount) {
  append_send(1, "first");
  pump();
  append_send(2, "second");
  log->flush_all();
  pump(true);
  ASSERT_EQ(writes(), 2u);
  const Lsn durable = log->durable();
  disk->finish(1);
  disk->finish(0, -EIO);
  pump();
  EXPECT_TRUE(log->failure());
  EXPECT_EQ(log->durable(), durable);
}

TEST_F(Commit, ATurnLargerThanAnExtentIsWrittenInSeveralFrames) {
  std::vector<std::string> bodies;
  std::vector<Content> contents(20);
  effects.clear();
  for (Seq seq = 1; seq <= 20; ++seq) bodies.push_back(body_of(seq, 3000));
  for (std::size_t i = 0; i < 20; ++i) {
    contents[i].body = bodies[i];
    effects.sends.push_back({test_queue, i + 1, now, now, &contents[i]});
  }
  appended = log->append(effects, now);
  disk->hold = false;
  settle();
  EXPECT_GE(log->durable(), appended);
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_EQ(message(effects.sends[i].position).content.body, bodies[i]);
  open();
  EXPECT_GT(report.frames, 3u);
  ASSERT_EQ(found.messages.size(), 20u);
  for (Seq seq = 1; seq <= 20; ++seq) EXPECT_EQ(found.messages.at({7, seq}).body, bodies[seq - 1]);
}

TEST_F(Commit, TheLargestRecordFitsAndALargerOneIsOurMistake) {
  const std::size_t largest = log->max_record_bytes() - 28;
  const LogPos position = append_send(1, body_of(1, largest));
  EXPECT_EQ(message(position).content.body, body_of(1, largest));
  EXPECT_DEATH(append_send(2, body_of(2, largest + 1)), "a record of");
}

TEST_F(Commit, MemoryIsRefusedBeyondTheBudgetUntilItIsDurable) {
  options.memory_max = 3 * options.extent_bytes;
  open();
  settle();
  EXPECT_EQ(log->check_free_space(1000), Errc::ok);
  Seq seq = 0;
  while (log->check_free_space(1000) == Errc::ok) {
    ++seq;
    append_send(seq, body_of(seq, 1000));
    ASSERT_LT(seq, 1000u);
  }
  EXPECT_EQ(log->check_free_space(1000), Errc::no_memory);
  settle();
  EXPECT_EQ(log->check_free_space(1000), Errc::ok) << "what is on the disk may go";
}

TEST_F(Commit, AnEighthOfASegmentIsForMessagesOfOtherQueues) {
  options.memory_max = 64 << 20;
  open();
  settle();
  Seq seq = 0;
  const auto fill = [&](Log::From from) {
    while (log->check_free_space(1000, from) == Errc::ok) {
      ++seq;
      append_send(seq, body_of(seq, 1000));
      ASSERT_LT(seq, 5000u);
    }
  };
  fill(Log::From::sender);
  EXPECT_EQ(log->check_free_space(1000), Errc::no_space);
  const Lsn before = log->appended();
  EXPECT_EQ(log->check_free_space(1000, Log::From::queue), Errc::ok);
  fill(Log::From::queue);
  EXPECT_EQ(log->check_free_space(1000, Log::From::queue), Errc::no_space);
  EXPECT_LE(log->appended() - before, options.segment_bytes / 8 + 2 * block_bytes);
}

TEST_F(Commit, WhatATurnHasAcceptedCountsBeforeItIsAppended) {
  options.memory_max = 8 * options.extent_bytes;
  open();
  settle();
  const std::uint64_t most = options.memory_max - log->stats().image_bytes;
  EXPECT_EQ(log->check_free_space(1000), Errc::ok);
  log->accepted(most - 999);
  EXPECT_EQ(log->check_free_space(1000), Errc::no_memory);
  EXPECT_EQ(log->check_free_space(1000, Log::From::queue), Errc::no_memory);
  EXPECT_EQ(log->check_free_space(1000, Log::From::same_shard), Errc::ok) << "it frees as much";
  EXPECT_EQ(log->check_free_space(999), Errc::ok);
  pump();  // nothing of it was appended
  EXPECT_EQ(log->check_free_space(1000), Errc::ok);
}

TEST_F(Commit, MemoryUnderAWriteIsNotGivenBack) {
  const LogPos position = append_send(1, body_of(1, 9000));
  pump();
  ASSERT_EQ(writes(), 1u);
  append_send(2, body_of(2, 9000));  // the tail is now in the next extent
  log->release(position);
  pump();
  EXPECT_EQ(log->stats().image_bytes, 2 * options.extent_bytes);
  disk->finish_all();
  pump();
  EXPECT_EQ(log->stats().image_bytes, options.extent_bytes);
}

TEST_F(Commit, ReleasingTwiceIsOurMistake) {
  const LogPos position = append_send(1, "one");
  log->release(position);
  EXPECT_DEATH(log->release(position), "released twice");
}

TEST_F(Commit, ACleanCloseIsRefusedWhileSomethingIsNotDurable) {
  append_send(1, "one");
  EXPECT_EQ(log->close_clean().error().code, Errc::not_ready);
  settle();
  EXPECT_TRUE(log->close_clean());
}

TEST(Options, OutOfRangeAreRefused) {
  struct Case {
    const char* name;
    std::uint64_t segment, extent;
    std::uint32_t spares;
  };
  constexpr Case cases[] = {
      {"extent too small",          64 << 10,               8 << 10,  2},
      {"extent not a power of two", 96 << 10,               24 << 10, 2},
      {"segment too small",         32 << 10,               16 << 10, 2},
      {"segment not whole extents", 72 << 10,               16 << 10, 2},
      {"segment of 4 GiB",          std::uint64_t{4} << 30, 16 << 10, 2},
      {"no spare segment",          64 << 10,               16 << 10, 0},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    MemoryDisk disk;
    LogOptions options = small_options();
    options.segment_bytes = c.segment;
    options.extent_bytes = c.extent;
    options.spare_segments = c.spares;
    Recovered found;
    RecoveryReport report;
    std::string complaint;
    const auto opened = open_log(disk, options, found, report, complaint);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Errc::invalid);
    EXPECT_TRUE(disk.files.empty());
    const std::string named =
        c.spares == 0 ? "spare segment" : fmt::format("segments of {} bytes", c.segment);
    EXPECT_TRUE(complaint.contains(named)) << complaint;
  }
}

}  // namespace
}  // namespace pawl

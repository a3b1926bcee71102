// SPDX-License-Identifier: Apache-2.0
// Frames as the writer builds and submits them. The rule of group commit: log_test.cc.
#include "wal/frame_writer.h"

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/wal/frames_fixture.h"

namespace pawl {
namespace {

using namespace frames_test;

class FrameWriterTest : public FramesTest {};

TEST_F(FrameWriterTest, TakesTheBytesOfAReservationThatAreUsed) {
  const HeadRecord heads[] = {
      {queue, 9}
  };
  writer.set_time(now);
  std::byte* const out = writer.reserve(heads_bytes_max(batch_max));
  const std::size_t used = encode_heads(out, heads, geometry.stream);
  writer.commit(used);
  EXPECT_EQ(writer.appended(), block_bytes + log_frame_header_bytes + used);
  EXPECT_EQ(writer.reserve(heads_bytes_max(1)), out + used) << "the next record of the frame";
  EXPECT_EQ(writer.next_due(), never) << "neither urgent nor lazy";
  writer.note_lazy();
  EXPECT_EQ(writer.next_due(), now + lazy_max);
  finish_all_writes();
  frames();
  EXPECT_EQ(seen.types, "h");
}

TEST_F(FrameWriterTest, AFrameStatesItsEpochItsPredecessorAndHowFarTheLogWasDurable) {
  for (Seq seq = 1; seq <= 3; ++seq) {
    send(seq, 100);
    finish_all_writes();
  }
  const auto all = frames();
  ASSERT_EQ(all.size(), 3u);
  for (std::size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i].lsn, (i + 1) * block_bytes);
    EXPECT_EQ(all[i].epoch, 5u);
    EXPECT_EQ(all[i].wall_ms, now.ms);
    EXPECT_EQ(all[i].records, 1u);
    EXPECT_EQ(all[i].durable, all[i].lsn) << "all before it";
    EXPECT_EQ(all[i].prev, i == 0 ? 0 : block_bytes) << "the distance to the frame before";
  }
}

TEST_F(FrameWriterTest, NoFrameCrossesAnExtentAndNoneBeginsInASegmentsHeader) {
  for (Seq seq = 1; seq <= 60; ++seq) send(seq, 500 * (seq % 7) + 1);
  for (Seq seq = 61; seq <= 64; ++seq) {
    send(seq, 11'000);
    finish_all_writes();
  }
  const auto all = frames();
  EXPECT_GT(all.back().lsn, geometry.segment_bytes) << "in the second segment";
  for (const LogFrameHeader& header : all) {
    EXPECT_LE(header.lsn + header.length, geometry.extent_end(header.lsn));
    EXPECT_GE(geometry.offset_of(header.lsn), block_bytes);
    EXPECT_EQ(header.lsn % block_bytes, 0u);
  }
  std::vector<Seq> expected;
  for (Seq seq = 1; seq <= 64; ++seq) expected.push_back(seq);
  EXPECT_EQ(seen.seqs, expected);
  EXPECT_EQ(writer.frames(), all.size());
}

TEST_F(FrameWriterTest, HasTwoWritesUnderWayAtMost) {
  for (Seq seq = 1; seq <= 5; ++seq) send(seq, 10'000);
  writer.flush_all();
  for (int i = 0; i < 3; ++i) submit(true);
  EXPECT_EQ(disk.under_way(), FrameWriter::writes_max);
  disk.finish(0);
  ASSERT_FALSE(writer.reap(now_us));
  submit(true);
  EXPECT_EQ(disk.under_way(), FrameWriter::writes_max);
}

TEST_F(FrameWriterTest, CountsTheBytesItWritesAndTheirPadding) {
  std::uint64_t records = 0;
  for (Seq seq = 1; seq <= 8; ++seq) {
    const std::string body(3000, 'x');
    const Content content{.body = body};
    records += send_bytes({queue, seq, now, now, &content});
    send(seq, body.size());
    finish_all_writes();
  }
  const std::uint64_t headers = writer.frames() * log_frame_header_bytes;
  EXPECT_EQ(writer.appended() - block_bytes, headers + records + writer.padding_bytes());
  EXPECT_EQ(writer.bytes_written(), 8 * block_bytes) << "a block each";
}

TEST_F(FrameWriterTest, AWriteThatFailsOrIsShortIsReportedWithItsPosition) {
  for (const auto& [result, sys] : {
           std::pair{-ENOSPC, ENOSPC},
           {512,     EIO   }
  }) {
    SCOPED_TRACE(sys);
    MemoryDisk other_disk;
    SegmentPool other_pool(other_disk, geometry, 2, false, Duration{});
    Image other_image(geometry.extent_bytes, 1 << 20);
    other_pool.start(0);
    ASSERT_TRUE(other_pool.create_now());
    other_pool.enter(0, now);
    FrameWriter other(other_disk, geometry, other_image, other_pool, lazy_max);
    RecordAppender other_appender(geometry, other, other_image, other_pool);
    other.start({.tail = block_bytes, .epoch = 1});
    other_disk.hold = true;
    const Content content{.body = "x"};
    effects.clear();
    effects.sends.push_back({queue, 1, now, now, &content});
    other_appender.append(effects, now);
    other.submit(now, now_us, false);
    ASSERT_FALSE(other.reap(now_us)) << "not done yet";
    other_disk.finish(0, result);
    const auto failure = other.reap(now_us);
    ASSERT_TRUE(failure);
    EXPECT_EQ(failure->sys, sys);
    EXPECT_EQ(failure->lsn, block_bytes);
    EXPECT_EQ(other.durable(), block_bytes);
  }
}

TEST_F(FrameWriterTest, ASecondWriteIsDueAtOnceIfOnlyAnIdleTurnIsMissing) {
  send(1, 10);
  submit();
  ASSERT_EQ(disk.under_way(), 1u);
  send(2, 10);
  submit();
  EXPECT_EQ(writer.next_due(), never) << "few bytes that have not waited";
  for (Seq seq = 3; seq < 7; ++seq) send(seq, 10 << 10);
  submit();
  ASSERT_EQ(disk.under_way(), 1u) << "the turn was not idle";
  EXPECT_EQ(writer.next_due(), Instant{0});
  writer.submit(now, 0, true);
  EXPECT_EQ(disk.under_way(), 2u);
  EXPECT_EQ(writer.next_due(), never);
  finish_all_writes();
}

TEST_F(FrameWriterTest, KnowsWhenItsOldestRecordThatIsNotDurableWasAppended) {
  EXPECT_EQ(writer.unflushed_since(), never);
  send(1, 10);
  const Instant first = now;
  submit();
  now = now + seconds(1);
  send(2, 10);
  EXPECT_EQ(writer.unflushed_since(), first) << "its write is under way";
  disk.finish_all();
  ASSERT_FALSE(writer.reap(now_us));
  EXPECT_EQ(writer.unflushed_since(), now);
  finish_all_writes();
  EXPECT_EQ(writer.unflushed_since(), never);
}

TEST_F(FrameWriterTest, FindsTheFirstFrameNotYetSubmittedFromAPosition) {
  send(1, 10'000);  // the whole of the first extent
  send(2, 10'000);
  send(3, 10'000);
  EXPECT_EQ(writer.first_frame_from(0), block_bytes);
  EXPECT_EQ(writer.first_frame_from(block_bytes), block_bytes);
  EXPECT_EQ(writer.first_frame_from(block_bytes + 1), geometry.extent_bytes);
  EXPECT_EQ(writer.first_frame_from(geometry.extent_bytes + 1), 2 * geometry.extent_bytes)
      << "the open frame";
  EXPECT_EQ(writer.frame_start(), 2 * geometry.extent_bytes);
  submit();
  EXPECT_EQ(writer.first_frame_from(0), geometry.extent_bytes) << "the first one is submitted";
}

TEST_F(FrameWriterTest, WaitsForASegmentThatIsNotReady) {
  for (Seq seq = 1; writer.segment() < 3; ++seq) send(seq, 10'000);
  writer.flush_all();
  for (int i = 0; i < 100; ++i) {
    submit();
    disk.finish_all();
    ASSERT_FALSE(writer.reap(now_us));
  }
  EXPECT_LT(writer.durable(), writer.appended());
  EXPECT_EQ(geometry.segment_of(writer.durable() - 1), 2u);
  disk.hold = false;
  ASSERT_TRUE(pool.create_now());
  disk.hold = true;
  finish_all_writes();
}

}  // namespace
}  // namespace pawl

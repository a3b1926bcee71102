// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/walk.h"

#include "tests/wal/repair/repair_fixture.h"
#include "wal/format/records.h"
#include "wal/repair/sink.h"

namespace pawl {
namespace {

struct Sends final : QuietSink {
  std::vector<Seq> seqs;
  void send(const StoredMessage& message, std::size_t) override { seqs.push_back(message.seq); }
};

class WalkLog : public RepairTest {
 protected:
  Result<WalkReport> walk(const FrameVisitor& visit = {}) {
    log.reset();
    return walk_log(*disk, visit);
  }
};

TEST_F(WalkLog, VisitsEveryFrameOfASoundLog) {
  fill(3);
  Sends sends;
  std::uint64_t frames = 0;
  const auto walked = walk([&](const Manifest& manifest, const LogFrameHeader& header,
                               std::span<const std::byte> records) {
    EXPECT_EQ(manifest.stream, options.stream);
    EXPECT_TRUE(decode_records(records, header.records, header.stream, sends));
    ++frames;
  });
  ASSERT_TRUE(walked);
  EXPECT_EQ(sends.seqs, (std::vector<Seq>{1, 2, 3}));
  EXPECT_EQ(walked->frames, frames);
  EXPECT_EQ(walked->segments, 1u);
  EXPECT_EQ(walked->end, align_up(appended, block_bytes));
  EXPECT_TRUE(walked->damage.empty() && walked->missed.empty());
  EXPECT_FALSE(walked->torn);
}

TEST_F(WalkLog, AFlippedBitBeforeALaterFrameIsDamageWithItsPlace) {
  fill(3);
  damage(first_segment, frame(1) + 100);
  const auto walked = walk();
  ASSERT_TRUE(walked);
  ASSERT_EQ(walked->damage.size(), 1u);
  EXPECT_EQ(walked->damage[0].find("000000000000.seg at byte 8192 (lsn 8192)"), 0u)
      << walked->damage[0];
  EXPECT_EQ(walked->frames, 1u);
}

TEST_F(WalkLog, ATornFrameThatNothingProvesDurableIsNoDamage) {
  fill_with_torn_end();
  const auto walked = walk();
  ASSERT_TRUE(walked);
  EXPECT_TRUE(walked->damage.empty());
  EXPECT_TRUE(walked->torn);
  EXPECT_EQ(walked->end, frame(3));
}

TEST_F(WalkLog, AMissingOlderSegmentIsReportedWithItsMessages) {
  fill_segments();
  const auto whole = walk();
  ASSERT_TRUE(whole);
  ASSERT_GT(whole->manifest.first, 1u);
  EXPECT_TRUE(whole->damage.empty() && whole->missed.empty());
  EXPECT_TRUE(whole->queues.contains(test_queue));
  const auto in_first = std::ranges::count_if(
      alive, [&](const auto& entry) { return geometry().segment_of(entry.second) == 0; });
  disk->files.erase(first_segment);
  const auto walked = walk();
  ASSERT_TRUE(walked);
  EXPECT_EQ(walked->missed, (std::map<MissedMessages, std::uint64_t>{
                                {{0, test_queue}, static_cast<std::uint64_t>(in_first)}
  }));
}

TEST_F(WalkLog, DamageBeforeTheCheckpointDoesNotEndTheWalk) {
  fill_segments();
  const auto whole = walk();
  ASSERT_TRUE(whole);
  damage(first_segment, frame(0) + 100);
  const auto walked = walk();
  ASSERT_TRUE(walked);
  EXPECT_FALSE(walked->damage.empty());
  EXPECT_EQ(walked->end, whole->end);
}

TEST_F(WalkLog, ADiskWithoutALogIsInvalidAndOneWithoutAWholeManifestCorrupt) {
  EXPECT_EQ(walk().error().code, Errc::invalid);
  fill(1);
  for (const std::string_view name : manifest_names) damage(std::string(name), 100);
  EXPECT_EQ(walk().error().code, Errc::corrupt);
}

}  // namespace
}  // namespace pawl

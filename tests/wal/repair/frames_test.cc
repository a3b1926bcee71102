// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/frames.h"

#include "tests/wal/repair/repair_fixture.h"

namespace pawl {
namespace {

class Frames : public RepairTest {
 protected:
  static std::vector<Lsn> positions(const std::vector<LogFrameHeader>& frames) {
    std::vector<Lsn> found;
    for (const LogFrameHeader& frame : frames) found.push_back(frame.lsn);
    return found;
  }
  static LogFrameHeader at(Lsn lsn, std::uint32_t prev, std::uint32_t epoch) {
    LogFrameHeader header;
    header.lsn = lsn;
    header.prev = prev;
    header.epoch = epoch;
    return header;
  }
};

TEST_F(Frames, FindsWholeFramesAroundADamagedOne) {
  fill(4);
  damage(first_segment, frame(1) + 100);
  LogContent content = this->content();
  const auto frames = whole_frames(content);
  ASSERT_TRUE(frames);
  EXPECT_EQ(positions(*frames), (std::vector<Lsn>{frame(0), frame(2), frame(3)}));
  EXPECT_EQ(end_of(frames->front()), frame(1));
}

TEST_F(Frames, ANewerVersionIsAnError) {
  fill(1);
  log.reset();
  LogFrameHeader header = this->header(frame(0));
  header.version = frame_version + 1;
  std::vector<std::byte>& file = disk->content(first_segment);
  std::memcpy(file.data() + frame(0), &header, sizeof header);
  seal_frame(std::span(file).subspan(frame(0), header.length));
  LogContent content = this->content();
  EXPECT_EQ(whole_frames(content).error().code, Errc::version);
}

TEST_F(Frames, DropsTheRemainsOfTornEnds) {
  constexpr std::uint32_t block = block_bytes;
  // Epoch 2 continued after the frame at 4096; the frames of epoch 1 behind it are stale.
  std::vector<LogFrameHeader> frames{at(4096, 0, 1), at(8192, block, 2), at(12288, block, 1),
                                     at(16384, 2 * block, 2)};
  drop_stale(frames, {.epoch = 2, .durable = 8192});
  EXPECT_EQ(positions(frames), (std::vector<Lsn>{4096, 8192, 16384}));
  // A frame behind the durable end, from before the manifest's epoch.
  std::vector<LogFrameHeader> old{at(4096, 0, 1), at(8192, block, 1)};
  drop_stale(old, {.epoch = 2, .durable = 8192});
  EXPECT_EQ(positions(old), (std::vector<Lsn>{4096}));
  // A frame that the chain of the last one passes over.
  std::vector<LogFrameHeader> aside{at(4096, 0, 1), at(8192, block, 1), at(12288, 2 * block, 1)};
  drop_stale(aside, {});
  EXPECT_EQ(positions(aside), (std::vector<Lsn>{4096, 12288}));
}

TEST_F(Frames, SuspectsAFrameByTwoOfItsThreeMarks) {
  std::vector<std::byte> bytes(3 * block_bytes);
  LogFrameHeader header = at(8192, 0, 5);
  header.stream = options.stream;
  header.magic = 1;
  std::memcpy(bytes.data() + block_bytes, &header, sizeof header);
  EXPECT_EQ(suspected_frames(bytes, 4096, geometry(), 5), (std::vector<Lsn>{8192}));
  EXPECT_TRUE(suspected_frames(bytes, 4096, geometry(), 6).empty()) << "of an older epoch";
  EXPECT_TRUE(suspected_frames(bytes, 8192, geometry(), 5).empty()) << "of one mark";
  EXPECT_FALSE(suspected_frame(std::span(bytes).first(63), 4096, geometry(), 0));
}

TEST_F(Frames, ProposesTheLogFromItsBeginningWithoutACheckpoint) {
  fill(2);
  LogContent content = this->content();
  const auto likely = likely_manifests(content, *whole_frames(content));
  ASSERT_TRUE(likely);
  ASSERT_EQ(likely->size(), 1u);
  EXPECT_TRUE(likely->front().whole_checkpoint);
  EXPECT_EQ(likely->front().manifest.checkpoint, 0u);
  EXPECT_EQ(likely->front().manifest.first, 0u);
  EXPECT_EQ(likely_manifests(content, {})->size(), 0u);
}

TEST_F(Frames, ProposesTheLatestCheckpoint) {
  fill_segments();
  disk->files.erase(first_segment);
  log.reset();
  const Manifest manifest =
      *read_manifest(ConstBlock(disk->content("MANIFEST.a").data(), block_bytes));
  LogContent content = this->content();
  const auto likely = likely_manifests(content, *whole_frames(content));
  ASSERT_TRUE(likely);
  ASSERT_FALSE(likely->empty());
  EXPECT_FALSE(likely->back().whole_checkpoint);
  EXPECT_LE(likely->back().manifest.checkpoint, manifest.checkpoint);
  EXPECT_GE(likely->back().manifest.checkpoint_end, manifest.checkpoint_end);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/repair/content.h"

#include "tests/wal/repair/repair_fixture.h"

namespace pawl {
namespace {

class ClosedLogContent : public RepairTest {};

TEST_F(ClosedLogContent, ReadsFilesInPieces) {
  fill(1);
  log.reset();
  const std::vector<std::byte>& file = disk->content(first_segment);
  const auto piece = read_file(*disk, first_segment, 100, 50);
  ASSERT_TRUE(piece);
  EXPECT_EQ(*piece, std::vector(file.begin() + 100, file.begin() + 150));
  EXPECT_EQ(read_file(*disk, first_segment, file.size() - 10, 50)->size(), 10u);
  EXPECT_EQ(read_file(*disk, "no.seg", 0, 1).error().sys, ENOENT);
}

TEST_F(ClosedLogContent, ListsSegmentsAndFilesSetAside) {
  for (const std::string& name :
       {segment_name(3), segment_name(1), set_aside_name(2), std::string("MANIFEST.a")})
    disk->files[name] = std::make_shared<std::vector<std::byte>>();
  EXPECT_EQ(segments_in(*disk), (std::vector<std::uint64_t>{1, 3}));
  EXPECT_EQ(files_set_aside_in(*disk), 1u);
}

TEST_F(ClosedLogContent, TellsWholeSegmentsFromDamagedOnes) {
  fill_segments();
  log.reset();
  disk->files[segment_name(40)] =
      std::make_shared<std::vector<std::byte>>(disk->content(segment_name(1)));
  disk->content(segment_name(1)).resize(20'000);
  damage(segment_name(2), 8);
  const LogContent content = this->content();
  EXPECT_TRUE(content.files().at(0).whole);
  EXPECT_EQ(content.files().at(0).bytes, options.segment_bytes);
  EXPECT_TRUE(content.files().at(1).header);
  EXPECT_FALSE(content.files().at(1).whole);
  EXPECT_FALSE(content.files().at(2).header);
  EXPECT_EQ(content.files().at(40).is_another, 1);
  EXPECT_FALSE(content.there(39));
}

TEST_F(ClosedLogContent, ZerosStandForMissingBytes) {
  fill(2);
  log.reset();
  disk->content(first_segment).resize(frame(1));
  LogContent content = this->content();
  const auto there = content.from(frame(0));
  ASSERT_TRUE(there);
  EXPECT_EQ(check_frame(*there, options.stream, frame(0)).fault, LogFault::none);
  EXPECT_EQ(there->size(), options.extent_bytes - frame(0)) << "up to the end of the extent";
  const auto missing = content.from(frame(1));
  ASSERT_TRUE(missing);
  EXPECT_TRUE(std::ranges::all_of(*missing, [](std::byte b) { return b == std::byte{0}; }));
  ASSERT_TRUE(content.from(geometry().segment_base(9)));
}

TEST_F(ClosedLogContent, LaysChangesOverTheSegment) {
  fill(2);
  LogContent content = this->content();
  const auto byte_at = [&](Lsn lsn) { return (*content.from(lsn))[0]; };
  ASSERT_NE(byte_at(frame(0)), std::byte{0x11});
  content.put(frame(0), std::vector(16, std::byte{0x11}));
  EXPECT_EQ(byte_at(frame(0)), std::byte{0x11}) << "in the segment in memory";
  (void)byte_at(geometry().segment_base(1) + block_bytes);
  EXPECT_EQ(byte_at(frame(0)), std::byte{0x11}) << "and when it is read again";
  EXPECT_EQ(content.changes().size(), 1u);
  EXPECT_NE(disk->content(first_segment)[frame(0)], std::byte{0x11}) << "the disk is unchanged";
}

TEST_F(ClosedLogContent, OnlyIncompleteSegmentsAreMadeWhole) {
  fill(1);
  LogContent content = this->content();
  content.make_whole(0);
  EXPECT_TRUE(content.made_whole().empty());
  content.make_whole(77);
  EXPECT_TRUE(content.made_whole().contains(77));
}

TEST_F(ClosedLogContent, FramesBeginBeforeTheUsableEndOfASegment) {
  fill(1);
  LogContent content = this->content();
  const Lsn next = geometry().segment_base(1) + block_bytes;
  EXPECT_EQ(content.usable_bytes(0), options.segment_bytes);
  EXPECT_EQ(content.frame_position(0), block_bytes);
  EXPECT_EQ(content.frame_position(options.extent_bytes), options.extent_bytes);
  content.set_usable_bytes(0, options.extent_bytes);
  EXPECT_EQ(content.frame_position(options.extent_bytes), next);
  EXPECT_EQ(describe(geometry(), next), "000000000001.seg at byte 4096 (lsn 69632)");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/image.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "wal/format/disk.h"

namespace pawl {
namespace {

constexpr std::uint64_t extent_bytes = 16 << 10;
constexpr std::uint64_t memory_max = 4 * extent_bytes;

TEST(Image, APositionFindsItsByte) {
  Image image(extent_bytes, memory_max);
  image.start(10);
  std::byte* ten = image.open(10);
  std::byte* eleven = image.open(11);
  EXPECT_EQ(image.at(10 * extent_bytes + 5), ten + 5);
  EXPECT_EQ(image.at(11 * extent_bytes + 4095), eleven + 4095);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ten) % 4096, 0u);
  EXPECT_EQ(image.bytes(), 2 * extent_bytes);
}

TEST(Image, AnExtentIsFreedOnceItIsSettledAndEmptyInEitherOrder) {
  Image image(extent_bytes, memory_max);
  image.open(0);
  image.open(1);
  image.add_live(100);
  image.add_live(extent_bytes + 100);
  image.release(100);
  EXPECT_EQ(image.bytes(), 2 * extent_bytes) << "still being written";
  image.settle(2);
  EXPECT_EQ(image.bytes(), extent_bytes);
  EXPECT_FALSE(image.has(0));
  image.release(extent_bytes + 100);
  EXPECT_EQ(image.bytes(), 0u);
}

TEST(Image, RecoveredExtentsAreOnDiskUntilTheyAreLoaded) {
  Image image(extent_bytes, memory_max);
  image.start(5);
  image.skip_to(9);
  image.hold(6 * extent_bytes + 100);
  image.hold(3 * extent_bytes);  // older than all known extents
  EXPECT_FALSE(image.has_at(6 * extent_bytes + 100));
  image.begin_load(6, false);
  image.end_load(6, true);
  EXPECT_TRUE(image.has_at(6 * extent_bytes + 100));
  EXPECT_EQ(image.bytes(), extent_bytes);
  image.release(6 * extent_bytes + 100);
  EXPECT_EQ(image.bytes(), 0u);
  image.release(3 * extent_bytes);
  image.forget(8);
}

TEST(Image, FreedMemoryIsUsedAgain) {
  Image image(extent_bytes, memory_max);
  const std::byte* first = image.open(0);
  image.settle(1);
  EXPECT_EQ(image.open(1), first);
}

// --- loading and eviction of settled extents ---

// Extents from `first` on, each in memory and with a message.
void fill(Image& image, std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t extent = first; extent < first + count; ++extent) {
    image.open(extent);
    image.add_live(extent * extent_bytes);
  }
}

TEST(Image, EvictsTheLongestUntouchedAndGivesTouchedOnesASecondChance) {
  Image image(extent_bytes, memory_max);
  fill(image, 0, 4);
  image.settle(4);
  ASSERT_TRUE(image.make_space());
  EXPECT_FALSE(image.has(0)) << "all are new: the oldest";
  EXPECT_EQ(image.evicted(), 1u);
  ASSERT_TRUE(image.make_space());
  EXPECT_EQ(image.evicted(), 1u) << "there is space";

  image.touch(1 * extent_bytes);
  image.touch(2 * extent_bytes);
  fill(image, 4, 1);
  ASSERT_TRUE(image.make_space());
  EXPECT_TRUE(image.has(1));
  EXPECT_TRUE(image.has(2));
  EXPECT_FALSE(image.has(3)) << "the first that was not touched";
  fill(image, 5, 1);
  ASSERT_TRUE(image.make_space());
  EXPECT_FALSE(image.has(1)) << "one chance, not two";
  EXPECT_TRUE(image.has(2));
}

TEST(Image, ExtentsThatLostMostMessagesGoOnceTheyAreNotUsed) {
  Image image(extent_bytes, memory_max);
  for (std::uint64_t extent = 0; extent < 2; ++extent) {
    image.open(extent);
    for (int i = 0; i < 16; ++i) image.add_live(extent * extent_bytes);
  }
  const auto release = [&](int messages) {
    for (; messages > 0; --messages) image.release(0);
  };
  release(14);
  EXPECT_FALSE(image.evict_sparse()) << "being written";
  image.settle(2);
  EXPECT_TRUE(image.evict_sparse()) << "it was just settled";
  EXPECT_TRUE(image.has(0));
  image.touch(0);
  EXPECT_TRUE(image.evict_sparse()) << "it is used";
  EXPECT_TRUE(image.has(0));
  EXPECT_FALSE(image.evict_sparse());
  EXPECT_FALSE(image.has(0)) << "2 of 16 messages are left";
  EXPECT_TRUE(image.has(1)) << "all of them are";
  EXPECT_EQ(image.evicted(), 1u);
  release(2);  // on the disk only
  EXPECT_EQ(image.bytes(), extent_bytes);
}

TEST(Image, WhatIsNotSettledOrBeingLoadedStays) {
  Image image(extent_bytes, memory_max);
  fill(image, 0, 4);
  EXPECT_FALSE(image.make_space());
  image.settle(1);
  ASSERT_TRUE(image.make_space());
  image.begin_load(0, false);
  EXPECT_FALSE(image.make_space());
  EXPECT_FALSE(image.has(0)) << "not yet";
  EXPECT_EQ(image.bytes(), 4 * extent_bytes);
  image.end_load(0, true);
  EXPECT_TRUE(image.has(0));
  EXPECT_TRUE(image.make_space());
  EXPECT_FALSE(image.has(0));
}

TEST(Image, WhatTheWriterNeedsIsOpenedWhateverTheMemory) {
  Image image(extent_bytes, memory_max);
  fill(image, 0, 3);
  image.settle(2);
  fill(image, 3, 2);
  EXPECT_EQ(image.bytes(), memory_max) << "one went for the last";
  EXPECT_EQ(image.evicted(), 1u);
  fill(image, 5, 3);
  EXPECT_EQ(image.bytes(), 6 * extent_bytes);
  EXPECT_EQ(image.evicted(), 2u);
}

TEST(Image, NeededIsWhatCannotGo) {
  Image image(extent_bytes, memory_max);
  fill(image, 0, 3);
  EXPECT_EQ(image.needed(), 3 * extent_bytes);
  image.settle(2);
  EXPECT_EQ(image.needed(), 1 * extent_bytes);
  fill(image, 3, 1);
  ASSERT_TRUE(image.make_space());
  EXPECT_EQ(image.needed(), 2 * extent_bytes);
  image.begin_load(0, false);
  EXPECT_EQ(image.needed(), 3 * extent_bytes);
  image.end_load(0, true);
  EXPECT_EQ(image.needed(), 2 * extent_bytes);
  image.release(0);
  image.release(extent_bytes);
  EXPECT_EQ(image.needed(), 2 * extent_bytes);
  EXPECT_EQ(image.bytes(), 2 * extent_bytes);
}

TEST(Image, AnExtentThatWasFreedIsNotEvictedToo) {
  Image image(extent_bytes, memory_max);
  fill(image, 0, 1);
  for (std::uint64_t extent = 1; extent < 1000; ++extent) {
    fill(image, extent, 1);
    image.settle(extent + 1);
    image.release(extent * extent_bytes);
    ASSERT_EQ(image.bytes(), extent_bytes);
  }
  EXPECT_EQ(image.evicted(), 0u);
  fill(image, 1000, 3);
  ASSERT_TRUE(image.make_space());
  EXPECT_FALSE(image.has(0));
  EXPECT_EQ(image.evicted(), 1u);
  image.release(0);
  image.forget(1000);
}

TEST(Image, AnExtentWhoseMessagesGoWhileItIsLoadedIsFreedAtTheEnd) {
  Image image(extent_bytes, memory_max);
  image.skip_to(2);
  image.hold(100);
  image.begin_load(0, false);
  image.release(100);
  EXPECT_EQ(image.bytes(), extent_bytes) << "the disk writes into it";
  image.end_load(0, true);
  EXPECT_EQ(image.bytes(), 0u);
  EXPECT_EQ(image.needed(), 0u);
}

TEST(Image, WhatCannotBeLoadedIsRemembered) {
  Image image(extent_bytes, memory_max);
  image.skip_to(2);
  image.hold(100);
  EXPECT_FALSE(image.unreadable(0));
  image.begin_load(0, false);
  image.end_load(0, false);
  EXPECT_TRUE(image.unreadable(0));
  EXPECT_FALSE(image.has(0));
  EXPECT_EQ(image.bytes(), 0u);
}

TEST(Image, ItIsKnownWhatCameFromTheDiskAndWhatWasReadAhead) {
  Image image(extent_bytes, memory_max);
  fill(image, 0, 3);
  image.settle(3);
  image.note_want(100);
  image.note_want(200);
  EXPECT_EQ(image.wanted(0), 2u);
  EXPECT_FALSE(image.loaded(100)) << "as it was written";
  fill(image, 3, 1);
  ASSERT_TRUE(image.make_space());
  image.begin_load(0, true);
  image.end_load(0, true);
  EXPECT_TRUE(image.loaded(100));
  EXPECT_EQ(image.wanted(0), 0u);
  EXPECT_TRUE(image.touch(100)) << "read ahead, the first time";
  EXPECT_FALSE(image.touch(100));
  EXPECT_FALSE(image.touch(extent_bytes)) << "was there all along";
}

TEST(ImageDeathTest, WhatIsNotThereIsOurMistake) {
  Image image(extent_bytes, memory_max);
  image.open(0);
  EXPECT_DEATH(image.release(8), "released twice");
  EXPECT_DEATH(static_cast<void>(image.at(5 * extent_bytes)), "extent 5");
  image.settle(1);
  EXPECT_DEATH(static_cast<void>(image.at(8)), "nothing in memory");
  EXPECT_DEATH(image.open(0), "settled");
}

TEST(PageBlock, LargeOnesAreAlignedToBlocksAndZero) {
  const PageBlock block(2 << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % block_bytes, 0u);
  EXPECT_EQ(block.data()[(2 << 20) - 1], std::byte{0});
}

}  // namespace
}  // namespace pawl

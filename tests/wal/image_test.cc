#include "wal/image.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace pawl {
namespace {

constexpr std::uint64_t extent_bytes = 16 << 10;

TEST(Image, APositionFindsItsByte) {
  Image image(extent_bytes);
  image.start(10);
  std::byte* ten = image.open(10);
  std::byte* eleven = image.open(11);
  EXPECT_EQ(image.at(10 * extent_bytes + 5), ten + 5);
  EXPECT_EQ(image.at(11 * extent_bytes + 4095), eleven + 4095);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(ten) % 4096, 0u);
  EXPECT_EQ(image.bytes(), 2 * extent_bytes);
}

TEST(Image, AnExtentIsFreedWhenItIsSettledAndEmptyWhicheverComesLast) {
  Image image(extent_bytes);
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

TEST(Image, TheFirstNeededExtentIsTheFirstThatIsLiveOrNotSettled) {
  Image image(extent_bytes);
  for (std::uint64_t i = 0; i < 4; ++i) image.open(i);
  EXPECT_EQ(image.first_needed(), 0u);
  image.add_live(2 * extent_bytes);
  image.settle(3);
  EXPECT_EQ(image.first_needed(), 2u);
  image.release(2 * extent_bytes);
  EXPECT_EQ(image.first_needed(), 3u);
  image.forget(3);
  EXPECT_FALSE(image.has(0));
  EXPECT_TRUE(image.has(3));
}

TEST(Image, FreedMemoryIsUsedAgain) {
  Image image(extent_bytes);
  const std::byte* first = image.open(0);
  image.settle(1);
  EXPECT_EQ(image.open(1), first);
}

TEST(ImageDeathTest, WhatIsNotThereIsOurMistake) {
  Image image(extent_bytes);
  image.open(0);
  EXPECT_DEATH(image.release(8), "released twice");
  EXPECT_DEATH(static_cast<void>(image.at(5 * extent_bytes)), "extent 5");
  image.settle(1);
  EXPECT_DEATH(static_cast<void>(image.at(8)), "nothing in memory");
  EXPECT_DEATH(image.open(0), "settled");
}

TEST(PageBlock, LargeOnesAreAlignedToHugePages) {
  const PageBlock block(2 << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % (2 << 20), 0u);
  EXPECT_EQ(block.data()[(2 << 20) - 1], std::byte{0});
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/format/page_block.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

#include "wal/format/disk.h"

namespace pawl {
namespace {

TEST(PageBlock, IsAlignedAndHasItsSize) {
  const PageBlock block(2 * block_bytes);
  EXPECT_EQ(block.size(), 2 * block_bytes);
  EXPECT_EQ(block.span().size(), 2 * block_bytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block.data()) % block_bytes, 0u);
}

TEST(PageBlock, IsEmptyAfterAMove) {
  PageBlock from(block_bytes);
  from.data()[block_bytes - 1] = std::byte{7};
  PageBlock to(std::move(from));
  EXPECT_FALSE(from);  // NOLINT(bugprone-use-after-move): a move leaves nothing behind
  EXPECT_EQ(to.data()[block_bytes - 1], std::byte{7});
  from = std::move(to);
  EXPECT_FALSE(to);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(from);
}

TEST(PageBlockDeath, HasWholeBlocks) { EXPECT_DEATH(PageBlock(block_bytes + 1), "4097"); }

}  // namespace
}  // namespace pawl

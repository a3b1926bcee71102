// SPDX-License-Identifier: Apache-2.0
#include "wal/segments/retired_files.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

constexpr FileId file{5};

TEST(RetiredFiles, AFileThatHasTheNameIsChosenFirstThenAFilledOneThenAnyOther) {
  RetiredFiles files;
  EXPECT_EQ(files.choose(1), files.size()) << "there is none";
  files.add({3, file, false, 100});
  EXPECT_EQ(files.choose(1), 0u);
  files.add({4, file, true, 200});
  EXPECT_EQ(files.choose(1), 1u);
  files.add({1, file, false, 300});
  EXPECT_EQ(files.choose(1), 2u);
}

TEST(RetiredFiles, CountsAndBytesFollowTheFiles) {
  RetiredFiles files;
  files.add({3, file, false, 100});
  files.add({4, file, true, 200});
  files.add({5, file, true, 300});
  EXPECT_EQ(files.filled(), 2u);
  EXPECT_EQ(files.bytes(), 600u);
  EXPECT_EQ(files.take(1).number, 4u);
  EXPECT_EQ(files.filled(), 1u);
  EXPECT_EQ(files.take_last().number, 5u);
  EXPECT_EQ(files.take_last().number, 3u);
  EXPECT_TRUE(files.empty());
  EXPECT_EQ(files.bytes(), 0u);
}

TEST(RetiredFilesDeathTest, WithoutAFileNothingIsAddedOrTaken) {
  RetiredFiles files;
  EXPECT_DEATH(files.add({3, FileId::none, false, 100}), "has no file");
  EXPECT_DEATH(files.take(0), "0 of 0");
}

}  // namespace
}  // namespace pawl

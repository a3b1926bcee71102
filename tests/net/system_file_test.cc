// SPDX-License-Identifier: Apache-2.0
#include "net/io/system_file.h"

#include <gtest/gtest.h>

#include "tests/net/fake_root.h"

namespace pawl {
namespace {

TEST(SystemFile, IsReadByLine) {
  FakeRoot root;
  root.with("/a", "key: \t7 of 9\nempty:\n\n");
  const std::string text = text_of_file(root.path() + "/a");
  EXPECT_EQ(text, "key: \t7 of 9\nempty:");
  EXPECT_EQ(line_after(text, "key:"), "7 of 9");
  EXPECT_EQ(line_after(text, "empty:"), "");
  EXPECT_EQ(line_after(text, "none:"), "");
  EXPECT_EQ(number_in(line_after(text, "key:"), 1), 7);
  EXPECT_EQ(number_in("max", 1), 1);
  EXPECT_EQ(text_of_file(root.path() + "/none"), "");
}

}  // namespace
}  // namespace pawl

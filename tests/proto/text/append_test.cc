// SPDX-License-Identifier: Apache-2.0
#include "proto/text/append.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

TEST(AppendAll, AppendsTextsAndLiteralsInOrder) {
  std::string out = "before";
  const std::string text(100, 'x');
  append_all(out, "<", std::string_view("name"), ">", text, "", std::string_view());
  EXPECT_EQ(out, "before<name>" + text);
}

TEST(AppendAll, LeavesSpaceForMore) {
  std::string out;
  std::size_t grown = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::size_t before = out.capacity();
    append_all(out, "0123456789");
    grown += out.capacity() != before ? 1 : 0;
  }
  EXPECT_EQ(out.size(), 100'000u);
  EXPECT_LT(grown, 20u);
}

}  // namespace
}  // namespace pawl

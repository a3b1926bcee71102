// SPDX-License-Identifier: Apache-2.0
#include "proto/text/json_marks.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace pawl {
namespace {

TEST(JsonMarks, HaveABitForEachByte) {
  for (std::size_t i = 0; i < json_marks_block; ++i) {
    std::string block(json_marks_block, 'x');
    block[i] = '"';
    block[(i + 1) % json_marks_block] = '\\';
    const JsonMarks wanted{.quotes = std::uint64_t{1} << i,
                           .backslashes = std::uint64_t{1} << (i + 1) % json_marks_block};
    EXPECT_EQ(json_marks_one_by_one(block.data()), wanted) << i;
    EXPECT_EQ(json_marks_of(block.data()), wanted) << i;
  }
}

TEST(JsonMarks, AreThoseOfTheBytesOneByOneAtEveryAlignment) {
  constexpr std::string_view letters = "\"\"\\\\x\xA2\xDC";
  std::mt19937 random(1);
  std::string bytes(1 << 14, '\0');
  for (char& c : bytes) c = letters[random() % letters.size()];
  for (std::size_t at = 0; at + json_marks_block <= bytes.size(); ++at)
    ASSERT_EQ(json_marks_of(&bytes[at]), json_marks_one_by_one(&bytes[at])) << at;
}

}  // namespace
}  // namespace pawl

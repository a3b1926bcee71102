// SPDX-License-Identifier: Apache-2.0
#include "core/base/format.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {
namespace {

TEST(Format, InsertsValuesInOrder) {
  const std::string name = "orders";
  EXPECT_EQ(format_text("{}: {} of {} bytes", name, 3, 40u), "orders: 3 of 40 bytes");
  EXPECT_EQ(format_text("{}{}", std::string_view("a"), "b"), "ab");
  EXPECT_EQ(format_text("no values"), "no values");
}

TEST(Format, WritesEachIntegerWhole) {
  EXPECT_EQ(format_text("{} {}", std::numeric_limits<std::int64_t>::min(),
                        std::numeric_limits<std::uint64_t>::max()),
            "-9223372036854775808 18446744073709551615");
  EXPECT_EQ(format_text("{} {}", std::int8_t{-1}, 0), "-1 0");
}

TEST(Format, WritesDoublesAsShortAsTheirValueAllows) {
  EXPECT_EQ(format_text("{} {} {}", 0.1, -2.0, std::numeric_limits<double>::denorm_min()),
            "0.1 -2 5e-324");
}

TEST(Format, WritesBoolsAsWords) { EXPECT_EQ(format_text("{} {}", true, false), "true false"); }

TEST(Format, FillsHexadecimalWithZeros) {
  EXPECT_EQ(format_text("{}-{}", Hex{0xAB, 8}, Hex{0xAB}), "000000ab-ab");
  EXPECT_EQ(format_text("{}", Hex{std::numeric_limits<std::uint64_t>::max(), 8}),
            "ffffffffffffffff");
}

TEST(Format, AppendsToATextThatIsThere) {
  std::string out = "id ";
  append_format(out, "{}-{}",
                {
                    7, Hex{255, 4}
  });
  EXPECT_EQ(out, "id 7-00ff");
}

TEST(Format, JoinsTheTextsOfARange) {
  EXPECT_EQ(join_texts(std::vector<std::string>{}, ", "), "");
  EXPECT_EQ(join_texts(std::vector<std::string>{"a"}, ", "), "a");
  EXPECT_EQ(join_texts(std::vector<std::string_view>{"a", "", "c"}, ", "), "a, , c");
}

}  // namespace
}  // namespace pawl

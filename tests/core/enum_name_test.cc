// SPDX-License-Identifier: Apache-2.0
#include "core/base/enum_name.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace pawl {

// Named namespaces only: clang writes an unnamed one with parentheses.
namespace enum_name_test {
enum class Fruit : std::uint8_t { apple, blood_orange, kiwi2, cherry = 7 };
enum Plain { plain_zero, plain_one };
struct Outer {
  enum class Inner : std::int8_t { below = -1, here };
};
}  // namespace enum_name_test

namespace {

using namespace enum_name_test;

TEST(EnumName, IsTheEnumeratorAsItStandsInTheSource) {
  EXPECT_EQ(enum_name<Fruit::apple>(), "apple");
  EXPECT_EQ(enum_name<Fruit::blood_orange>(), "blood_orange");
  EXPECT_EQ(enum_name<Fruit::kiwi2>(), "kiwi2");
  EXPECT_EQ(enum_name<Fruit::cherry>(), "cherry");
  EXPECT_EQ(enum_name<plain_one>(), "plain_one");
  EXPECT_EQ(enum_name<Outer::Inner::below>(), "below");
}

TEST(EnumName, IsEmptyForAValueWithoutAnEnumerator) {
  EXPECT_EQ(enum_name<static_cast<Fruit>(3)>(), "");
  EXPECT_EQ(enum_name<static_cast<Fruit>(255)>(), "");
  EXPECT_EQ(enum_name<static_cast<Outer::Inner>(-2)>(), "");
}

TEST(EnumNames, AreThoseOfTheFirstValuesWithGaps) {
  constexpr auto names = enum_names<Fruit, 8>();
  const std::array<std::string_view, 8> expected{"apple", "blood_orange", "kiwi2", "", "", "",
                                                 "",      "cherry"};
  EXPECT_EQ(names, expected);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/members.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

constexpr std::string_view known[] = {"Text", "Number", "List"};

TEST(Members, AreReadByTheirKind) {
  Members members;
  Refusal refusal;
  ASSERT_TRUE(members.read(R"({"Text":"t","Number":7,"List":["a","b"]})", "Do", known, refusal));
  std::string_view text = "default";
  std::uint64_t number = 1;
  std::span<const std::string> list;
  EXPECT_TRUE(members.text("Text", text, refusal));
  EXPECT_TRUE(members.number("Number", 1, 7, number, refusal));
  EXPECT_TRUE(members.list("List", list, refusal));
  EXPECT_EQ(text, "t");
  EXPECT_EQ(number, 7u);
  ASSERT_EQ(list.size(), 2u);
  EXPECT_EQ(list[1], "b");
  ASSERT_TRUE(members.read("", "Do", known, refusal));
  EXPECT_TRUE(members.text("Text", text = "default", refusal));
  EXPECT_EQ(text, "default") << "nothing of the call before";
}

TEST(Members, AreRefusedWithTheirNameAndWhatIsAllowed) {
  Members members;
  Refusal refusal;
  EXPECT_FALSE(members.read("{", "Do", known, refusal));
  EXPECT_EQ(refusal.text, "The body of Do is not a JSON object with each member once.");
  EXPECT_FALSE(members.read(R"({"Texts":1})", "Do", known, refusal));
  EXPECT_EQ(refusal.text, "Do has no member Texts. It has Text, Number, List.");
  ASSERT_TRUE(members.read(R"({"Text":1,"Number":8,"List":"a"})", "Do", known, refusal));
  std::string_view text;
  std::uint64_t number = 1;
  std::span<const std::string> list;
  EXPECT_FALSE(members.text("Text", text, refusal));
  EXPECT_EQ(refusal.text, "Text is not a text.");
  EXPECT_FALSE(members.number("Number", 1, 7, number, refusal));
  EXPECT_EQ(refusal.text, "Number is 8; it must be a whole number from 1 to 7.");
  EXPECT_FALSE(members.list("List", list, refusal));
  EXPECT_EQ(refusal.text, "List is not a list of texts.");
  for (const char* bad : {R"({"Number":-1})", R"({"Number":1.5})", R"({"Number":"1"})"}) {
    ASSERT_TRUE(members.read(bad, "Do", known, refusal));
    EXPECT_FALSE(members.number("Number", 0, 7, number, refusal)) << bad;
  }
  EXPECT_EQ(number, 1u);
}

}  // namespace
}  // namespace pawl

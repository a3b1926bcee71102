// SPDX-License-Identifier: Apache-2.0
#include "proto/text/json_value.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

TEST(CompactJsonObject, DropsWhiteSpaceOutsideOfTextsAlone) {
  std::string compact = "before";
  ASSERT_TRUE(compact_json_object("{ \"a\" : [ 1 , \"b c\" ] ,\n\t\"d\":{ } }", "", compact));
  EXPECT_EQ(compact, R"({"a":[1,"b c"],"d":{}})");
}

TEST(CompactJsonObject, RefusesATextThatIsNoObjectOrLacksTheMember) {
  std::string compact;
  for (const char* text : {"", "{", "[]", "1", "\"a\"", "null", "{} x", "{\"a\":}", "{\"\xff\":1}"})
    EXPECT_FALSE(compact_json_object(text, "", compact)) << text;
  EXPECT_FALSE(compact_json_object(R"({"a":null})", "a", compact)) << "null is as if absent";
  EXPECT_TRUE(compact_json_object(R"({"a":null,"b":[null],"c":{"d":null}})", "b", compact));
  EXPECT_EQ(compact, R"({"b":[null],"c":{"d":null}})");
  EXPECT_FALSE(compact_json_object(R"({"a":{"b":1}})", "b", compact)) << "a member of a member";
}

TEST(CompactJsonObject, AcceptsNestingUpToItsLimit) {
  std::string compact;
  const auto nested = [](std::size_t arrays) {
    return "{\"a\":" + std::string(arrays, '[') + std::string(arrays, ']') + "}";
  };
  EXPECT_TRUE(compact_json_object(nested(30), "", compact));
  EXPECT_FALSE(compact_json_object(nested(32), "", compact));
}

TEST(SameJson, IgnoresWhiteSpaceAndTheOrderOfMembers) {
  const struct {
    const char *a, *b;
    bool same;
  } cases[] = {
      {R"({"a":1,"b":[1,2]})",   R"({ "b" : [1, 2], "a": 1 })", true },
      {R"({"a":{"x":1,"y":2}})", R"({"a":{"y":2,"x":1}})",      true },
      {R"(["\u0061"])",          R"(["a"])",                    true },
      {R"({"a":[1,2]})",         R"({"a":[2,1]})",              false},
      {R"({"a":1})",             R"({"a":"1"})",                false},
      {R"({"a":1})",             R"({"a":1,"b":2})",            false},
      {R"({"a":1,"b":2})",       R"({"a":1,"c":2})",            false},
      {R"({"a":true})",          R"({"a":false})",              false},
      {R"({"a":"b"})",           R"({"a":" b"})",               false},
      {R"({"a=1,1:b":2})",       R"({"a":1,"b":2})",            false},
      {"{",                      "{",                           false},
      {"",                       "",                            false},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(same_json(c.a, c.b), c.same) << c.a << " " << c.b;
    EXPECT_EQ(same_json(c.b, c.a), c.same) << c.b << " " << c.a;
  }
}

TEST(JsonMembers, AreTextsNumbersAndListsInTheOrderOfTheObject) {
  using Kind = JsonMember::Kind;
  const auto members =
      json_members(R"({"z":"t\n","n":-1.5,"l":["a","b"],"e":[],"m":["a",true],"o":{},"x":null})");
  ASSERT_TRUE(members);
  ASSERT_EQ(members->size(), 6u) << "null is as if absent";
  const auto& m = *members;
  EXPECT_EQ(m[0].key, "z");
  EXPECT_EQ(m[0].kind, Kind::text);
  EXPECT_EQ(m[0].text, "t\n");
  EXPECT_EQ(m[1].kind, Kind::number);
  EXPECT_EQ(m[1].text, "-1.5");
  EXPECT_EQ(m[2].kind, Kind::list);
  EXPECT_EQ(m[2].list, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(m[3].kind, Kind::list);
  EXPECT_TRUE(m[3].list.empty());
  for (const std::size_t other : {4u, 5u}) EXPECT_EQ(m[other].kind, Kind::other) << other;
}

TEST(JsonMembers, AreNoneForATextThatIsNoObjectOrHasAMemberTwice) {
  for (const char* text : {"", "[]", "{", "7", R"({"a":1,"a":1})", R"({"a":1,"\u0061":2})"})
    EXPECT_FALSE(json_members(text)) << text;
  ASSERT_TRUE(json_members("{}"));
  EXPECT_TRUE(json_members("{}")->empty());
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/text/json_dom.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace pawl {
namespace {

using Kind = JsonValue::Kind;

TEST(JsonDom, EachKindOfValueIsRead) {
  JsonDom dom;
  const auto document = dom.parse(
      R"({"n":null,"t":true,"i":-3,"b":18446744073709551615,"r":1.5,"s":"a\u00e9","l":[1,[]],"o":{}})");
  ASSERT_TRUE(document);
  EXPECT_EQ(document->kind(), Kind::object);
  EXPECT_EQ(document->size(), 8u);
  EXPECT_EQ(document->member("n")->kind(), Kind::null);
  EXPECT_EQ(document->member("t")->truth(), true);
  EXPECT_EQ(document->member("i")->number(), -3.0);
  EXPECT_EQ(document->member("b")->kind(), Kind::number);
  EXPECT_EQ(document->member("b")->number(), 0x1p64);
  EXPECT_EQ(document->member("b")->compact(), "18446744073709551615");
  EXPECT_EQ(document->member("r")->number(), 1.5);
  EXPECT_EQ(document->member("s")->text(), "a\xc3\xa9");
  EXPECT_EQ(document->member("l")->size(), 2u);
  EXPECT_TRUE(document->member("o")->is_object());
  EXPECT_FALSE(document->member("x"));
}

TEST(JsonDom, AnAccessorOfAnotherKindHasNoValue) {
  JsonDom dom;
  const auto text = dom.parse(R"("1")");
  ASSERT_TRUE(text);
  EXPECT_FALSE(text->truth());
  EXPECT_FALSE(text->number());
  EXPECT_FALSE(text->member("1"));
  EXPECT_EQ(text->size(), 0u);
  EXPECT_EQ(text->items().begin(), text->items().end());
  EXPECT_EQ(text->members().begin(), text->members().end());
  EXPECT_FALSE(text->is_number());
}

TEST(JsonDom, ListsAndObjectsAreVisitedInTheirOrder) {
  JsonDom dom;
  const auto list = dom.parse(R"(["a",["x","y"],"b"])");
  ASSERT_TRUE(list);
  std::vector<std::string> items;
  for (const JsonValue item : list->items()) items.push_back(item.compact());
  EXPECT_EQ(items, (std::vector<std::string>{R"("a")", R"(["x","y"])", R"("b")"}));
  const auto object = dom.parse(R"({"b": 1, "a": {"c": 2}, "b": 3})");
  ASSERT_TRUE(object);
  std::vector<std::string> members;
  for (const auto [key, value] : object->members())
    members.push_back(std::string(key) + "=" + value.compact());
  EXPECT_EQ(members, (std::vector<std::string>{"b=1", R"(a={"c":2})", "b=3"}));
  EXPECT_EQ(object->member("b")->number(), 1.0) << "the first of equal keys";
}

TEST(JsonDom, TextThatIsNotJsonHasAnError) {
  JsonDom dom;
  for (const std::string_view bad : {"", " ", "{", "[1,]", "{\"a\":1}x", "nul", "\"\xff\"", "01"}) {
    EXPECT_FALSE(dom.parse(bad)) << bad;
  }
  EXPECT_TRUE(dom.parse("{}")) << "an error does not stay";
}

TEST(JsonDom, TheDepthIsLimited) {
  JsonDom dom;
  const auto nested = [](std::size_t levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  EXPECT_TRUE(dom.parse(nested(JsonDom::depth_max - 1)));
  EXPECT_FALSE(dom.parse(nested(JsonDom::depth_max + 1)));
}

TEST(JsonDom, ALargeParserIsFreedAtTheNextParse) {
  constexpr std::size_t keep_max = 8 << 10;
  JsonDom dom(keep_max);
  EXPECT_EQ(dom.memory(), 0u);
  ASSERT_TRUE(dom.parse("\"" + std::string(4 * keep_max, 'x') + "\""));
  const std::size_t large = dom.memory();
  ASSERT_TRUE(dom.parse("1"));
  EXPECT_LT(dom.memory(), large / 2);
}

}  // namespace
}  // namespace pawl

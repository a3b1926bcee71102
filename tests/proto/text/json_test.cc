// SPDX-License-Identifier: Apache-2.0
#include "proto/text/json.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace pawl {
namespace {

TEST(JsonWriter, PutsCommasWhereTheyBelong) {
  std::string out = "before:";
  JsonWriter json(out);
  json.begin_object();
  json.member("a", 1);
  json.key("b");
  json.begin_array();
  json.value("x");
  json.begin_object();
  json.end_object();
  json.begin_array();
  json.end_array();
  json.value(true);
  json.end_array();
  json.key("c");
  json.begin_object();
  json.member("d", "{");
  json.member("e", ":");
  json.member("f", "[");
  json.end_object();
  json.member("g", false);
  json.end_object();
  EXPECT_EQ(out, R"(before:{"a":1,"b":["x",{},[],true],"c":{"d":"{","e":":","f":"["},"g":false})");
}

TEST(JsonWriter, EscapesQuotesBackslashesAndControlCharacters) {
  struct Case {
    std::string text;
    const char* want;
  };
  const Case cases[] = {
      {"", R"("")"},
      {"plain", R"("plain")"},
      {"say \"hi\" \\o/", R"("say \"hi\" \\o/")"},
      {"\t\n\r", R"("\t\n\r")"},
      {std::string("\0", 1), R"("\u0000")"},
      {"a\x01z\x1f", R"("a\u0001z\u001f")"},
      {"\b\f", R"("\u0008\u000c")"},
      {"\x7f\xc3\xa9\xf0\x9f\x90\xbe", "\"\x7f\xc3\xa9\xf0\x9f\x90\xbe\""},
  };
  for (const Case& c : cases) {
    std::string out;
    JsonWriter(out).value(c.text);
    EXPECT_EQ(out, c.want);
  }
}

TEST(JsonWriter, EscapesKeysToo) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("a\"b", std::string_view("c"));
  json.end_object();
  EXPECT_EQ(out, R"({"a\"b":"c"})");
}

TEST(JsonWriter, WritesPlainMembersAsTheyAre) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.plain_member("a", "b");
  json.plain_key("c");
  json.value(1);
  json.plain_member("d", "");
  json.end_object();
  EXPECT_EQ(out, R"({"a":"b","c":1,"d":""})");
}

TEST(JsonWriter, WritesEveryNumberInFull) {
  std::string out;
  JsonWriter json(out);
  json.begin_array();
  json.value(0);
  json.value(INT64_MIN);
  json.value(INT64_MAX);
  json.value(UINT64_MAX);
  json.value(std::uint8_t{7});
  json.end_array();
  EXPECT_EQ(out, "[0,-9223372036854775808,9223372036854775807,18446744073709551615,7]");
}

TEST(JsonWriter, RequiresAValueForEachKey) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.key("a");
  EXPECT_DEATH(json.end_object(), "the last member has no value");
}

}  // namespace
}  // namespace pawl

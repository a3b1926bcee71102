// SPDX-License-Identifier: Apache-2.0
#include "proto/scheduler/members.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

struct Pot {
  std::string colour;
  std::int32_t litres = 0;
  Instant made;
  std::size_t shape = 0;
};
constexpr std::string_view shapes[] = {"ROUND", "SQUARE"};

constexpr MemberRow<Pot> pot_rows[] = {
    {"Colour", [](const ApiMember& m, Pot& p) { return m.text({2, 5}, p.colour); }          },
    {"Litres", [](const ApiMember& m, Pot& p) { return m.number(1, 9, p.litres); }          },
    {"Made",   [](const ApiMember& m, Pot& p) { return m.date(p.made); }                    },
    {"Shape",  [](const ApiMember& m, Pot& p) { return m.word(std::span(shapes), p.shape); }},
};

std::string read_pot(const std::string& json, Pot& pot, std::string_view parent = {}) {
  JsonDom dom;
  std::string why;
  const auto document = dom.parse(json);
  EXPECT_TRUE(document) << json;
  const bool read = read_members<Pot>(*document, parent, pot_rows, pot, why);
  EXPECT_EQ(read, why.empty());
  return why;
}

std::string fault(std::string_view given, std::string_view at, std::string_view must) {
  return "1 validation error detected: Value '" + std::string(given) + "' at '" + std::string(at) +
         "' failed to satisfy constraint: Member must " + std::string(must);
}

TEST(ApiMembers, AreReadByTheirRows) {
  Pot pot;
  EXPECT_EQ(read_pot(R"({"Colour":"blué","Litres":9,"Made":1700000000.1234,"Shape":"SQUARE",
                         "Other":[1],"Handle":null})",
                     pot),
            "");
  EXPECT_EQ(pot.colour, "blué");
  EXPECT_EQ(pot.litres, 9);
  EXPECT_EQ(pot.made.ms, 1'700'000'000'123);
  EXPECT_EQ(pot.shape, 1u);
  EXPECT_EQ(read_pot(R"({"Made":"2023-11-14T22:13:20Z","Colour":null})", pot), "");
  EXPECT_EQ(pot.made.ms, 1'700'000'000'000);
  EXPECT_EQ(pot.colour, "blué") << "null counts as absent";
}

TEST(ApiMembers, AreRefusedInTheWordsOfAws) {
  const struct {
    const char* json;
    std::string text;
  } cases[] = {
      {R"({"Colour":"x"})",                  fault("x",     "pot.colour", "have length greater than or equal to 2")                      },
      {R"({"Colour":"purple"})",
       fault("purple",                                      "pot.colour", "have length less than or equal to 5")                         },
      {R"({"Colour":7})",                    fault("7",     "pot.colour", "be a string")                                                 },
      {R"({"Litres":0})",                    fault("0",     "pot.litres", "have value greater than or equal to 1")                       },
      {R"({"Litres":10})",                   fault("10",    "pot.litres", "have value less than or equal to 9")                          },
      {R"({"Litres":1.5})",                  fault("1.5",   "pot.litres", "be an integer")                                               },
      {R"({"Litres":"1"})",                  fault("\"1\"", "pot.litres", "be an integer")                                               },
      {R"({"Shape":"OVAL"})",
       fault("OVAL",                                        "pot.shape",  "satisfy enum value set: [ROUND, SQUARE]")                     },
      {R"({"Shape":[]})",                    fault("[]",    "pot.shape",  "be a string")                                                 },
      {R"({"Made":true})",                   fault("true",  "pot.made",   "be a number of seconds since 1970")                           },
      {R"({"Made":-1})",
       fault("-1",                                          "pot.made",   "be a number of seconds since 1970, before the year 2200")     },
      {R"({"Made":1e99})",
       fault("1e+99",                                       "pot.made",   "be a number of seconds since 1970, before the year 2200")     },
      {R"({"Made":"noon"})",
       fault("noon",                                        "pot.made",   "be a date such as 2026-12-24T18:00:00Z, before the year 2200")},
      {R"({"Made":"2200-01-01T00:00:00Z"})",
       fault("2200-01-01T00:00:00Z",                        "pot.made",
       "be a date such as 2026-12-24T18:00:00Z, before the year 2200")                                                                   },
  };
  for (const auto& [json, text] : cases) {
    Pot pot;
    EXPECT_EQ(read_pot(json, pot, "pot"), text) << json;
  }
  Pot pot;
  EXPECT_NE(read_pot(R"({"Colour":"a\u0007b"})", pot).find("be of the characters #x9"),
            std::string::npos);
}

TEST(ApiMembers, HaveNamesOfAwsPatterns) {
  std::string why;
  EXPECT_TRUE(check_api_text("a-Z_0.9", "name", api_name_rule, why)) << why;
  EXPECT_FALSE(check_api_text("a b", "name", api_name_rule, why));
  EXPECT_EQ(why, fault("a b", "name", "satisfy regular expression pattern: ^[0-9a-zA-Z-_.]+$"));
  EXPECT_FALSE(check_api_text("a/b", "groupName", api_name_rule, why));
  EXPECT_FALSE(check_api_text("", "name", api_name_rule, why));
  EXPECT_FALSE(check_api_text(std::string(65, 'a'), "name", api_name_rule, why));
  EXPECT_EQ(why, fault(std::string(65, 'a'), "name", "have length less than or equal to 64"));
  EXPECT_FALSE(check_api_text("a.b", "clientToken", api_token_rule, why));
  EXPECT_EQ(missing_member("target"),
            "1 validation error detected: Value null at 'target' failed to satisfy constraint: "
            "Member must not be null");
  EXPECT_EQ(api_path("target", "RoleArn"), "target.roleArn");
  EXPECT_EQ(api_path("", "x-overlap"), "x-overlap");
}

}  // namespace
}  // namespace pawl

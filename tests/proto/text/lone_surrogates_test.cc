// SPDX-License-Identifier: Apache-2.0
#include "proto/text/lone_surrogates.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

TEST(LoneSurrogates, AreReplacedByACharacterThatMessagesMustNotHave) {
  const struct {
    std::string given, after;
  } cases[] = {
      {R"("\ud83d")",             R"("\ufffe")"            },
      {R"("\ude00")",             R"("\ufffe")"            },
      {R"("\uDE00a")",            R"("\ufffea")"           },
      {R"("\ude00\ud83d")",       R"("\ufffe\ufffe")"      },
      {R"("\ud83d\ud83d\ude00")", R"("\ufffe\ud83d\ude00")"},
      {R"("\\\ud83d")",           R"("\\\ufffe")"          },
      {R"("\ud83d\u0041")",       R"("\ufffe\u0041")"      },
  };
  for (const auto& c : cases) {
    std::string json = c.given;
    EXPECT_TRUE(replace_lone_surrogates(json)) << c.given;
    EXPECT_EQ(json, c.after);
  }
}

TEST(LoneSurrogates, OtherTextsStay) {
  for (const char* text :
       {"", "{}", R"("\ud83d\ude00")", R"("\\ud83d")", R"("\u0041\n\"\ue000")", R"("\ud83)",
        R"("\ud8)", R"("\u)", R"("\)", R"("\ud8zz")", R"("ud83d")"}) {
    std::string json = text;
    EXPECT_FALSE(replace_lone_surrogates(json)) << text;
    EXPECT_EQ(json, text);
  }
}

}  // namespace
}  // namespace pawl

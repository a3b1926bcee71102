// SPDX-License-Identifier: Apache-2.0
#include "proto/auth/bearer_token.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

TEST(BearerToken, IsProvedByTheHeader) {
  const auto token = BearerToken::parse(" 0123456789abcdef\n");
  ASSERT_TRUE(token);
  EXPECT_TRUE(token->is_proved_by("Bearer 0123456789abcdef"));
  EXPECT_TRUE(token->is_proved_by("bearer  0123456789abcdef "));
  for (const char* const wrong :
       {"", "Bearer", "Bearer ", "0123456789abcdef", "Basic 0123456789abcdef",
        "Bearer 0123456789abcdeF", "Bearer 0123456789abcde", "Bearer 0123456789abcdef0",
        "Bearer 0123456789abcdef,0123456789abcdef"})
    EXPECT_FALSE(token->is_proved_by(wrong)) << wrong;
}

TEST(BearerToken, RefusesTokensThatAreNone) {
  const auto error = [](const std::string& text) {
    const auto token = BearerToken::parse(text);
    return token ? std::string("none") : token.error();
  };
  EXPECT_EQ(error(std::string(16, 'a')), "none");
  EXPECT_EQ(error(std::string(512, '=')), "none");
  EXPECT_EQ(error(""), "a token of 0 characters; it must have 16 to 512");
  EXPECT_EQ(error("  \n"), "a token of 0 characters; it must have 16 to 512");
  EXPECT_EQ(error(std::string(15, 'a')), "a token of 15 characters; it must have 16 to 512");
  EXPECT_EQ(error(std::string(513, 'a')), "a token of 513 characters; it must have 16 to 512");
  EXPECT_EQ(error("0123456789 abcdef"),
            "character 11 of the token is none of a-z A-Z 0-9 - . _ ~ + / =");
}

}  // namespace
}  // namespace pawl

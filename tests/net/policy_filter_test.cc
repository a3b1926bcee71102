// SPDX-License-Identifier: Apache-2.0
#include "net/server/policy_filter.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/aws/message_attributes.h"

namespace pawl {
namespace {

TEST(PolicyFilter, SelectsMessagesByTheirAttributes) {
  const auto filter = filter_by_policy(R"({"colour":["red"]})");
  ASSERT_NE(filter, nullptr);
  const auto wants = [&](std::string_view value) {
    std::string encoded;
    append_attribute(encoded, {"colour", "String", AttributeKind::text, value});
    return filter->wants({.body = R"({"colour":"red"})", .attributes = encoded});
  };
  EXPECT_TRUE(wants("red"));
  EXPECT_FALSE(wants("blue"));
  EXPECT_FALSE(filter->wants({.body = R"({"colour":"red"})"})) << "the body is not looked at";
}

TEST(PolicyFilter, IsNullForATextThatIsNoPolicy) {
  for (const char* text : {"", "{", "[]", R"({"colour":"red"})", R"({"colour":[{"between":1}]})"})
    EXPECT_EQ(filter_by_policy(text), nullptr) << text;
}

}  // namespace
}  // namespace pawl

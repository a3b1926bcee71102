// SPDX-License-Identifier: Apache-2.0
#include "proto/pawl/message_match.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/aws/message_attributes.h"

namespace pawl {
namespace {

TEST(MessageMatch, ComparesGroupAndAttribute) {
  std::string attributes;
  append_attribute(attributes, {"b", "Binary", AttributeKind::bytes, "v"});
  append_attribute(attributes, {"k", "String", AttributeKind::text, "v"});
  Delivery delivery;
  delivery.content.group = "g";
  delivery.content.attributes = attributes;
  EXPECT_TRUE(MessageMatch{}.takes(&delivery));
  EXPECT_TRUE(MessageMatch{}.takes(nullptr));
  EXPECT_TRUE((MessageMatch{.group = "g"}).takes(&delivery));
  EXPECT_FALSE((MessageMatch{.group = "h"}).takes(&delivery));
  EXPECT_FALSE((MessageMatch{.group = "g"}).takes(nullptr));
  const auto with = [&](const char* name, const char* value) {
    return MessageMatch{.group = "g", .attribute_name = name, .attribute_value = value}.takes(
        &delivery);
  };
  EXPECT_TRUE(with("k", "v"));
  EXPECT_FALSE(with("k", "w"));
  EXPECT_FALSE(with("none", "v"));
  EXPECT_FALSE(with("b", "v")) << "bytes are no text";
  const auto filtered = [&](const char* policy, const Delivery* found) {
    std::string why;
    return MessageMatch{.filter = FilterPolicy::parse(policy, FilterPolicy::Scope::attributes, why)}
        .takes(found);
  };
  EXPECT_TRUE(filtered(R"({"k":["v"]})", &delivery));
  EXPECT_FALSE(filtered(R"({"k":["w"]})", &delivery));
  EXPECT_FALSE(filtered(R"({"k":["v"]})", nullptr));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/message_rules.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

TEST(MessageRules, TheTypeSelectsTheValueOfAnAttribute) {
  const AttributeInput both{.name = "a", .type = "String", .text = "text", .bytes = "bytes"};
  MessageAttribute out;
  Refusal refusal;
  ASSERT_TRUE(check_message_attribute(both, out, refusal));
  EXPECT_EQ(out.value, "text");
  EXPECT_EQ(out.kind, AttributeKind::text);

  const AttributeInput binary{.name = "a", .type = "Binary.png", .text = "text", .bytes = "bytes"};
  ASSERT_TRUE(check_message_attribute(binary, out, refusal));
  EXPECT_EQ(out.value, "bytes");
  EXPECT_EQ(out.kind, AttributeKind::bytes);
}

TEST(MessageRules, AnAttributeAgainstTheRulesIsRefusedWithItsReason) {
  const struct {
    AttributeInput given;
    std::string_view text;
  } cases[] = {
      {{.name = "", .type = "String", .text = "v"},
       "The request must contain non-empty message (user) attribute names."                },
      {{.name = "AWS.x", .type = "String", .text = "v"},
       "You can't use message attribute names beginning with 'AWS.' or 'Amazon'. These strings are "
       "reserved for internal use."                                                        },
      {{.name = "a", .text = "v"},
       "The message (user) attribute 'a' must contain a non-empty message attribute type." },
      {{.name = "a", .type = "String", .bytes = "v"},
       "The message (user) attribute 'a' must contain a non-empty message attribute value."},
      {{.name = "a", .type = "Binary", .text = "v"},
       "The message (user) attribute 'a' must contain a non-empty message attribute value."},
      {{.name = "a", .type = "String", .text = ""},
       "Message (user) attribute 'a' must contain a non-empty value of type 'String'."     },
      {{.name = "a", .type = "Number", .text = "one"},
       "Can't cast the value of message (user) attribute 'a' to a number."                 },
      {{.name = "a", .type = "String", .text = "v", .has_list = true},
       "Message attribute list values in SendMessage operation are not supported."         },
  };
  for (const auto& [given, text] : cases) {
    MessageAttribute out;
    Refusal refusal;
    EXPECT_FALSE(check_message_attribute(given, out, refusal)) << text;
    EXPECT_EQ(refusal.fault, SqsFault::invalid_parameter_value) << text;
    EXPECT_EQ(refusal.text, text);
  }
}

TEST(MessageRules, AnIdHas1To128PrintableCharactersWithoutSpace) {
  EXPECT_FALSE(good_message_id(""));
  EXPECT_TRUE(good_message_id("!"));
  EXPECT_TRUE(good_message_id(std::string(message_id_max, '~')));
  EXPECT_FALSE(good_message_id(std::string(message_id_max + 1, '~')));
  for (const std::string_view bad : {"a b", "a\n", "a\x7f", "\xc3\xa9"}) {
    EXPECT_FALSE(good_message_id(bad)) << bad;
  }
}

TEST(MessageRules, AResourceNameIsPlainWithOrWithoutFifo) {
  for (const char* good : {"q", "a-Z_9", "q.fifo"})
    EXPECT_TRUE(good_resource_name(good, queue_name_max)) << good;
  for (const char* bad : {"", ".fifo", "a.b", "a b", "q.fifo.fifo", "q.FIFO"})
    EXPECT_FALSE(good_resource_name(bad, queue_name_max)) << bad;
  EXPECT_TRUE(good_resource_name(std::string(80, 'a'), queue_name_max));
  EXPECT_FALSE(good_resource_name(std::string(76, 'a') + ".fifo", queue_name_max));
  EXPECT_TRUE(good_resource_name(std::string(256, 'a'), topic_name_max));
}

TEST(MessageRules, AnEntryIdHas1To80PlainCharacters) {
  EXPECT_FALSE(good_entry_id(""));
  EXPECT_TRUE(good_entry_id("a-Z_9"));
  EXPECT_TRUE(good_entry_id(std::string(80, 'a')));
  EXPECT_FALSE(good_entry_id(std::string(81, 'a')));
  EXPECT_FALSE(good_entry_id("a b"));
}

TEST(MessageRules, ASequenceNumberHas20Digits) {
  std::array<char, 20> digits{};
  write_sequence_number(digits, 9'876'543'210);
  EXPECT_EQ(std::string_view(digits.data(), digits.size()), "00000000009876543210");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The parameters of a call, as both readers fill them in.
#include "proto/sqs/input.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/aws/message_attributes.h"

namespace pawl {
namespace {

using M = SqsMember;

struct Read {
  bool good = false;
  SqsInput input;
  Refusal refusal;
};

void read_as_json(std::string_view body, SqsAction action, Read& read) {
  const std::string padded = std::string(body) + std::string(64, '\0');
  read.good = read_json(std::string_view(padded).substr(0, body.size()), info(action), read.input,
                        read.refusal);
}

void read_as_form(std::string_view body, SqsAction action, Read& read) {
  Form form;
  ASSERT_EQ(form.parse(body), Form::Fault::none);
  read.good = read_query(form, info(action), read.input, read.refusal);
}

std::string json_text(SqsAction action, std::string_view body) {
  Read read;
  read_as_json(body, action, read);
  EXPECT_EQ(read.good, !read.refusal);
  return read.refusal.text;
}

std::string form_text(SqsAction action, std::string_view body) {
  Read read;
  read_as_form(body, action, read);
  EXPECT_EQ(read.good, !read.refusal);
  return read.refusal.text;
}

TEST(SqsInput, IsTheSameFromBothProtocols) {
  Read reads[2];
  read_as_json(R"({"QueueUrl":"u","MessageBody":"b","DelaySeconds":5,"Unknown":[1],)"
               R"("MessageAttributes":{"a":{"DataType":"Binary","BinaryValue":"AAE="}}})",
               SqsAction::send_message, reads[0]);
  read_as_form(
      "QueueUrl=u&MessageBody=b&DelaySeconds=5&Unknown.1=1&MessageAttribute.1.Name=a&"
      "MessageAttribute.1.Value.DataType=Binary&MessageAttribute.1.Value.BinaryValue=AAE%3D",
      SqsAction::send_message, reads[1]);
  for (const Read& read : reads) {
    ASSERT_TRUE(read.good) << read.refusal.text;
    EXPECT_EQ(read.input[M::queue_url].text, "u");
    EXPECT_FALSE(read.input[M::queue_name].present);
    ASSERT_EQ(read.input.entries.size(), 1u) << "a single message is entry 0";
    EXPECT_EQ(read.input.entries_given, 1u);
    const SqsEntryInput& entry = read.input.single();
    EXPECT_EQ(entry[M::body].text, "b");
    EXPECT_TRUE(entry[M::delay_seconds].within(5, 5));
    EXPECT_EQ(entry[M::delay_seconds].text, "5");
    EXPECT_FALSE(entry[M::group_id].present);
    ASSERT_EQ(entry.attributes.kept, 1u);
    EXPECT_EQ(read.input.attributes[0].name, "a");
    EXPECT_EQ(read.input.attributes[0].type, "Binary");
    EXPECT_EQ(read.input.attributes[0].bytes, std::string_view("\0\1", 2));
    EXPECT_FALSE(read.input.attributes[0].text);
    EXPECT_FALSE(read.input.attributes[0].has_list);
  }
}

TEST(SqsInput, ReadsListsAndMapsInTheirOrder) {
  Read reads[3];
  read_as_json(R"({"AttributeNames":["b","a"]})", SqsAction::get_queue_attributes, reads[0]);
  read_as_json(R"({"AttributeName.1":"b","AttributeName.2":"a"})", SqsAction::get_queue_attributes,
               reads[1]);
  read_as_form("AttributeName.7=a&AttributeName.2=b", SqsAction::get_queue_attributes, reads[2]);
  for (const Read& read : reads)
    EXPECT_EQ(read.input.attribute_names, (std::vector<std::string_view>{"b", "a"}));

  const std::vector<SqsInput::Pair> pairs = {
      {"z", "1"},
      {"y", "" }
  };
  Read json, form;
  read_as_json(R"({"Attributes":{"z":1,"y":"","x":null}})", SqsAction::set_queue_attributes, json);
  read_as_form("Attribute.1.Name=z&Attribute.1.Value=1&Attribute.2.Name=y&Attribute.2.Value=",
               SqsAction::set_queue_attributes, form);
  EXPECT_EQ(json.input.queue_attributes, pairs) << "null counts as absent";
  EXPECT_EQ(form.input.queue_attributes, pairs);
}

TEST(SqsInput, KeepsTenEntriesAndCountsTheOthers) {
  std::string json = R"({"Entries":[)", form = "QueueUrl=u";
  for (int i = 1; i <= 12; ++i) {
    json += (i == 1 ? "{\"Id\":\"" : ",{\"Id\":\"") + std::to_string(i) + "\"}";
    form += "&DeleteMessageBatchRequestEntry." + std::to_string(i) + ".Id=" + std::to_string(i);
  }
  Read reads[2];
  read_as_json(json + "]}", SqsAction::delete_message_batch, reads[0]);
  read_as_form(form, SqsAction::delete_message_batch, reads[1]);
  for (const Read& read : reads) {
    ASSERT_TRUE(read.good) << read.refusal.text;
    EXPECT_EQ(read.input.entries_given, 12u);
    ASSERT_EQ(read.input.entries.size(), sqs_entries_max);
    EXPECT_EQ(read.input.entries[9][M::id].text, "10");
  }
}

TEST(SqsInput, KeepsTenAttributesOfEachEntryAndCountsTheOthers) {
  std::string attributes = "{";
  for (int i = 0; i < 12; ++i)
    attributes += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":{\"StringValue\":\"v\"}";
  attributes += "}";
  Read read;
  read_as_json(R"({"Entries":[{"MessageAttributes":)" + attributes + R"(},{"MessageAttributes":)" +
                   attributes + "}]}",
               SqsAction::send_message_batch, read);
  ASSERT_TRUE(read.good) << read.refusal.text;
  for (std::uint32_t i = 0; i < 2; ++i) {
    const SqsAttributeRange& range = read.input.entries[i].attributes;
    EXPECT_EQ(range.given, 12u);
    EXPECT_EQ(range.kept, message_attributes_max);
    EXPECT_EQ(read.input.attributes[range.first].name, "0");
  }
}

TEST(SqsInput, ConvertsNumbersAsAwsDoes) {
  const struct {
    std::string value;
    bool present, is_number;
    std::int64_t number;
    std::string text;
  } cases[] = {
      {"5",                    true,  true,  5,  "5"                   },
      {"5.0",                  true,  true,  5,  "5"                   },
      {"-3",                   true,  true,  -3, "-3"                  },
      {"18446744073709551615", true,  false, 0,  "18446744073709551615"}, // out of every range
      {"null",                 false, false, 0,  ""                    },
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.value);
    Read read;
    read_as_json("{\"DelaySeconds\":" + c.value + "}", SqsAction::send_message, read);
    ASSERT_TRUE(read.good) << read.refusal.text;
    const SqsScalar& delay = read.input.single()[M::delay_seconds];
    EXPECT_EQ(delay.present, c.present);
    EXPECT_EQ(delay.is_number, c.is_number);
    EXPECT_EQ(delay.within(c.number, c.number), c.is_number);
    EXPECT_EQ(delay.text, c.text);
  }
  EXPECT_EQ(json_text(SqsAction::send_message, R"({"DelaySeconds":1.5})"),
            "NUMBER_VALUE can not be converted to an Integer");
  EXPECT_EQ(json_text(SqsAction::send_message, R"({"DelaySeconds":1e300})"),
            "NUMBER_VALUE can not be converted to an Integer");
  EXPECT_EQ(json_text(SqsAction::send_message, R"({"DelaySeconds":"5"})"),
            "STRING_VALUE can not be converted to an Integer");
  Read form;
  read_as_form("DelaySeconds=5x", SqsAction::send_message, form);
  EXPECT_TRUE(form.input.single()[M::delay_seconds].present);
  EXPECT_FALSE(form.input.single()[M::delay_seconds].within(INT64_MIN, INT64_MAX));
}

TEST(SqsInput, RefusesInputThatTwoReadersCouldReadDifferently) {
  const SqsAction send = SqsAction::send_message;
  EXPECT_EQ(json_text(send, R"({"MessageBody":"a","MessageBody":"b"})"),
            "The member MessageBody is given twice");
  EXPECT_EQ(json_text(send, R"({"Other":1,"\u004fther":1})"), "The member Other is given twice");
  EXPECT_EQ(form_text(SqsAction::tag_queue, "Tag.1.Key=a&Tag.1.Value=1&Tag.2.Key=a&Tag.2.Value=2"),
            "Tag names a twice: name it once.");
}

TEST(SqsInput, RefusesOtherTypesThanTheTableHas) {
  const SqsAction send = SqsAction::send_message;
  EXPECT_EQ(json_text(send, "[]"), "Start of list found where not expected");
  EXPECT_EQ(json_text(send, "1"), "Expected a structure or map");
  EXPECT_EQ(json_text(send, R"({"MessageBody":{}})"),
            "Start of structure or map found where not expected.");
  EXPECT_EQ(json_text(send, R"({"MessageAttributes":{"a":{"BinaryValue":1}}})"),
            "NUMBER_VALUE can not be converted to a Blob");
  EXPECT_EQ(json_text(send, R"({"MessageAttributes":{"a":{"BinaryValue":"!"}}})"),
            "A BinaryValue is not base64");
  EXPECT_EQ(json_text(SqsAction::get_queue_attributes, R"({"AttributeNames":{}})"),
            "Start of structure or map found where not expected.");
  EXPECT_EQ(json_text(SqsAction::get_queue_attributes, R"({"AttributeNames":[null]})"),
            "Null found where not expected");
  EXPECT_TRUE(json_text(send, "{").starts_with("The request body is not valid JSON"));
  EXPECT_EQ(json_text(send, " \r\n"), "") << "an empty body has no members";
}

TEST(SqsInput, RefusesATagWithoutAValue) {
  const std::string text = "The request must contain the parameter Tags.";
  EXPECT_EQ(json_text(SqsAction::tag_queue, R"({"Tags":{"a":null}})"), text);
  EXPECT_EQ(form_text(SqsAction::tag_queue, "Tag.1.Key=a"), text);
}

TEST(SqsInput, BoundsTheMembersOfAListAndOfAnObject) {
  const auto list = [](std::size_t count) {
    std::string text = R"({"AttributeNames":[)";
    for (std::size_t i = 0; i < count; ++i) text += i == 0 ? "\"a\"" : ",\"a\"";
    return text + "]}";
  };
  EXPECT_EQ(json_text(SqsAction::get_queue_attributes, list(sqs_list_max)), "");
  EXPECT_EQ(json_text(SqsAction::get_queue_attributes, list(sqs_list_max + 1)),
            "A list has too many members");
  const auto object = [](std::size_t count) {
    std::string text = "{";
    for (std::size_t i = 0; i < count; ++i)
      text += (i == 0 ? "\"m" : ",\"m") + std::to_string(i) + "\":1";
    return text + "}";
  };
  EXPECT_EQ(json_text(SqsAction::list_queues, object(sqs_list_max)), "");
  EXPECT_EQ(json_text(SqsAction::list_queues, object(sqs_list_max + 1)),
            "A structure or map has too many members");
}

TEST(SqsInput, IsEmptyAfterClear) {
  Read read;
  read_as_json(R"({"Entries":[{"Id":"1","MessageAttributes":{"a":{"StringValue":"v"}}}],)"
               R"("QueueUrl":"u"})",
               SqsAction::send_message_batch, read);
  ASSERT_TRUE(read.good) << read.refusal.text;
  read.input.clear();
  EXPECT_FALSE(read.input[M::queue_url].present);
  EXPECT_TRUE(read.input.entries.empty() && read.input.attributes.empty());
  EXPECT_EQ(read.input.entries_given, 0u);
}

TEST(SqsArena, KeepsItsTextsWhereTheyAreUntilTheReset) {
  SqsArena arena;
  std::vector<std::string> given;
  std::vector<std::string_view> copies;
  for (int i = 0; i < 500; ++i) {
    given.push_back("text " + std::string(static_cast<std::size_t>(i) * 3, 'x') +
                    std::to_string(i));
    copies.push_back(arena.copy(given.back()));
  }
  for (std::size_t i = 0; i < given.size(); ++i) ASSERT_EQ(copies[i], given[i]);
  EXPECT_EQ(arena.copy("").size(), 0u);
}

TEST(SqsArena, KeepsOneBlockOfALimitedSize) {
  SqsArena arena;
  for (int i = 0; i < 100; ++i) arena.copy(std::string(1000, 'x'));
  arena.reset();
  EXPECT_GT(arena.memory(), SqsArena::block_bytes);
  EXPECT_LE(arena.memory(), SqsArena::keep_max);
  const std::size_t kept = arena.memory();
  arena.copy(std::string(kept, 'x'));
  EXPECT_EQ(arena.memory(), kept) << "the next call fits";
  arena.reset();
  SqsArena large;
  large.copy(std::string(SqsArena::keep_max + 1, 'x'));
  large.reset();
  EXPECT_EQ(large.memory(), 0u) << "no block of this size is kept";
}

}  // namespace
}  // namespace pawl

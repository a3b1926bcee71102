// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/message.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

using M = SqsMember;
using F = SqsFault;

class SqsMessageTest : public testing::Test {
 protected:
  SqsMessageTest() {
    input_.entries.resize(1);
    set(M::body, "body");
  }
  void set(SqsMember member, std::string_view text) {
    SqsScalar& scalar = input_.scalar_of(member, input_.entries[0]);
    scalar = {.text = text, .present = true};
  }
  void set_number(SqsMember member, std::int64_t number) {
    SqsScalar& scalar = input_.scalar_of(member, input_.entries[0]);
    scalar = {.text = "n", .number = number, .present = true, .is_number = true};
  }
  void add_attribute(std::string_view name, std::string_view type, std::string_view value) {
    input_.add_attribute(input_.entries[0].attributes,
                         {.name = name, .type = type, .text = value, .bytes = value});
  }
  void make_fifo() { queue_.apply({Attribute::fifo_queue, 1, {}}); }
  F check(SqsWords words = SqsWords::single) {
    refusal_.clear();
    const bool good =
        check_message(input_, input_.single(), queue_, trace_, words, message_, send_, refusal_);
    EXPECT_EQ(good, !refusal_) << refusal_.text;
    return refusal_.fault;
  }

  SqsInput input_;
  QueueConfig queue_;
  std::string trace_;
  SqsMessage message_;
  SendEntry send_;
  Refusal refusal_;
};

TEST_F(SqsMessageTest, BecomesASendWithItsDigests) {
  add_attribute("b", "String", "2");
  add_attribute("a", "Number", "1");
  set_number(M::delay_seconds, 7);
  set(M::group_id, "tenant");
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.content.body, "body");
  EXPECT_EQ(send_.content.group, "tenant");
  EXPECT_EQ(send_.delay, seconds(7));
  EXPECT_EQ(send_.content.body_md5, &message_.body_md5);
  EXPECT_TRUE(message_.has_attributes);
  EXPECT_FALSE(message_.has_system);
  AttributeReader reader(send_.content.attributes);
  MessageAttribute attribute;
  ASSERT_TRUE(reader.next(attribute));
  EXPECT_EQ(attribute.name, "a") << "sorted by name";
  ASSERT_TRUE(reader.next(attribute));
  EXPECT_TRUE(reader.at_end());
}

TEST_F(SqsMessageTest, HasTheSizeOfItsBodyAndItsAttributes) {
  EXPECT_EQ(message_size(input_, input_.single()), 4u);
  add_attribute("name", "String", "value");
  EXPECT_EQ(message_size(input_, input_.single()), 4u + 4 + 6 + 5);
  queue_.apply({Attribute::maximum_message_size, 19, {}});
  EXPECT_EQ(check(), F::none);
  queue_.apply({Attribute::maximum_message_size, 18, {}});
  EXPECT_EQ(check(), F::invalid_parameter_value);
  EXPECT_EQ(refusal_.text,
            "One or more parameters are invalid. Reason: Message must be shorter than 18 bytes.");
  check(SqsWords::batch_entry);
  EXPECT_EQ(refusal_.text,
            "One or more parameters cannot be validated. Reason: Message must be shorter than 18 "
            "bytes.");
}

// Each step mends the fault found before it.
TEST_F(SqsMessageTest, FindsFaultsInTheOrderOfAws) {
  make_fifo();
  queue_.apply({Attribute::maximum_message_size, 10, {}});
  set_number(M::delay_seconds, 901);
  add_attribute("AWS.x", "String", "v");
  input_.scalar_of(M::body, input_.entries[0]) = {};
  EXPECT_EQ(check(), F::missing_parameter);
  set(M::body, std::string_view("\0 and a longer body", 19));
  EXPECT_EQ(check(), F::invalid_parameter_value);
  EXPECT_TRUE(refusal_.text.contains("DelaySeconds")) << refusal_.text;
  input_.scalar_of(M::delay_seconds, input_.entries[0]) = {};
  check();
  EXPECT_TRUE(refusal_.text.contains("reserved")) << refusal_.text;
  input_.attributes.clear();
  input_.entries[0].attributes = {};
  check();
  EXPECT_TRUE(refusal_.text.contains("MessageGroupId")) << refusal_.text;
  set(M::group_id, "g");
  set(M::deduplication_id, "d");
  EXPECT_EQ(check(), F::invalid_message_contents);
  set(M::body, "and a longer body");
  check();
  EXPECT_TRUE(refusal_.text.contains("shorter than 10 bytes")) << refusal_.text;
  set(M::body, "short");
  EXPECT_EQ(check(), F::none) << refusal_.text;
}

TEST_F(SqsMessageTest, OfAFifoQueueIsDeduplicatedByItsIdOrItsContent) {
  make_fifo();
  set(M::group_id, "g");
  set(M::deduplication_id, "given");
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.content.dedup_id, "given");
  input_.scalar_of(M::deduplication_id, input_.entries[0]) = {};
  EXPECT_EQ(check(), F::invalid_parameter_value);
  queue_.apply({Attribute::content_based_deduplication, 1, {}});
  ASSERT_EQ(check(), F::none) << refusal_.text;
  std::string hex;
  append_hex(hex, sha256("body"));
  EXPECT_EQ(send_.content.dedup_id, hex);
}

TEST_F(SqsMessageTest, OfAFifoQueueNeedsItsIdsInTheWordsOfTheAction) {
  make_fifo();
  const auto given = [&](SqsWords words) {
    refusal_.clear();
    const bool good = check_fifo_ids_given(input_.single(), queue_, words, refusal_);
    EXPECT_EQ(good, !refusal_);
    return refusal_.fault;
  };
  EXPECT_EQ(given(SqsWords::single), F::missing_parameter);
  EXPECT_EQ(given(SqsWords::batch_entry), F::invalid_parameter_value);
  set(M::group_id, "g");
  EXPECT_EQ(given(SqsWords::single), F::invalid_parameter_value) << "no deduplication id";
  set(M::deduplication_id, "d");
  EXPECT_EQ(given(SqsWords::single), F::none);
}

TEST_F(SqsMessageTest, TakesTheTraceHeaderOfTheRequestWithoutADigest) {
  trace_ = "Root=1";
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_FALSE(send_.content.system.empty());
  EXPECT_FALSE(message_.has_system);
  input_.add_attribute(input_.entries[0].system,
                       {.name = "AWSTraceHeader", .type = "String", .text = "Root=2"});
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_TRUE(message_.has_system);
  MessageAttribute attribute;
  ASSERT_TRUE(AttributeReader(send_.content.system).next(attribute));
  EXPECT_EQ(attribute.value, "Root=2");
}

}  // namespace
}  // namespace pawl

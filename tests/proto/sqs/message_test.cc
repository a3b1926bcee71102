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
  void add_system(std::string_view name, std::string_view type, std::string_view value) {
    input_.add_attribute(input_.entries[0].system, {.name = name, .type = type, .text = value});
  }
  void drop_attributes() {
    input_.attributes.clear();
    input_.entries[0].attributes = input_.entries[0].system = {};
  }
  void lift(std::int64_t max_delay) { queue_.apply({Attribute::max_delay, max_delay, {}}); }
  void make_fifo() { queue_.apply({Attribute::fifo_queue, 1, {}}); }
  F check(SqsWords words = SqsWords::single) {
    refusal_.clear();
    const bool good = check_message(
        input_, input_.single(),
        {.queue = queue_, .trace = trace_, .now = now_, .shift = &shift_, .words = words}, message_,
        send_, refusal_);
    EXPECT_EQ(good, !refusal_) << refusal_.text;
    return refusal_.fault;
  }

  SqsInput input_;
  QueueConfig queue_;
  std::string trace_;
  Instant now_{1'798'135'200'000};  // 2026-12-24T18:00:00Z
  TimeShift shift_;
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

TEST_F(SqsMessageTest, IsDelayedForLongerWhereTheQueueAllowsIt) {
  set_number(M::delay_seconds, 901);
  EXPECT_EQ(check(), F::invalid_parameter_value);
  lift(1000);
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.delay, seconds(901));
  set_number(M::delay_seconds, 1001);
  EXPECT_EQ(check(), F::invalid_parameter_value);
  EXPECT_EQ(refusal_.text,
            "Value n for parameter DelaySeconds is invalid. Reason: DelaySeconds must be >= 0 and "
            "<= 1000, the queue's x-max-delay.");
  lift(60);
  set_number(M::delay_seconds, 61);
  EXPECT_EQ(check(), F::invalid_parameter_value) << "x-max-delay may be below SQS's limit";
}

TEST_F(SqsMessageTest, OfAFifoQueueHasADelayOfItsOwnWhereTheQueueAllowsIt) {
  make_fifo();
  set(M::group_id, "g");
  set(M::deduplication_id, "d");
  set_number(M::delay_seconds, 5);
  EXPECT_EQ(check(), F::invalid_parameter_value);
  EXPECT_TRUE(refusal_.text.contains("not valid for this queue type")) << refusal_.text;
  set_number(M::delay_seconds, 0);
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.delay, queue_default) << "as AWS";
  lift(60);
  for (const std::int64_t delay : {0, 5, 60}) {
    set_number(M::delay_seconds, delay);
    ASSERT_EQ(check(), F::none) << refusal_.text;
    EXPECT_EQ(send_.delay, seconds(delay));
  }
}

TEST_F(SqsMessageTest, WaitsForATime) {
  add_system("x-not-before", "String", "2026-12-24T18:01:00Z");
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.delay, milliseconds(60'001));
  AttributeReader reader(send_.content.system);
  MessageAttribute stored;
  ASSERT_TRUE(reader.next(stored));
  EXPECT_EQ(stored.name, "x-not-before");
  EXPECT_EQ(stored.value, "2026-12-24T18:01:00Z");
  EXPECT_TRUE(reader.at_end());

  shift_.set_us(10'000'000);
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.delay, milliseconds(50'001)) << "by the wall clock";

  drop_attributes();
  add_system("x-not-before", "Number", "1");
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.delay, Duration{0}) << "the past is now, whatever the queue's delay";

  set_number(M::delay_seconds, 0);
  EXPECT_EQ(check(), F::none) << "some clients always send it: " << refusal_.text;
  set_number(M::delay_seconds, 5);
  EXPECT_EQ(check(), F::invalid_parameter_value);
  EXPECT_EQ(refusal_.text,
            "Value 1 for the attribute x-not-before is invalid. Reason: The message has "
            "DelaySeconds too, with value n. Send one of both.");
}

TEST_F(SqsMessageTest, LivesForATime) {
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.time_to_live, Duration{0}) << "that of the queue";
  add_system("x-ttl", "Number", "30");
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.time_to_live, seconds(30));
  EXPECT_EQ(send_.delay, queue_default);
  EXPECT_TRUE(send_.content.system.contains("x-ttl"));
  add_system("x-not-before", "String", "2026-12-24T18:01:00Z");
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.time_to_live, seconds(30)) << "both, in any order";
  EXPECT_EQ(send_.delay, milliseconds(60'001));
  drop_attributes();
  add_system("x-ttl", "String", "0");
  EXPECT_EQ(check(), F::invalid_parameter_value);
  EXPECT_TRUE(refusal_.text.contains("reaches nobody")) << refusal_.text;
  make_fifo();
  set(M::group_id, "g");
  set(M::deduplication_id, "d");
  drop_attributes();
  add_system("x-ttl", "String", "2h");
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.time_to_live, seconds(7'200));
}

TEST_F(SqsMessageTest, HasADigestOfTheSystemAttributesThatItsSenderGave) {
  const auto digest_of = [](std::initializer_list<MessageAttribute> all) {
    std::string encoded;
    for (const MessageAttribute& a : all) append_attribute(encoded, a);
    Md5 out{};
    EXPECT_TRUE(attributes_md5(encoded, out));
    return out;
  };
  const MessageAttribute trace{"AWSTraceHeader", "String", AttributeKind::text, "Root=1"},
      time{"x-not-before", "Number", AttributeKind::text, "7"};
  add_system("x-not-before", "Number", "7");
  add_system("AWSTraceHeader", "String", "Root=1");
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_TRUE(message_.has_system);
  EXPECT_EQ(message_.system_md5, digest_of({trace, time})) << "sorted";
  EXPECT_EQ(check_attributes(send_.content.system), Errc::ok);

  drop_attributes();
  trace_ = "Root=1";
  add_system("x-not-before", "Number", "7");
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(message_.system_md5, digest_of({time})) << "without the header of HTTP";
  EXPECT_TRUE(send_.content.system.contains("Root=1")) << "which is stored";
  drop_attributes();
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_FALSE(message_.has_system);
  EXPECT_TRUE(send_.content.system.contains("Root=1"));
}

TEST_F(SqsMessageTest, NamesWrongSystemAttributes) {
  const struct {
    const char *name, *type, *value, *text;
  } cases[] = {
      {"x-not-befor",    "String", "1",
       R"(Message system attribute name 'x-not-befor' is invalid. Did you mean "x-not-before"?)"},
      {"x-colour",       "String", "1",
       "Message system attribute name 'x-colour' is invalid. There are AWSTraceHeader, "
       "x-not-before, x-ttl."                                                                   },
      {"Other",          "String", "1",    "Message system attribute name 'Other' is invalid."  },
      {"x-not-before",   "Binary", "1",
       "The type of message (system) attribute 'x-not-before' is invalid. You must use only the "
       "following supported type prefixes: Number, String."                                     },
      {"AWSTraceHeader", "Number", "1",
       "The type of message (system) attribute 'AWSTraceHeader' is invalid. You must use only the "
       "following supported type prefixes: String."                                             },
      {"x-not-before",   "String", "",
       "The message (system) attribute 'x-not-before' must contain a non-empty message attribute "
       "value."                                                                                 },
      {"x-not-before",   "String", "soon",
       "Value soon for the attribute x-not-before is invalid. Reason: It must be a time with an "
       "offset, as 2026-12-24T18:00:00Z, or milliseconds since 1970."                           },
  };
  for (const auto& c : cases) {
    drop_attributes();
    add_system(c.name, c.type, c.value);
    EXPECT_EQ(check(), F::invalid_parameter_value);
    EXPECT_EQ(refusal_.text, c.text);
  }
  for (const char* name : {"x-not-before", "AWSTraceHeader"}) {
    drop_attributes();
    for (int i = 0; i < 12; ++i) add_system(name, "String", "1");
    EXPECT_EQ(check(), F::invalid_parameter_value);
    EXPECT_EQ(refusal_.text,
              "Message (system) attribute name '" + std::string(name) + "' already exists.");
  }
}

TEST_F(SqsMessageTest, TakesOwnAttributesAmongTheOthersWhereTheQueueSaysSo) {
  add_attribute("x-not-before", "String", "2026-12-24T18:01:00Z");
  add_attribute("X-Request-Id", "String", "r");
  add_attribute("x-ttl", "String", "1500ms");
  add_attribute("x-priority", "String", "high");
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.delay, queue_default) << "an ordinary attribute";
  EXPECT_EQ(send_.time_to_live, Duration{0});
  queue_.apply({Attribute::attribute_channel, 1, {}});
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.delay, milliseconds(60'001));
  EXPECT_EQ(send_.time_to_live, milliseconds(1'500));
  EXPECT_TRUE(send_.content.attributes.contains("2026-12-24T18:01:00Z")) << "delivered as sent";
  EXPECT_EQ(send_.content.system, "");
  EXPECT_FALSE(message_.has_system);

  add_system("x-not-before", "String", "0");
  EXPECT_EQ(check(), F::invalid_parameter_value);
  EXPECT_TRUE(refusal_.text.contains("The message has this attribute already.")) << refusal_.text;
  drop_attributes();
  add_attribute("x-not-before", "Binary", "2026-12-24T18:01:00Z");
  EXPECT_EQ(check(), F::invalid_parameter_value);
  EXPECT_TRUE(refusal_.text.starts_with("Value (binary) for the attribute")) << refusal_.text;
  drop_attributes();
  add_system("x-not-before", "String", "2026-12-24T18:01:00Z");
  ASSERT_EQ(check(), F::none) << refusal_.text;
  EXPECT_EQ(send_.delay, milliseconds(60'001)) << "among the system attributes too";
}

}  // namespace
}  // namespace pawl

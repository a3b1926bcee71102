// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/own_attributes.h"

#include <gtest/gtest.h>

#include <string>

namespace pawl {
namespace {

constexpr Instant now{1'798'135'200'000};  // 2026-12-24T18:00:00Z
constexpr std::int64_t two_days = 2 * 86'400;

class OwnAttributesTest : public testing::Test {
 protected:
  bool read(std::string_view value, AttributeKind kind = AttributeKind::text) {
    refusal_.clear();
    own_.reset();
    const bool good = read_own_attribute({not_before_name, "String", kind, value}, own_, refusal_);
    EXPECT_EQ(good, !refusal_) << refusal_.text;
    EXPECT_EQ(good, own_ && own_->not_before);
    return good;
  }
  // The time to live in milliseconds; -1: refused.
  std::int64_t time_to_live(std::string_view value, AttributeKind kind = AttributeKind::text) {
    refusal_.clear();
    own_.reset();
    const bool good = read_own_attribute({"x-ttl", "String", kind, value}, own_, refusal_);
    EXPECT_EQ(good, !refusal_) << refusal_.text;
    EXPECT_EQ(good, own_ && own_->time_to_live);
    return good ? own_->time_to_live->ms : -1;
  }
  // The delay in milliseconds; -1: refused.
  std::int64_t delay(std::string_view value) {
    Duration out{-1};
    if (!read(value)) return -2;
    const bool good = delay_until(*own_->not_before, now, queue_, out, refusal_);
    EXPECT_EQ(good, !refusal_) << refusal_.text;
    return good ? out.ms : -1;
  }
  void set(Attribute attribute, std::int64_t number) { queue_.apply({attribute, number, {}}); }

  QueueConfig queue_;
  std::optional<OwnAttributes> own_;
  Refusal refusal_;
};

TEST_F(OwnAttributesTest, AreKnownByTheirNames) {
  EXPECT_TRUE(is_own_attribute("x-not-before"));
  EXPECT_TRUE(is_own_attribute("x-ttl"));
  for (const char* other :
       {"", "x-", "X-Not-Before", "x-not-befor", "x-request-id", "AWSTraceHeader", "X-TTL"})
    EXPECT_FALSE(is_own_attribute(other)) << other;
  EXPECT_EQ(own_attribute_hint("x-notbefore"), R"( Did you mean "x-not-before"?)");
  EXPECT_EQ(own_attribute_hint("x-colour"), " There are AWSTraceHeader, x-not-before, x-ttl.");
  EXPECT_EQ(own_attribute_hint("x-tll"), R"( Did you mean "x-ttl"?)");
  EXPECT_EQ(own_attribute_hint("not-before"), "") << "not a name of pawl's kind";
}

TEST_F(OwnAttributesTest, ReadATimeInBothForms) {
  for (const char* text : {"1798135200000", "2026-12-24T18:00:00Z", "2026-12-24T20:00:00+02:00"}) {
    ASSERT_TRUE(read(text)) << text;
    EXPECT_EQ(own_->not_before->time, now);
    EXPECT_EQ(own_->not_before->text, text);
  }
  ASSERT_TRUE(read("0"));
  EXPECT_EQ(own_->not_before->time, Instant{0});
}

TEST_F(OwnAttributesTest, RefuseWhatIsNoTime) {
  for (const char* bad : {"", "soon", "-1", "+5", "1.5", "1e12", "2026-12-24",
                          "2026-12-24T18:00:00", "1798135200000 ", "99999999999999999999"}) {
    EXPECT_FALSE(read(bad)) << bad;
    EXPECT_EQ(refusal_.fault, SqsFault::invalid_parameter_value);
    EXPECT_EQ(refusal_.text,
              "Value " + std::string(bad) +
                  " for the attribute x-not-before is invalid. Reason: It must be a time with an "
                  "offset, as 2026-12-24T18:00:00Z, or milliseconds since 1970.");
  }
  EXPECT_FALSE(read("1798135200"));
  EXPECT_TRUE(refusal_.text.ends_with("A number counts milliseconds since 1970, not seconds."))
      << refusal_.text;
  EXPECT_FALSE(read("2026-12-24T18:00:00Z", AttributeKind::bytes));
  EXPECT_TRUE(refusal_.text.starts_with("Value (binary) for the attribute x-not-before"))
      << refusal_.text;
}

TEST_F(OwnAttributesTest, HaveOneValue) {
  ASSERT_TRUE(read("0"));
  EXPECT_FALSE(
      read_own_attribute({not_before_name, "String", AttributeKind::text, "1"}, own_, refusal_));
  EXPECT_TRUE(refusal_.text.contains("The message has this attribute already.")) << refusal_.text;
}

TEST_F(OwnAttributesTest, LimitTheLifeOfAMessage) {
  EXPECT_EQ(time_to_live("1ms"), 1);
  EXPECT_EQ(time_to_live("1500ms"), 1'500);
  EXPECT_EQ(time_to_live("30"), 30'000) << "a number alone counts seconds";
  EXPECT_EQ(time_to_live("2h"), 7'200'000);
  EXPECT_EQ(time_to_live("14d"), 1'209'600'000);
  EXPECT_EQ(time_to_live("1209600000ms"), 1'209'600'000);
}

TEST_F(OwnAttributesTest, RefuseWhatIsNoTimeToLive) {
  const struct {
    const char *value, *why;
  } cases[] = {
      {"",             ""                                                                },
      {"soon",         ""                                                                },
      {"-1",           ""                                                                },
      {"1.5s",         ""                                                                },
      {"30 s",         ""                                                                },
      {"2w",           ""                                                                },
      {"0",            "A message that expires as soon as it is visible reaches nobody. "},
      {"0ms",          "A message that expires as soon as it is visible reaches nobody. "},
      {"15d",          "It is too long. "                                                },
      {"1209600001ms", "It is too long. "                                                },
  };
  for (const auto& c : cases) {
    EXPECT_EQ(time_to_live(c.value), -1) << c.value;
    EXPECT_EQ(refusal_.fault, SqsFault::invalid_parameter_value);
    EXPECT_EQ(refusal_.text, "Value " + std::string(c.value) +
                                 " for the attribute x-ttl is invalid. Reason: " + c.why +
                                 "It must be 1 ms to 14 days, as 250ms, 90s, 15m, 2h or 3d; a "
                                 "number alone counts seconds.");
  }
  EXPECT_EQ(time_to_live("30", AttributeKind::bytes), -1);
  EXPECT_TRUE(refusal_.text.starts_with("Value (binary) for the attribute x-ttl")) << refusal_.text;
  ASSERT_EQ(time_to_live("30"), 30'000);
  EXPECT_FALSE(read_own_attribute({"x-ttl", "String", AttributeKind::text, "30"}, own_, refusal_));
  EXPECT_TRUE(refusal_.text.contains("The message has this attribute already.")) << refusal_.text;
}

TEST_F(OwnAttributesTest, DelayUntilATimeThatHasNotPassed) {
  EXPECT_EQ(delay("2026-12-24T18:00:00Z"), 0);
  EXPECT_EQ(delay("1"), 0) << "long ago";
  EXPECT_EQ(delay("2026-12-24T18:00:01Z"), 1001) << "rounded up";
  EXPECT_EQ(delay("2026-12-24T18:15:00Z"), 900'000) << "but not beyond the limit";
  EXPECT_EQ(delay("2026-12-24T18:15:00.001Z"), -1);
  EXPECT_EQ(refusal_.text,
            "Value 2026-12-24T18:15:00.001Z for the attribute x-not-before is invalid. Reason: It "
            "is 901 s from now; a message of this queue waits at most 900 s. Choose an earlier "
            "time, or set the queue's x-max-delay, at most 63244800 s.");
  set(Attribute::max_delay, two_days);
  EXPECT_EQ(delay("2026-12-26T18:00:00Z"), two_days * 1000);
  EXPECT_EQ(delay("2026-12-26T18:00:01Z"), -1);
  EXPECT_TRUE(
      refusal_.text.contains("waits at most 172800 s, its x-max-delay. Choose an earlier "
                             "time, or raise x-max-delay, at most 63244800 s."))
      << refusal_.text;
  EXPECT_EQ(delay("9223372036854775807"), -1);
}

TEST_F(OwnAttributesTest, DelayAMessageOfAFifoQueueThatAllowsIt) {
  set(Attribute::fifo_queue, 1);
  EXPECT_EQ(delay("1"), 0);
  EXPECT_EQ(delay("2026-12-24T18:00:01Z"), -1);
  EXPECT_TRUE(refusal_.text.contains("only where x-max-delay is set")) << refusal_.text;
  set(Attribute::max_delay, 60);
  EXPECT_EQ(delay("2026-12-24T18:00:01Z"), 1001);
}

}  // namespace
}  // namespace pawl

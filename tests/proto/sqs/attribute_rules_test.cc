// SPDX-License-Identifier: Apache-2.0
#include "proto/sqs/attribute_rules.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "proto/sqs/queue_attributes.h"

namespace pawl {
namespace {

class AttributeRulesTest : public testing::Test {
 protected:
  // The error text; empty: the changes fit.
  std::string refused(const std::vector<AttributeChange>& changes, bool new_queue = false) {
    refusal_.clear();
    const bool good = fit_together(changes, new_queue ? nullptr : &queue_, refusal_);
    EXPECT_EQ(good, !refusal_) << refusal_.text;
    return refusal_.text;
  }

  QueueConfig queue_;
  Refusal refusal_;
};

TEST_F(AttributeRulesTest, OneTypeOfEncryption) {
  const AttributeChange key{Attribute::kms_master_key_id, -1, "key"},
      managed{Attribute::sqs_managed_sse_enabled, 1, {}};
  EXPECT_TRUE(refused({key, managed}).contains("one type of server-side encryption"));
  EXPECT_EQ(refusal_.fault, SqsFault::invalid_attribute_name);
  EXPECT_EQ(refused({key}), "");
  EXPECT_EQ(refused({managed}), "");
}

TEST_F(AttributeRulesTest, AThroughputPerGroupNeedsDeduplicationPerGroup) {
  const AttributeChange limit{Attribute::fifo_throughput_limit, 1, {}},
      scope{Attribute::deduplication_scope, 1, {}};
  EXPECT_EQ(refused({limit, scope}), "");
  EXPECT_EQ(refused({limit, scope}, true), "");
  EXPECT_TRUE(refused({limit}).contains("allowed only when the value for DeduplicationScope"));
  EXPECT_EQ(refusal_.fault, SqsFault::invalid_attribute_value);
  EXPECT_NE(refused({limit}, true), "");
  queue_.apply(scope);
  EXPECT_EQ(refused({limit}), "") << "the queue has the scope";
}

TEST_F(AttributeRulesTest, AMaximumOfSqsCanBeLifted) {
  struct Case {
    Attribute attribute, by;
    std::int64_t usual, lifted, least;
  };
  for (const Case& c : {
           Case{Attribute::delay_seconds,            Attribute::max_delay,      900,       5'000,     0},
           Case{Attribute::visibility_timeout,       Attribute::max_visibility, 43'200,    90'000,    0},
           Case{Attribute::message_retention_period, Attribute::max_retention,  1'209'600, 5'000'000,
                60                                                                                     }
  }) {
    const std::string name(name_of(c.attribute)), by(name_of(c.by)),
        most = std::to_string(c.lifted), begin = "Invalid value for the parameter ";
    ASSERT_NE(lifted_limit(c.attribute), nullptr);
    EXPECT_EQ(lifted_limit(c.attribute)->by, c.by);
    EXPECT_EQ(lifted_limit(c.attribute)->name, name);
    EXPECT_EQ(lifted_limit(c.attribute)->by_name, by);
    EXPECT_TRUE(lifts_a_limit(by) && !lifts_a_limit(name));
    EXPECT_EQ(refused({
                  {c.attribute, c.usual, {}}
    }),
              "");
    EXPECT_EQ(refused({
                  {c.attribute, c.usual + 1, {}}
    }),
              begin + name + ".")
        << "as SQS";
    const std::vector<AttributeChange> both = {
        {c.attribute, c.lifted, {}},
        {c.by,        c.lifted, {}}
    };
    EXPECT_EQ(refused(both), "") << "in one request";
    EXPECT_EQ(refused(both, true), "") << "in that which makes the queue";
    queue_.apply({c.by, c.lifted, {}});
    EXPECT_EQ(refused({
                  {c.attribute, c.lifted, {}}
    }),
              "")
        << "the queue has the limit";
    EXPECT_EQ(refused({
                  {c.attribute, c.lifted + 1, {}}
    }),
              begin + name + ". Reason: It is " + std::to_string(c.lifted + 1) + "; it must be " +
                  std::to_string(c.least) + " to " + most + ", the " + by + " of the queue.");
  }
}

TEST_F(AttributeRulesTest, ALimitIsNotLoweredBelowItsAttribute) {
  queue_.apply({Attribute::max_delay, 5'000, {}});
  queue_.apply({Attribute::delay_seconds, 5'000, {}});
  const AttributeChange none{Attribute::max_delay, 0, {}}, lower{Attribute::max_delay, 4'999, {}},
      same{Attribute::max_delay, 5'000, {}}, delay{Attribute::delay_seconds, 30, {}};
  EXPECT_EQ(refused({none}),
            "Invalid value for the parameter x-max-delay. Reason: It is 0, which allows a "
            "DelaySeconds of at most 900 s; that of the queue is 5000 s. Lower DelaySeconds too.");
  EXPECT_TRUE(refused({lower}).contains("at most 4999 s; that of the queue is 5000 s"));
  EXPECT_EQ(refused({none, delay}), "");
  EXPECT_EQ(refused({same}), "");
  EXPECT_EQ(refused({none}, true), "") << "a new queue has no delay";
  EXPECT_EQ(refused({
                {Attribute::lag_target, 1, {}}
  }),
            "")
      << "neither is changed";
}

TEST_F(AttributeRulesTest, OtherMaximaAreFixed) {
  EXPECT_EQ(lifted_limit(Attribute::maximum_message_size), nullptr);
  EXPECT_FALSE(lifts_a_limit("x-lag-target"));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The table of queue attributes. tests/proto/sqs/queues_test.cc has the calls that use it.
#include "proto/sqs/queue_attributes.h"

#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "proto/aws/call_types.h"

namespace pawl {
namespace {

constexpr Attribute attributes[] = {
    Attribute::delay_seconds,
    Attribute::maximum_message_size,
    Attribute::message_retention_period,
    Attribute::receive_message_wait_time_seconds,
    Attribute::visibility_timeout,
    Attribute::kms_data_key_reuse_period_seconds,
    Attribute::sqs_managed_sse_enabled,
    Attribute::fifo_queue,
    Attribute::content_based_deduplication,
    Attribute::deduplication_scope,
    Attribute::fifo_throughput_limit,
    Attribute::durability,
    Attribute::replay_retention,
    Attribute::lag_target,
    Attribute::dead_letter_at,
    Attribute::max_delay,
    Attribute::max_visibility,
    Attribute::attribute_channel,
    Attribute::message_ttl,
    Attribute::dlq_on_expiry,
    Attribute::retention_from,
    Attribute::max_retention,
    Attribute::fifo_delay,
    Attribute::policy,
    Attribute::redrive_policy,
    Attribute::redrive_allow_policy,
    Attribute::kms_master_key_id,
    Attribute::retry_backoff,
};

class QueueAttributesTest : public testing::Test {
 protected:
  // The changes that one attribute makes to `queue_`, or to a new queue; the refusal is kept.
  std::vector<AttributeChange> read(std::string_view name, std::string_view value,
                                    bool new_queue = false) {
    const SqsInput::Pair pair{name, value};
    return read_all({&pair, 1}, new_queue);
  }
  std::vector<AttributeChange> read_all(std::span<const SqsInput::Pair> pairs,
                                        bool new_queue = false) {
    std::vector<AttributeChange> changes;
    refusal_.clear();
    const bool good = read_queue_attributes(pairs,
                                            {.directory = directory_,
                                             .account = "1",
                                             .name = "q",
                                             .fifo = queue_.is_fifo(),
                                             .queue = new_queue ? nullptr : &queue_},
                                            changes, refusal_);
    EXPECT_EQ(good, !refusal_) << refusal_.text;
    return changes;
  }

  Directory directory_;
  QueueConfig queue_;
  Refusal refusal_;
};

TEST_F(QueueAttributesTest, EachHaveAName) {
  std::set<std::string_view> names;
  for (const Attribute attribute : attributes) {
    EXPECT_FALSE(name_of(attribute).empty()) << static_cast<int>(attribute);
    EXPECT_TRUE(names.insert(name_of(attribute)).second) << name_of(attribute);
  }
  EXPECT_EQ(name_of(Attribute::dead_letter_target), "RedrivePolicy");
  EXPECT_EQ(name_of(Attribute::max_receive_count), "RedrivePolicy");
  EXPECT_EQ(name_of(Attribute::backoff_plan), "x-retry-backoff");
  EXPECT_EQ(name_of(Attribute::topic), "");
}

TEST_F(QueueAttributesTest, AreWrittenAsTheyAreRead) {
  const struct {
    const char *name, *value;
    Attribute attribute;
  } cases[] = {
      {"VisibilityTimeout",         "43200",               Attribute::visibility_timeout         },
      {"DelaySeconds",              "900",                 Attribute::delay_seconds              },
      {"SqsManagedSseEnabled",      "false",               Attribute::sqs_managed_sse_enabled    },
      {"KmsMasterKeyId",            "key",                 Attribute::kms_master_key_id          },
      {"Policy",                    R"({"Statement":[]})", Attribute::policy                     },
      {"x-durability",              "memory",              Attribute::durability                 },
      {"x-replay-retention",        "60",                  Attribute::replay_retention           },
      {"x-lag-target",              "30",                  Attribute::lag_target                 },
      {"x-dead-letter-at",          "lease-end",           Attribute::dead_letter_at             },
      {"x-max-delay",               "172800",              Attribute::max_delay                  },
      {"x-max-visibility",          "86400",               Attribute::max_visibility             },
      {"x-attributes",              "message",             Attribute::attribute_channel          },
      {"x-message-ttl",             "30",                  Attribute::message_ttl                },
      {"x-dlq-on-expiry",           "true",                Attribute::dlq_on_expiry              },
      {"x-retention-from",          "move",                Attribute::retention_from             },
      {"x-max-retention",           "31536000",            Attribute::max_retention              },
      {"x-fifo-delay",              "pass",                Attribute::fifo_delay                 },
      {"ContentBasedDeduplication", "true",                Attribute::content_based_deduplication},
      {"DeduplicationScope",        "messageGroup",        Attribute::deduplication_scope        },
  };
  queue_.apply({Attribute::fifo_queue, 1, {}});
  for (const auto& c : cases) {
    const auto changes = read(c.name, c.value);
    ASSERT_EQ(changes.size(), 1u) << c.name << ": " << refusal_.text;
    EXPECT_EQ(changes[0].attribute, c.attribute) << c.name;
    EXPECT_EQ(name_of(c.attribute), c.name);
    QueueConfig changed = queue_;
    changed.apply(changes[0]);
    EXPECT_EQ(text_of(c.attribute, changed), c.value);
  }
}

TEST_F(QueueAttributesTest, NameTheNearestOfPawlsOwn) {
  read("x-retry-backof", "{}");
  EXPECT_EQ(refusal_.text, R"(Unknown Attribute x-retry-backof. Did you mean "x-retry-backoff"?)");
  read("x-colour", "red");
  EXPECT_TRUE(refusal_.text.starts_with("Unknown Attribute x-colour. There are x-durability, "))
      << refusal_.text;
  read("Colour", "red");
  EXPECT_EQ(refusal_.text, "Unknown Attribute Colour.");
}

TEST_F(QueueAttributesTest, HaveTheRangesOfSqs) {
  const struct {
    const char* name;
    std::int64_t min, max;
  } cases[] = {
      {"VisibilityTimeout",             0,    43'200    },
      {"MaximumMessageSize",            1024, 1'048'576 },
      {"MessageRetentionPeriod",        60,   1'209'600 },
      {"DelaySeconds",                  0,    900       },
      {"ReceiveMessageWaitTimeSeconds", 0,    20        },
      {"KmsDataKeyReusePeriodSeconds",  60,   86'400    },
      {"x-replay-retention",            0,    31'536'000},
      {"x-lag-target",                  0,    1'209'600 },
  };
  for (const auto& c : cases) {
    for (const std::int64_t good : {c.min, c.max})
      EXPECT_EQ(read(c.name, std::to_string(good)).size(), 1u) << c.name << " " << refusal_.text;
    for (const std::string& bad : {std::to_string(c.min - 1), std::to_string(c.max + 1),
                                   std::string(), std::string("1x"), std::string(" 1")}) {
      read(c.name, bad);
      EXPECT_EQ(refusal_.fault, SqsFault::invalid_attribute_value) << c.name << " " << bad;
      EXPECT_TRUE(refusal_.text.contains(c.name)) << refusal_.text;
    }
  }
}

TEST_F(QueueAttributesTest, OfPawlTakeDurations) {
  const struct {
    const char *name, *value;
    std::int64_t seconds;
  } cases[] = {
      {"x-max-delay",        "1",      1         },
      {"x-max-delay",        "1000ms", 1         },
      {"x-max-delay",        "732d",   63'244'800},
      {"x-max-delay",        "0s",     0         },
      {"x-max-visibility",   "12h",    43'200    },
      {"x-max-visibility",   "30d",    2'592'000 },
      {"x-max-visibility",   "0",      0         },
      {"x-replay-retention", "2h",     7'200     },
      {"x-lag-target",       "15m",    900       },
      {"x-message-ttl",      "1",      1         },
      {"x-message-ttl",      "14d",    1'209'600 },
      {"x-message-ttl",      "0",      0         },
      {"x-max-retention",    "14d",    1'209'600 },
      {"x-max-retention",    "732d",   63'244'800},
  };
  for (const auto& c : cases) {
    const auto changes = read(c.name, c.value);
    ASSERT_EQ(changes.size(), 1u) << c.name << " " << c.value << ": " << refusal_.text;
    EXPECT_EQ(changes[0].number, c.seconds) << c.name << " " << c.value;
  }
  for (const char* bad : {"", "-1", "1500ms", "733d", "63244801", "1.5h", "2 d", "soon"}) {
    read("x-max-delay", bad);
    EXPECT_EQ(refusal_.text, "Invalid value for the parameter x-max-delay. Reason: It is " +
                                 std::string(*bad == 0 ? "empty" : bad) +
                                 "; write whole seconds from 1 to 63244800, as 90, 15m or 3d, or 0 "
                                 "for none.");
  }
  for (const char* bad : {"43199", "11h", "31d"}) {
    read("x-max-visibility", bad);
    EXPECT_TRUE(refusal_.text.contains("whole seconds from 43200 to 2592000")) << refusal_.text;
  }
  read("x-attributes", "body");
  EXPECT_TRUE(refusal_.text.ends_with("; write one of system, message.")) << refusal_.text;
  EXPECT_EQ(allowed_values("x-max-delay"), "1 to 63244800 seconds, or 0");
  for (const char* bad : {"500ms", "15d", "1209601"}) {
    read("x-message-ttl", bad);
    EXPECT_TRUE(refusal_.text.contains("whole seconds from 1 to 1209600")) << refusal_.text;
  }
}

TEST_F(QueueAttributesTest, OfExpiryAreNotShownUntilTheyAreSet) {
  for (const Attribute a : {Attribute::message_ttl, Attribute::dlq_on_expiry,
                            Attribute::retention_from, Attribute::max_retention})
    EXPECT_EQ(text_of(a, queue_), "") << name_of(a);
  EXPECT_EQ(read("x-dlq-on-expiry", "FALSE").size(), 1u) << refusal_.text;
  EXPECT_EQ(read("x-retention-from", "send").size(), 1u) << refusal_.text;
  for (const std::string bad : {"", "1", "yes"}) {
    read("x-dlq-on-expiry", bad);
    EXPECT_EQ(refusal_.text, "Invalid value for the parameter x-dlq-on-expiry. Reason: It is " +
                                 (bad.empty() ? "empty" : bad) + "; write one of false, true.");
  }
  for (const std::string bad : {"", "Move", "first"}) {
    read("x-retention-from", bad);
    EXPECT_EQ(refusal_.text, "Invalid value for the parameter x-retention-from. Reason: It is " +
                                 (bad.empty() ? "empty" : bad) + "; write one of send, move.");
  }
  EXPECT_EQ(allowed_values("x-dlq-on-expiry"), "true or false");
}

TEST_F(QueueAttributesTest, OfLiftedLimitsAreCheckedTogether) {
  read("DelaySeconds", "901");
  EXPECT_EQ(refusal_.text, "Invalid value for the parameter DelaySeconds.");
  const SqsInput::Pair both[] = {
      {"DelaySeconds", "901"},
      {"x-max-delay",  "1h" }
  };
  EXPECT_EQ(read_all(both).size(), 2u) << refusal_.text;
  EXPECT_EQ(allowed_values("DelaySeconds"), "0 to 900, or to x-max-delay");
}

TEST_F(QueueAttributesTest, OfFifoDelaysAreForFifoQueues) {
  EXPECT_EQ(read("x-fifo-delay", "pass").size(), 0u);
  EXPECT_EQ(refusal_.text, "You can specify the x-fifo-delay only when FifoQueue is set to true.");
  EXPECT_EQ(allowed_values("x-fifo-delay"),
            "block, pass, for FIFO queues, whose names end in .fifo");
  queue_.apply({Attribute::fifo_queue, 1, {}});
  EXPECT_EQ(text_of(Attribute::fifo_delay, queue_), "");
  EXPECT_EQ(read("x-fifo-delay", "block").size(), 1u) << refusal_.text;
  read("x-fifo-delay", "skip");
  EXPECT_EQ(refusal_.text,
            "Invalid value for the parameter x-fifo-delay. Reason: It is skip; write one of block, "
            "pass.");
}

TEST_F(QueueAttributesTest, OfFifoQueuesAreRefusedOnStandardQueues) {
  for (const char* name :
       {"ContentBasedDeduplication", "DeduplicationScope", "FifoThroughputLimit", "x-fifo-delay"}) {
    read(name, "true");
    EXPECT_EQ(refusal_.fault, SqsFault::invalid_attribute_name) << name;
  }
  read("FifoQueue", "true", true);
  EXPECT_EQ(refusal_.fault, SqsFault::invalid_parameter_value) << "the name is wrong";
  EXPECT_TRUE(refusal_.text.contains(".fifo")) << refusal_.text;
}

TEST_F(QueueAttributesTest, DoNotChangeTheTypeOfAQueue) {
  queue_.apply({Attribute::fifo_queue, 1, {}});
  EXPECT_EQ(read("FifoQueue", "true").size(), 1u);
  read("FifoQueue", "false");
  EXPECT_TRUE(refusal_.text.contains("Modifying queue type is not supported")) << refusal_.text;
  read("FifoQueue", "false", true);
  EXPECT_EQ(refusal_.text, "Invalid value for the parameter FifoQueue.");
}

TEST_F(QueueAttributesTest, ThatCanBeSetAreListedOnce) {
  const auto all = settable_attributes();
  EXPECT_EQ(std::set(all.begin(), all.end()),
            std::set(std::begin(attributes), std::end(attributes)));
  EXPECT_EQ(all.size(), std::size(attributes));
}

TEST_F(QueueAttributesTest, ThatAreComputedOrUnknownCannotBeSet) {
  for (const char* name : {"QueueArn", "CreatedTimestamp", "ApproximateNumberOfMessages", "All",
                           "visibilityTimeout", "unknown"}) {
    read(name, "1");
    EXPECT_EQ(refusal_.fault, SqsFault::invalid_attribute_name) << name;
    EXPECT_EQ(refusal_.text, "Unknown Attribute " + std::string(name) + ".");
  }
  read("", "1");
  EXPECT_EQ(refusal_.fault, SqsFault::missing_parameter);
}

TEST_F(QueueAttributesTest, HaveTextsOfALimitedLength) {
  const std::string longest(attribute_text_max, 'k');
  EXPECT_EQ(read("KmsMasterKeyId", longest).size(), 1u);
  read("KmsMasterKeyId", longest + "k");
  EXPECT_EQ(refusal_.fault, SqsFault::invalid_attribute_value);
  read("Policy", R"({"Other":1})");
  EXPECT_EQ(refusal_.fault, SqsFault::invalid_attribute_value) << "no Statement";
}

TEST_F(QueueAttributesTest, OfAnEqualPolicyKeepTheTextOfTheQueue) {
  queue_.apply({Attribute::policy, -1, R"({"Version":"1","Statement":[]})"});
  const auto changes = read("Policy", R"({ "Statement": [], "Version": "1" })");
  ASSERT_EQ(changes.size(), 1u) << refusal_.text;
  EXPECT_EQ(changes[0].text, R"({"Version":"1","Statement":[]})");
  EXPECT_NE(read("Policy", R"({"Statement":[1],"Version":"1"})").at(0).text, changes[0].text);
}

TEST_F(QueueAttributesTest, AreSelectedByNameOrAllAtOnce) {
  QueueAttributeSet set = 1;
  ASSERT_TRUE(select_queue_attributes({}, set, refusal_));
  EXPECT_EQ(set, 0u);
  const std::string_view one[] = {"QueueArn"}, count[] = {"ApproximateNumberOfMessagesDelayed"},
                         all[] = {"All"}, unknown[] = {"QueueArn", "queuearn"};
  ASSERT_TRUE(select_queue_attributes(one, set, refusal_));
  EXPECT_FALSE(wants_counts(set));
  ASSERT_TRUE(select_queue_attributes(count, set, refusal_));
  EXPECT_TRUE(wants_counts(set));
  EXPECT_FALSE(select_queue_attributes(unknown, set, refusal_));
  EXPECT_EQ(refusal_.text, "Unknown Attribute queuearn.");
  ASSERT_TRUE(select_queue_attributes(all, set, refusal_));
  EXPECT_TRUE(wants_counts(set));

  std::string out;
  SqsResult result(out, SqsForm::json);
  queue_.account = "1";
  queue_.name = "q";
  const CallSettings config;
  write_queue_attributes(set, queue_, {.visible = 3, .in_flight = 2, .delayed = 1}, config, result);
  EXPECT_TRUE(out.contains(R"("ApproximateNumberOfMessagesNotVisible":"2")")) << out;
  EXPECT_TRUE(out.contains(R"("QueueArn":"arn:aws:sqs:us-east-1:1:q")")) << out;
  EXPECT_FALSE(out.contains("FifoQueue")) << "a standard queue does not have it: " << out;
  EXPECT_FALSE(out.contains("x-durability")) << "not shown while it is unset: " << out;
  out.clear();
  SqsResult nothing(out, SqsForm::json);
  write_queue_attributes(0, queue_, {}, config, nothing);
  EXPECT_EQ(out, "");
}

}  // namespace
}  // namespace pawl

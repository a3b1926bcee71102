// SPDX-License-Identifier: Apache-2.0
#include "core/queue/queue_config.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

AttributeChange number(Attribute attribute, std::int64_t value) { return {attribute, value, {}}; }
AttributeChange text(Attribute attribute, const std::string& value) {
  return {attribute, -1, value};
}

TEST(QueueConfig, StartsWithTheDefaultsOfSqs) {
  const QueueConfig config;
  EXPECT_EQ(config.delay(), seconds(0));
  EXPECT_EQ(config.number(Attribute::maximum_message_size), 1'048'576);
  EXPECT_EQ(config.retention(), seconds(4 * 86400));
  EXPECT_EQ(config.wait(), seconds(0));
  EXPECT_EQ(config.visibility(), seconds(30));
  EXPECT_EQ(config.number(Attribute::kms_data_key_reuse_period_seconds), -1);
  EXPECT_EQ(config.number(Attribute::sqs_managed_sse_enabled), 1);
  EXPECT_TRUE(config.text(Attribute::policy).empty());
}

TEST(QueueConfig, SetsReplacesAndRemovesTexts) {
  QueueConfig config;
  config.apply(text(Attribute::redrive_policy, "r"));
  config.apply(text(Attribute::policy, "p"));
  EXPECT_EQ(config.text(Attribute::policy), "p");
  EXPECT_EQ(config.texts.front().first, Attribute::policy) << "kept sorted";
  config.apply(text(Attribute::policy, "p2"));
  EXPECT_EQ(config.text(Attribute::policy), "p2");
  EXPECT_EQ(config.texts.size(), 2u);
  config.apply(text(Attribute::policy, ""));
  config.apply(text(Attribute::redrive_allow_policy, ""));
  EXPECT_TRUE(config.text(Attribute::policy).empty());
  EXPECT_EQ(config.text(Attribute::redrive_policy), "r");
  EXPECT_EQ(config.texts.size(), 1u);
}

TEST(QueueConfig, HasTheKindAndTheOwnerOfItsAccount) {
  QueueConfig config;
  EXPECT_FALSE(config.is_topic());
  config.set_name("sns/000000000000", "news");
  EXPECT_TRUE(config.is_topic());
  EXPECT_EQ(config.account, "sns/000000000000");
  EXPECT_EQ(config.name, "news");
  EXPECT_EQ(owning_account(config.account), "000000000000");
  config.set_name("000000000000", "news");
  EXPECT_FALSE(config.is_topic());
  EXPECT_EQ(owning_account(config.account), "000000000000");
}

TEST(QueueConfig, HasOneKindOfEncryptionAtATime) {
  QueueConfig config;
  config.apply(text(Attribute::kms_master_key_id, "key"));
  config.apply(number(Attribute::kms_data_key_reuse_period_seconds, 300));
  EXPECT_EQ(config.number(Attribute::sqs_managed_sse_enabled), 0);
  config.apply(number(Attribute::sqs_managed_sse_enabled, 1));
  EXPECT_TRUE(config.text(Attribute::kms_master_key_id).empty());
  EXPECT_EQ(config.number(Attribute::kms_data_key_reuse_period_seconds), -1);
  config.apply(number(Attribute::sqs_managed_sse_enabled, 0));
  EXPECT_EQ(config.number(Attribute::sqs_managed_sse_enabled), 0);
}

TEST(QueueConfig, KnowsWhatItHas) {
  QueueConfig config;
  config.apply(text(Attribute::policy, "p"));
  EXPECT_TRUE(config.has(number(Attribute::visibility_timeout, 30)));
  EXPECT_FALSE(config.has(number(Attribute::visibility_timeout, 31)));
  EXPECT_TRUE(config.has(text(Attribute::policy, "p")));
  EXPECT_FALSE(config.has(text(Attribute::policy, "q")));
  EXPECT_TRUE(config.has(text(Attribute::redrive_policy, "")));
  EXPECT_FALSE(config.has(text(Attribute::redrive_policy, "r")));
}

}  // namespace
}  // namespace pawl

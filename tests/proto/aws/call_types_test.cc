// SPDX-License-Identifier: Apache-2.0
#include "proto/aws/call_types.h"

#include <gtest/gtest.h>

#include "proto/aws/arn.h"

namespace pawl {
namespace {

TEST(CallTypes, TheDefaultSettingsMakeAnArnThatIsRead) {
  const CallSettings settings;
  const std::string text = arn_of(settings.region, settings.account, "orders");
  const auto arn = parse_arn(text);
  ASSERT_TRUE(arn) << text;
  EXPECT_EQ(arn->region, settings.region);
  EXPECT_EQ(arn->account, settings.account);
  EXPECT_EQ(settings.account.size(), 12u);
  EXPECT_LE(settings.account.size(), account_bytes_max);
}

}  // namespace
}  // namespace pawl

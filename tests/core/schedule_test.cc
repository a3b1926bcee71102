// SPDX-License-Identifier: Apache-2.0
#include "core/queue/schedule.h"

#include <gtest/gtest.h>

#include "core/queue/queue_config.h"

namespace pawl {
namespace {

TEST(Schedule, RowsAreKnownByTheirAccount) {
  EXPECT_EQ(kind_of("scheduler/123456789012"), ConfigKind::schedule);
  EXPECT_EQ(kind_of("sns/123456789012"), ConfigKind::topic);
  EXPECT_EQ(kind_of("123456789012"), ConfigKind::queue);
  EXPECT_EQ(owning_account("scheduler/123456789012"), "123456789012");
  QueueConfig config;
  config.set_name("scheduler/1", "default/nightly");
  EXPECT_FALSE(config.is_queue());
  EXPECT_FALSE(config.is_topic());
}

TEST(Schedule, TermsWithoutADefinitionNeverFire) {
  const ScheduleTerms terms;
  EXPECT_FALSE(terms.enabled);
  EXPECT_EQ(terms.catch_up, CatchUp::last);
}

}  // namespace
}  // namespace pawl

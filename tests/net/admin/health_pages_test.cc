// SPDX-License-Identifier: Apache-2.0
#include "net/admin/health_pages.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

class HealthPagesTest : public testing::Test {
 protected:
  std::atomic<Stage> stage_{Stage::serving};
  ShardNumbers numbers_;
  AdminFacts facts_{.numbers = {&numbers_}, .backend = "threads", .stage = &stage_};
};

TEST_F(HealthPagesTest, OfAServingServerAreOk) {
  for (const auto page : {live_page, ready_page, health_page}) {
    const AdminAnswer answer = page({}, facts_);
    EXPECT_EQ(answer.status, 200);
    EXPECT_EQ(answer.body, "ok\n");
    EXPECT_EQ(answer.content_type, AdminAnswer::plain_text);
  }
}

TEST_F(HealthPagesTest, SayThatTheServerIsAliveButNotReadyWhileItDrains) {
  stage_.store(Stage::draining, std::memory_order_relaxed);
  EXPECT_EQ(live_page({}, facts_).status, 200);
  EXPECT_EQ(ready_page({}, facts_).status, 503);
  EXPECT_EQ(ready_page({}, facts_).body, "draining: new connections are refused\n");
}

TEST_F(HealthPagesTest, NameTheBackendWhenAskedToBeVerbose) {
  const AdminRequest verbose{.query = "verbose"};
  EXPECT_EQ(health_page(verbose, facts_).body, "ok\nio: threads\n");
  facts_.fallback = "io_uring is refused";
  EXPECT_EQ(health_page(verbose, facts_).body, "ok\nio: threads; io_uring is refused\n");
  EXPECT_EQ(health_page({.query = "verbos"}, facts_).body, "ok\n");
}

TEST_F(HealthPagesTest, AFaultHasTheStatusOfAFault) {
  numbers_.disk_full = 1;
  EXPECT_EQ(health_page({}, facts_).status, 503);
  EXPECT_EQ(ready_page({}, facts_).status, 200);
}

}  // namespace
}  // namespace pawl

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

TEST_F(HealthPagesTest, HaveARowForEachCheckWhenAskedToBeVerbose) {
  const AdminRequest verbose{.query = "verbose"};
  facts_.fallback = "io_uring is refused";
  AdminAnswer answer = health_page(verbose, facts_);
  EXPECT_EQ(answer.content_type, "application/x-ndjson");
  EXPECT_TRUE(answer.body.contains(R"("code":"io_uring_refused")")) << answer.body;
  EXPECT_TRUE(answer.body.contains(R"("text":"threads; io_uring is refused")")) << answer.body;
  EXPECT_EQ(answer.status, 200) << "a warning";
  numbers_.disk_full = 1;
  answer = health_page(verbose, facts_);
  EXPECT_EQ(answer.status, 503);
  EXPECT_TRUE(answer.body.contains(R"("code":"disk_full")")) << answer.body;
  EXPECT_EQ(health_page({.query = "verbos"}, facts_).content_type, AdminAnswer::plain_text);
}

TEST_F(HealthPagesTest, AFaultHasTheStatusOfAFault) {
  numbers_.disk_full = 1;
  EXPECT_EQ(health_page({}, facts_).status, 503);
  EXPECT_EQ(ready_page({}, facts_).status, 200);
}

}  // namespace
}  // namespace pawl

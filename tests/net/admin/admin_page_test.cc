// SPDX-License-Identifier: Apache-2.0
#include "net/admin/admin_page.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(AdminPage, AllowsTheMethodsOfItsRow) {
  const AdminPage page{.path = "/a", .methods = "GET, HEAD, POST"};
  for (const char* method : {"GET", "HEAD", "POST"}) EXPECT_TRUE(page.allows(method)) << method;
  for (const char* method : {"OPTIONS", "", "GE", "ET", "GET, HEAD", "get"})
    EXPECT_FALSE(page.allows(method)) << method;
  EXPECT_FALSE((AdminPage{.path = "/b", .methods = "HEAD"}.allows("GET")));
}

TEST(AdminFacts, FollowTheStageOfTheServer) {
  std::atomic<Stage> stage{Stage::serving};
  const ShardNumbers numbers;
  const AdminFacts facts{
      .numbers = {&numbers, &numbers},
        .stage = &stage
  };
  EXPECT_EQ(facts.shards(), 2u);
  EXPECT_TRUE(facts.serving());
  for (const Stage later : {Stage::draining, Stage::stopping}) {
    stage.store(later, std::memory_order_relaxed);
    EXPECT_FALSE(facts.serving());
  }
}

}  // namespace
}  // namespace pawl

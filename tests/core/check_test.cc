// SPDX-License-Identifier: Apache-2.0
#include "core/base/check.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Check, ThatHoldsDoesNothing) {
  int evaluated = 0;
  CHECK(++evaluated == 1);
  EXPECT_EQ(evaluated, 1);
}

TEST(CheckDeath, ThatFailsSaysWhatWhereAndWhy) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  const int slots = 3;
  EXPECT_DEATH(CHECK(slots == 4, "leaked {} of {}", slots, 4),
               "check_test.cc:[0-9]+.*slots == 4.*leaked 3 of 4");
  EXPECT_DEATH(CHECK(slots == 5), "slots == 5");
}

}  // namespace
}  // namespace pawl

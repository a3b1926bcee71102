// SPDX-License-Identifier: Apache-2.0
#include "core/check.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "core/result.h"

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

TEST(Result, NamesEveryErrorDifferently) {
  std::set<std::string> names;
  for (int code = 0; code <= static_cast<int>(Errc::message_numbers_used_up); ++code)
    names.emplace(name_of(static_cast<Errc>(code)));
  EXPECT_EQ(names.size(), static_cast<std::size_t>(Errc::message_numbers_used_up) + 1);
  EXPECT_FALSE(names.contains("unknown"));
}

TEST(Result, CarriesWhatFailedAndTheErrno) {
  const Result<int> result = fail(Errc::io, "write", 28);
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code, Errc::io);
  EXPECT_EQ(result.error().sys, 28);
  EXPECT_STREQ(result.error().what, "write");
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "proto/errors/errors.h"

#include <gtest/gtest.h>

#include <set>

namespace pawl {
namespace {

TEST(Status, IsAnotherOneForEachErrcAndHasAName) {
  std::set<Status> seen;
  for (int code = 0; code <= static_cast<int>(errc_count) - 1; ++code) {
    const Status status = status_of(static_cast<Errc>(code));
    EXPECT_TRUE(seen.insert(status).second) << name_of(status);
    EXPECT_NE(name_of(status), "unknown") << code;
  }
  EXPECT_EQ(name_of(static_cast<Status>(999)), "unknown");
}

TEST(Status, SaysHowLongToWaitExactlyWhenWaitingHelps) {
  for (int number = 0; number < 4000; ++number) {
    const auto status = static_cast<Status>(number);
    if (name_of(status) == "unknown") continue;
    EXPECT_EQ(retry_after_ms(status) > 0, number / 1000 == 2) << name_of(status);
  }
}

}  // namespace
}  // namespace pawl

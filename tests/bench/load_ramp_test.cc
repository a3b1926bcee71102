// SPDX-License-Identifier: Apache-2.0
#include "bench/load_ramp.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

using load::is_held;
using load::parse_ramp;
using load::Ramp;
using load::RampStep;

TEST(LoadRamp, RisesByAConstantRatio) {
  const auto ramp = parse_ramp("1000:64000:7");
  ASSERT_TRUE(ramp);
  for (std::uint32_t i = 0; i < 7; ++i) EXPECT_NEAR(ramp->rate_of(i), 1000 << i, 0.01);
}

TEST(LoadRamp, IsRefusedWithAnExample) {
  for (const char* text : {"", "1", "1:2", "1:2:", "1:2:1", "1:2:101", "2:1:3", "0:1:3", "-1:1:3",
                           "1:1:3", "1:2:3x", "1:2:3:4", "a:2:3", "1:2e9:3", "1:nan:3"}) {
    const auto ramp = parse_ramp(text);
    ASSERT_FALSE(ramp) << text;
    EXPECT_NE(ramp.error().find("1000:64000:7"), std::string::npos);
  }
}

TEST(LoadRamp, HoldsARateOnlyInTimeInFullAndWithoutErrors) {
  struct Case {
    const char* name;
    RampStep step;
    bool held;
  };
  const Case cases[] = {
      {"at both limits", {.rate = 100, .per_second = 98, .p99_us = 500},             true },
      {"late",           {.rate = 100, .per_second = 100, .p99_us = 500.1},          false},
      {"short",          {.rate = 100, .per_second = 97.9, .p99_us = 1},             false},
      {"refused",        {.rate = 100, .per_second = 100, .p99_us = 1, .errors = 1}, false},
  };
  for (const Case& c : cases) EXPECT_EQ(is_held(c.step, 500), c.held) << c.name;
}

}  // namespace
}  // namespace pawl

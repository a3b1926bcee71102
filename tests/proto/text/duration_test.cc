// SPDX-License-Identifier: Apache-2.0
#include "proto/text/duration.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>

namespace pawl {
namespace {

TEST(ParseDuration, TakesANumberWithAUnit) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"0",      0              },
      {"90",     90'000         },
      {"250ms",  250            },
      {"90s",    90'000         },
      {"15m",    900'000        },
      {"2h",     7'200'000      },
      {"3d",     259'200'000    },
      {"36600d", duration_max.ms},
  };
  for (const auto& [text, ms] : cases) {
    const auto duration = parse_duration(text);
    ASSERT_TRUE(duration) << text;
    EXPECT_EQ(duration->ms, ms) << text;
  }
}

TEST(ParseDuration, RefusesOtherForms) {
  for (const char* text : {"", "m", "-1s", "+1s", "1.5h", "15 m", " 15m", "15M", "15min", "1h30m",
                           "36601d", "18446744073709551615", "99999999999999999999s"})
    EXPECT_FALSE(parse_duration(text)) << text;
}

}  // namespace
}  // namespace pawl

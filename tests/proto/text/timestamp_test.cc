// SPDX-License-Identifier: Apache-2.0
#include "proto/text/timestamp.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(Timestamp, IsReadInUtcOrWithAnOffset) {
  const struct {
    const char* text;
    std::int64_t ms;
  } cases[] = {
      {"1970-01-01T00:00:00Z",             0                  },
      {"2026-12-24T18:00:00Z",             1'798'135'200'000  },
      {"2026-12-24T19:00:00+01:00",        1'798'135'200'000  },
      {"2026-12-24T23:30:00+0530",         1'798'135'200'000  },
      {"2026-12-24T10:00:00-08:00",        1'798'135'200'000  },
      {"2026-12-25T00:00:00.5+06:00",      1'798'135'200'500  },
      {"2026-12-24T18:00:00.123456789Z",   1'798'135'200'123  },
      {"2024-02-29T00:00:00.000000+00:00", 1'709'164'800'000  },
      {"1969-12-31T23:59:59.999Z",         -1                 },
      {"9999-12-31T23:59:59.999Z",         253'402'300'799'999},
  };
  for (const auto& [text, ms] : cases) {
    const auto time = parse_timestamp(text);
    ASSERT_TRUE(time) << text;
    EXPECT_EQ(time->ms, ms) << text;
  }
}

TEST(Timestamp, NeedsADayThatExistsATimeAndAnOffset) {
  for (const char* bad : {"",
                          "Z",
                          "2026-12-24",
                          "2026-12-24Z",
                          "2026-12-24T18:00Z",
                          "2026-12-24T18:00:00",
                          "2026-12-24 18:00:00Z",
                          "2026-12-24t18:00:00z",
                          "2026-12-24T18:00:00.Z",
                          "2026-12-24T18:00:00,5Z",
                          "2026-12-24T18:00:00Z ",
                          " 2026-12-24T18:00:00Z",
                          "2026-12-24T18:00:00+01",
                          "2026-12-24T18:00:00+1:00",
                          "2026-12-24T18:00:00+24:00",
                          "2026-12-24T18:00:00+01:60",
                          "2026-12-24T18:00:00+01:00Z",
                          "2026-12-24T24:00:00Z",
                          "2026-12-24T18:60:00Z",
                          "2026-12-24T18:00:60Z",
                          "2026-02-29T18:00:00Z",
                          "2026-13-01T18:00:00Z",
                          "2026-12-00T18:00:00Z",
                          "26-12-24T18:00:00Z",
                          "+026-12-24T18:00:00Z",
                          "1798135200000"})
    EXPECT_FALSE(parse_timestamp(bad)) << bad;
}

TEST(Timestamp, IsWrittenInUtc) {
  EXPECT_EQ(timestamp_text({1'798'135'200'250}), "2026-12-24T18:00:00Z");
  EXPECT_EQ(timestamp_ms_text({1'798'135'200'250}), "2026-12-24T18:00:00.250Z");
  EXPECT_EQ(timestamp_ms_text({1'798'135'200'000}), "2026-12-24T18:00:00.000Z");
  EXPECT_EQ(timestamp_ms_text({-1}), "1969-12-31T23:59:59.999Z");
  EXPECT_EQ(timestamp_text({0}), "1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace pawl

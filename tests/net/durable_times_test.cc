// SPDX-License-Identifier: Apache-2.0
#include "net/engine/durable_times.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(DurableTimes, TellWhenARecordBecameDurable) {
  DurableTimes times;
  EXPECT_EQ(times.of(5), Instant{});
  times.note(100, Instant{1});  // the start
  times.note(200, Instant{7});
  times.note(200, Instant{8});
  times.note(300, Instant{9});
  EXPECT_EQ(times.of(99), Instant{});  // before the start
  EXPECT_EQ(times.of(100), Instant{7});
  EXPECT_EQ(times.of(199), Instant{7});
  EXPECT_EQ(times.of(200), Instant{9});
  EXPECT_EQ(times.of(300), Instant{});  // not durable yet
}

TEST(DurableTimes, ForgetTheOldestFlushes) {
  DurableTimes times;
  for (Lsn lsn = 0; lsn <= 2 * DurableTimes::kept; ++lsn)
    times.note(lsn * 10, Instant{static_cast<std::int64_t>(lsn)});
  const Lsn oldest = (DurableTimes::kept + 1) * 10;
  EXPECT_EQ(times.of(oldest - 1), Instant{});
  EXPECT_EQ(times.of(oldest), Instant{static_cast<std::int64_t>(DurableTimes::kept) + 2});
}

}  // namespace
}  // namespace pawl

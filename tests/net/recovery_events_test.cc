// SPDX-License-Identifier: Apache-2.0
#include "net/server/recovery_events.h"

#include <gtest/gtest.h>

#include "wal/log.h"

namespace pawl {
namespace {

TEST(RecoveryEvents, AnUndamagedLogHasNone) {
  EXPECT_TRUE(recovery_events({}, 1, "/data").empty());
}

TEST(RecoveryEvents, NameEachFaultOfALog) {
  RecoveryReport report;
  report.unreadable_segments = {3, 4};
  report.passed_over = 5;
  report.passed_over_latest.value = 77;
  report.torn_at = 4096;
  const std::vector<Event> events = recovery_events(report, 1, "/data");
  ASSERT_EQ(events.size(), 4u);
  EXPECT_EQ(events[0].code, EventCode::segment_header_damaged);
  EXPECT_TRUE(events[0].text.contains("segment 000000000003.seg is damaged")) << events[0].text;
  EXPECT_TRUE(events[0].text.contains("`pawl wal verify /data`")) << events[0].text;
  EXPECT_TRUE(events[1].text.contains("000000000004.seg")) << events[1].text;
  EXPECT_EQ(events[2].code, EventCode::newer_parts_skipped);
  EXPECT_TRUE(events[2].text.starts_with("shard 1: skips 5 optional parts")) << events[2].text;
  EXPECT_TRUE(events[2].text.ends_with(" 77")) << events[2].text;
  EXPECT_EQ(events[3].code, EventCode::torn_write_cut_off);
  EXPECT_TRUE(events[3].text.contains("at lsn 4096")) << events[3].text;
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "net/admin/health.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "net/events/event_log.h"

namespace pawl {
namespace {

class HealthTest : public testing::Test {
 protected:
  static constexpr std::int64_t now_us = 1'700'000'000'000'000;

  std::vector<HealthRow> rows() { return health_rows(facts_, now_us); }
  std::string text(const HealthRow& row) { return text_of(row, facts_, now_us); }
  HealthRow row(HealthCheck check, int shard = -1) {
    for (const HealthRow& found : rows())
      if (found.check == check && found.shard == shard) return found;
    ADD_FAILURE() << "there is no such row";
    return {};
  }

  ShardNumbers numbers_[2];
  HealthMonitor monitor_;
  AdminFacts facts_{
      .numbers = {&numbers_[0], &numbers_[1]},
        .health = &monitor_, .backend = "io_uring"
  };
};

TEST_F(HealthTest, OfAServerWithoutFaultsIsOk) {
  for (const HealthRow& row : rows()) EXPECT_EQ(row.level(), "ok") << text(row);
  EXPECT_EQ(rows().size(), 10u) << "4 rows a shard, clock and io";
  facts_.directory = ::open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  EXPECT_EQ(rows().size(), 11u) << "and the space of the disk";
  EXPECT_TRUE(text(row(HealthCheck::space)).contains(" GiB of the data directory's file system"));
  EXPECT_EQ(text(row(HealthCheck::flush, 0)), "no durable write was timed yet");
  ::close(facts_.directory);
}

TEST_F(HealthTest, NamesTheCodeOfEachFault) {
  numbers_[1].disk_full = 1;
  EXPECT_EQ(row(HealthCheck::disk, 1).code, EventCode::disk_full);
  EXPECT_EQ(row(HealthCheck::disk, 0).code, std::nullopt);
  numbers_[0].files_set_aside = 1;
  EXPECT_EQ(row(HealthCheck::log, 0).code, EventCode::new_file_set_aside);
  numbers_[0].unreadable_segments = 2;
  EXPECT_EQ(row(HealthCheck::log, 0).code, EventCode::segment_header_damaged);
  numbers_[0].set_aside = 3;
  EXPECT_EQ(row(HealthCheck::log, 0).code, EventCode::message_unreadable);
  EXPECT_TRUE(text(row(HealthCheck::log, 0)).starts_with("3 messages "));
  numbers_[0].memory_full = 1;
  EXPECT_EQ(row(HealthCheck::memory, 0).code, EventCode::memory_full);
  numbers_[0].flush_us = 100'000;
  EXPECT_EQ(row(HealthCheck::flush, 0).level(), "ok") << "not above the limit";
  numbers_[0].flush_us = 100'001;
  EXPECT_EQ(row(HealthCheck::flush, 0).level(), "warning");
  monitor_.note_clock(false, false);
  EXPECT_EQ(row(HealthCheck::clock).code, EventCode::clock_unsynchronised);
  monitor_.note_clock(true, false);
  EXPECT_EQ(row(HealthCheck::clock).code, EventCode::clock_waits);
  facts_.backend = "threads";
  facts_.fallback = "io_uring is refused";
  EXPECT_EQ(row(HealthCheck::io).code, EventCode::io_uring_refused);
}

TEST_F(HealthTest, KnowsSinceWhenAndFromWhenAgain) {
  const auto observe = [&](std::int64_t us) { monitor_.observe(facts_, us); };
  const auto since = [&] { return monitor_.since(row(HealthCheck::memory, 0), 99); };
  EXPECT_EQ(since(), 99) << "not observed yet";
  observe(10);
  observe(20);
  EXPECT_EQ(since(), 10);
  numbers_[0].memory_full = 1;
  EXPECT_EQ(since(), 99);
  observe(30);
  observe(40);
  EXPECT_EQ(since(), 30);
  numbers_[0].memory_full = 0;
  observe(50);
  EXPECT_EQ(since(), 50);
}

TEST_F(HealthTest, IsALineOfJsonForEachRow) {
  numbers_[0].disk_full = 1;
  const std::string lines = health_lines(facts_, now_us);
  EXPECT_EQ(std::ranges::count(lines, '\n'), 10);
  EXPECT_TRUE(lines.starts_with(
      R"({"check":"disk","shard":0,"level":"error","code":"disk_full","since":"2023-11-14T)"))
      << lines;
  EXPECT_TRUE(lines.contains(R"("remedy":"free space, or delete messages"})"));
  EXPECT_TRUE(lines.contains(R"({"check":"io","level":"ok",)"));
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "core/queue/fires.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace pawl {
namespace {

constexpr QueueId nightly{3}, hourly{5};

TEST(Fires, KnowTheNewestFireOfEachSchedule) {
  std::uint64_t bytes = 0;
  {
    Fires fires(bytes);
    EXPECT_EQ(fires.newest(nightly), nullptr);
    fires.note({nightly, Instant{100}}, 7);
    fires.note({hourly, Instant{50}}, 8);
    EXPECT_TRUE(fires.has({nightly, Instant{100}}));
    EXPECT_TRUE(fires.has({nightly, Instant{99}}));
    EXPECT_FALSE(fires.has({nightly, Instant{101}}));
    EXPECT_FALSE(fires.has({hourly, Instant{100}}));
    fires.note({nightly, Instant{90}}, 9);
    EXPECT_EQ(fires.newest(nightly)->seq, 7u) << "an older fire changes nothing";
    fires.note({nightly, Instant{200}}, 10);
    EXPECT_EQ(*fires.newest(nightly), (Fires::Entry{
                                          {nightly, Instant{200}},
                                          10
    }));
    EXPECT_GT(bytes, 0u);
  }
  EXPECT_EQ(bytes, 0u);
}

TEST(Fires, AreCopiedInPartsAndDropSchedulesThatAreGone) {
  std::uint64_t bytes = 0;
  Fires fires(bytes);
  for (std::uint32_t i = 1; i <= 9; ++i) fires.note({QueueId{i}, Instant{i}}, i);
  const std::uint64_t before = bytes;
  const auto exists = [](QueueId schedule) { return raw(schedule) % 3 != 0; };
  std::vector<Fires::Entry> copied;
  QueueId from = QueueId::none;
  int parts = 1;
  while (!fires.copy_from(from, 2, exists, copied)) ++parts;
  EXPECT_EQ(parts, 5);
  std::vector<std::uint32_t> schedules;
  for (const Fires::Entry& entry : copied) schedules.push_back(raw(entry.fire.schedule));
  EXPECT_EQ(schedules, (std::vector<std::uint32_t>{1, 2, 4, 5, 7, 8}));
  EXPECT_EQ(fires.newest(QueueId{3}), nullptr);
  EXPECT_EQ(bytes * 9, before * 6);
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
#include "wal/format/record_types.h"

#include <gtest/gtest.h>

#include <utility>

namespace pawl {
namespace {

// Existing logs contain these numbers.
TEST(RecordTypes, TheirNumbersNeverChange) {
  constexpr std::pair<RecordType, int> numbers[] = {
      {RecordType::send,               1 },
      {RecordType::delete_message,     2 },
      {RecordType::receive,            3 },
      {RecordType::purge,              4 },
      {RecordType::config,             5 },
      {RecordType::heads,              6 },
      {RecordType::task,               7 },
      {RecordType::forget_transfer,    8 },
      {RecordType::index_entries,      9 },
      {RecordType::tracked_messages,   10},
      {RecordType::times,              11},
      {RecordType::dedup,              12},
      {RecordType::unsettled_transfer, 13},
      {RecordType::segments,           14},
      {RecordType::replay,             15},
      {RecordType::row,                16},
      {RecordType::producers,          18},
      {RecordType::fan_out,            19},
      {RecordType::number,             20},
      {RecordType::fires,              21},
  };
  for (const auto& [type, number] : numbers) EXPECT_EQ(static_cast<int>(type), number);
  EXPECT_EQ(static_cast<std::size_t>(last_record_type), std::size(numbers) + 1) << "17 is reserved";
  EXPECT_EQ(known_fields & (field_expiry | field_priority), 0) << "neither written nor read yet";
}

TEST(RecordTypes, RecordsAreAlignedToEightBytes) {
  constexpr std::pair<std::size_t, std::size_t> sizes[] = {
      {0,  0 },
      {1,  8 },
      {8,  8 },
      {9,  16},
      {15, 16}
  };
  for (const auto& [bytes, aligned] : sizes) EXPECT_EQ(align_record(bytes), aligned);
}

}  // namespace
}  // namespace pawl

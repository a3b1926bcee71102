// SPDX-License-Identifier: Apache-2.0
#include "core/base/ids.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

constexpr Lsn wrap = Lsn{1} << 48;

TEST(LogPos, IsCompletedFromTheEndOfTheLogWhereverThatIs) {
  struct Case {
    const char* name;
    Lsn at, end;
  };
  constexpr Case cases[] = {
      {"in a young log",                100,                   5000                       },
      {"at the end itself",             5000,                  5000                       },
      {"before the first wrap",         wrap - 1,              wrap + 4096                },
      {"behind the first wrap",         wrap + 64,             wrap + 4096                },
      {"as far from the end as it may", 3 * wrap + 1,          4 * wrap                   },
      {"near the end of all positions", UINT64_MAX - wrap + 1, UINT64_MAX                 },
      {"across two wraps of the end",   7 * wrap - 64,         7 * wrap + log_pos_max - 64},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    EXPECT_LE(log_pos(c.at), log_pos_max);
    EXPECT_EQ(full_position(log_pos(c.at), c.end), c.at);
  }
}

TEST(LogPos, NeverLiesBehindTheEnd) {
  EXPECT_EQ(full_position(log_pos(wrap + 5001), wrap + 5000), 5001u) << "one wrap earlier";
}

TEST(LogPos, OfNoRecordIsThatOfAnExtentsBegin) {
  EXPECT_EQ(log_pos(0), log_pos_none);
  EXPECT_EQ(log_pos(wrap), log_pos_none);
  EXPECT_NE(log_pos(wrap + 64), log_pos_none);
}

TEST(Ids, TheNumberAfterTheNewestOneFitsIn48Bits) {
  EXPECT_EQ(seq_newest_max + 1, seq_max);
  EXPECT_EQ(seq_max >> 48, 0u);
}

TEST(TransferKey, IsOrderedByShardThenQueueThenNumber) {
  const TransferKey key{ShardId{1}, QueueId{5}, 9};
  EXPECT_LT(key, (TransferKey{ShardId{2}, QueueId{1}, 1}));
  EXPECT_LT(key, (TransferKey{ShardId{1}, QueueId{6}, 1}));
  EXPECT_LT(key, (TransferKey{ShardId{1}, QueueId{5}, 10}));
  EXPECT_EQ(key, (TransferKey{ShardId{1}, QueueId{5}, 9}));
}

}  // namespace
}  // namespace pawl

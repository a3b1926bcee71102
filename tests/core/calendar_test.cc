// SPDX-License-Identifier: Apache-2.0
#include "core/containers/calendar.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "tests/sim/random.h"

namespace pawl {
namespace {

std::vector<Calendar::Entry> all_of(const Calendar& calendar) {
  std::vector<Calendar::Entry> all;
  Calendar::Cursor cursor;
  EXPECT_TRUE(calendar.copy_from(cursor, SIZE_MAX, all));
  return all;
}

TEST(Calendar, TakesSevenBytesAnEntry) {
  std::uint64_t bytes = 0;
  Calendar calendar(24, bytes);
  for (Seq seq = 1; seq <= 1'000'000; ++seq) calendar.add(seq, Instant{1'700'000'000'000});
  EXPECT_LE(bytes, 7'200'000u);
  EXPECT_TRUE(calendar.forget(SIZE_MAX));
  EXPECT_LT(bytes, 200u);
}

TEST(Calendar, IsSmallWithOneEntry) {
  std::uint64_t bytes = 0;
  Calendar calendar(24, bytes);
  calendar.add(1, Instant{1'700'000'000'000});
  EXPECT_LE(bytes, 400u);
}

TEST(Calendar, KeepsNumbersAndTimes) {
  std::uint64_t bytes = 0;
  Calendar calendar(24, bytes);
  const std::vector<Calendar::Entry> entries = {
      {seq_newest_max,   Instant{(1 << 24) - 1}},
      {1,                Instant{0}            },
      {1ULL << 32,       Instant{5}            },
      {(1ULL << 32) + 2, Instant{6}            },
      {7,                Instant{1 << 24}      }
  };
  for (const auto& [seq, at] : entries) calendar.add(seq, at);
  EXPECT_EQ(all_of(calendar), entries);
  EXPECT_EQ(calendar.begin(), Instant{0});
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(calendar.first(), entries[static_cast<std::size_t>(3 - i)]);
    calendar.drop_first();
  }
  EXPECT_EQ(calendar.begin(), Instant{1 << 24});
  calendar.drop_first();
  EXPECT_TRUE(calendar.empty());
  EXPECT_EQ(calendar.begin(), never);
  EXPECT_DEATH(calendar.drop_first(), "empty");
}

// Against a set of entries: adds, drops of the first, and entries that are not wanted any more.
TEST(Calendar, DoesWhatASetWouldDo) {
  sim::Random random(3);
  std::uint64_t bytes = 0;
  {
    Calendar calendar(8, bytes);
    std::map<Seq, Instant> wanted;
    Seq next = 1;
    std::int64_t now = 0;
    for (int i = 0; i < 100'000; ++i) {
      const std::uint64_t dice = random.below(i % 20'000 < 8'000 ? 12 : 20);
      if (dice < 8) {
        const Instant at{now + 300 + static_cast<std::int64_t>(random.below(30'000))};
        next += random.chance(1, 50) ? 5'000'000'000 : 1;
        calendar.add(next, at);
        wanted[next] = at;
      } else if (dice < 11 && !calendar.empty()) {
        const Calendar::Entry first = calendar.first();
        now = std::max(now, calendar.begin().ms);
        EXPECT_LE(calendar.begin(), first.at);
        EXPECT_LT(first.at, calendar.begin() + milliseconds(256));
        const auto found = wanted.find(first.seq);
        if (found != wanted.end()) {
          EXPECT_EQ(found->second, first.at);
          for (const auto& [seq, at] : wanted) {
            ASSERT_GE(at, calendar.begin()) << seq;
            if (seq > first.seq + 20) break;
          }
          wanted.erase(found);
        }
        calendar.drop_first();
      } else if (!wanted.empty()) {
        auto gone = wanted.lower_bound(random.below(next) + 1);
        if (gone == wanted.end()) gone = wanted.begin();
        wanted.erase(gone);
        calendar.went([&](Seq seq) { return wanted.contains(seq); });
      }
      ASSERT_GE(calendar.size(), wanted.size());
      ASSERT_LE(calendar.size(), 2 * wanted.size() + 4 * Calendar::chunk_max);
    }
    std::map<Seq, Instant> left;
    for (const auto& [seq, at] : all_of(calendar)) left[seq] = at;
    for (const auto& [seq, at] : wanted) EXPECT_EQ(left.at(seq), at);
  }
  EXPECT_EQ(bytes, 0u);
}

// An entry that is there from the first piece to the last is in the copy once.
TEST(Calendar, IsCopiedInPiecesWhileItChanges) {
  sim::Random random(4);
  std::uint64_t bytes = 0;
  for (int round = 0; round < 50; ++round) {
    Calendar calendar(12, bytes);
    std::set<Seq> there;
    for (Seq seq = 1; seq <= 4000; ++seq) {
      calendar.add(seq, Instant{static_cast<std::int64_t>(random.below(20'000))});
      there.insert(seq);
    }
    std::vector<Calendar::Entry> copied;
    Calendar::Cursor cursor;
    Seq next = 4001;
    for (bool all = false; !all;) {
      std::vector<Calendar::Entry> piece;
      all = calendar.copy_from(cursor, random.below(600), piece);
      copied.insert(copied.end(), piece.begin(), piece.end());
      for (int i = 0; i < 200; ++i) {
        there.erase(random.below(4000) + 1);
        calendar.went([&](Seq seq) { return there.contains(seq) || seq > 4000; });
      }
      calendar.add(next++, Instant{static_cast<std::int64_t>(random.below(20'000))});
    }
    std::set<Seq> seen;
    for (const Calendar::Entry& entry : copied) EXPECT_TRUE(seen.insert(entry.seq).second);
    EXPECT_TRUE(std::ranges::includes(seen, there));
  }
}

}  // namespace
}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// SendTimes: coarse send times of a queue's messages. AgedArrivals: messages with a send time of
// their own.
#include "core/queue/queue.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace pawl {
namespace {

constexpr Instant start{1'000'000};
constexpr Duration minute = seconds(60);
constexpr Duration fortnight = seconds(14 * 86400);

TEST(SendTimes, OfNothingNeverExpires) {
  std::uint64_t bytes = 0;
  SendTimes times(bytes);
  EXPECT_TRUE(times.empty());
  EXPECT_EQ(times.next_expiry(minute), never);
  EXPECT_EQ(times.expire(Instant{INT64_MAX / 4}, minute), 0u);
}

TEST(SendTimes, ExpiresAtTheRetentionAndNotBefore) {
  std::uint64_t bytes = 0;
  SendTimes times(bytes);
  times.note(7, start, minute);
  EXPECT_EQ(times.next_expiry(minute), start + minute);
  EXPECT_EQ(times.expire(start + minute - milliseconds(1), minute), 0u);
  EXPECT_EQ(times.expire(start + minute, minute), 8u);
  EXPECT_TRUE(times.empty());
}

TEST(SendTimes, JoinsMessagesOfOneGrainAndKeepsThemForTheNewest) {
  std::uint64_t bytes = 0;
  SendTimes times(bytes);
  times.note(1, start, minute);
  times.note(2, start + milliseconds(999), minute);
  times.note(3, start + milliseconds(1000), minute);
  EXPECT_EQ(times.expire(start + minute + milliseconds(998), minute), 0u);
  EXPECT_EQ(times.expire(start + minute + milliseconds(999), minute), 3u);
  EXPECT_EQ(times.expire(start + minute + milliseconds(1000), minute), 4u);
}

TEST(SendTimes, DropsEverythingThatIsPastAtOnce) {
  std::uint64_t bytes = 0;
  SendTimes times(bytes);
  for (Seq seq = 1; seq <= 100; ++seq)
    times.note(seq, start + seconds(static_cast<std::int64_t>(seq)), minute);
  EXPECT_EQ(times.expire(start + minute + seconds(50), minute), 51u);
  EXPECT_EQ(times.next_expiry(minute), start + minute + seconds(51));
}

TEST(SendTimes, IsNeverLateByMoreThanAGrain) {
  std::uint64_t bytes = 0;
  SendTimes times(bytes);
  const Duration grain{fortnight.ms / SendTimes::buckets_a_retention};
  Seq seq = 1;
  for (std::int64_t at = 0; at < 2 * fortnight.ms; at += 10'000) {
    const Instant now = start + milliseconds(at);
    times.note(seq++, now, fortnight);
    const Seq below = times.expire(now, fortnight);
    if (below == 0) continue;
    const Instant newest_gone = start + milliseconds(static_cast<std::int64_t>(below - 2) * 10'000);
    ASSERT_LE(newest_gone + fortnight, now) << "gone too early";
    const Instant oldest_left = start + milliseconds(static_cast<std::int64_t>(below - 1) * 10'000);
    ASSERT_GT(oldest_left + fortnight + grain, now) << "kept too long";
  }
}

TEST(SendTimes, MadeCoarserStillExpiresInOrder) {
  std::uint64_t bytes = 0;
  SendTimes times(bytes);
  for (Seq seq = 1; seq <= 1000; ++seq)
    times.note(seq, start + seconds(static_cast<std::int64_t>(seq)), Duration{0});
  times.coarsen(fortnight);  // a grain of 295 s
  EXPECT_EQ(times.next_expiry(fortnight), start + seconds(296) + fortnight);
  EXPECT_EQ(times.expire(start + seconds(296) + fortnight, fortnight), 297u);
  EXPECT_EQ(times.expire(start + seconds(2000) + fortnight, fortnight), 1001u);
}

TEST(SendTimes, KeepNothingOfWhatIsOlderThanTheOldestMessage) {
  std::uint64_t bytes = 0;
  SendTimes times(bytes);
  std::size_t begun = 0;
  for (Seq seq = 1; seq <= 1000; ++seq)
    begun += times.note(seq, start + seconds(static_cast<std::int64_t>(seq)), minute) ? 1 : 0;
  EXPECT_EQ(begun, 1000u);
  EXPECT_EQ(bytes, 1024 * sizeof(SendTimes::Bucket));
  times.forget_below(990);
  EXPECT_EQ(times.size(), 11u);
  EXPECT_EQ(times.next_expiry(minute), start + seconds(990) + minute);
  EXPECT_EQ(bytes, 256 * sizeof(SendTimes::Bucket));
  times.forget_below(seq_max);
  EXPECT_EQ(times.expire(start + seconds(1000) + minute, minute), 1001u) << "the last one stays";
}

TEST(SendTimes, StartsAgainAfterClear) {
  std::uint64_t bytes = 0;
  SendTimes times(bytes);
  times.note(1, start, minute);
  times.clear();
  EXPECT_TRUE(times.empty());
  times.note(2, start + seconds(5), minute);
  EXPECT_EQ(times.expire(start + seconds(65), minute), 3u);
}

TEST(AgedArrivals, GoOldestFirstWheneverTheyCame) {
  PagePool pool;
  SeqIndex index(pool);
  std::uint64_t bytes = 0;
  AgedArrivals aged(bytes);
  EXPECT_EQ(aged.next_expiry(minute), never);
  EXPECT_EQ(aged.expire(Instant{INT64_MAX / 4}, minute), 0u);
  for (const Seq seq : {Seq{1}, Seq{2}, Seq{3}}) index.put(seq, IndexEntry::log(seq));
  aged.add(start + seconds(2), 1, &index);
  aged.add(start, 2, &index);
  aged.add(start + seconds(1), 3, &index);
  EXPECT_EQ(aged.next_expiry(minute), start + minute);
  EXPECT_EQ(aged.expire(start + minute - milliseconds(1), minute), 0u);
  EXPECT_EQ(aged.expire(start + minute + seconds(1), minute), 2u);
  EXPECT_EQ(aged.expire(start + minute + seconds(1), minute), 3u);
  EXPECT_EQ(aged.expire(start + minute + seconds(1), minute), 0u);
  EXPECT_EQ(aged.next_expiry(minute), start + minute + seconds(2));
  EXPECT_EQ(bytes, AgedArrivals::entry_bytes);
  EXPECT_TRUE(aged.forget(1));
  EXPECT_EQ(aged.next_expiry(minute), never);
  EXPECT_EQ(bytes, 0u);
}

TEST(AgedArrivals, AreCopiedInPiecesWhileTheyComeAndGo) {
  PagePool pool;
  SeqIndex index(pool);
  std::uint64_t bytes = 0;
  AgedArrivals aged(bytes), read(bytes);
  for (Seq seq = 1; seq <= 100; ++seq) index.put(seq, IndexEntry::log(seq));
  for (Seq seq = 1; seq <= 90; ++seq)
    aged.add(start - seconds(static_cast<std::int64_t>(seq % 10)), seq, &index);
  index.erase(20);
  AgedArrivals::Entry after = AgedArrivals::before_all;
  bool all = false;
  for (Seq next = 91; !all; ++next) {
    std::vector<AgedArrivals::Entry> piece;
    std::size_t most = 7;
    all = aged.copy_behind(after, &index, most, piece);
    EXPECT_LE(piece.size(), 7u);
    read.restore(piece);
    if (next <= 100) aged.add(start - seconds(4), next, &index);
  }
  std::set<Seq> there;
  while (const Seq seq = read.expire(Instant{INT64_MAX / 4}, minute)) there.insert(seq);
  for (Seq seq = 1; seq <= 90; ++seq) EXPECT_EQ(there.contains(seq), seq != 20) << seq;
}

TEST(AgedArrivals, ForgetThoseThatAreNotThereAnyMore) {
  PagePool pool;
  SeqIndex index(pool);
  std::uint64_t bytes = 0;
  AgedArrivals aged(bytes);
  constexpr Seq many = 10'000;
  for (Seq seq = 1; seq <= many; ++seq) {
    index.put(seq, IndexEntry::log(seq));
    aged.add(start + seconds(static_cast<std::int64_t>(seq)), seq, &index);
    if (seq > 5) index.erase(seq);
  }
  std::size_t kept = 0;
  for (Seq next = 1; const Seq seq = aged.expire(Instant{INT64_MAX / 4}, minute); ++kept) {
    if (next <= 5) {
      EXPECT_EQ(seq, next++) << "what is there stays, in order";
    }
  }
  EXPECT_GE(kept, 5u);
  EXPECT_LT(kept, 200u);
}

}  // namespace
}  // namespace pawl

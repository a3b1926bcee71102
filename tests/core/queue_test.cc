// SendTimes: when the messages of a queue were sent, coarsely. AgedArrivals: those with an age of their own.
#include "core/queue.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

constexpr Instant start{1'000'000};
constexpr Duration minute = seconds(60);
constexpr Duration fortnight = seconds(14 * 86400);

TEST(SendTimes, OfNothingNeverExpires) {
  SendTimes times;
  EXPECT_TRUE(times.empty());
  EXPECT_EQ(times.next_expiry(minute), never);
  EXPECT_EQ(times.expire(Instant{INT64_MAX / 4}, minute), 0u);
}

TEST(SendTimes, ExpiresAtTheRetentionAndNotBefore) {
  SendTimes times;
  times.note(7, start, minute);
  EXPECT_EQ(times.next_expiry(minute), start + minute);
  EXPECT_EQ(times.expire(start + minute - milliseconds(1), minute), 0u);
  EXPECT_EQ(times.expire(start + minute, minute), 8u);
  EXPECT_TRUE(times.empty());
}

TEST(SendTimes, JoinsMessagesOfOneGrainAndKeepsThemForTheNewest) {
  SendTimes times;
  times.note(1, start, minute);
  times.note(2, start + milliseconds(999), minute);
  times.note(3, start + milliseconds(1000), minute);
  EXPECT_EQ(times.expire(start + minute + milliseconds(998), minute), 0u);
  EXPECT_EQ(times.expire(start + minute + milliseconds(999), minute), 3u);
  EXPECT_EQ(times.expire(start + minute + milliseconds(1000), minute), 4u);
}

TEST(SendTimes, DropsEverythingThatIsPastAtOnce) {
  SendTimes times;
  for (Seq seq = 1; seq <= 100; ++seq)
    times.note(seq, start + seconds(static_cast<std::int64_t>(seq)), minute);
  EXPECT_EQ(times.expire(start + minute + seconds(50), minute), 51u);
  EXPECT_EQ(times.next_expiry(minute), start + minute + seconds(51));
}

TEST(SendTimes, IsNeverLateByMoreThanAGrain) {
  SendTimes times;
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
  SendTimes times;
  for (Seq seq = 1; seq <= 1000; ++seq)
    times.note(seq, start + seconds(static_cast<std::int64_t>(seq)), Duration{0});
  times.coarsen(fortnight);  // a grain of 295 s
  EXPECT_EQ(times.next_expiry(fortnight), start + seconds(296) + fortnight);
  EXPECT_EQ(times.expire(start + seconds(296) + fortnight, fortnight), 297u);
  EXPECT_EQ(times.expire(start + seconds(2000) + fortnight, fortnight), 1001u);
}

TEST(SendTimes, StartsAgainAfterClear) {
  SendTimes times;
  times.note(1, start, minute);
  times.clear();
  EXPECT_TRUE(times.empty());
  times.note(2, start + seconds(5), minute);
  EXPECT_EQ(times.expire(start + seconds(65), minute), 3u);
}

TEST(AgedArrivals, GoOldestFirstWheneverTheyCame) {
  PagePool pool;
  SeqIndex index(pool);
  AgedArrivals aged;
  EXPECT_EQ(aged.next_expiry(minute), never);
  EXPECT_EQ(aged.expire(Instant{INT64_MAX / 4}, minute), 0u);
  for (const Seq seq : {Seq{1}, Seq{2}, Seq{3}}) index.put(seq, Place::log(seq));
  aged.add(start + seconds(2), 1, index);
  aged.add(start, 2, index);
  aged.add(start + seconds(1), 3, index);
  EXPECT_EQ(aged.next_expiry(minute), start + minute);
  EXPECT_EQ(aged.expire(start + minute - milliseconds(1), minute), 0u);
  EXPECT_EQ(aged.expire(start + minute + seconds(1), minute), 2u);
  EXPECT_EQ(aged.expire(start + minute + seconds(1), minute), 3u);
  EXPECT_EQ(aged.expire(start + minute + seconds(1), minute), 0u);
  EXPECT_EQ(aged.next_expiry(minute), start + minute + seconds(2));
  aged.clear();
  EXPECT_EQ(aged.next_expiry(minute), never);
}

TEST(AgedArrivals, ForgetThoseThatAreNotThereAnyMore) {
  PagePool pool;
  SeqIndex index(pool);
  AgedArrivals aged;
  constexpr Seq many = 10'000;
  for (Seq seq = 1; seq <= many; ++seq) {
    index.put(seq, Place::log(seq));
    aged.add(start + seconds(static_cast<std::int64_t>(seq)), seq, index);
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

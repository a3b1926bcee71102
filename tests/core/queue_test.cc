// SPDX-License-Identifier: Apache-2.0
// SendTimes: coarse send times of a queue's messages. AgedArrivals: messages with a send time of
// their own.
#include "core/queue/queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace pawl {
namespace {

constexpr Instant start{1'000'000};
constexpr Duration minute = seconds(60);
constexpr Duration fortnight = seconds(14 * 86400);

class SendMarks : public ::testing::Test {
 protected:
  SendMarks() { marks_.keep_marks(); }
  void note(Seq seq, Instant now) { marks_.note(seq, now, fortnight); }

  std::uint64_t bytes_ = 0;
  SendTimes marks_{bytes_};
};

TEST_F(SendMarks, KnowNothingOfMessagesFromBefore) {
  EXPECT_EQ(marks_.around(7).at, never);
  note(10, start);
  EXPECT_EQ(marks_.around(9).at, never);
  EXPECT_EQ(marks_.around(9).end, 10u);
  EXPECT_EQ(marks_.around(10).at, start);
  EXPECT_EQ(marks_.around(seq_max).at, start) << "sent in the same millisecond";
}

TEST_F(SendMarks, AreExactWhileTheyAreFew) {
  for (Seq seq = 1; seq <= 100; ++seq)
    note(seq * 10, start + seconds(static_cast<std::int64_t>(seq)));
  const SendTimes::Sends sends = marks_.around(505);
  EXPECT_EQ(sends.at, start + seconds(50));
  EXPECT_EQ(sends.first, 500u);
  EXPECT_EQ(sends.end, 510u);
}

TEST_F(SendMarks, TakeTheSendsOfAMillisecondTogether) {
  for (Seq seq = 1; seq <= 1000; ++seq) note(seq, start);
  EXPECT_EQ(marks_.marks(), 1u);
}

// Sends with pauses of any length: at any time each message's age is known to within a quarter.
TEST_F(SendMarks, KnowEachAgeWithinAQuarter) {
  std::vector<Instant> sent{Instant{}};
  Instant now = start;
  std::uint64_t random = 1;
  for (Seq seq = 1; seq <= 50'000; ++seq) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    now = now + Duration{static_cast<std::int64_t>(random >> 40) >> (random >> 33 & 31)};
    sent.push_back(now);
    note(seq, now);
    ASSERT_LE(marks_.marks(), SendTimes::marks_max);
    if (seq % 5000 != 0) continue;
    for (Seq each = 1; each <= seq; ++each) {
      const SendTimes::Sends sends = marks_.around(each);
      ASSERT_NE(sends.at, never) << "message " << each << " of " << seq;
      const std::int64_t age = (now - sent[each]).ms, known = (now - sends.at).ms;
      ASSERT_LE(std::max(age - known, known - age), age / 4 + 1)
          << "message " << each << " of " << seq;
    }
  }
  EXPECT_GT((now - start).ms, 86'400'000) << "the pauses add up to days";
}

TEST_F(SendMarks, CountTheirBytes) {
  for (Seq seq = 1; seq <= 100'000; ++seq)
    note(seq, start + milliseconds(static_cast<std::int64_t>(seq)));
  EXPECT_GE(bytes_, marks_.marks() * 24);
  EXPECT_LE(bytes_, (3u << 10) + 4096);
  {
    const SendTimes moved = std::move(marks_);
  }
  EXPECT_EQ(bytes_, 0u);
}

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

// The number of the oldest message past retention, which goes; 0: there is none.
Seq take(AgedArrivals& aged, Instant now, Duration retention) {
  const AgedArrivals::Entry entry = aged.expired(now, retention);
  if (entry.second != 0) aged.remove(entry);
  return entry.second;
}

TEST(AgedArrivals, GoOldestFirstWheneverTheyCame) {
  PagePool pool;
  std::uint64_t others = 0, bytes = 0;
  Queue queue(QueueId{1}, pool, others, others);
  AgedArrivals aged(bytes);
  EXPECT_EQ(aged.next_expiry(minute), never);
  EXPECT_EQ(take(aged, Instant{INT64_MAX / 4}, minute), 0u);
  for (const Seq seq : {Seq{1}, Seq{2}, Seq{3}}) queue.index.put(seq, IndexEntry::log(seq));
  aged.add(start + seconds(2), 1, queue);
  aged.add(start, 2, queue);
  aged.add(start + seconds(1), 3, queue);
  EXPECT_EQ(aged.next_expiry(minute), start + minute);
  EXPECT_EQ(take(aged, start + minute - milliseconds(1), minute), 0u);
  EXPECT_EQ(take(aged, start + minute + seconds(1), minute), 2u);
  EXPECT_EQ(take(aged, start + minute + seconds(1), minute), 3u);
  EXPECT_EQ(take(aged, start + minute + seconds(1), minute), 0u);
  EXPECT_EQ(aged.next_expiry(minute), start + minute + seconds(2));
  EXPECT_EQ(bytes, AgedArrivals::entry_bytes);
  EXPECT_TRUE(aged.forget(1));
  EXPECT_EQ(aged.next_expiry(minute), never);
  EXPECT_EQ(bytes, 0u);
}

TEST(AgedArrivals, AreCopiedInPiecesWhileTheyComeAndGo) {
  PagePool pool;
  std::uint64_t others = 0, bytes = 0;
  Queue queue(QueueId{1}, pool, others, others);
  AgedArrivals aged(bytes), read(bytes);
  for (Seq seq = 1; seq <= 100; ++seq) queue.index.put(seq, IndexEntry::log(seq));
  for (Seq seq = 1; seq <= 90; ++seq)
    aged.add(start - seconds(static_cast<std::int64_t>(seq % 10)), seq, queue);
  queue.index.erase(20);
  AgedArrivals::Entry after = AgedArrivals::before_all;
  bool all = false;
  for (Seq next = 91; !all; ++next) {
    std::vector<AgedArrivals::Entry> piece;
    std::size_t most = 7;
    all = aged.copy_behind(after, queue, most, piece);
    EXPECT_LE(piece.size(), 7u);
    read.restore(piece);
    if (next <= 100) aged.add(start - seconds(4), next, queue);
  }
  std::set<Seq> there;
  while (const Seq seq = take(read, Instant{INT64_MAX / 4}, minute)) there.insert(seq);
  for (Seq seq = 1; seq <= 90; ++seq) EXPECT_EQ(there.contains(seq), seq != 20) << seq;
}

TEST(AgedArrivals, ForgetThoseThatAreNotThereAnyMore) {
  PagePool pool;
  std::uint64_t others = 0, bytes = 0;
  Queue queue(QueueId{1}, pool, others, others);
  AgedArrivals aged(bytes);
  constexpr Seq many = 10'000;
  for (Seq seq = 1; seq <= many; ++seq) {
    queue.index.put(seq, IndexEntry::log(seq));
    aged.add(start + seconds(static_cast<std::int64_t>(seq)), seq, queue);
    if (seq > 5) queue.index.erase(seq);
  }
  std::size_t kept = 0;
  for (Seq next = 1; const Seq seq = take(aged, Instant{INT64_MAX / 4}, minute); ++kept) {
    if (next <= 5) {
      EXPECT_EQ(seq, next++) << "what is there stays, in order";
    }
  }
  EXPECT_GE(kept, 5u);
  EXPECT_LT(kept, 200u);
}

}  // namespace
}  // namespace pawl

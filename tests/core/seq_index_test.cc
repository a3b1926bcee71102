// SPDX-License-Identifier: Apache-2.0
#include "core/queue/seq_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "tests/sim/random.h"

namespace pawl {
namespace {

using Set = SeqIndex::Set;
constexpr std::size_t page = SeqIndex::page_entries;

struct Both {
  IndexEntry indexed;
  int set = -1;
};

// A SeqIndex and its oracle, a std::map.
class Pair {
 public:
  explicit Pair(PagePool& pool) : index_(pool) {}
  const std::map<Seq, Both>& oracle() const { return oracle_; }

  void put(Seq seq, IndexEntry indexed) {
    index_.put(seq, indexed);
    oracle_[seq].indexed = indexed;
  }
  void erase(Seq seq) {
    index_.erase(seq);
    oracle_.erase(seq);
  }
  void make_ready(Seq seq, Set set) {
    index_.make_ready(seq, set);
    oracle_[seq].set = static_cast<int>(set);
  }
  void make_unready(Seq seq) {
    const auto it = oracle_.find(seq);
    const bool was = it != oracle_.end() && it->second.set >= 0;
    ASSERT_EQ(index_.make_unready(seq), was);
    if (was) it->second.set = -1;
  }
  void take(Seq seq, IndexEntry indexed) {
    Both& known = oracle_.at(seq);
    if (known.set < 0) return;
    index_.take(seq, indexed);
    known = {.indexed = indexed, .set = -1};
  }
  void drain_page() {
    std::vector<std::pair<Seq, IndexEntry>> drained;
    const bool any =
        index_.drain_page([&](Seq seq, IndexEntry indexed) { drained.emplace_back(seq, indexed); });
    ASSERT_TRUE(any || oracle_.empty());
    for (const auto& [seq, indexed] : drained) {
      ASSERT_EQ(seq, oracle_.begin()->first);
      ASSERT_EQ(indexed, oracle_.begin()->second.indexed);
      oracle_.erase(oracle_.begin());
    }
  }

  void check_near(Seq seq) {
    const auto it = oracle_.find(seq);
    ASSERT_EQ(index_.find(seq).absent(), it == oracle_.end());
    ASSERT_TRUE(it == oracle_.end() || index_.find(seq) == it->second.indexed);
    ASSERT_EQ(index_.is_ready(seq), it != oracle_.end() && it->second.set >= 0);
    const auto from = oracle_.lower_bound(seq);
    ASSERT_EQ(index_.first_from(seq), from == oracle_.end() ? 0 : from->first);
    ASSERT_EQ(index_.oldest(), oracle_.empty() ? 0 : oracle_.begin()->first);
    ASSERT_EQ(index_.size(), oracle_.size());
  }
  void check_ready() {
    for (const Set set : {Set::fresh, Set::returned}) {
      Seq first = 0;
      std::uint64_t count = 0;
      for (const auto& [seq, both] : oracle_) {
        if (both.set != static_cast<int>(set)) continue;
        if (first == 0) first = seq;
        ++count;
      }
      ASSERT_EQ(index_.first_ready(set), first);
      ASSERT_EQ(index_.ready(set), count);
    }
  }
  void check_all() {
    auto it = oracle_.begin();
    index_.for_each([&](Seq seq, IndexEntry indexed) {
      ASSERT_NE(it, oracle_.end());
      ASSERT_EQ(seq, it->first);
      ASSERT_EQ(indexed, it->second.indexed);
      ++it;
    });
    ASSERT_EQ(it, oracle_.end());
  }

 private:
  SeqIndex index_;
  std::map<Seq, Both> oracle_;
};

class Walk {
 public:
  explicit Walk(std::uint64_t seed) : random_(seed), pairs_{Pair(pool_), Pair(pool_)} {}

  // Phases of 5000 operations: mostly puts, or mostly erasures at the new end, at the old end, or
  // anywhere. Pages fill, empty and become sparse.
  void run(int operations) {
    for (int i = 0; i < operations && !testing::Test::HasFatalFailure(); ++i) {
      if (i % 5000 == 0) phase_ = below(4);
      which_ = below(2);
      step();
      if (i % 100 == 0) pairs_[which_].check_ready();
      if (i % 5000 == 4999) pairs_[which_].check_all();
    }
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }
  IndexEntry somewhere() {
    const auto row = static_cast<std::uint32_t>(random_.next());
    switch (below(4)) {
      case 0:
        return IndexEntry::slot(row);
      case 1:
        return IndexEntry::lease(row, static_cast<std::uint32_t>(below(IndexEntry::members_max)));
      default:
        return IndexEntry::log(1 + below(log_pos_max));
    }
  }
  Seq any_seq() { return 1 + below(next_[which_] + 10); }
  Seq present() {
    const auto& oracle = pairs_[which_].oracle();
    const auto it = oracle.lower_bound(any_seq());
    return it == oracle.end() ? oracle.begin()->first : it->first;
  }

  void step() {
    Pair& pair = pairs_[which_];
    Seq& next = next_[which_];
    const std::uint64_t dice = below(100);
    const std::uint64_t puts = phase_ == 0 ? 60 : phase_ == 1 ? 20 : 5;
    if (dice < puts || pair.oracle().empty()) {
      if (below(500) == 0) next += below(3 * page);
      pair.put(next, somewhere());
      if (below(4) != 0) pair.make_ready(next, Set::fresh);
      ++next;
      return;
    }
    if (dice < 80) {
      const auto& oracle = pair.oracle();
      const Seq seq = phase_ == 2   ? oracle.begin()->first
                      : phase_ == 3 ? present()
                                    : std::prev(oracle.end())->first;
      pair.erase(below(20) == 0 ? any_seq() : seq);
      return;
    }
    const Seq seq = present();
    switch (below(7)) {
      case 0:
        return pair.put(below(2) == 0 ? seq : any_seq(), somewhere());  // any: as in recovery
      case 1:
        return pair.make_ready(seq, below(2) == 0 ? Set::fresh : Set::returned);
      case 2:
        return pair.make_unready(below(2) == 0 ? seq : any_seq());
      case 3:
        if (below(200) == 0) pair.drain_page();
        return;
      case 4:
        return pair.take(seq, somewhere());
      default:
        return pair.check_near(below(2) == 0 ? seq : any_seq());
    }
  }

  sim::Random random_;
  PagePool pool_;  // shared: a page that is reused dirty shows up in the other index
  std::array<Pair, 2> pairs_;
  std::array<Seq, 2> next_{1, 1};
  std::size_t which_ = 0;
  std::uint64_t phase_ = 0;
};

TEST(SeqIndex, DoesWhatAMapWouldDo) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    SCOPED_TRACE(seed);
    Walk walk(seed);
    walk.run(100'000);
    if (HasFailure()) return;
  }
}

TEST(SeqIndex, IsEmptyAtFirst) {
  PagePool pool;
  SeqIndex index(pool);
  EXPECT_EQ(index.oldest(), 0u);
  EXPECT_EQ(index.first_ready(Set::fresh), 0u);
  EXPECT_TRUE(index.find(1).absent());
  EXPECT_FALSE(index.is_ready(1));
  EXPECT_FALSE(index.make_unready(1));
  EXPECT_FALSE(index.drain_page([](Seq, IndexEntry) { FAIL(); }));
  index.erase(1);
  EXPECT_EQ(index.size(), 0u);
}

TEST(SeqIndex, TellsALogPositionFromASlotAndALease) {
  const IndexEntry log = IndexEntry::log(log_pos_max), slot = IndexEntry::slot(UINT32_MAX),
                   lease = IndexEntry::lease(UINT32_MAX, IndexEntry::members_max - 1);
  EXPECT_TRUE(log.in_log() && !log.is_slot() && !log.is_lease());
  EXPECT_EQ(log.position(), log_pos_max);
  EXPECT_TRUE(slot.is_slot() && !slot.is_lease() && !slot.in_log());
  EXPECT_EQ(slot.slot(), UINT32_MAX);
  EXPECT_TRUE(lease.is_lease() && !lease.is_slot() && !lease.in_log());
  EXPECT_EQ(lease.lease(), UINT32_MAX);
  EXPECT_EQ(lease.member(), IndexEntry::members_max - 1);
  EXPECT_NE(lease, IndexEntry::lease(UINT32_MAX, 0));
  EXPECT_FALSE(log.absent() || slot.absent() || lease.absent());
  EXPECT_TRUE(IndexEntry().absent() && !IndexEntry().in_log());
  EXPECT_DEATH((void)lease.position(), "CHECK");
  EXPECT_DEATH((void)slot.position(), "CHECK");
  EXPECT_DEATH((void)lease.slot(), "CHECK");
  EXPECT_DEATH((void)slot.lease(), "CHECK");
}

TEST(SeqIndex, MovesAMessageBetweenTheSetsAndCountsItOnce) {
  PagePool pool;
  SeqIndex index(pool);
  index.put(5, IndexEntry::log(1));
  index.make_ready(5, Set::fresh);
  index.make_ready(5, Set::returned);
  EXPECT_EQ(index.ready(Set::fresh), 0u);
  EXPECT_EQ(index.ready(Set::returned), 1u);
  EXPECT_EQ(index.first_ready(Set::fresh), 0u);
  EXPECT_EQ(index.first_ready(Set::returned), 5u);
  index.erase(5);
  EXPECT_EQ(index.ready(), 0u);
}

TEST(SeqIndex, FindsAnOldMessageThatComesBackBeforeNewerOnes) {
  PagePool pool;
  SeqIndex index(pool);
  for (Seq seq = 1; seq <= 10 * page; ++seq) index.put(seq, IndexEntry::log(seq));
  for (Seq seq = 5 * page; seq <= 10 * page; ++seq) index.make_ready(seq, Set::fresh);
  EXPECT_EQ(index.first_ready(Set::fresh), 5 * page);
  index.make_ready(17, Set::fresh);
  EXPECT_EQ(index.first_ready(Set::fresh), 17u);
}

TEST(SeqIndex, TakesOlderNumbersDuringRecovery) {
  PagePool pool;
  SeqIndex index(pool);
  index.put(5000, IndexEntry::log(50));
  index.put(10, IndexEntry::log(1));
  index.make_ready(10, Set::fresh);
  EXPECT_EQ(index.oldest(), 10u);
  EXPECT_EQ(index.first_ready(Set::fresh), 10u);
  EXPECT_EQ(index.find(5000).position(), 50u);
}

TEST(SeqIndex, DoesNotHoldAPageForAFewStragglers) {
  PagePool pool;
  SeqIndex index(pool);
  for (Seq seq = 0; seq < 100 * page; ++seq) index.put(seq + page, IndexEntry::log(seq + 1));
  EXPECT_GE(index.memory(), 100 * sizeof(PagePool::Page));
  for (Seq seq = 0; seq < 100 * page; ++seq) {
    if (seq % page >= SeqIndex::sparse_max) index.erase(seq + page);
  }
  EXPECT_EQ(index.size(), 100 * SeqIndex::sparse_max);
  EXPECT_LE(index.memory(),
            sizeof(PagePool::Page) + 100 * (PagePool::row_bytes + PagePool::list_bytes));
}

TEST(SeqIndex, KeepsNothingOfWhatWentBehindAStraggler) {
  PagePool pool;
  SeqIndex index(pool);
  index.put(1, IndexEntry::log(1));
  std::size_t most = 0;
  for (Seq seq = 2; seq <= 1000 * page; ++seq) {
    index.put(seq, IndexEntry::log(seq));
    index.erase(seq);
    most = std::max(most, index.memory());
  }
  EXPECT_LE(most, 8192u);
  EXPECT_LE(index.memory(), pool.bytes());
  EXPECT_EQ(index.find(1).position(), 1u);
  EXPECT_EQ(index.first_from(2), 0u);
  index.put(500 * page, IndexEntry::log(7));  // as recovery may do
  index.make_ready(500 * page, Set::returned);
  EXPECT_EQ(index.first_ready(Set::returned), 500 * page);
}

TEST(SeqIndex, CountsAllThatItHas) {
  PagePool pool(0);
  SeqIndex index(pool);
  for (Seq seq = 1; seq <= 3 * page; ++seq) index.put(seq, IndexEntry::log(seq));
  for (Seq seq = 100 * page; seq < 200 * page; seq += page) index.put(seq, IndexEntry::log(seq));
  EXPECT_EQ(pool.bytes(), index.memory());
  EXPECT_EQ(index.memory(),
            3 * sizeof(PagePool::Page) + 101 * PagePool::list_bytes + 104 * PagePool::row_bytes);
  while (index.drain_page([](Seq, IndexEntry) {})) {
  }
  EXPECT_EQ(index.memory(), 0u);
  EXPECT_LE(pool.bytes(), PagePool::spares_max * PagePool::list_bytes) << "lists kept for reuse";
}

TEST(SeqIndex, CostsAWaitingMessageLessThanTenBytes) {
  PagePool pool;
  SeqIndex index(pool);
  constexpr std::size_t count = 1 << 20;
  for (Seq seq = 1; seq <= count; ++seq) index.put(seq, IndexEntry::log(seq));
  EXPECT_LE(static_cast<double>(index.memory()) / count, 8.5);
}

TEST(SeqIndex, OfAFewMessagesDoesWithoutAPage) {
  PagePool pool;
  SeqIndex index(pool);
  for (Seq seq = 1; seq <= SeqIndex::sparse_max; ++seq) index.put(seq, IndexEntry::log(seq));
  EXPECT_LE(index.memory(), 256u);
  index.put(100, IndexEntry::log(100));
  EXPECT_GE(index.memory(), sizeof(PagePool::Page));
}

// A message to 2,000 queues at once made 2,000 pages in one turn, which took 20 ms.
TEST(SeqIndex, ManyQueuesDoNotGetTheirPagesInOneTurn) {
  PagePool pool;
  std::deque<SeqIndex> queues;
  for (int i = 0; i < 200; ++i) queues.emplace_back(pool);
  const auto with_page = [&] {
    return std::ranges::count_if(
        queues, [](const SeqIndex& queue) { return queue.memory() > sizeof(PagePool::Page); });
  };
  const auto memory = [&] {
    std::size_t bytes = 0;
    for (const SeqIndex& queue : queues) bytes += queue.memory();
    return bytes;
  };
  for (Seq seq = 1; seq <= 70; ++seq) {
    const auto before = with_page();
    pool.begin_turn();
    for (SeqIndex& queue : queues) queue.put(seq, IndexEntry::log(seq));
    EXPECT_LE(with_page() - before, static_cast<int>(PagePool::expansions_a_turn)) << seq;
    EXPECT_LE(pool.bytes() - memory(), PagePool::spares_max * PagePool::list_bytes)
        << "none is counted twice or forgotten, " << seq;
  }
  EXPECT_EQ(with_page(), std::ssize(queues));
  for (SeqIndex& queue : queues) {
    for (Seq seq = 1; seq <= 70; ++seq) EXPECT_EQ(queue.find(seq), IndexEntry::log(seq));
    while (queue.drain_page([](Seq, IndexEntry) {})) {
    }
  }
  EXPECT_EQ(memory(), 0u);
}

TEST(SeqIndex, TakesTheHighestNumber) {
  PagePool pool;
  SeqIndex index(pool);
  index.put(seq_max, IndexEntry::log(1));
  index.make_ready(seq_max, Set::fresh);
  EXPECT_EQ(index.first_ready(Set::fresh), seq_max);
  EXPECT_EQ(index.oldest(), seq_max);
}

TEST(SeqIndexDeath, RefusesWhatCannotBe) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  PagePool pool;
  SeqIndex index(pool);
  EXPECT_DEATH(index.put(0, IndexEntry::log(1)), "CHECK");
  EXPECT_DEATH(index.put(seq_max + 1, IndexEntry::log(1)), "CHECK");
  EXPECT_DEATH(index.put(1, IndexEntry()), "CHECK");
  EXPECT_DEATH(index.make_ready(1, Set::fresh), "CHECK");
}

}  // namespace
}  // namespace pawl

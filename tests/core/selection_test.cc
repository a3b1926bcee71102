// SPDX-License-Identifier: Apache-2.0
// The order of messages, rule by rule of core/shard/selection.h.
#include "core/shard/selection.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/core/shard_parts.h"

namespace pawl::test {
namespace {

using State = Slot::State;
using Seqs = std::vector<Seq>;

class Selecting : public testing::Test {
 protected:
  static constexpr Instant now{2'000'000};
  static constexpr Duration long_ago = seconds(60);

  Seq fresh() { return parts.add_message(*queue); }
  // A message that became visible again so long ago.
  Seq returned(Duration ago) {
    Slot& slot = parts.state.slot(parts.add_tracked(*queue, State::in_flight));
    slot.receive_count = 1;
    slot.deadline = now - ago;
    parts.states.show(*queue, row_of(slot.seq));
    return slot.seq;
  }
  Seq in_group(const std::string& group, State state = State::visible) {
    const Seq seq = queue->next_seq++;
    const std::string dedup_id = queue->config->is_fifo() ? std::to_string(seq) : "";
    const std::uint32_t row =
        parts.states.new_slot(*queue, seq, {.group = group, .dedup_id = dedup_id});
    parts.states.change_state(*queue, row, state);
    return seq;
  }
  std::uint32_t row_of(Seq seq) { return queue->index.find(seq).slot(); }
  void become(Seq seq, State state) { parts.states.change_state(*queue, row_of(seq), state); }

  Selection select() { return Selection(parts.state.slots, *queue, now); }
  // Receives up to `most` messages; they are in flight then.
  Seqs take(Selection& selection, std::size_t most = SIZE_MAX) {
    Seqs seqs;
    while (seqs.size() < most) {
      const auto [seq, indexed] = selection.next();
      if (seq == 0) break;
      EXPECT_EQ(indexed, queue->index.find(seq));
      parts.states.change_state(*queue, parts.states.slot_for(*queue, seq, indexed),
                                State::in_flight);
      seqs.push_back(seq);
    }
    return seqs;
  }
  Seqs take(std::size_t most = SIZE_MAX) {
    Selection selection = select();
    return take(selection, most);
  }
  // Moves all messages as a task would.
  Seqs move_all() {
    Seqs seqs;
    while (queue->has_ready()) {
      const auto [seq, indexed] = select().next_to_move();
      parts.states.change_state(*queue, parts.states.slot_for(*queue, seq, indexed), State::moving);
      seqs.push_back(seq);
    }
    return seqs;
  }

  ShardParts parts;
  Queue* queue = &parts.make_queue("q");
};

class SelectingInOrder : public Selecting {
 protected:
  SelectingInOrder() {
    queue = &parts.make_queue("q.fifo", {
                                            {Attribute::fifo_queue, 1, {}}
    });
  }
};

// --- standard queues ---

TEST_F(Selecting, FromAnEmptyQueueGivesNone) { EXPECT_EQ(take(), Seqs{}); }

TEST_F(Selecting, TakesTheOldestMessageFirst) {
  const Seqs sent = {fresh(), fresh(), fresh()};
  EXPECT_EQ(take(), sent);
}

TEST_F(Selecting, TakesTheOldestAlsoIfItWasReceivedBefore) {
  const Seqs sent = {fresh(), returned(long_ago), returned(long_ago), fresh()};
  EXPECT_EQ(take(), sent);
}

TEST_F(Selecting, LetsJustReturnedMessagesAlternateWithFreshOnes) {
  const Seq r1 = returned({}), r2 = returned({}), f1 = fresh(), f2 = fresh(), f3 = fresh();
  EXPECT_EQ(take(), (Seqs{r1, f1, r2, f2, f3}));
}

TEST_F(Selecting, ContinuesTheTurnsOfAnEarlierReceive) {
  const Seq r1 = returned({}), r2 = returned({}), f1 = fresh(), f2 = fresh();
  EXPECT_EQ(take(1), (Seqs{r1}));
  EXPECT_EQ(take(1), (Seqs{f1}));
  EXPECT_EQ(take(), (Seqs{r2, f2}));
}

TEST_F(Selecting, EndsTheTurnsOneSecondAfterTheReturn) {
  const Seq r1 = returned(milliseconds(1000)), r2 = returned(milliseconds(1000));
  const Seq r3 = returned(milliseconds(999)), r4 = returned(milliseconds(999));
  const Seq f1 = fresh(), f2 = fresh();
  EXPECT_EQ(take(), (Seqs{r1, r2, f1, r3, f2, r4}));
}

TEST_F(Selecting, TakesAnOlderFreshMessageBeforeAJustReturnedOne) {
  const Seq f1 = fresh(), f2 = fresh(), r1 = returned({}), f3 = fresh();
  EXPECT_EQ(take(), (Seqs{f1, f2, r1, f3}));
}

TEST_F(Selecting, AlternatesBetweenMessagesWithAndWithoutAGroup) {
  const Seq x1 = fresh(), x2 = fresh(), x3 = fresh(), a1 = in_group("a"), a2 = in_group("a");
  EXPECT_EQ(take(), (Seqs{a1, x1, a2, x2, x3}));
}

TEST_F(Selecting, LetsTenantsTakeTurns) {
  const Seq a1 = in_group("a"), a2 = in_group("a"), a3 = in_group("a");
  const Seq b1 = in_group("b"), b2 = in_group("b"), c1 = in_group("c");
  EXPECT_EQ(take(), (Seqs{a1, b1, c1, a2, b2, a3}));
}

TEST_F(Selecting, LetsANoisyTenantWaitForTheOthers) {
  for (std::uint32_t i = 0; i < Groups::noisy_in_flight; ++i) in_group("a", State::in_flight);
  const Seq a1 = in_group("a"), b1 = in_group("b"), b2 = in_group("b");
  EXPECT_EQ(take(), (Seqs{b1, b2, a1}));
}

TEST_F(Selecting, AfterADeadLetterThatStaysTakesOnlyFreshMessagesWithoutAGroup) {
  const Seq dead = returned(long_ago), f1 = fresh(), f2 = fresh();
  returned(long_ago);
  in_group("a");
  queue->grouped_last = true;
  Selection selection = select();
  EXPECT_EQ(selection.next().seq, dead);
  selection.passed_dead_letter(false);
  EXPECT_EQ(take(selection), (Seqs{f1, f2}));
  EXPECT_EQ(queue->visible(), 3u);
}

TEST_F(Selecting, AfterADeadLetterThatMovesContinuesWithTheNext) {
  const Seq dead = returned(long_ago), r1 = returned(long_ago), f1 = fresh();
  Selection selection = select();
  EXPECT_EQ(selection.next().seq, dead);
  become(dead, State::moving);
  selection.passed_dead_letter(true);
  EXPECT_EQ(take(selection), (Seqs{r1, f1}));
}

// --- FIFO queues ---

TEST_F(SelectingInOrder, FromAQueueThatNeverHadAMessageGivesNone) { EXPECT_EQ(take(), Seqs{}); }

TEST_F(SelectingInOrder, TakesAllOfAGroupAndThenTheNextGroup) {
  const Seq a1 = in_group("a"), b1 = in_group("b"), a2 = in_group("a"), b2 = in_group("b");
  EXPECT_EQ(take(), (Seqs{a1, a2, b1, b2}));
}

TEST_F(SelectingInOrder, TakesTheGroupThatIsReadyTheLongest) {
  const Seq a1 = in_group("a", State::delayed), b1 = in_group("b");
  become(a1, State::visible);
  EXPECT_EQ(take(), (Seqs{b1, a1}));
}

TEST_F(SelectingInOrder, StopsInAGroupAtAMessageThatIsNotVisible) {
  const Seq a1 = in_group("a"), a2 = in_group("a", State::in_flight), a3 = in_group("a");
  const Seq b1 = in_group("b");
  EXPECT_EQ(take(), (Seqs{a1, b1}));
  become(a2, State::visible);
  EXPECT_EQ(take(), Seqs{}) << "the first message of the group is in flight";
  become(a1, State::visible);
  EXPECT_EQ(take(), (Seqs{a1, a2, a3}));
}

TEST_F(SelectingInOrder, ContinuesInAGroupWhereAnEarlierReceiveEndedWhenItIsDeleted) {
  const Seq a1 = in_group("a"), a2 = in_group("a"), b1 = in_group("b");
  EXPECT_EQ(take(1), (Seqs{a1}));
  EXPECT_EQ(take(1), (Seqs{b1})) << "group a waits for its first message";
  std::vector<LogPos> freed;
  parts.states.erase(*queue, a1, freed);
  EXPECT_EQ(take(), (Seqs{a2}));
}

TEST_F(SelectingInOrder, AfterADeadLetterThatMovesLetsTheMessagesBehindItWait) {
  const Seq dead = in_group("a"), a2 = in_group("a"), b1 = in_group("b");
  Selection selection = select();
  EXPECT_EQ(selection.next().seq, dead);
  become(dead, State::moving);
  selection.passed_dead_letter(true);
  EXPECT_EQ(take(selection), (Seqs{b1}));
  EXPECT_EQ(parts.state.slots[row_of(a2)].state, State::visible);
}

TEST_F(SelectingInOrder, AfterADeadLetterThatStaysGivesNone) {
  const Seq dead = in_group("a");
  in_group("b");
  Selection selection = select();
  EXPECT_EQ(selection.next().seq, dead);
  selection.passed_dead_letter(false);
  EXPECT_EQ(take(selection), Seqs{});
}

// --- limits ---

TEST_F(Selecting, BoundsAReceiveByTheMessagesThatMayBeInFlight) {
  struct Case {
    std::uint64_t in_flight;
    std::uint32_t asked, most;
    bool full;
  };
  constexpr Case cases[] = {
      {0,                 10, 10, false},
      {in_flight_max - 3, 10, 3,  false},
      {in_flight_max - 3, 2,  2,  false},
      {in_flight_max,     10, 0,  true },
      {in_flight_max + 1, 10, 0,  true },
  };
  fresh();
  for (const Case& c : cases) {
    SCOPED_TRACE(c.in_flight);
    queue->in_flight = c.in_flight;
    EXPECT_EQ(Selection::most(*queue, c.asked), c.most);
    EXPECT_EQ(Selection::full(*queue), c.full);
    EXPECT_EQ(Selection::any(*queue), !c.full);
  }
}

TEST_F(Selecting, FindsNoneInAQueueWithoutVisibleMessages) {
  parts.add_tracked(*queue, State::delayed);
  EXPECT_FALSE(Selection::any(*queue));
}

// --- move tasks ---

TEST_F(Selecting, MovesTheOldestFirstAndGroupsLast) {
  const Seq r1 = returned({}), a1 = in_group("a"), r2 = returned({}), f1 = fresh();
  EXPECT_EQ(move_all(), (Seqs{r1, r2, f1, a1}));
}

TEST_F(SelectingInOrder, MovesMessagesByGroup) {
  const Seq a1 = in_group("a"), b1 = in_group("b");
  in_group("a");
  EXPECT_EQ(move_all(), (Seqs{a1, b1})) << "the next of group a waits until the first has moved";
}

}  // namespace
}  // namespace pawl::test

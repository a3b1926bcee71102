// SPDX-License-Identifier: Apache-2.0
#include "core/shard/message_states.h"

#include <gtest/gtest.h>

#include <span>

#include "tests/core/shard_parts.h"

namespace pawl::test {
namespace {

using State = Slot::State;

class MessageStatesTest : public testing::Test {
 protected:
  ShardParts parts_;
  Queue& queue_ = parts_.make_queue("q");
  MessageStates& states_ = parts_.states;
  std::vector<LogPos> freed_;

  // A lease of `count` new messages, for 30 s.
  std::uint32_t lease_out(std::uint32_t count) {
    std::uint32_t row = Leases::none;
    for (std::uint32_t i = 0; i < count; ++i) {
      const Seq seq = parts_.add_message(queue_);
      if (i == 0) row = states_.open_lease(queue_, seq, 50, 10, ShardParts::start, seconds(30));
      states_.lease(queue_, row, seq, queue_.index.find(seq).position(), 50 + i);
    }
    return row;
  }
};

TEST_F(MessageStatesTest, AreCountedByTheQueue) {
  const std::uint32_t row = parts_.add_tracked(queue_, State::visible);
  EXPECT_EQ(queue_.visible(), 1u);
  states_.hide(queue_, row, State::in_flight, ShardParts::start, seconds(30));
  EXPECT_EQ(queue_.visible(), 0u);
  EXPECT_EQ(queue_.in_flight, 1u);
  states_.hide(queue_, row, State::delayed, ShardParts::start + seconds(1));
  EXPECT_EQ(queue_.in_flight, 0u);
  EXPECT_EQ(queue_.delayed, 1u);
  states_.show(queue_, row);
  EXPECT_EQ(queue_.delayed, 0u);
  states_.change_state(queue_, row, State::moving);
  EXPECT_EQ(queue_.leaving, 1u);
  states_.show(queue_, row);
  EXPECT_EQ(queue_.leaving, 0u);
  EXPECT_EQ(queue_.visible(), 1u);
}

TEST_F(MessageStatesTest, HideWithATimerOfTheLatestChangeAlone) {
  const std::uint32_t row = parts_.add_tracked(queue_, State::visible);
  states_.hide(queue_, row, State::in_flight, ShardParts::start + seconds(1));
  states_.hide(queue_, row, State::in_flight, ShardParts::start + seconds(2));
  std::vector<std::uint32_t> current;
  parts_.state.timers.expire(ShardParts::start + seconds(3), 1000, [&](const TimerEntry& entry) {
    const bool live = entry.generation == parts_.state.slots[row].generation;
    if (live) current.push_back(entry.subject);
    return live;
  });
  EXPECT_EQ(current, (std::vector<std::uint32_t>{row}));
  EXPECT_EQ(parts_.state.slots[row].deadline, ShardParts::start + seconds(2));
}

TEST_F(MessageStatesTest, EraseFreesTheRecordAndTheSlot) {
  const Seq plain = parts_.add_message(queue_);
  const std::uint32_t row = parts_.add_tracked(queue_, State::in_flight);
  const Seq tracked = parts_.state.slots[row].seq;
  states_.erase(queue_, plain, freed_);
  states_.erase(queue_, tracked, freed_);
  EXPECT_EQ(freed_, (std::vector<LogPos>{1'000 + plain, 1'000 + tracked}));
  EXPECT_EQ(queue_.index.size(), 0u);
  EXPECT_EQ(queue_.slots, 0u);
  EXPECT_EQ(queue_.in_flight, 0u);
  states_.erase(queue_, plain, freed_);
  EXPECT_EQ(freed_.size(), 2u) << "it was gone";
}

TEST_F(MessageStatesTest, MoveOnlyTheLogPositionOfARelocatedMessage) {
  const Seq plain = parts_.add_message(queue_);
  const std::uint32_t row = parts_.add_tracked(queue_, State::in_flight);
  states_.relocated(queue_.id, plain, 77'000);
  states_.relocated(queue_.id, parts_.state.slots[row].seq, 78'000);
  EXPECT_EQ(states_.position_of(queue_.id, plain), 77'000u);
  EXPECT_EQ(states_.position_of(queue_.id, parts_.state.slots[row].seq), 78'000u);
  EXPECT_EQ(parts_.state.slots[row].state, State::in_flight);
  EXPECT_EQ(states_.position_of(queue_.id, 999), log_pos_none);
  EXPECT_EQ(states_.position_of(QueueId{99}, 1), log_pos_none);
}

TEST_F(MessageStatesTest, SetAsideInOrderOfNumber) {
  const Seq first = parts_.add_message(queue_);
  const std::uint32_t row = parts_.add_tracked(queue_, State::in_flight);
  const Seq third = parts_.add_message(queue_);
  const Seq second = parts_.state.slots[row].seq;
  for (const Seq seq : {third, first, second, second}) states_.set_aside(queue_.id, seq);
  ASSERT_EQ(queue_.set_aside.size(), 3u);
  EXPECT_EQ(queue_.set_aside[0].seq, first);
  EXPECT_EQ(queue_.set_aside[1].seq, second);
  EXPECT_EQ(queue_.set_aside[1].position, 1'000 + second);
  EXPECT_EQ(queue_.set_aside[2].seq, third);
  EXPECT_EQ(states_.set_aside(), 3u);
  EXPECT_EQ(queue_.index.size(), 0u);
}

TEST_F(MessageStatesTest, GiveALeasedMessageTheSlotThatItWouldHave) {
  const std::uint32_t row = lease_out(3);
  const Seq seq = parts_.state.leases[row].seq(1);
  const std::uint32_t taken = states_.slot_for(queue_, seq, queue_.index.find(seq));
  EXPECT_EQ(queue_.index.find(seq), IndexEntry::slot(taken));
  EXPECT_EQ(states_.slot_for(queue_, seq, queue_.index.find(seq)), taken);
  const Slot& slot = parts_.state.slots[taken];
  EXPECT_EQ(slot.state, State::in_flight);
  EXPECT_EQ(slot.seq, seq);
  EXPECT_EQ(slot.position, 1'000 + seq);
  EXPECT_EQ(slot.nonce, 51u);
  EXPECT_EQ(slot.receive_count, 1u);
  EXPECT_EQ(slot.since, ShardParts::start);
  EXPECT_EQ(slot.deadline, ShardParts::start + seconds(30));
  EXPECT_TRUE(slot.timer_armed);
  EXPECT_EQ(queue_.in_flight, 3u);
  EXPECT_EQ(queue_.slots, 1u);
  EXPECT_EQ(parts_.state.timers.size(), 2u);
}

TEST_F(MessageStatesTest, ShowTheMessagesOfALeaseThatExpires) {
  const std::uint32_t row = lease_out(3);
  const Lease lease = parts_.state.leases[row];
  states_.erase(queue_, lease.seq(1), freed_);
  EXPECT_EQ(freed_, (std::vector<LogPos>{1'000 + lease.seq(1)}));
  const std::span<const std::uint32_t> ended = states_.end_lease(row);
  ASSERT_EQ(ended.size(), 2u);
  for (const std::uint32_t slot : ended) states_.show(queue_, slot);
  EXPECT_EQ(queue_.in_flight, 0u);
  EXPECT_EQ(queue_.leases, 0u);
  EXPECT_EQ(queue_.slots, 2u);
  EXPECT_EQ(queue_.index.ready(SeqIndex::Set::returned), 2u);
  EXPECT_EQ(queue_.index.first_ready(SeqIndex::Set::returned), lease.seq(0));
  EXPECT_EQ(parts_.state.leases->size(), 0u);
}

TEST_F(MessageStatesTest, ShowNothingOfALeaseWhoseQueueWasPurged) {
  const std::uint32_t row = lease_out(3);
  parts_.reclaimer.retire(queue_, parts_.effects);
  parts_.add_message(queue_);
  EXPECT_EQ(states_.end_lease(row).size(), 0u);
  EXPECT_EQ(queue_.visible(), 1u);
  EXPECT_EQ(queue_.leases, 0u);
  while (!parts_.reclaimer.idle()) parts_.reclaimer.reclaim(parts_.effects);
  EXPECT_EQ(parts_.effects.freed.size(), 3u);
  EXPECT_EQ(parts_.state.leases->size(), 0u);
  EXPECT_EQ(parts_.state.timers.stale(), 0u) << "the timer has fired";
}

TEST_F(MessageStatesTest, CloseALeaseOfOneMessage) {
  const std::uint32_t pair = lease_out(2);
  states_.close_lease(queue_, pair);
  EXPECT_EQ(queue_.slots, 0u);
  const std::uint32_t single = lease_out(1);
  const Seq seq = parts_.state.leases[single].seq(0);
  states_.close_lease(queue_, single);
  EXPECT_TRUE(queue_.index.find(seq).is_slot());
  EXPECT_EQ(queue_.in_flight, 3u);
  EXPECT_EQ(queue_.leases, 1u);
}

TEST_F(MessageStatesTest, ExpectTwoMessagesForALease) {
  const Seq seq = parts_.add_message(queue_);
  EXPECT_EQ(states_.open_lease(queue_, seq, 50, 1, ShardParts::start, seconds(30)), Leases::none);
  EXPECT_EQ(queue_.leases, 0u);
}

TEST_F(MessageStatesTest, GiveANewMessageADelayOfItsOwnOrOfItsQueue) {
  Queue& fifo = parts_.make_queue(
      "q.fifo", {
                    {Attribute::fifo_queue,    1,  {}},
                    {Attribute::delay_seconds, 10, {}}
  });
  const std::uint32_t row = parts_.add_tracked(fifo, State::delayed);
  Slot& slot = parts_.state.slot(row);
  EXPECT_EQ(MessageStates::delay_end(fifo, slot), Instant{}) << "a delay of its own";
  slot.since = ShardParts::start;
  EXPECT_EQ(MessageStates::delay_end(fifo, slot), ShardParts::start + seconds(10));
  slot.set_received(1, ShardParts::start, ShardParts::start);
  EXPECT_EQ(MessageStates::delay_end(fifo, slot), Instant{}) << "it has been received";
}

TEST(MessageStates, LeaveNoTraceWithoutAFreeSlot) {
  ShardParts parts(ShardLimits{.slots_max = 1});
  Queue& queue = parts.make_queue("q");
  Queue& other = parts.make_queue("p");
  for (Seq seq = 1; parts.states.take_slot(other, seq, State::sent, seq) != Slab<Slot>::none;
       ++seq) {
  }
  const Content content{.body = "b", .group = "g"};
  EXPECT_EQ(parts.states.new_slot(queue, 1, content), Slab<Slot>::none);
  EXPECT_EQ(queue.index.size(), 0u);
  EXPECT_EQ(queue.slots, 0u);
  const Seq seq = parts.add_message(queue);
  EXPECT_EQ(parts.states.slot_for(queue, seq, queue.index.find(seq)), Slab<Slot>::none);
  EXPECT_EQ(queue.visible(), 1u);
}

}  // namespace
}  // namespace pawl::test

// SPDX-License-Identifier: Apache-2.0
// Frees the state of purged and deleted queues, a bounded part in each turn.
//
//   queue --purge, delete--> retire() --> retired --reclaim() each turn--> freed
//
// Limits: ShardLimits::retired_a_turn messages or entries a turn.
// Errors: purge: Errc::purge_in_progress within 60 s of the last.
// Owner:  core/shard/shard.h.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "core/queue/effects.h"
#include "core/queue/request.h"
#include "core/shard/message_states.h"
#include "core/shard/shard_state.h"

namespace pawl {

class Reclaimer {
 public:
  Reclaimer(ShardState& state, MessageStates& states) : state_(state), states_(states) {}

  void purge(Queue& queue, Request& request, Instant now, Effects& effects);
  // Detaches all messages of the queue, those of this turn too; later turns free their memory.
  void retire(Queue& queue, const Effects& effects);
  // Detaches its producers too: a purge keeps them.
  void retire_deleted(Queue& queue, const Effects& effects);
  void reclaim(Effects& effects);
  bool idle() const { return retired_.empty(); }
  std::uint64_t memory() const {
    return retired_.size() * (sizeof(Retired) + 2 * PagePool::row_bytes);
  }

 private:
  struct Retired {
    SeqIndex index;
    std::unique_ptr<Groups> groups;
    std::unique_ptr<Fifo> fifo;
    std::unique_ptr<AgedArrivals> aged, ttl_ends;
    std::unique_ptr<Calendar> calendar;
    std::unique_ptr<Producers> producers;
    std::vector<TrackedMessage> set_aside;
    UsageCounter kept;  // its bytes
  };

  ShardState& state_;
  MessageStates& states_;
  std::deque<Retired> retired_;
};

}  // namespace pawl

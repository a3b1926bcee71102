// SPDX-License-Identifier: Apache-2.0
// Sends, reserved numbers and started move tasks that are not durable yet.
//
//   sent, reserved, started --appended(lsn)--> placed --committed(>= lsn)--> visible | begun
//            \--at_once--------------------------------committed()----------------> visible
//
// Owner:  core/shard/shard.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/containers/ring_queue.h"
#include "core/queue/effects.h"
#include "core/shard/long_polls.h"
#include "core/shard/message_states.h"
#include "core/shard/pending.h"
#include "core/shard/retention.h"
#include "core/shard/shard_state.h"

namespace pawl {

class CommitQueue {
 public:
  CommitQueue(ShardState& state, LongPolls& polls, MessageStates& states, Retention& retention,
              Pending& pending)
      : state_(state), polls_(polls), states_(states), retention_(retention), pending_(pending) {}

  // The messages from `first` on become visible once they are durable, or with `at_once` as soon as
  // they have their log positions. `came`: the counter of the statistics, sent or arrived.
  void sent(Queue& queue, Seq first, QueueCounter came, bool at_once, Instant now);
  // Numbers below `reserved` may be given out once this is durable.
  void reserved(const Queue& queue, Seq reserved);
  // The move task may begin once its start is durable.
  void started(const Queue& queue, std::uint32_t task);

  // See Shard::appended() and Shard::committed().
  void appended(Effects& effects, Lsn lsn);
  void committed(Lsn durable, Instant now);

  using Begun = std::vector<std::pair<QueueId, std::uint32_t>>;
  Begun take_begun() { return std::exchange(begun_, {}); }
  bool any_begun() const { return !begun_.empty(); }
  // Nothing waits for the next turn.
  bool idle() const { return begun_.empty() && at_once_.empty(); }
  std::uint64_t memory() const { return commits_.capacity() * sizeof(Commit); }

 private:
  void count(const Queue& queue, QueueCounter came, std::uint64_t messages, Instant now);

  struct Commit {  // messages, reserved numbers, or a task
    QueueId queue = QueueId::none;
    std::uint32_t task = 0;
    Seq first = 0;
    std::uint32_t count = 0;
    Seq reserved = 0;
    Lsn lsn = 0;
  };

  void push(const Commit& commit) {
    commits_.push_back(commit);
    ++unplaced_;
  }
  void make_available(const Commit& commit, Instant now);

  ShardState& state_;
  LongPolls& polls_;
  MessageStates& states_;
  Retention& retention_;
  Pending& pending_;
  RingQueue<Commit> commits_;
  std::size_t unplaced_ = 0;     // this turn's commits, at the end of commits_
  std::vector<Commit> at_once_;  // delivered from the next turn on, durable or not
  Begun begun_;                  // tasks whose start has become durable
};

}  // namespace pawl

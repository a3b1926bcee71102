// SPDX-License-Identifier: Apache-2.0
// Long polls: receives that wait for messages, and the queues that may serve some this turn.
//
//   park --> waiting --message or timer or cancel--> unpark
//                \--want_match(queue)--> on the match list --match()--> served
//
// A receive that found only dead letters waits too, until they have moved (Queue::awaiting_moves).
//
// Limits: ShardLimits::waiters_max.
// Owner:  core/shard/shard.h; the requests belong to the callers of Shard::apply().
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/queue/effects.h"
#include "core/queue/request.h"
#include "core/shard/shard_state.h"

namespace pawl {

class LongPolls {
 public:
  explicit LongPolls(ShardState& state);

  bool full() const { return waiters_.full(); }
  void park(Queue& queue, Request& request, Instant now, Duration wait, bool awaits_moves);
  // Takes the waiter of this row out of the queue when its timer has fired.
  Request* unpark(Queue& queue, std::uint32_t row);
  // The same before its timer has fired: cancels the timer.
  Request* unpark_early(Queue& queue, std::uint32_t row);
  // False: the request is not (or no longer) waiting.
  bool cancel(Request& request);
  // Answers every waiter of the queue: with the error, or empty if it is Errc::ok.
  void answer_all(Queue& queue, Errc error, Effects& effects);

  // The request and the queue of a waiting row.
  Request& request(std::uint32_t row) const { return *waiters_[row].request; }
  QueueId queue_of(std::uint32_t row) const { return waiters_[row].queue; }
  bool live(const TimerEntry& entry) const;
  // Rows of the waiters with an attempt, in order of arrival for each attempt.
  using WaitingAttempts = std::multimap<std::pair<QueueId, TextKey>, std::uint32_t>;
  const WaitingAttempts& attempts() const { return waiting_attempts_; }

  // Queues with waiters that may be served now.
  void want_match(Queue& queue);
  std::vector<QueueId>& match_list() { return match_list_; }
  bool wants_match() const { return !match_list_.empty(); }

  std::size_t waiting() const { return waiters_.taken(); }
  std::uint64_t memory() const;

 private:
  struct Waiter {
    Request* request = nullptr;
    QueueId queue = QueueId::none;
    RowLinks all;             // in Queue::waiters
    RowLinks awaiting_moves;  // in Queue::awaiting_moves, if linked there
    std::uint32_t generation = 0;
    WaitingAttempts::iterator attempt;  // end(): a receive without an attempt
  };

  void link(RowList& list, RowLinks Waiter::* links, std::uint32_t row);
  void unlink(RowList& list, RowLinks Waiter::* links, std::uint32_t row);

  ShardState& state_;
  Slab<Waiter> waiters_;
  WaitingAttempts waiting_attempts_;
  std::vector<QueueId> match_list_;
};

}  // namespace pawl

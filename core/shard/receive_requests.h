// SPDX-License-Identifier: Apache-2.0
// Receives: the delivery of messages, repeated attempts, and long polls that match.
//
//   receive --messages--> reply
//      \--none, wait > 0--> LongPolls --match()--> reply
//
// The order of messages is that of core/shard/selection.h.
//
// Limits: in_flight_max a queue; ShardLimits: attempts_bytes_max, dead_letters_a_receive.
// Errors: over_in_flight, overloaded, attempt_not_retryable.
// Owner:  core/shard/shard.h.
#pragma once

#include <cstdint>

#include "core/queue/effects.h"
#include "core/queue/request.h"
#include "core/shard/long_polls.h"
#include "core/shard/message_states.h"
#include "core/shard/send_history.h"
#include "core/shard/shard_state.h"
#include "core/shard/transfers.h"

namespace pawl {

class ReceiveRequests {
 public:
  ReceiveRequests(ShardState& state, LongPolls& polls, MessageStates& states, SendHistory& history,
                  Transfers& transfers)
      : state_(state),
        polls_(polls),
        states_(states),
        history_(history),
        transfers_(transfers),
        nonce_(state.identity.nonce_seed) {}

  void receive(Queue& queue, Request& request, Instant now, Effects& effects);
  // Delivers visible messages to the waiting receives of the queues on the match list.
  void match(Instant now, Effects& effects);

 private:
  bool receive_again(Queue& queue, Request& request, Instant now, Effects& effects);
  void note_attempt(Queue& queue, const Request& request, Instant now);
  std::uint32_t deliver(Queue& queue, Request& request, Instant now, Effects& effects);
  void deliver_selected(Queue& queue, Request& request, std::uint32_t max, Instant now,
                        Effects& effects);
  void hand_out(Queue& queue, std::uint32_t row, Request& request, Instant now, Effects& effects);
  std::uint32_t lease_for(Queue& queue, const Request& request, Seq seq, std::uint32_t open,
                          std::uint32_t left, Instant now);
  void hand_out(const Slot& slot, Request& request, Effects& effects) const;
  void deliver_one(const Slot& slot, Request& request) const;
  void serve_waiters(Queue& queue, Instant now, Effects& effects);
  bool answer_attempts(Queue& queue, Instant now, Effects& effects);
  void answer_awaiting_moves(Queue& queue, Effects& effects);
  static void reply(const Queue& queue, Request& request, Effects& effects);

  ShardState& state_;
  LongPolls& polls_;
  MessageStates& states_;
  SendHistory& history_;
  Transfers& transfers_;
  std::uint32_t nonce_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Returns: a message that its consumer has returned, or whose visibility timeout has ended, is
// visible again at once, after the back-off of its queue, or not at all. Also messages whose time
// to live or retention has ended: one with a consumer goes when it comes back.
//
//   in_flight --returned, lease ended--> visible
//                                     -> delayed, by x-retry-backoff, then visible
//                                     -> moving: spent, with x-dead-letter-at=lease-end
//                                     -> deleted: it was cancelled meanwhile
//                                     -> deleted or moving: its time has ended meanwhile
//
// Units:  Instant, ms.
// Owner:  core/shard/shard.h.
#pragma once

#include <cstdint>

#include "core/queue/effects.h"
#include "core/queue/queue.h"
#include "core/shard/message_states.h"
#include "core/shard/shard_state.h"
#include "core/shard/transfers.h"

namespace pawl {

// The back-off of a received message, behind its deadline. The same after a restart.
Duration wait_after(const QueueConfig& config, const Slot& slot);

class Returns {
 public:
  Returns(ShardState& state, MessageStates& states, Transfers& transfers)
      : state_(state), states_(states), transfers_(transfers) {}

  // The timer of a tracked message has fired.
  void timer_fired(Queue& queue, std::uint32_t row, Instant now, Effects& effects);
  // The visibility timeout of a received message has ended.
  void lease_ended(Queue& queue, std::uint32_t row, Instant now, Effects& effects);
  // Its consumer has made it visible. True: the caller records its state, also of a message that
  // moves: after a restart its visibility timeout has ended. False: it is deleted.
  bool returned(Queue& queue, std::uint32_t row, Instant now, Effects& effects);
  // The message is in flight no more. True: it was cancelled and is deleted, or its time has ended.
  bool end_if_over(Queue& queue, std::uint32_t row, Instant now, Effects& effects);

  enum class Ended : std::uint8_t {
    time_to_live,  // a consumer keeps its message
    retention,     // it does not, as on AWS, unless the message goes to the dead-letter queue
  };
  // The time of the message has ended. False: not now, too much is under way.
  bool expire(Queue& queue, Seq seq, Ended ended, Instant now, Effects& effects);
  bool moves_expired(const Queue& queue) const { return transfers_.takes_expired(queue); }
  // Pause before the next try.
  static constexpr Duration crowded_pause = milliseconds(10);

 private:
  // The message is in flight. True: it waits now, with a new deadline.
  bool give_back(Queue& queue, std::uint32_t row, Instant now, Effects& effects);
  bool move_if_spent(Queue& queue, std::uint32_t row, Instant now, Effects& effects);
  void remove(Queue& queue, Seq seq, QueueCounter reason, Effects& effects);
  static constexpr Duration follow_pause = seconds(8);
  bool follows_expired(const Queue& queue, std::uint32_t row) const;
  void wait_to_follow(Queue& queue, std::uint32_t row, Instant now);
  void end_expired(Queue& queue, std::uint32_t row, Instant now, Effects& effects);
  void move(Queue& queue, std::uint32_t row, Instant now, Effects& effects);

  ShardState& state_;
  MessageStates& states_;
  Transfers& transfers_;
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Sends: numbers, delays, groups and deduplication of new messages.
//
// Limits: ShardLimits: slots_max for messages with a delay or a group, dedup_max,
//         producers_bytes_max.
// Errors: in each SendEntry: overloaded, message_numbers_used_up, invalid.
// Owner:  core/shard/shard.h.
#pragma once

#include "core/queue/effects.h"
#include "core/queue/request.h"
#include "core/shard/commit_queue.h"
#include "core/shard/message_states.h"
#include "core/shard/schedules.h"
#include "core/shard/send_history.h"
#include "core/shard/shard_state.h"

namespace pawl {

class SendRequests {
 public:
  SendRequests(ShardState& state, MessageStates& states, SendHistory& history, CommitQueue& commits,
               Schedules& schedules)
      : state_(state),
        states_(states),
        history_(history),
        commits_(commits),
        schedules_(schedules) {}

  void send(Queue& queue, Request& request, Instant now, Effects& effects);
  // Sends the only entry of the request to each of its targets.
  void fan_out(Request& request, Instant now, Effects& effects);
  void take_numbers(Queue& topic, Request& request, Instant now, Effects& effects);

 private:
  bool send_to(Queue& queue, std::span<SendEntry> sends, const ProducerParams& producer,
               Instant now, Effects& effects);
  bool send_in_order(Queue& queue, SendEntry& entry, Instant now, Effects& effects);
  bool send_once(Queue& queue, SendEntry& entry, const ProducerParams& producer, Duration delay,
                 Instant now, Effects& effects);
  // The first message of that key within the window.
  bool send_first(Queue& queue, SendEntry& entry, const TextKey& key, Duration delay, Instant now,
                  Effects& effects);
  bool send_unless_known(Queue& queue, SendEntry& entry, Instant now, Effects& effects);
  bool take_number(Queue& topic, SendEntry& entry, Instant now, Effects& effects);
  bool has_room(SendEntry& entry) const;
  // Null: the entry has failed.
  SendRecord* send_one(Queue& queue, SendEntry& entry, Duration delay, Instant now,
                       Effects& effects);
  bool waits_long(const Queue& queue, const SendEntry& entry, Duration delay, Instant now) const;
  void note_own_time(Queue& queue, const SendEntry& entry, Duration delay, SendRecord& record);
  void note_times(Queue& queue, const SendEntry& entry, Duration delay, SendRecord& record);
  void note_time_to_live(Queue& queue, Duration ttl, SendRecord& record);
  bool is_duplicate(Queue& queue, SendEntry& entry, const TextKey& key, Instant now);
  void reserve_numbers(Queue& queue, Effects& effects);

  ShardState& state_;
  MessageStates& states_;
  SendHistory& history_;
  CommitQueue& commits_;
  Schedules& schedules_;
};

}  // namespace pawl

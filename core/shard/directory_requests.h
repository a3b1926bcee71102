// SPDX-License-Identifier: Apache-2.0
// Creates, changes and deletes queues: on the control shard by requests, on others as told by it.
//
//   control shard: request --> directory, ConfigRecord --durable, all shards told--> response
//   other shards:              put_config(), drop_queue()
//
// Limits: Directory, ShardLimits: directory_bytes_max, account_queues_max, deleted_name_wait.
// Errors: queue_exists, queue_deleted_recently, queue_ids_used_up, directory_full,
//         changed_meanwhile, no_such_queue.
// Owner:  core/shard/shard.h.
#pragma once

#include "core/queue/effects.h"
#include "core/queue/request.h"
#include "core/shard/long_polls.h"
#include "core/shard/message_states.h"
#include "core/shard/reclaimer.h"
#include "core/shard/replay_tasks.h"
#include "core/shard/retention.h"
#include "core/shard/schedules.h"
#include "core/shard/shard_state.h"

namespace pawl {

class DirectoryRequests {
 public:
  DirectoryRequests(ShardState& state, LongPolls& polls, MessageStates& states,
                    Retention& retention, Reclaimer& reclaimer, ReplayTasks& replays,
                    Schedules& schedules)
      : state_(state),
        polls_(polls),
        states_(states),
        retention_(retention),
        reclaimer_(reclaimer),
        replays_(replays),
        schedules_(schedules) {}

  // On the control shard: create_queue, delete_queue, set_attributes.
  void apply(Request& request, Instant now, Effects& effects);
  void put_config(const ConfigPtr& config, Instant now);
  void drop_queue(QueueId id, Effects& effects);

 private:
  void create_queue(Request& request, Instant now, Effects& effects);
  void delete_queue(const QueueConfig& found, Instant now, Effects& effects);
  void set_attributes(const ConfigPtr& found, Request& request, Instant now, Effects& effects);

  ShardState& state_;
  LongPolls& polls_;
  MessageStates& states_;
  Retention& retention_;
  Reclaimer& reclaimer_;
  ReplayTasks& replays_;
  Schedules& schedules_;
};

}  // namespace pawl

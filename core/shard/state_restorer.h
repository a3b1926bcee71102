// SPDX-License-Identifier: Apache-2.0
// Restores the state of a shard from the records of its log.
//
//   checkpoint's records, then all records in log order --> finish() once the directory is complete
//
// `freed` receives the positions of records that are not needed any more.
//
// Owner:  core/shard/shard.h.
#pragma once

#include <vector>

#include "core/queue/checkpoint.h"
#include "core/queue/effects.h"
#include "core/shard/message_states.h"
#include "core/shard/move_tasks.h"
#include "core/shard/pending.h"
#include "core/shard/replay_tasks.h"
#include "core/shard/retention.h"
#include "core/shard/returns.h"
#include "core/shard/schedules.h"
#include "core/shard/send_history.h"
#include "core/shard/shard_state.h"
#include "core/shard/transfers.h"

namespace pawl {

class StateRestorer {
 public:
  StateRestorer(ShardState& state, MessageStates& states, Retention& retention, Pending& pending,
                SendHistory& history, Transfers& transfers, MoveTasks& moves, ReplayTasks& replays,
                Schedules& schedules)
      : state_(state),
        states_(states),
        retention_(retention),
        pending_(pending),
        history_(history),
        transfers_(transfers),
        moves_(moves),
        replays_(replays),
        schedules_(schedules) {}

  void restore(const CheckpointRecord& record);
  void restore(const ConfigRecord& record);
  void restore(const RowRecord& record);
  void restore(const HeadRecord& record);
  void restore(const SendRecord& record, std::vector<LogPos>& freed);
  void restore(const NumberRecord& record);
  void restore(const ReceiveRecord& record);
  void restore(const DeleteRecord& record, std::vector<LogPos>& freed);
  void restore(const PurgeRecord& record, std::vector<LogPos>& freed);
  void restore(const TaskRecord& record, std::vector<LogPos>& freed);
  void restore(const ForgetTransferRecord& record);
  void restore(const ReplayRecord& record);
  void finish(Instant passed, Instant now, std::vector<LogPos>& freed);

 private:
  void restore_part(const IndexEntriesRecord& record);
  void restore_part(const TrackedMessagesRecord& record);
  void restore_part(const TimesRecord& record);
  void restore_part(const DedupRecord& record);
  void restore_part(const UnsettledTransferRecord& record);
  void restore_part(const ProducersRecord& record);
  void restore_part(const FiresRecord& record);
  void note_queue_ids(std::uint32_t end);
  void restore_relocated(Queue& queue, const SendRecord& record, std::vector<LogPos>& freed);
  void free_listed_again(std::vector<LogPos>& freed);
  void resume(Queue& queue, Instant passed, Instant now);
  void resume(Queue& queue, std::uint32_t row, Instant passed);
  void abandon(Queue& queue, std::vector<LogPos>& freed);

  ShardState& state_;
  MessageStates& states_;
  Retention& retention_;
  Pending& pending_;
  SendHistory& history_;
  Transfers& transfers_;
  MoveTasks& moves_;
  ReplayTasks& replays_;
  Schedules& schedules_;
  std::vector<LogPos> listed_again_;  // positions held once too often
};

}  // namespace pawl

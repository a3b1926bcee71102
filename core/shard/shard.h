// SPDX-License-Identifier: Apache-2.0
// A shard: every decision about a message is made here.
//
//   apply(request) --> effects: records, replies --log--> appended(), committed() --> delivered
//   expire(now)    --/
//
// The conductor of its parts, each with its own header; all share the ShardState:
//
//   SendRequests, ReceiveRequests, ReceiptRequests, DirectoryRequests   requests
//   LongPolls, MessageStates, CommitQueue, Retention, Expiry, Reclaimer  messages, waiting receives
//   Transfers, MoveTasks, ReplayTasks, SendHistory, Pending  other queues, past sends, long delays
//   Schedules                                                fires of schedules
//   CheckpointSlicer, StateRestorer                                     checkpoints, recovery
//
// A pure state machine: the same requests at the same times give the same effects. The shard loop
// (net/engine/shard_loop.h) calls it, writes its effects to the log, and reports durable positions.
// A message is delivered only after that, except in queues whose durability is memory.
//
// Units:  Instant and Duration are ms.
// Limits: ShardLimits; a request beyond a limit fails with an error, and no state is dropped.
// Errors: see request.h; they are returned in the request and its entries.
// Owner:  one thread at a time. No locks, no clock, no system calls.
// Source: SQS Developer Guide, "Visibility timeout", "Delay queues", "Short and long polling".
#pragma once

#include <concepts>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/queue/checkpoint.h"
#include "core/queue/effects.h"
#include "core/queue/request.h"
#include "core/shard/checkpoint_slicer.h"
#include "core/shard/commit_queue.h"
#include "core/shard/directory_requests.h"
#include "core/shard/expiry.h"
#include "core/shard/long_polls.h"
#include "core/shard/message_states.h"
#include "core/shard/move_tasks.h"
#include "core/shard/receipt_requests.h"
#include "core/shard/receive_requests.h"
#include "core/shard/reclaimer.h"
#include "core/shard/replay_tasks.h"
#include "core/shard/schedules.h"
#include "core/shard/send_history.h"
#include "core/shard/send_requests.h"
#include "core/shard/shard_state.h"
#include "core/shard/state_restorer.h"
#include "core/shard/transfers.h"

namespace pawl {

class Shard {
 public:
  Shard(const ShardIdentity& identity, const ShardLimits& limits, Instant start);

  // --- one turn ---
  // Decides about one request. The response is in `effects.replies`, now or (a long poll) later.
  void apply(Request& request, Instant now, Effects& effects);
  // Ends visibility timeouts, delays, retention and long polls due by `passed` (at most `now`), and
  // frees purged messages. True: there is more to do at this `now`.
  bool expire(Instant passed, Instant now, Effects& effects);
  // Delivers visible messages to waiting receives. Call it last in a turn.
  void match(Instant now, Effects& effects);
  // The log has placed the records of this turn. The sent messages may be delivered once the log is
  // durable up to `lsn`.
  void appended(Effects& effects, Lsn lsn);
  void committed(Lsn durable, Instant now) { commits_.committed(durable, now); }
  // Before this time expire() has nothing to do.
  Instant next_deadline();
  // match() or, for ShardPart::replay and schedules, the caller has work.
  bool armed(ShardPart part) const { return state_.armed.has(part); }

  // A receive leaves with these bodies.
  void delivered(QueueId queue, std::span<const Delivery> deliveries, Instant now);
  // The body of a message cannot be read: its queue continues without it, up to the next startup.
  void set_aside(QueueId queue, Seq seq) { states_.set_aside(queue, seq); }
  // Takes a long poll out of the queue; false: it is not (or no longer) waiting.
  bool cancel(Request& request) { return polls_.cancel(request); }
  // The server is stopping: answers every long poll, empty, and begins no more transfers.
  void release_waiters(Effects& effects);

  // --- relocation: see wal/relocation.h ---
  // Position of a message's record; log_pos_none: the message no longer exists.
  LogPos position_of(QueueId queue, Seq seq) { return states_.position_of(queue, seq); }
  // The record of a message that exists has been relocated.
  void relocated(QueueId queue, Seq seq, LogPos to) { states_.relocated(queue, seq, to); }

  // --- transfers: see core/queue/transfer.h ---
  // The content is read: finds the target. On failure the request returns to apply().
  void address(Transfer& transfer) { transfers_.address(transfer); }
  std::size_t transfers() const { return transfers_.under_way(); }
  // At startup: sources that may still hold a transferred message. The caller passes each to its
  // source's shard with resume_transfer(), and applies the returned transfer before anything else.
  std::vector<UnsettledTransfer> unsettled_transfers() const;
  Transfer& resume_transfer(const UnsettledTransfer& unsettled, ShardId target) {
    return transfers_.resume(unsettled, target);
  }

  // --- parts that work with the log and the clock of the caller ---
  // Replay tasks: see core/queue/replay_task.h. The caller rests them when it has no work left.
  ReplayTasks& replays() { return replays_; }
  // Schedules: see core/queue/schedule.h. The caller sends their messages.
  Schedules& schedules() { return schedules_; }

  // --- the directory ---
  const Directory& directory() const { return state_.directory; }
  // During recovery: the queues with records in the log, and the end of the queue ids given out.
  bool has_queue(QueueId id) const { return state_.queues->contains(raw(id)); }
  std::uint32_t newest_queue_id() const;
  std::uint32_t queue_ids_end() const { return state_.next_queue_id; }
  std::vector<std::pair<QueueId, std::uint64_t>> queues_with_messages() const;
  // Applies a change decided by the control shard (there, apply() has already done it).
  void put_config(const ConfigPtr& config, Instant now) { changes_.put_config(config, now); }
  void drop_queue(QueueId id, Effects& effects) { changes_.drop_queue(id, effects); }

  // --- checkpoints: see core/queue/checkpoint.h ---
  // Abandons a checkpoint under way. Take slices after the log has placed the records of the turn.
  void begin_checkpoint() { slicer_.begin(); }
  // Adds the next slice; false: that was the last.
  bool checkpoint_slice(CheckpointSlice& out) { return slicer_.slice(out); }

  // --- recovery: see core/shard/state_restorer.h ---
  template <typename Record, std::same_as<std::vector<LogPos>>... Freed>
  void restore(const Record& record, Freed&... freed) {
    restorer_.restore(record, freed...);
  }
  // Deletes queues that are not in the directory; `freed` has their records. `passed`: expire().
  void finish_recovery(Instant passed, Instant now, std::vector<LogPos>& freed) {
    restorer_.finish(passed, now, freed);
  }

  ShardMemory memory() const;
  std::uint64_t messages() const;
  std::size_t waiting() const { return polls_.waiting(); }
  std::uint64_t set_aside() const { return states_.set_aside(); }     // messages since startup
  std::uint64_t deduplicated() const { return state_.deduplicated; }  // sends that are remembered
  const ShardIdentity& identity() const { return state_.identity; }
  Instant upgraded() const { return state_.upgraded; }  // as in the identity; known after recovery
  const TimerWheel& timers() const { return state_.timers; }

 private:
  void apply_transfer(Request& request, Instant now, Effects& effects);
  void check_armed() const;
  bool live(const TimerEntry& entry) const;
  std::size_t on_timer(const TimerEntry& entry, Instant now, Effects& effects);

  ShardState state_;
  LongPolls polls_{state_};
  Retention retention_{state_};
  MessageStates states_{state_, polls_, retention_};
  Pending pending_{state_, states_, retention_};
  SendHistory history_{state_};
  Reclaimer reclaimer_{state_, states_};
  CommitQueue commits_{state_, polls_, states_, retention_, pending_};
  Transfers transfers_{state_, polls_, states_, commits_};
  MoveTasks moves_{state_, states_, commits_, transfers_};
  ReplayTasks replays_{state_};
  Schedules schedules_{state_};
  SendRequests sends_{state_, states_, history_, commits_, schedules_};
  ReceiveRequests receives_{state_, polls_, states_, history_, transfers_};
  Returns returns_{state_, states_, transfers_};
  Expiry expiry_{state_, states_, retention_, returns_};
  ReceiptRequests receipts_{state_, states_, transfers_, returns_};
  DirectoryRequests changes_{state_, polls_, states_, retention_, reclaimer_, replays_, schedules_};
  CheckpointSlicer slicer_{state_, states_, transfers_};
  StateRestorer restorer_{state_,     states_, retention_, pending_,  history_,
                          transfers_, moves_,  replays_,   schedules_};
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// A shard: every decision about a message is made here.
//
//   apply(request) --> effects: records, replies --log--> appended(), committed() --> delivered
//   expire(now)    --/
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

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/checkpoint.h"
#include "core/deleted_names.h"
#include "core/directory.h"
#include "core/effects.h"
#include "core/ids.h"
#include "core/queue.h"
#include "core/receipt.h"
#include "core/request.h"
#include "core/ring_queue.h"
#include "core/slab.h"
#include "core/timer_wheel.h"
#include "core/transfer.h"

namespace pawl {

struct ShardLimits {
  std::uint32_t slots_max = 64u << 20;  // messages in flight, delayed or received before: 64 B each
  std::size_t directory_bytes_max = Directory::bytes_max;
  std::size_t account_queues_max = Directory::queues_max;  // queues and topics of one account
  Duration deleted_name_wait{0};        // from a delete to the next create of that name; 0: none
  std::uint32_t waiters_max = 100'000;  // long polls
  std::uint64_t dedup_max = 32u << 20;  // sends to FIFO queues in five minutes: 48 B each
  std::uint64_t attempts_bytes_max = 64 << 20;  // receive attempts in five minutes
  std::size_t timers_a_turn = 256;
  std::size_t cascade_a_turn = 2048;
  std::size_t retired_a_turn = 4096;    // freed messages of purged or deleted queues
  std::size_t forgotten_a_turn = 4096;  // expired sends and attempts of an idle FIFO queue
  std::size_t transfers_max = 1024;     // messages on their way to other queues
  // Bytes of messages in transfer; one transfer is always allowed. A message that has not been read
  // yet counts as transfer_bytes_unread.
  std::uint64_t transfer_bytes_max = 64 << 20;
  std::uint64_t transfer_bytes_unread = 1 << 20;
  std::uint32_t moves_under_way = 64;  // transfers of one move task
  std::uint32_t dead_letters_a_receive = 64;
  std::size_t slice_entries = 512;   // checkpoint entries in a turn
  std::size_t replays_max = 1024;    // replay tasks remembered: 4.5 KiB each at most
  std::size_t replays_running = 64;  // running replay tasks
  Seq first_number = 1;              // first number in a new queue; tests begin near the last
  // Freed memory kept for reuse, for each of slots, index and timers.
  std::size_t spare_bytes = 1 << 20;

  // Limits for a shard whose state and log image share `bytes`.
  static ShardLimits for_memory(std::uint64_t bytes);
};

// During recovery the slot limit is lifted: a checkpoint may list messages that the log deletes
// later.
inline constexpr std::uint32_t restoring_max = UINT32_MAX;

struct ShardIdentity {
  ShardId id{};
  std::uint32_t shards = 1;
  Secret secret{};
  std::uint32_t nonce_seed = 0;  // differs at each startup
  SipKey receipt_key{};
  // When the last handle of version 1 was issued; 0: none was issued; `never`: version 1 was issued
  // until this startup.
  Instant upgraded{};
};

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
  void committed(Lsn durable, Instant now);

  // The body of a message cannot be read: its queue continues without it. The next startup tries it
  // again.
  void set_aside(QueueId queue, Seq seq);

  // --- relocation: see wal/relocation.h ---
  // Position of a message's record; log_pos_none: the message no longer exists.
  LogPos position_of(QueueId queue, Seq seq);
  // The record has been relocated to `position`. The message must exist.
  void relocated(QueueId queue, Seq seq, LogPos position);

  // Takes a long poll out of the queue; false: it is not (or no longer) waiting.
  bool cancel(Request& request);

  // The server is stopping: answers every long poll, empty, and begins no more transfers.
  void release_waiters(Effects& effects);

  // --- transfers: see core/transfer.h ---
  // The content has been read: finds the target. On failure the request has the error and returns
  // to apply() in the commit stage.
  void address(Transfer& transfer);
  std::size_t transfers() const { return transfers_under_way_; }
  // At startup: sources that may still hold a transferred message. The caller passes each to its
  // source's shard with resume_transfer(), and applies the returned transfer before anything else.
  struct UnsettledTransfer {
    TransferKey from;
    std::uint32_t task = 0;
  };
  std::vector<UnsettledTransfer> unsettled_transfers() const;
  Transfer& resume_transfer(const UnsettledTransfer& unsettled, ShardId target);

  // --- replay tasks: see core/replay_task.h ---
  // The task to continue, the same one until it ends; null: none. The pointer is valid until the
  // next change of any task.
  const ReplayTask* replay_under_way();
  void replayed(QueueId source, const ReplayStep& step, Effects& effects);
  void end_replay(QueueId source, ReplayTask::Status status, Errc failure, Effects& effects);
  // The log retains records for replay_retention(), and all from replay_position() on; replay_none:
  // no task is running.
  Duration replay_retention() const {
    return Duration{replay_retentions_.empty() ? 0 : replay_retentions_.rbegin()->first};
  }
  static constexpr LogPos replay_none = UINT64_MAX;
  LogPos replay_position() const;

  // Before this time expire() has nothing to do.
  Instant next_deadline() {
    return retired_queues_.empty() && begun_.empty() && at_once_.empty() ? timers_.next()
                                                                         : Instant{0};
  }
  bool wants_match() const { return !match_list_.empty(); }

  // --- the directory ---
  void restore(const RowRecord& record);
  const Directory& directory() const { return directory_; }
  // During recovery: the queues with records in the log, and the end of the queue ids given out.
  bool has_queue(QueueId id) const { return queues_.contains(raw(id)); }
  std::uint32_t newest_queue_id() const;
  std::uint32_t queue_ids_end() const { return next_queue_id_; }
  std::vector<std::pair<QueueId, std::uint64_t>> queues_with_messages() const;
  // Applies a change decided by the control shard (there, apply() has already done it).
  void put_config(const ConfigPtr& config, Instant now);
  void drop_queue(QueueId id, Effects& effects);

  // --- checkpoints: see core/checkpoint.h ---
  // Abandons a checkpoint under way. Take slices after the log has placed the records of the turn.
  void begin_checkpoint();
  // Adds the next slice; false: that was the last.
  bool checkpoint_slice(CheckpointSlice& out);

  // --- recovery: the records of the latest checkpoint, then all records in log order, then
  // finish_recovery once the directory is complete ---
  void restore(const CheckpointRecord& record);
  void restore(const ConfigRecord& record);
  void restore(const HeadRecord& record);
  void restore(const SendRecord& record, std::vector<LogPos>& freed);
  void restore(const ReceiveRecord& record);
  void restore(const DeleteRecord& record, std::vector<LogPos>& freed);
  void restore(const PurgeRecord& record, std::vector<LogPos>& freed);
  void restore(const TaskRecord& record, std::vector<LogPos>& freed);
  void restore(const ForgetTransferRecord& record);
  void restore(const ReplayRecord& record);
  // Deletes queues that are not in the directory; `freed` names their records. `passed` as for
  // expire().
  void finish_recovery(Instant passed, Instant now, std::vector<LogPos>& freed);

  // Bytes in memory.
  struct Memory {
    std::uint64_t index = 0;   // 8.3 bytes a message, and the send times
    std::uint64_t slots = 0;   // 64 bytes a message that is or was more than waiting
    std::uint64_t timers = 0;  // 16 bytes each
    // 48 bytes a send to a FIFO queue for five minutes, 1 KiB a queue that has had a send; and
    // receive attempts.
    std::uint64_t dedup = 0;
    std::uint64_t transfers = 0;  // copies of messages on their way to other queues
    // Queue objects, their tasks, messages set aside, this shard's directory, and its part of the
    // configs that all shards share.
    std::uint64_t queues = 0;
    std::uint64_t waiting = 0;  // long polls with their attempts; the rows of transfers
    std::uint64_t sum() const {
      return index + slots + timers + dedup + transfers + queues + waiting;
    }
  };
  Memory memory() const;
  std::uint64_t messages() const;
  std::size_t waiting() const { return waiters_.taken(); }
  std::uint64_t set_aside() const { return set_aside_; }        // messages since startup
  std::uint64_t deduplicated() const { return deduplicated_; }  // sends that are remembered
  const ShardIdentity& identity() const { return identity_; }
  const TimerWheel& timers() const { return timers_; }

 private:
  using State = Slot::State;
  static constexpr std::uint64_t slot_bytes = sizeof(Slot) + sizeof(TimerEntry);
  // A queue's row, and the ring of its index, which has at least four entries.
  static constexpr std::uint64_t queue_bytes = sizeof(Queue) + 64 + 2 * PagePool::row_bytes;
  static constexpr std::uint64_t map_node_bytes = 32 + 16;
  enum Timer : std::uint16_t {
    timer_message = 1,
    timer_waiter,
    timer_retention,
    timer_moves,
    timer_fifo
  };
  using WaitingAttempts = std::multimap<std::pair<QueueId, TextKey>, std::uint32_t>;
  struct Waiter {
    Request* request = nullptr;
    QueueId queue = QueueId::none;
    RowLinks all;             // in Queue::waiters
    RowLinks awaiting_moves;  // in Queue::awaiting_moves, if linked there
    std::uint32_t generation = 0;
    WaitingAttempts::iterator attempt;  // end(): a receive without an attempt
  };
  struct Commit {  // messages sent, numbers reserved, or a move task started, but not yet durable
    QueueId queue = QueueId::none;
    std::uint32_t task = 0;
    Seq first = 0;
    std::uint32_t count = 0;
    Seq reserved = 0;
    Lsn lsn = 0;
  };
  struct Retired {  // state of a purged or deleted queue, to be freed
    SeqIndex index;
    std::unique_ptr<Groups> groups;
    std::unique_ptr<Fifo> fifo;
    std::unique_ptr<AgedArrivals> aged;
    std::vector<TrackedMessage> set_aside;
    UsageCounter kept;  // its bytes
  };
  // A message whose transfer its source has not confirmed; it may be deleted already.
  struct Accepted {
    QueueId queue = QueueId::none;
    std::uint32_t task = 0;
  };

  // shard_messages.cc
  void send(Queue& queue, Request& request, Instant now, Effects& effects);
  bool send_in_order(Queue& queue, SendEntry& entry, Instant now, Effects& effects);
  bool send_one(Queue& queue, SendEntry& entry, Duration delay, const TextKey& dedup, Instant now,
                Effects& effects);
  bool is_duplicate(Queue& queue, SendEntry& entry, const TextKey& key, Instant now);
  void reserve_numbers(Queue& queue, Effects& effects);
  void sent(Queue& queue, Seq first, bool at_once, Instant now);
  void make_available(const Commit& commit, Instant now);
  void receive(Queue& queue, Request& request, Instant now, Effects& effects);
  bool receive_again(Queue& queue, Request& request, Instant now, Effects& effects);
  void note_attempt(Queue& queue, const Request& request, Instant now);
  std::uint32_t deliver(Queue& queue, Request& request, Instant now, Effects& effects);
  void deliver_in_order(Queue& queue, Request& request, std::uint32_t max, Instant now,
                        Effects& effects);
  void deliver_any(Queue& queue, Request& request, std::uint32_t max, Instant now,
                   Effects& effects);
  std::uint32_t next_message(Queue& queue, Instant now);
  Seq next_ready(Queue& queue, Instant now);
  void hand_out(Queue& queue, std::uint32_t row, Request& request, Instant now, Effects& effects);
  void deliver_one(const Slot& slot, Request& request) const;

  // shard_receipts.cc
  void delete_messages(Queue& queue, Request& request, Instant now, Effects& effects);
  Errc delete_message(Queue& queue, const ReceiptEntry& entry, Request& request, Instant now,
                      Effects& effects);
  static Errc delete_set_aside(Queue& queue, const Receipt& receipt, Effects& effects);
  void change_visibility(Queue& queue, Request& request, Instant now, Effects& effects);
  void undeliver(Queue& queue, Request& request, Instant now, Effects& effects);
  Errc change_one(Queue& queue, const ReceiptEntry& entry, Instant now, Effects& effects);
  Result<Receipt> open(const ReceiptHandle& handle, const Queue& queue, Instant now) const;
  Result<Receipt> receipt_of(const Queue& queue, const ReceiptEntry& entry, Instant now) const;

  // shard_states.cc
  std::uint32_t take_slot(Queue& queue, Seq seq, State state, LogPos position);
  std::uint32_t slot_for(Queue& queue, Seq seq, IndexEntry indexed);
  std::uint32_t new_slot(Queue& queue, Seq seq, const Content& content);
  bool join_group(Queue& queue, std::uint32_t row, const Content& content);
  void change_state(Queue& queue, std::uint32_t row, State state);
  void hide(Queue& queue, std::uint32_t row, State state, Instant deadline);
  void hide(Queue& queue, std::uint32_t row, State state, Instant now, Duration timeout);
  void show(Queue& queue, std::uint32_t row);
  void erase(Queue& queue, Seq seq, std::vector<LogPos>& freed);
  void erase(Queue& queue, Seq seq, IndexEntry indexed, std::vector<LogPos>& freed);
  void give_back(IndexEntry indexed, std::vector<LogPos>& freed);
  void set_position(Queue& queue, Seq seq, IndexEntry indexed, LogPos position);
  TrackedMessage tracked_message_of(const Queue& queue, const Slot& slot) const;
  void record(const Slot& slot, Effects& effects) const;
  static Instant delay_end(const Queue& queue, const Slot& slot);
  void delay_anew(Queue& queue, Instant now);

  // shard_retention.cc
  void purge(Queue& queue, Request& request, Instant now, Effects& effects);
  void retire(Queue& queue);
  void reclaim_retired(Effects& effects);
  AgedArrivals& aged_of(Queue& queue);
  void arm_retention(Queue& queue);
  void arm_retention(Queue& queue, Instant due);
  void expire_retention(Queue& queue, Instant now, Effects& effects);
  Fifo& fifo_of(Queue& queue);
  void arm_fifo(Queue& queue, Instant not_before);
  void expire_fifo(Queue& queue, Instant now);

  // shard_transfers.cc
  bool is_dead_letter(const Queue& queue, const Slot& slot) const;
  bool move_to_dead_letters(Queue& queue, std::uint32_t row, std::uint32_t& dead_letters,
                            Instant now, Effects& effects);
  bool prepare_transfer(Queue& queue, std::uint32_t row, std::string_view destination,
                        std::uint32_t task, Effects& effects);
  Transfer* take_transfer();
  void give_transfer(Transfer& transfer);
  bool may_transfer() const;
  void count_transfer(Transfer& transfer, std::uint64_t bytes);
  void wake_refused();
  void apply_transfer(Request& request, Instant now, Effects& effects);
  void accept_transfer(Transfer& transfer, Instant now, Effects& effects);
  void commit_transfer(Transfer& transfer, Instant now, Effects& effects);
  void return_to_source(Queue& queue, Transfer& transfer, std::uint32_t row, Instant now);
  void forget_transfer(Transfer& transfer, Effects& effects);
  bool hold_delete(const TransferKey& key, Request& request);
  void answer_deletes(const TransferKey& key, Effects& effects);

  // shard_moves.cc
  void start_move(Queue& queue, Request& request, Instant now, Effects& effects);
  void begin_moves(Instant now, Effects& effects);
  void cancel_move(Queue& queue, Request& request, Effects& effects);
  void list_moves(Queue& queue, Request& request, Effects& effects);
  void move_on(Queue& queue, Instant now, Effects& effects);
  void note_moved(Queue& queue, const Transfer& transfer, Instant now, Effects& effects);
  void end_move(Queue& queue, MoveTask::Status status, Errc failure, Effects& effects);
  void arm_moves(Queue& queue, Instant due);
  std::uint32_t next_to_move(Queue& queue, Instant now);

  // shard_replays.cc
  void start_replay(Queue& queue, Request& request, Instant now, Effects& effects);
  void cancel_replay(Queue& queue, Request& request, Effects& effects);
  static void list_replays(Queue& queue, Request& request, Effects& effects);
  void keep_replay(Queue& queue, const ReplayTask& task);
  void forget_replays(Queue& queue);
  bool forget_an_old_replay();
  void forget_oldest_replay(Queue& queue);
  void note_replay_retention(const ConfigPtr& before, const ConfigPtr& after);

  // shard_checkpoint.cc
  void slice_deleted_names(CheckpointSlice& out, std::size_t& left);
  bool slice_queue(const ConfigPtr& config, CheckpointSlice& out, std::size_t& left);
  void slice_settings(const Queue& queue, CheckpointSlice& out) const;
  static void forget_set_aside(Queue& queue, std::vector<LogPos>& freed);
  bool slice_aged(const Queue& queue, CheckpointSlice& out, std::size_t& left);
  bool slice_dedup(const Queue& queue, CheckpointSlice& out, std::size_t& left);
  bool slice_messages(const Queue& queue, CheckpointSlice& out, std::size_t& left);
  void restore_part(const IndexEntriesRecord& record);
  void restore_part(const TrackedMessagesRecord& record);
  void restore_part(const TimesRecord& record);
  void restore_part(const DedupRecord& record);
  void restore_part(const UnsettledTransferRecord& record);

  // shard_recovery.cc
  void restore_relocated(Queue& queue, const SendRecord& record, std::vector<LogPos>& freed);
  void resume(Queue& queue, Instant passed, Instant now);
  void abandon(Queue& queue, std::vector<LogPos>& freed);

  // shard.cc
  void apply_directory(Request& request, Instant now, Effects& effects);
  void create_queue(Request& request, Instant now, Effects& effects);
  void set_attributes(const ConfigPtr& found, Request& request, Instant now, Effects& effects);
  bool on_timer(const TimerEntry& entry, Instant now, Effects& effects);
  bool live(const TimerEntry& entry) const;
  Queue* find_queue(QueueId id);
  Queue& make_queue(QueueId id);
  void park(Queue& queue, Request& request, Instant now, Duration wait, bool awaits_moves);
  Request* unpark(Queue& queue, std::uint32_t row);
  void link(RowList& list, RowLinks Waiter::* links, std::uint32_t row);
  void unlink(RowList& list, RowLinks Waiter::* links, std::uint32_t row);
  void want_match(Queue& queue);
  void serve_waiters(Queue& queue, Instant now, Effects& effects);
  bool answer_attempts(Queue& queue, Instant now, Effects& effects);
  void answer_awaiting_moves(Queue& queue, Effects& effects);
  static void reply(const Queue& queue, Request& request, Effects& effects);

  ShardIdentity identity_;
  ShardLimits limits_;
  Directory directory_;
  DeletedNames deleted_names_;  // control shard
  // Counters shared by all queues; they must outlive queues_.
  std::uint64_t deduplicated_ = 0;  // sends
  std::uint64_t groups_bytes_ = 0;
  std::uint64_t attempts_bytes_ = 0;
  std::uint64_t fifo_bytes_ = 0;     // other state of FIFO queues
  std::uint64_t times_bytes_ = 0;    // SendTimes and AgedArrivals
  std::uint64_t kept_bytes_ = 0;     // tasks and messages set aside
  std::uint32_t next_queue_id_ = 1;  // control shard
  PagePool pages_;
  std::unordered_map<std::uint32_t, std::unique_ptr<Queue>> queues_;
  Queue* latest_ = nullptr;  // the queue found last
  Slab<Slot> slots_;
  Slab<Waiter> waiters_;
  WaitingAttempts waiting_attempts_;  // rows of waiters_, in order of arrival for each attempt
  TimerWheel timers_;
  RingQueue<Commit> commits_;
  std::size_t commits_unplaced_ = 0;  // this turn's commits, at the end of commits_
  std::vector<Commit> at_once_;       // delivered from the next turn on, durable or not
  std::vector<std::pair<QueueId, std::uint32_t>> begun_;  // tasks whose start has become durable
  std::vector<QueueId> match_list_;
  std::deque<Retired> retired_queues_;  // freed incrementally
  std::vector<std::unique_ptr<Transfer>> transfer_pool_;
  std::vector<Transfer*> free_transfers_;
  std::size_t transfers_under_way_ = 0;
  std::uint64_t transfer_bytes_ = 0;  // see count_transfer()
  // Messages in transfer from this shard, and the deletes waiting for each. A key is erased when
  // the target has accepted the message or, with deletes, has deleted it.
  std::map<TransferKey, std::vector<Request*>> moving_;
  std::map<const Request*, std::size_t> held_deletes_;  // number of waiting entries by request
  std::vector<QueueId> refused_transfer_;               // queues waiting for a transfer to end
  std::map<TransferKey, Accepted> unsettled_;
  std::set<QueueId> used_up_targets_;  // no numbers left: their dead letters stay in the source
  std::set<QueueId> replaying_;        // queues with a running task
  QueueId replay_at_ = QueueId::none;  // current or last one of replaying_
  std::size_t replays_ = 0;            // tasks of all queues
  std::map<std::int64_t, std::uint32_t> replay_retentions_;  // ms, and the number of queues with it
  CheckpointWalk walk_;
  std::uint64_t set_aside_ = 0;
  bool stopping_ = false;
  std::uint32_t nonce_;
};

}  // namespace pawl

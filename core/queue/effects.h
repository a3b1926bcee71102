// SPDX-License-Identifier: Apache-2.0
// The decisions of a shard in one turn: log records, responses, freed log space.
//
// The vectors are the caller's and are reused turn after turn, so a steady state allocates nothing.
// Their order is the order in the log's frames: configs, heads, sends, receives, forgotten
// transfers, replays, deletes, purges, tasks. A record read twice, or for a deleted message,
// changes nothing.
//
// Owner: the shard loop (net/engine/shard_loop.h); the simulator in tests.
#pragma once

#include <vector>

#include "core/queue/move_task.h"
#include "core/queue/producers.h"
#include "core/queue/replay_task.h"
#include "core/queue/request.h"

namespace pawl {

struct Transfer;

// Attributes carried by a message that comes from another queue instead of from a sender.
struct Carried {
  TransferKey from;
  Instant arrived;
  std::uint32_t task = 0;  // number of the move task that brought it; 0: a dead letter
  // Set for a dead letter only; a message moved by a task counts as new.
  MessageId id;
  std::uint32_t receive_count = 0;
  Instant first_received;
  Instant last_received;
  bool operator==(const Carried&) const = default;
};

// A message as it is sent. Neighbours with the same `content`, for different queues, share one body
// in the log.
struct SendRecord {
  QueueId queue = QueueId::none;
  Seq seq = 0;
  Instant sent;
  Instant deliver_at;  // == sent: not delayed
  const Content* content = nullptr;
  LogPos position = log_pos_none;  // out: set by the log when the record is appended
  TextKey dedup = {};
  Carried carried = {};
  bool relocated = false;  // an existing message, moved within the log
  ProducerKey producer = {};
  MessageId subscription = {};  // in place of the content's
  bool aged_apart = false;      // of Slot: `deliver_at` is the begin of its retention
  bool own_delay = false;       // FIFO: the delay of its queue does not apply
  Duration time_to_live{0};     // begins when the message becomes visible; 0: none
  Fire fire = {};               // a schedule sent it

  bool moved() const { return carried.from.seq != 0; }
  // Its time to live begins with its arrival, not with the end of its delay.
  bool lives_at_once() const { return moved() || deliver_at <= sent; }
  Instant arrived() const { return moved() ? carried.arrived : sent; }
};

// A number that a FIFO topic has given to a published message.
struct NumberRecord {
  QueueId topic = QueueId::none;
  Seq seq = 0;
  TextKey dedup = {};
  Instant sent;
};

// The whole delivery state of one message, absolute, so that recovery is idempotent. Also written
// for a change of visibility, and with a receive count of 0 for a new delivery time.
struct ReceiveRecord {
  QueueId queue = QueueId::none;
  Seq seq = 0;
  std::uint32_t nonce = 0;
  std::uint32_t receive_count = 0;
  Instant deadline;  // when the message is visible again
  Instant first_received;
  Instant last_received;
  bool waits = false;  // not in flight any more: it waits for its next delivery
  bool final_deadline = false, cancelled = false, aged_apart = false, expired = false;  // of Slot
};

struct DeleteRecord {
  QueueId queue = QueueId::none;
  Seq seq = 0;
};

// All messages of the queue with numbers below `below` are deleted.
struct PurgeRecord {
  QueueId queue = QueueId::none;
  Seq below = 0;
  Instant at;
};

// A queue's new config, or its deletion.
struct ConfigRecord {
  ConfigPtr config;
  bool gone = false;
  std::vector<std::uint64_t> rows = {};  // topic only: numbers of the rows changed with it
};

// The new value of a topic's row.
struct RowRecord {
  QueueId topic = QueueId::none;
  std::uint64_t number = 0;
  std::string text;  // empty: the row is deleted
};

// The next sequence number of a queue. It is written with a checkpoint, so that numbers are never
// reused when older segments are. It is also written in advance, for numbers given out before their
// messages are durable.
struct HeadRecord {
  QueueId queue = QueueId::none;
  Seq next_seq = 0;
  bool reserved = false;  // some numbers below are not given out and never will be
};

// The new state of a move task, and the messages it has moved: the same record deletes them from
// the source.
struct TaskRecord {
  MoveTask task;
  std::vector<Seq> deleted;
};

// A message transferred to this shard: its source has deleted it durably.
struct ForgetTransferRecord {
  TransferKey from;
};

struct Reply {
  Request* request = nullptr;
  // The response waits until this turn's records are durable, or less long if Request::durability
  // allows it.
  bool after_flush = false;
};

struct Effects {
  std::vector<ConfigRecord> configs;
  std::vector<HeadRecord> heads;
  std::vector<SendRecord> sends;
  std::vector<NumberRecord> numbers;
  std::vector<ReceiveRecord> receives;
  std::vector<DeleteRecord> deletes;
  std::vector<PurgeRecord> purges;
  std::vector<TaskRecord> tasks;
  std::vector<ForgetTransferRecord> forgotten_transfers;
  std::vector<ReplayRecord> replays;
  std::vector<LogPos> freed;  // obsolete records
  std::vector<Reply> replies;
  std::vector<Transfer*> transfers;  // transfers to fill with their content and dispatch

  bool has_records() const {
    return !configs.empty() || !heads.empty() || !sends.empty() || !receives.empty() ||
           !deletes.empty() || !purges.empty() || !tasks.empty() || !forgotten_transfers.empty() ||
           !replays.empty() || !numbers.empty();
  }
  void clear() {
    configs.clear();
    heads.clear();
    sends.clear();
    numbers.clear();
    receives.clear();
    deletes.clear();
    purges.clear();
    tasks.clear();
    forgotten_transfers.clear();
    replays.clear();
    freed.clear();
    replies.clear();
    transfers.clear();
  }
};

}  // namespace pawl

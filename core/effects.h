// What a shard decided in one turn: records for the log, answers for the askers, space given back.
//
// The vectors are the caller's and are reused turn after turn, so a steady state allocates nothing.
// Their order is the order in the log's frames: configs, heads, sends, receives, settled, replays, removes, purges,
// tasks. Reading a record twice, or one for a message that is gone, changes nothing.
//
// Owner: the shard loop (net/engine/shard_loop.h); the simulator in tests.
#pragma once

#include <vector>

#include "core/move_task.h"
#include "core/replay_task.h"
#include "core/request.h"

namespace pawl {

struct Transfer;

// What a message brings along that comes from another queue instead of from a sender.
struct Carried {
  TransferKey from;
  Instant arrived;
  std::uint32_t task = 0;  // number of the move task that brought it; 0: a dead letter
  // Of a dead letter; a message moved by a task is as if it were new.
  MessageId id;
  std::uint32_t receive_count = 0;
  Instant first_received;
  Instant last_received;
  bool operator==(const Carried&) const = default;
};

struct SendRecord {
  QueueId queue = QueueId::none;
  Seq seq = 0;
  Instant sent;
  Instant deliver_at;  // == sent: not delayed
  const Content* content = nullptr;
  LogPos position = log_pos_none;  // out: set by the log when the record is appended
  TextKey dedup = {};
  Carried carried = {};
  bool relocated = false;  // the message was there before, elsewhere in the log
};

// The whole delivery state of one message, absolute, so that replay is idempotent. Also written for a
// change of visibility.
struct ReceiveRecord {
  QueueId queue = QueueId::none;
  Seq seq = 0;
  std::uint32_t nonce = 0;
  std::uint32_t receive_count = 0;
  Instant deadline;  // when the message is visible again
  Instant first_received;
  Instant last_received;
};

struct RemoveRecord {
  QueueId queue = QueueId::none;
  Seq seq = 0;
};

// Everything of the queue below `below` is gone.
struct PurgeRecord {
  QueueId queue = QueueId::none;
  Seq below = 0;
  Instant at;
};

// The queue as it is from now on, or gone.
struct ConfigRecord {
  ConfigPtr config;
  bool gone = false;
  std::vector<std::uint64_t> rows = {};  // of a topic: numbers of those that are changed with it
};

// A row of a topic, as it is from now on.
struct RowRecord {
  QueueId topic = QueueId::none;
  std::uint64_t number = 0;
  std::string text;  // empty: it is gone
};

// The sequence numbers of a queue go on from here. Written with a checkpoint, so that numbers are never
// reused when older segments are; and ahead of time, for those that are given out before their messages are durable.
struct HeadRecord {
  QueueId queue = QueueId::none;
  Seq next_seq = 0;
  bool reserved = false;  // not all below have been given out, nor will be
};

// A move task as it is from now on, and what it has moved away: out of its source in the same stroke.
struct TaskRecord {
  MoveTask task;
  std::vector<Seq> removed;
};

// A message that was transferred to this shard: its source has forgotten it, durably.
struct SettledRecord {
  TransferKey from;
};

struct Reply {
  Request* request = nullptr;
  // Leaves only when this turn's records are durable, or before as Request::durability says.
  bool after_flush = false;
};

struct Effects {
  std::vector<ConfigRecord> configs;
  std::vector<HeadRecord> heads;
  std::vector<SendRecord> sends;
  std::vector<ReceiveRecord> receives;
  std::vector<RemoveRecord> removes;
  std::vector<PurgeRecord> purges;
  std::vector<TaskRecord> tasks;
  std::vector<SettledRecord> settled;
  std::vector<ReplayRecord> replays;
  std::vector<LogPos> freed;  // records that nobody needs any more
  std::vector<Reply> replies;
  std::vector<Transfer*> transfers;  // to be given their content and sent on their way

  bool has_records() const {
    return !configs.empty() || !heads.empty() || !sends.empty() || !receives.empty() ||
           !removes.empty() || !purges.empty() || !tasks.empty() || !settled.empty() ||
           !replays.empty();
  }
  void clear() {
    configs.clear();
    heads.clear();
    sends.clear();
    receives.clear();
    removes.clear();
    purges.clear();
    tasks.clear();
    settled.clear();
    replays.clear();
    freed.clear();
    replies.clear();
    transfers.clear();
  }
};

}  // namespace pawl

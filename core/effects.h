// What a shard decided in one turn: records for the log, answers for the askers, space given back.
//
// The vectors are the caller's and are reused turn after turn, so a steady state allocates nothing.
// Their order is the order in the log's frame: configs, heads, sends, receives, removes, purges. Replaying a
// record twice, or one for a message that is gone, changes nothing.
//
// Owner: the shard loop (net/shard_loop.h); the simulator in tests.
#pragma once

#include <vector>

#include "core/request.h"

namespace pawl {

struct SendRecord {
  QueueId queue = QueueId::none;
  Seq seq = 0;
  Instant sent;
  Instant deliver_at;  // == sent: not delayed
  const Content* content = nullptr;
  LogPos position = log_pos_none;  // out: set by the log when the record is appended
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
};

// The sequence numbers of a queue go on from here. Written at the start of a segment, so that numbers
// are never reused when older segments are.
struct HeadRecord {
  QueueId queue = QueueId::none;
  Seq next_seq = 0;
};

struct Reply {
  Request* request = nullptr;
  bool after_flush = false;  // leaves only when this turn's records are durable
};

struct Effects {
  std::vector<ConfigRecord> configs;
  std::vector<HeadRecord> heads;
  std::vector<SendRecord> sends;
  std::vector<ReceiveRecord> receives;
  std::vector<RemoveRecord> removes;
  std::vector<PurgeRecord> purges;
  std::vector<LogPos> freed;  // records that nobody needs any more
  std::vector<Reply> replies;

  bool has_records() const {
    return !configs.empty() || !heads.empty() || !sends.empty() || !receives.empty() ||
           !removes.empty() || !purges.empty();
  }
  void clear() {
    configs.clear();
    heads.clear();
    sends.clear();
    receives.clear();
    removes.clear();
    purges.clear();
    freed.clear();
    replies.clear();
  }
};

}  // namespace pawl

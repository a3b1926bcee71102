// Requests and their answers: the one form in which work reaches a shard.
//
// proto/ fills the "in" members, net/ routes the request to the shard that owns the queue, core fills
// the "out" members, and the request travels back to be answered. A batch is the only form: one send
// is a batch of one.
//
//   parsed --route--> queued --apply--> waiting for the log | parked (long poll) --> answered
//
// Units:  Duration members are milliseconds; -1 ms stands for "the queue's own setting".
// Limits: entries_max per request. SQS's smaller limit of ten is checked by proto/.
// Errors: `error` refuses the request whole; each entry has its own.
// Owner:  the connection's shard owns the memory, bodies included, until the request is answered; while
//         it is under way the owning shard alone touches it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/move_task.h"
#include "core/queue_config.h"
#include "core/receipt.h"
#include "core/replay_task.h"
#include "core/result.h"
#include "core/time.h"

namespace pawl {

inline constexpr std::size_t entries_max = 1024;
inline constexpr Duration queue_default{-1};

enum class Op : std::uint8_t {
  // to the shard that owns the queue
  send,
  receive,
  remove,  // DeleteMessage
  change_visibility,
  undeliver,  // a delivery whose receiver had gone: visible again, receive count restored
  purge,
  count,       // depth of the queue
  start_move,  // of dead letters, back to where they came from or elsewhere
  cancel_move,
  list_moves,
  start_replay,  // of what was sent, deleted or not: core/replay_task.h
  cancel_replay,
  list_replays,
  transfer,  // from shard to shard: core/transfer.h
  // to the control shard
  create_queue,
  delete_queue,
  set_attributes,
  // changes nothing, and is answered by a turn to come
  none,
};

// What a sender gave besides the body. Opaque to core and wal; empty when absent.
struct Content {
  std::string_view body = {};
  std::string_view attributes =
      {};  // user attributes, encoded as proto/attributes.h says, sorted by name
  std::string_view system = {};    // system attributes (AWSTraceHeader ...), in the same encoding
  std::string_view sender = {};    // SenderId; empty: the queue's account
  std::string_view group = {};     // MessageGroupId: order in a FIFO queue, fairness in others
  std::string_view dedup_id = {};  // MessageDeduplicationId, or the digest that stands for it; FIFO
  std::string_view origin =
      {};  // of a dead letter: the queue it comes from, as QueueName::text() has it
  const std::array<std::uint8_t, 16>* body_md5 = nullptr;  // kept with the message when known
  bool replayed = false;  // a replay task sent it: a copy of what was sent before
};

struct SendEntry {
  // in; a FIFO queue wants a group and a dedup_id, and has no delay but its own
  Content content;
  Duration delay = queue_default;
  // out; of a duplicate: the number of the message that was accepted first
  Errc error = Errc::ok;
  Seq seq = 0;
  bool duplicate = false;
};

struct ReceiptEntry {
  // in
  ReceiptHandle handle{};
  Duration visibility{0};  // change_visibility only
  // out; proto/ may set it beforehand (a handle that does not even parse): core then leaves it alone
  Errc error = Errc::ok;
};

// A message as handed to a receiver. core fills the first part; the shard loop adds what is in the log.
struct Delivery {
  using Md5 = std::array<std::uint8_t, 16>;
  LogPos position = log_pos_none;
  static constexpr std::size_t unreadable = SIZE_MAX;
  std::size_t copy = 0;  // where its record is in Request::copied; or it cannot be read
  Seq seq = 0;
  ReceiptHandle handle{};
  std::uint32_t receive_count = 0;
  Instant first_received;
  // from the log
  Instant sent;
  MessageId id;  // of a message that kept the one it had in another queue; else zero: message_id()
  Content content;

  void take(Instant sent_at, const MessageId& kept_id, const Content& stored) {
    sent = sent_at;
    id = kept_id;
    content = stored;
  }
};

struct ReceiveParams {
  std::uint32_t max = 1;  // <= deliveries.size()
  Duration visibility = queue_default;
  Duration wait = queue_default;
  std::string_view attempt;  // ReceiveRequestAttemptId: the same again, the same messages; FIFO
  // What is copied for the answer ends with the record that reaches this: see Request::unfetched.
  std::uint64_t bytes_max = UINT64_MAX;
};

// What start_move, cancel_move and list_moves say and hear.
struct MoveParams {
  std::string_view destination;  // start: see MoveTask
  std::uint32_t rate = 0;        // start: 0..move_rate_max
  std::uint32_t number = 0;      // in of cancel, out of start
  std::uint64_t moved = 0;       // out of cancel
  std::vector<MoveTask> tasks;   // out of list: newest first
};

struct QueueCounts {
  std::uint64_t visible = 0;
  std::uint64_t in_flight = 0;
  std::uint64_t delayed = 0;
  std::uint64_t state_bytes = 0;  // that the shard keeps in memory about them, beside their bodies
};

struct Transfer;

struct Request {
  Op op = Op::none;
  Errc error = Errc::ok;  // out
  QueueId queue = QueueId::none;
  ShardId home{};            // in: the shard whose connection asked
  std::uint32_t waiter = 0;  // core's: row in the table of waiters while parked, else 0

  std::span<SendEntry> sends;
  std::span<ReceiptEntry> receipts;  // remove, change_visibility, undeliver

  ReceiveParams receive;
  std::span<Delivery>
      deliveries;  // in: room for receive.max; out: the first `delivered` are filled
  std::uint32_t delivered = 0;
  std::uint32_t unreadable =
      0;  // out: so many behind these were to be delivered, and cannot be read
  // out: so many, the last of those delivered, have no content, for `receive.bytes_max` was reached. Who asked gives them
  // back to the queue.
  std::uint32_t unfetched = 0;

  Durability durability = Durability::fsync;  // out, of a send or a delete: what its answer means

  QueueCounts counts;  // out
  MoveParams move;
  ReplayParams* replay = nullptr;  // start_replay, cancel_replay, list_replays
  Transfer* transfer = nullptr;

  const QueueSpec* spec = nullptr;           // create_queue
  std::span<const AttributeChange> changes;  // set_attributes
  const Tags* tags = nullptr;  // set_attributes: all its tags from now on; null: as they are
  ConfigPtr based_on;     // set_attributes: refused with changed_meanwhile if the queue is not this
                          // any more; null: whatever it is
  ConfigPtr config;       // out: the queue as it is after the request
  Attribute differing{};  // out, with queue_exists: the first attribute that differs

  // net's
  void* owner = nullptr;  // the asker's: whom to give the answer to
  // The asker's too: requests of one stream for one queue are applied in the order they were sent; null: in any order.
  const void* stream = nullptr;
  std::string copied;         // records of deliveries, when they are not read where they lie
  std::uint32_t fetched = 0;  // of deliveries: how many have been looked for
  bool held = false;          // the records of the others are
  std::size_t largest = 0;    // of these records, as far as they are known
  std::uint32_t unread = 0;   // of these, those whose bodies are still on their way from the disk
  bool unflushed = false;     // the answer waits for the log as well
  bool cancel_under_way = false;    // the owner has been asked to forget it
  bool answered_meanwhile = false;  // and the answer has come before its word on that
};

}  // namespace pawl

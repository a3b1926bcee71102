// SPDX-License-Identifier: Apache-2.0
// Requests and their responses: the one form in which work reaches a shard.
//
// proto/ fills the "in" members, net/ routes the request to the shard that owns the queue, core
// fills the "out" members, and the request travels back to be answered. A batch is the only form:
// one send is a batch of one.
//
//   parsed --route--> queued --apply--> waiting for the log | parked (long poll) --> answered
//
// Units:  Duration members are milliseconds; -1 ms stands for "the queue's own setting".
// Limits: entries_max per request. SQS's smaller limit of ten is checked by proto/.
// Errors: `error` refuses the whole request; each entry has its own.
// Owner:  the connection's shard owns the memory, bodies included, until the request is answered;
//         in transit only the queue's shard touches it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/time.h"
#include "core/queue/move_task.h"
#include "core/queue/queue_config.h"
#include "core/queue/queue_stats.h"
#include "core/queue/receipt.h"
#include "core/queue/replay_task.h"

namespace pawl {

inline constexpr std::size_t entries_max = 1024;
inline constexpr Duration queue_default{-1};

enum class Op : std::uint8_t {
  // to the shard that owns the queue
  send,
  fan_out,       // one message to many queues, all of one type and of one shard
  take_numbers,  // numbers for messages published to a FIFO topic; `queue` is the topic
  receive,
  delete_message,
  change_visibility,
  undeliver,  // a delivery that did not reach its receiver: visible again, receive count restored
  purge,
  count,       // depth of the queue
  peek,        // a slice of the queue's messages in every state, without receiving them
  start_move,  // dead letters go back to their source or elsewhere
  cancel_move,
  list_moves,
  start_replay,  // sends earlier messages again, deleted or not: core/queue/replay_task.h
  cancel_replay,
  list_replays,
  transfer,  // from shard to shard: core/queue/transfer.h
  // to any shard
  list_queues,  // for an operator: a slice of the shard's own queues with their counts
  // to the control shard
  create_queue,
  delete_queue,
  set_attributes,
  // changes nothing; a later turn answers it, or receive.wait later; 0: when no timer is due
  none,
};

// A change of the directory: the control shard decides it, and every shard hears of it.
inline bool changes_directory(Op op) {
  return op == Op::create_queue || op == Op::delete_queue || op == Op::set_attributes;
}

// Why a message is in a dead-letter queue; the numbers are on disk.
enum class DeadLetterReason : std::uint8_t {
  none = 0,     // it is not, or it was received too often
  expired = 1,  // its time to live or its retention ended
};

// A time at which a schedule sends a message: core/queue/schedule.h.
struct Fire {
  QueueId schedule = QueueId::none;
  Instant at;
  bool operator==(const Fire&) const = default;
};

// The body and the members sent with it. Opaque to core and wal; empty when absent.
struct Content {
  std::string_view body = {};
  std::string_view attributes =
      {};  // user attributes, sorted by name; encoding: proto/aws/message_attributes.h
  std::string_view system = {};    // system attributes (AWSTraceHeader ...), in the same encoding
  std::string_view sender = {};    // SenderId; empty: the queue's account
  std::string_view group = {};     // MessageGroupId: order in a FIFO queue, fairness in others
  std::string_view dedup_id = {};  // MessageDeduplicationId, or the digest in its place; FIFO
  std::string_view origin = {};    // dead letter: QueueName::text() of its source queue
  // With a subscription the receiver gets the body and the attributes in an envelope, which is made
  // of this text when the message is received; format: proto/aws/notification.h.
  std::string_view notification = {};
  MessageId subscription = {};
  const std::array<std::uint8_t, 16>* body_md5 = nullptr;  // kept with the message when known
  bool replayed = false;  // a replay task sent it: a copy of an earlier message
  DeadLetterReason reason = DeadLetterReason::none;  // dead letter: why it came, if not by receives

  std::size_t bytes() const {
    return body.size() + attributes.size() + system.size() + sender.size() + group.size() +
           dedup_id.size() + origin.size() + notification.size();
  }
};
inline constexpr std::size_t notification_bytes_max = 32 << 10;

struct SendEntry {
  // in; a FIFO queue needs a group and a dedup_id, and has its own delay unless it has x-max-delay
  Content content;
  Duration delay = queue_default;
  Duration time_to_live{0};    // at most time_to_live_max; 0: that of the queue
  std::uint64_t sequence = 0;  // the producer's, if Request::producer names one
  // in, take_numbers and fan_out to standard queues: messages with the same text within five
  // minutes are one message; empty: all differ
  std::string_view dedup_by = {};
  // out; for a duplicate, seq is the number of the message accepted first; 0: it is not known
  Errc error = Errc::ok;
  Seq seq = 0;
  bool duplicate = false;
};

// A queue that gets the message of a fan_out.
struct FanOutTarget {
  QueueId queue = QueueId::none;
  MessageId subscription = {};  // see Content
  // out; see SendEntry
  Errc error = Errc::ok;
  Seq seq = 0;
  bool duplicate = false;
};

// A message by the handle of a delivery, or by its id: then a delete cancels the message, and a
// change of visibility sets the time of its next delivery.
struct ReceiptEntry {
  enum class By : std::uint8_t {
    handle,
    id,                 // a message that is not in flight
    id_even_in_flight,  // delete only: one in flight ends when its consumer gives it back
  };
  // in
  ReceiptHandle handle{};
  MessageId id{};
  By by = By::handle;
  // change_visibility by a handle: the delivery does not count, and the message is in flight no
  // more; it waits for `visibility`.
  bool uncounted = false;
  Duration visibility{0};  // change_visibility only
  // out; if proto/ has set it (a handle that does not parse), core ignores the entry
  Errc error = Errc::ok;
  bool cancelled = false;  // out, delete by id: false: the message was gone
};

// A delivered message. core fills the first part; the shard loop adds the members from the log.
struct Delivery {
  using Md5 = std::array<std::uint8_t, 16>;
  LogPos position = log_pos_none;
  static constexpr std::size_t unreadable = SIZE_MAX;
  std::size_t copy = 0;  // offset of its record in Request::copied; or `unreadable`
  Seq seq = 0;
  ReceiptHandle handle{};
  std::uint32_t receive_count = 0;
  std::uint32_t moved_receives = 0;  // from the log; dead letter: receives in its source queue
  Instant first_received, received;  // `received`: now
  Instant durable;  // with ReceiveParams::times: when it was found on disk; 0: not known
  // from the log
  Instant moved;  // when it came from another queue; 0: it was sent to this one
  Instant sent;
  Instant deliver_at;  // `sent` and its delay
  MessageId id;        // set if the message kept its id from another queue; zero: see message_id()
  Content content;

  void take(Instant sent_at, Instant available, const MessageId& kept_id, const Content& stored) {
    sent = sent_at;
    deliver_at = available;
    id = kept_id;
    content = stored;
  }
};

// The address of a client, as the caller writes addresses; zeros: unknown. Core only hands it back.
using ConsumerAddress = std::array<std::uint8_t, 16>;

struct ReceiveParams {
  std::uint32_t max = 1;  // <= deliveries.size()
  Duration visibility = queue_default;
  Duration wait = queue_default;
  std::string_view attempt;  // ReceiveRequestAttemptId: a repeated id gets the same messages; FIFO
  // The response ends with the record that reaches this size: see Request::unfetched.
  std::uint64_t bytes_max = UINT64_MAX;
  ConsumerAddress consumer{};  // of the client, for peeks
  bool times = false;          // asks for Delivery::durable
};

// The sender of a send to a standard queue that recognises resent messages: core/queue/producers.h.
struct ProducerParams {
  std::uint64_t id = 0;     // 0: none
  std::uint64_t floor = 0;  // no lower sequence is ever sent again; at most that of each entry
};

// Parameters and results of start_move, cancel_move and list_moves.
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
  std::uint64_t state_bytes = 0;  // memory of their state in the shard, without bodies
};

// Figures of one queue or of several for an operator: core/queue/queue_stats.h.
struct QueueFigures {
  QueueSums sums;
  std::uint64_t message_ms = 0;
  LeaseTimes leases;  // one queue's
  double sent_per_second = 0, deleted_per_second = 0;
};

struct ListedQueue {
  ConfigPtr config;
  QueueCounts counts;
  // With QueueSlice::wants_figures: the message with the lowest number, and when it was sent.
  Seq oldest = 0;
  LogPos position = log_pos_none;
  Instant oldest_sent = never;  // never: there is none
};

// Figures that a shard tells once, with the last slice of its list.
struct ShardFigures {
  QueueFigures all, others;  // of all queues since the start; of those without a label
  DeliveryTimes delivery_times;
  DeliveryTimes done_times;  // of queues with a label
};

// Parameters and results of list_queues. A list is a series of slices: each begins at the `next` of
// the one before, so queues created or deleted meanwhile neither repeat nor hide another queue.
struct QueueSlice {
  // One slice looks at so many rows of the directory, those of topics and other shards included;
  // core/shard/queue_list.h has the time that this takes.
  static constexpr std::uint32_t rows_max = 512;
  std::uint32_t rows = rows_max;      // in: 1..rows_max
  bool wants_figures = false;         // in; then queues without a label are not listed but summed
  std::vector<ListedQueue> queues;    // out: in order of their ids
  std::vector<QueueFigures> figures;  // out: of each of `queues`
  QueueCounts others;                 // in, out
  Instant others_oldest = never;      // in, out
  Instant now;                        // out: the time of the figures
  ShardFigures shard;                 // out, with the last slice
  QueueId next = QueueId::none;       // out: begin of the next slice; none: this was the last
};

// The log about a peeked message; empty while it is not in the log yet, or cannot be read.
struct PeekedRecord {
  Instant deliver_at;
  Duration time_to_live{0};  // at its send, or when it came from another queue; 0: none
  bool aged_apart = false;   // its retention begins at `deliver_at`
  Fire fire;                 // a schedule sent it to this queue
};

// A message as a peek finds it. Its body is in a delivery with the same number, unless its state is
// `unreadable` or it is not in the log yet.
struct PeekedMessage {
  enum class State : std::uint8_t {
    not_durable,  // nobody may receive it before it is durable
    delayed,
    visible,
    in_flight,
    moving,      // to another queue
    unreadable,  // its body cannot be read; the next startup tries again
  };
  Seq seq = 0;
  State state{};
  Instant until;           // delayed, in flight: when it is visible
  Instant first_received;  // if its receive count is not 0
  std::uint32_t receive_count = 0;
  bool never_delivered = false;  // delayed: no consumer has had it, not even uncounted
  bool aged_apart = false;       // delayed: its retention begins when it is visible
  Duration life_ahead{0};        // delayed: its time to live, which begins then; 0: none
  PeekedRecord record;
  Seq behind = 0;  // FIFO: the message of its group that it waits for; 0: none
  // In flight: who received it; zeros: it is not among the last receives.
  ConsumerAddress consumer{};
  bool cancelled = false;  // in flight: it ends when its consumer gives it back
  // FIFO: until then a send with its MessageDeduplicationId adds no message.
  Instant deduplicates_until;
  // Standard queue, visible, with a MessageGroupId: the state of its tenant.
  std::uint32_t tenant_in_flight = 0;
  bool tenant_is_noisy = false;  // the visible messages of other tenants go first
};

// Parameters and results of peek. All messages are a series of slices, each from the `next` of the
// one before: a message that stays in the queue is in exactly one.
struct PeekSlice {
  using State = PeekedMessage::State;
  // One slice looks at so many messages; core/shard/peek.h has the time that this takes.
  static constexpr std::uint32_t looks_max = 512;
  static constexpr std::uint32_t all_states = 0x3F;
  static constexpr std::uint32_t bit(State state) { return 1u << static_cast<unsigned>(state); }

  // The knowledge of a queue about messages that have left it.
  struct Gone {
    Seq expired_below = 0;  // numbers below were past the retention
    Seq below = 0;          // numbers below were past it, or purged
    Instant purged;         // the last purge; 0: none is known
    bool by_age = false;    // it has had dead letters that kept their age, which expire one by one
  };

  Seq from = 0;                         // in
  std::uint32_t looks = looks_max;      // in: 1..looks_max
  std::uint32_t states = all_states;    // in: bits of the states to list
  std::vector<PeekedMessage> messages;  // out: by number; at most as many as there are deliveries
  Seq next = 0;                         // out: begin of the next slice; 0: this was the last
  Seq newest = 0;                       // out: number of the last message sent; 0: none
  bool full = false;                    // out: the queue has as many in flight as it may have
  Instant deduplicates_until;           // out: as of a message, of the one that was number `from`
  Gone gone;                            // out
};

struct Transfer;

// The shard loop's notes about a request, also about the one inside a transfer
// (net/engine/shard_loop.h). Core does not read them.
struct RequestRoute {
  std::string copied;               // records of deliveries, when they are not read in place
  std::uint32_t fetched = 0;        // number of deliveries looked up so far
  bool held = false;                // the log holds the records of deliveries not fetched yet
  std::size_t largest = 0;          // largest copied record; before the first, the log's maximum
  std::uint32_t unread = 0;         // fetched deliveries whose disk read is under way
  bool unflushed = false;           // the response waits for the log as well
  bool cancel_under_way = false;    // the queue's shard has been asked to cancel it
  bool answered_meanwhile = false;  // the response arrived before the result of the cancel
};

struct Request {
  Op op = Op::none;
  Errc error = Errc::ok;  // out
  QueueId queue = QueueId::none;
  ShardId home{};            // in: the shard of the connection
  std::uint32_t waiter = 0;  // core's: row in the table of waiters while parked, else 0

  std::span<SendEntry> sends;
  // fan_out: the queues of the only entry of `sends`. Neighbours with rising ids share one body in
  // the log.
  std::span<FanOutTarget> targets;
  Fire fire;                         // fan_out: a schedule sends the message
  ProducerParams producer;           // send to a standard queue
  std::span<ReceiptEntry> receipts;  // delete_message, change_visibility, undeliver

  ReceiveParams receive;
  std::span<Delivery>
      deliveries;  // in: space for receive.max; out: the first `delivered` are filled
  std::uint32_t delivered = 0;
  std::uint32_t unreadable = 0;  // out: number of unreadable messages after the delivered ones
  // out: number of messages, the last delivered ones, without content because `receive.bytes_max`
  // was reached. The requester returns them to the queue.
  std::uint32_t unfetched = 0;

  // out, send or delete: durability at the response
  // in, take_numbers: other than fsync, the response leaves before the numbers are durable. A later
  // request, for which they are duplicates, waits.
  Durability durability = Durability::fsync;

  QueueCounts counts;  // out
  MoveParams move;
  ReplayParams* replay = nullptr;  // start_replay, cancel_replay, list_replays
  Transfer* transfer = nullptr;
  QueueSlice* slice = nullptr;  // list_queues; `queue` is the lowest id of the slice
  // Its deliveries have positions, numbers and contents alone; receive.bytes_max counts.
  PeekSlice* peek = nullptr;

  const QueueSpec* spec = nullptr;           // create_queue
  std::span<const AttributeChange> changes;  // set_attributes
  const Tags* tags = nullptr;                // set_attributes: replaces all tags; null: keeps them
  // set_attributes: refused with changed_meanwhile unless this is the current config; null: no
  // check
  ConfigPtr based_on;
  ConfigPtr config;       // out: the queue's config after the request
  Attribute differing{};  // out, with queue_exists: the first attribute that differs

  void* owner = nullptr;  // the requester's: receiver of the response
  // The requester's too: requests of one stream for one queue are applied in the order sent; null:
  // in any order.
  const void* stream = nullptr;
  RequestRoute route;
};

}  // namespace pawl

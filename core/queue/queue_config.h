// SPDX-License-Identifier: Apache-2.0
// A queue's config: its name, owner and attributes. It is immutable; a change makes a new one.
//
// Shards pass each other a shared_ptr<const QueueConfig>, so every shard may read it at any time
// without a lock. Only the control shard makes new ones.
//
// Units:  numbers are as SQS gives them (seconds, bytes); -1 means "not set".
// Limits: ranges and texts are checked by proto/ before a QueueSpec is made.
// Source: SQS API Reference, CreateQueue and SetQueueAttributes.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/ids.h"
#include "core/base/time.h"

namespace pawl {

// Settable attributes. The numbers are on disk (wal/FORMAT.md): append only, never reorder.
enum class Attribute : std::uint8_t {
  delay_seconds = 0,
  maximum_message_size = 1,
  message_retention_period = 2,
  receive_message_wait_time_seconds = 3,
  visibility_timeout = 4,
  kms_data_key_reuse_period_seconds = 5,
  sqs_managed_sse_enabled = 6,      // 0 or 1
  fifo_queue = 7,                   // 0 or 1; never changes
  content_based_deduplication = 8,  // 0 or 1; FIFO
  deduplication_scope = 9,          // FIFO: a DeduplicationScope
  fifo_throughput_limit = 10,       // FIFO: 0 perQueue, 1 perMessageGroupId; not enforced
  max_receive_count = 11,           // of the RedrivePolicy; 0: none
  durability = 12,                  // a Durability
  replay_retention = 13,            // seconds; 0: no replay
  // Internal: the scope in force at its last change, and the time of that change in ms (0: never).
  deduplication_scope_before = 14,
  deduplication_scope_since = 15,
  lag_target = 16,         // seconds; 0: deliveries are never late
  dead_letter_at = 17,     // a DeadLetterAt
  max_delay = 18,          // seconds; 0: SQS's 900 s
  max_visibility = 19,     // seconds; 0: SQS's 12 h
  attribute_channel = 20,  // an AttributeChannel
  message_ttl = 21,        // seconds; 0: none
  dlq_on_expiry = 22,      // 0 or 1
  retention_from = 23,     // a RetentionFrom
  max_retention = 24,      // seconds; 0: SQS's 14 days
  fifo_delay = 25,         // FIFO: a FifoDelay
  // texts
  policy = 32,
  redrive_policy = 33,
  redrive_allow_policy = 34,
  kms_master_key_id = 35,
  dead_letter_target = 36,  // of the RedrivePolicy: the queue's QueueName::text()
  // Marks a topic, which has a directory entry and no messages. The text is its settings, in the
  // format of proto/sns/topic.h.
  topic = 37,
  topic_row = 38,  // a change of one TopicRow, never among the texts
  retry_backoff = 39,
  backoff_plan = 40,  // of x-retry-backoff: core/queue/retry_backoff.h
  schedule = 41,      // the definition of a schedule, in the format of proto/scheduler/schedule.h
};
inline constexpr std::size_t number_attributes = 26;
constexpr bool is_text(Attribute a) { return static_cast<std::uint8_t>(a) >= 32; }

inline constexpr Duration dedup_window = seconds(300);

enum class DeduplicationScope : std::int64_t { queue = 0, message_group = 1 };

// The durability of a send or a delete at its response. All other operations, also a receive from a
// FIFO queue, behave as with fsync.
enum class Durability : std::int64_t {
  fsync = 0,   // on disk
  async = 1,   // on its way to the disk; messages are delivered once on disk
  memory = 2,  // in memory, written to disk later; messages are delivered at once
};
inline constexpr std::array<std::string_view, 3> durability_words = {"fsync", "async", "memory"};

// When a message that was received as often as its RedrivePolicy allows goes to the dead-letter
// queue: instead of the next receive, or as soon as it is visible again.
enum class DeadLetterAt : std::int64_t { receive = 0, lease_end = 1 };
inline constexpr std::array<std::string_view, 3> dead_letter_at_words = {"receive", "lease-end"};

// Where a sender may write pawl's own system attributes: among the system attributes alone, or also
// among the message attributes, for clients that pass no system attributes on.
enum class AttributeChannel : std::int64_t { system = 0, message = 1 };
inline constexpr std::array<std::string_view, 3> attribute_channel_words = {"system", "message"};

// From when the retention of a dead letter counts in a standard queue: from its first send, as SQS
// does, or from its move.
enum class RetentionFrom : std::int64_t { send = 0, move = 1 };
inline constexpr std::array<std::string_view, 3> retention_from_words = {"send", "move"};

// A delayed message of a FIFO queue that was never delivered: its group waits for it, or messages
// of the group that become visible earlier pass it.
enum class FifoDelay : std::int64_t { block = 0, pass = 1 };
inline constexpr std::array<std::string_view, 3> fifo_delay_words = {"block", "pass"};

inline constexpr Duration delay_max_default = seconds(900);
inline constexpr Duration visibility_max_default = seconds(12 * 3600);
inline constexpr Duration retention_max_default = seconds(14 * 86'400);
inline constexpr Duration delay_max = seconds(2 * 366 * 86'400);    // of x-max-delay
inline constexpr Duration retention_max = delay_max;                // of x-max-retention
inline constexpr Duration visibility_max = seconds(30 * 86'400);    // of x-max-visibility
inline constexpr Duration time_to_live_max = seconds(14 * 86'400);  // of x-ttl, x-message-ttl

// A queue by account and name, for uses where the queue may be deleted and created again with
// another id.
struct QueueName {
  std::string_view account, name;

  std::string text() const;                           // "account/name"
  static QueueName from_text(std::string_view text);  // without a '/': no account
  bool operator==(const QueueName&) const = default;
};

// A part of a topic that is changed and logged separately: a subscription (proto/sns/topic.h).
struct TopicRow {
  std::uint64_t number = 0;  // unique in the topic, rising from 1 in order of creation
  std::string text;
};

// One requested attribute change: a number or a text; an empty text unsets the attribute. A
// topic_row has both.
struct AttributeChange {
  Attribute attribute{};
  std::int64_t number = -1;
  std::string text;
};

using Tags = std::vector<std::pair<std::string, std::string>>;  // sorted by key

// The kinds of rows of the directory. Topics and schedules have no messages. The account of a topic
// is "sns/<account>". That of a schedule or of a group of schedules is "scheduler/<account>". No
// queue can have these.
enum class ConfigKind : std::uint8_t { queue, topic, schedule };
inline constexpr std::string_view scheduler_mark = "scheduler/";
ConfigKind kind_of(std::string_view row_account);
// The account without the mark of a topic or a schedule.
std::string_view owning_account(std::string_view row_account);

struct QueueConfig {
  QueueId id = QueueId::none;
  ShardId owner{};
  ConfigKind kind = ConfigKind::queue;  // set by set_name() alone
  std::string account;
  std::string name;
  Instant created;
  Instant modified;
  std::array<std::int32_t, number_attributes> numbers{
      0, 1'048'576, 345'600, 0, 30, -1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  std::int64_t scope_since_ms = 0;  // Attribute::deduplication_scope_since, which needs 64 bits
  std::vector<std::pair<Attribute, std::string>> texts;  // sorted, set attributes only
  Tags tags;
  std::vector<std::shared_ptr<const TopicRow>> rows;  // by number; shared with the previous config

  // Names a config that is created or read from a record, and derives its kind. The record of a
  // deletion has no attributes, so the account decides.
  void set_name(std::string_view row_account, std::string_view row_name);
  bool is_topic() const { return kind == ConfigKind::topic; }
  bool is_queue() const { return kind == ConfigKind::queue; }

  std::int64_t number(Attribute a) const {
    return a == Attribute::deduplication_scope_since ? scope_since_ms
                                                     : numbers[static_cast<std::size_t>(a)];
  }
  // False: the attribute cannot have such a value.
  bool set_number(Attribute a, std::int64_t value);
  std::string_view text(Attribute a) const;  // empty when not set
  // Applies one change in place, with its SQS side effects (a KMS key switches SQS's own SSE off).
  void apply(const AttributeChange& change);
  void apply_row(const AttributeChange& change);
  const TopicRow* row(std::uint64_t number) const;  // null: there is none
  // True if the attribute already has the requested value.
  bool has(const AttributeChange& change) const;

  // A scope change takes effect one deduplication window later, so that no window is broken. For
  // one more window, earlier sends are also looked up by the old scope.
  DeduplicationScope scope_in_force(Instant now) const;
  bool both_scopes_count(Instant now) const;
  // The scope has just been changed from what it was in `before`.
  void note_scope_change(const QueueConfig& before, Instant now);

  bool is_fifo() const { return number(Attribute::fifo_queue) == 1; }
  Durability durability() const { return Durability{number(Attribute::durability)}; }
  // The longest delay of a message. Where x-max-delay sets it, the retention of a delayed message
  // counts from its delivery time.
  Duration delay_limit() const {
    return ages_from_delivery() ? seconds(number(Attribute::max_delay)) : delay_max_default;
  }
  bool ages_from_delivery() const { return number(Attribute::max_delay) > 0; }
  // From a delivery to the end of its last visibility timeout.
  Duration visibility_limit() const {
    const std::int64_t own = number(Attribute::max_visibility);
    return own > 0 ? seconds(own) : visibility_max_default;
  }
  bool takes_own_among_attributes() const {
    return number(Attribute::attribute_channel) ==
           static_cast<std::int64_t>(AttributeChannel::message);
  }
  Duration delay() const { return seconds(number(Attribute::delay_seconds)); }
  Duration retention() const { return seconds(number(Attribute::message_retention_period)); }
  Duration replay_retention() const { return seconds(number(Attribute::replay_retention)); }
  Duration lag_target() const { return seconds(number(Attribute::lag_target)); }
  // The time to live of a message: the shorter of `own` and that of the queue; 0: none.
  Duration time_to_live(Duration own) const {
    const Duration all = seconds(number(Attribute::message_ttl));
    return own.ms == 0 || (all.ms != 0 && all < own) ? all : own;
  }
  bool moves_expired() const { return number(Attribute::dlq_on_expiry) == 1; }
  RetentionFrom retention_from() const { return RetentionFrom{number(Attribute::retention_from)}; }
  // Delayed messages do not hold their groups.
  bool passes_delayed() const {
    return FifoDelay{number(Attribute::fifo_delay)} == FifoDelay::pass;
  }
  DeadLetterAt dead_letter_at() const { return DeadLetterAt{number(Attribute::dead_letter_at)}; }
  // The end of a visibility timeout may do more than make the message visible.
  bool acts_at_lease_end() const {
    return dead_letter_at() == DeadLetterAt::lease_end || !text(Attribute::backoff_plan).empty();
  }
  Duration visibility() const { return seconds(number(Attribute::visibility_timeout)); }
  Duration wait() const { return seconds(number(Attribute::receive_message_wait_time_seconds)); }
};

using ConfigPtr = std::shared_ptr<const QueueConfig>;

// A queue as requested by CreateQueue.
struct QueueSpec {
  std::string account;
  std::string name;
  std::vector<AttributeChange> changes;
  Tags tags;
};

}  // namespace pawl

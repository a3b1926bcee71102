// SPDX-License-Identifier: Apache-2.0
// Identifiers of queues, shards, messages and log positions.
#pragma once

#include <compare>
#include <cstdint>

namespace pawl {

// A queue, for the life of a data directory: given out once, rising, never reused. 0 is no queue.
enum class QueueId : std::uint32_t { none = 0 };
inline constexpr std::uint32_t queue_ids_max = UINT32_MAX - 1;
constexpr std::uint32_t raw(QueueId id) { return static_cast<std::uint32_t>(id); }

// A shard: a log stream and the queues placed on it. Fixed when the data directory is made.
enum class ShardId : std::uint8_t {};
constexpr std::uint32_t raw(ShardId id) { return static_cast<std::uint32_t>(id); }
inline constexpr std::uint32_t shards_max = 64;
inline constexpr ShardId control_shard{0};  // the one writer of the directory of queues

// A message within its queue: dense, rising from 1, 48 bits. Never reused, across restarts too.
using Seq = std::uint64_t;
inline constexpr Seq seq_max = (Seq{1} << 48) - 1;
// The newest message a queue can have: the log writes the number after it in 48 bits, too.
inline constexpr Seq seq_newest_max = seq_max - 1;

// A byte of a shard's log, counted from the first one ever written: 64 bits, never used again.
using Lsn = std::uint64_t;

// The start of a message's record in its shard's log. The core keeps the low 48 bits; the log
// completes them from its end, which is less than 2^48 bytes ahead.
using LogPos = std::uint64_t;
inline constexpr LogPos log_pos_max = (LogPos{1} << 48) - 1;
inline constexpr LogPos log_pos_none =
    0;  // a multiple of 2^48 begins an extent, and no record does
constexpr LogPos log_pos(Lsn at) { return at & log_pos_max; }
// The last log position at or before `end` with the low bits of `position`.
constexpr Lsn full_position(LogPos position, Lsn end) {
  return end - ((end - position) & log_pos_max);
}

// 16 bytes shown to users as a UUID.
struct MessageId {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  bool operator==(const MessageId&) const = default;
};

// The hash of a user's text: a MessageGroupId, or the deduplication id of a message. Zero: none.
struct TextKey {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const TextKey&) const = default;
};

// The source of a message on its way to another queue. `seq` 0: none.
struct TransferKey {
  ShardId shard{};
  QueueId queue = QueueId::none;
  Seq seq = 0;
  auto operator<=>(const TransferKey&) const = default;
};

}  // namespace pawl

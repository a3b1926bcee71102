// SPDX-License-Identifier: Apache-2.0
// FAN_OUT: the messages of one turn that share a content, at most one a queue. Its bytes exist once
// in memory, in the log and on the disk; each message counts as a message at the record's position.
// So the record stays until its last message is gone, and no count of its own is needed.
//
//   head | count | layout | entries: queue, number [, delay] [, dedup key] [, subscription] | parts
//
// The entries have one size and rise by queue: a receive finds its own with a binary search.
//
// Limits: the entries take at most as many bytes as the content, or entries_bytes_min. So a receive
//         reads at most twice the content, or 4 KiB more.
// Errors: as in wal/format/records.h.
// Owner:  values; a FanOut points into the record.
// Source: wal/FORMAT.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/queue/effects.h"
#include "wal/format/record_types.h"

namespace pawl {

class Decoder;

// The number of the first records of `sends` that share a FAN_OUT of at most `bytes_max`; 1: the
// first one is a SEND.
std::size_t sharing(std::span<const SendRecord> sends, std::size_t bytes_max);
// The exact size of the record, aligned.
std::size_t fan_out_bytes(std::span<const SendRecord> run);
std::size_t encode_fan_out(std::byte* out, std::span<const SendRecord> run, std::uint64_t stream);
// The most bytes that a content for so many queues takes in the log.
std::uint64_t fan_out_bytes_max(const Content& content, std::size_t queues, std::size_t bytes_max);

class FanOut {
 public:
  static constexpr std::size_t entries_bytes_min = 4 << 10;
  enum Layout : std::uint8_t { has_delay = 1, has_dedup = 2, has_subscription = 4 };
  static constexpr std::size_t entry_bytes(std::uint8_t layout) {
    return 4 + 6 + (layout & has_delay ? 4 : 0) + (layout & has_dedup ? sizeof(TextKey) : 0) +
           (layout & has_subscription ? sizeof(MessageId) : 0);
  }

  // For wal/format/records.cc: the caller checks `in` afterwards.
  static FanOut read(Decoder& in, std::uint16_t fields);
  // A record written or verified by this process: CHECKs instead of errors, no hash.
  static FanOut trusted(const std::byte* record);

  std::size_t size() const { return entries_.size() / entry_bytes(layout_); }
  StoredMessage message(std::size_t i) const;
  std::optional<std::size_t> find(QueueId queue) const;
  const StoredMessage& common() const { return common_; }

  // Copies the record with the messages in `kept` alone, and with field_relocated.
  std::size_t encode_relocated(std::byte* out, std::span<const std::byte> record,
                               std::span<const std::size_t> kept, std::uint64_t stream) const;

 private:
  void parse(Decoder& in, std::uint16_t fields);
  QueueId queue(std::size_t i) const;

  StoredMessage common_;  // of no queue
  std::uint8_t layout_ = 0;
  std::span<const std::byte> entries_;
};

// --- a message in a record of either kind ---

// True: `bytes` begin with a whole SEND or FAN_OUT with the right hash.
bool is_whole_message(std::span<const std::byte> bytes, std::uint64_t stream);

// The queue's message in a SEND or FAN_OUT that this process wrote or verified. A SEND may be that
// of another queue; in a FAN_OUT without the queue's message, the result is of no queue.
StoredMessage trusted_message(const std::byte* record, QueueId queue);

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// A checkpoint: the state from all older records, rewritten in the log so that recovery can begin
// reading there.
//
//   begin_checkpoint -> checkpoint_slice, once a turn or less -> ... -> the last slice
//
// It is written in slices while requests continue. Recovery reads all its slices first, then the
// whole log from the position where the checkpoint began. Each record states a value, not a change,
// or concerns a message that no longer exists: records written between the beginning and a slice
// can be read again.
//
// A waiting message is a number and a position; a tracked message carries its state. No body is
// written again.
//
// Limits: ShardLimits::slice_entries messages, sends or queues a slice, so that a slice delays a
//         turn by at most 20 us.
// Owner:  records are values; the walk is the shard's.
// Source: wal/FORMAT.md, records 9 to 13, 18 and 21.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "core/base/ids.h"
#include "core/base/time.h"
#include "core/queue/effects.h"
#include "core/queue/queue.h"

namespace pawl {

// Messages of one queue that only wait, in rising order of number.
struct IndexEntriesRecord {
  struct Entry {
    Seq seq = 0;
    LogPos position = log_pos_none;
    bool operator==(const Entry&) const = default;
  };
  QueueId queue = QueueId::none;
  std::vector<Entry> entries;
};

// Tracked messages of one queue, in rising order of number.
struct TrackedMessagesRecord {
  using Entry = TrackedMessage;
  QueueId queue = QueueId::none;
  bool fifo = false;
  std::vector<Entry> entries;
};

// Send times of a queue's messages. The first record of a queue replaces the known times. With
// `ends`, `aged` are the ends of times to live; they follow the messages of the queue.
struct TimesRecord {
  QueueId queue = QueueId::none;
  bool first = false;
  Seq end = 0;  // first record only: one past the newest message in its buckets
  std::vector<SendTimes::Bucket> buckets = {};
  std::vector<AgedArrivals::Entry> aged = {};
  bool ends = false;
  bool operator==(const TimesRecord&) const = default;
};

// Deduplication entries of a FIFO queue, oldest first.
struct DedupRecord {
  QueueId queue = QueueId::none;
  std::vector<Dedup::Entry> entries;
};

// Producers of a standard queue, by rising id and sequence; one with several runs has several
// entries.
struct ProducersRecord {
  QueueId queue = QueueId::none;
  std::vector<Producers::Entry> entries;
};

// The newest fires of schedules to one queue, by rising schedule.
struct FiresRecord {
  QueueId queue = QueueId::none;
  std::vector<Fires::Entry> entries;
};

// A message from another queue, which may not know yet that the message has arrived.
struct UnsettledTransferRecord {
  TransferKey from;
  QueueId queue = QueueId::none;
  std::uint32_t task = 0;
  bool operator==(const UnsettledTransferRecord&) const = default;
};

using CheckpointRecord =
    std::variant<IndexEntriesRecord, TrackedMessagesRecord, TimesRecord, DedupRecord,
                 UnsettledTransferRecord, ProducersRecord, FiresRecord>;

// The records of one append, in this order.
struct CheckpointSlice {
  std::vector<ConfigRecord> configs;
  std::vector<HeadRecord> heads;
  std::vector<PurgeRecord> purges;
  std::vector<TaskRecord> tasks;
  std::vector<ReplayRecord> replays;
  std::vector<CheckpointRecord> records;
  std::vector<LogPos> freed;  // obsolete records
};

// Progress of the walk over the shard.
struct CheckpointWalk {
  enum class Part : std::uint8_t {
    settings,
    aged,
    dedup,
    producers,
    fires,
    pending,
    messages,
    ttl_ends
  };

  bool begun = false;
  bool names_done = false;
  ConfigPtr name;                 // last name of DeletedNames written; null: none yet
  QueueId queue = QueueId::none;  // continue at this queue or the next one
  Part part = Part::settings;
  Seq seq = 0;  // continue at this number or the next, in dedup or messages
  AgedArrivals::Entry aged = AgedArrivals::before_all;  // continue behind this entry
  Producers::Cursor producer;                           // and behind this one
  QueueId schedule = QueueId::none;                     // in fires: at this one
  Calendar::Cursor pending;                             // and here
};

}  // namespace pawl

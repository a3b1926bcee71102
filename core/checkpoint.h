// A checkpoint: what a start needs of everything that is older, said anew in the log, so that it may begin to read
// there.
//
//   begin_checkpoint -> checkpoint_slice, once a turn or less -> ... -> the last slice
//
// It is written in slices while requests go on. A start reads all its slices first and then the whole log from
// where it began: each record says what is, not what changes, or is about a message that is not there any more, so
// what happened between a slice and the beginning may well be read again.
//
// Messages that only wait are said by number and position; the few that have a state of their own bring it along. No
// body is written again.
//
// Limits: ShardLimits::slice_entries messages, sends or queues a slice, so that none delays a turn by more than 20 us.
// Owner:  records are values; the walk is the shard's.
// Source: wal/FORMAT.md, records 9 to 13.
#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

#include "core/effects.h"
#include "core/ids.h"
#include "core/queue.h"
#include "core/time.h"

namespace pawl {

// Messages of one queue that only wait, in rising order of number.
struct PlacesRecord {
  struct Entry {
    Seq seq = 0;
    LogPos position = log_pos_none;
    bool operator==(const Entry&) const = default;
  };
  QueueId queue = QueueId::none;
  std::vector<Entry> entries;
};

// Messages of one queue with a state of their own, in rising order of number.
struct StatesRecord {
  using Entry = MessageState;
  QueueId queue = QueueId::none;
  bool fifo = false;
  std::vector<Entry> entries;
};

// When the messages of a queue were sent. The first of a queue takes the place of what was known.
struct TimesRecord {
  QueueId queue = QueueId::none;
  bool first = false;
  Seq end = 0;  // of the first: one past the newest that its buckets count
  std::vector<SendTimes::Bucket> buckets = {};
  std::vector<AgedArrivals::Entry> aged = {};
  bool operator==(const TimesRecord&) const = default;
};

// What a FIFO queue deduplicates by, oldest first.
struct DedupRecord {
  QueueId queue = QueueId::none;
  std::vector<Dedup::Entry> entries;
};

// A message that came from another queue, which may not know yet that it has arrived.
struct UnsettledRecord {
  TransferKey from;
  QueueId queue = QueueId::none;
  std::uint32_t task = 0;
  bool operator==(const UnsettledRecord&) const = default;
};

using CheckpointRecord =
    std::variant<PlacesRecord, StatesRecord, TimesRecord, DedupRecord, UnsettledRecord>;

// What is appended at a time, in this order.
struct CheckpointSlice {
  std::vector<ConfigRecord> configs;
  std::vector<HeadRecord> heads;
  std::vector<PurgeRecord> purges;  // everything below is gone
  std::vector<TaskRecord> tasks;
  std::vector<ReplayRecord> replays;
  std::vector<CheckpointRecord> records;
  std::vector<LogPos> freed;  // records that nobody needs any more
};

// How far the walk over the shard has come.
struct CheckpointWalk {
  enum class Part : std::uint8_t { settings, aged, dedup, messages };

  bool begun = false;
  bool names_done = false;
  ConfigPtr name;                 // of DeletedNames, the last one written; null: none yet
  QueueId queue = QueueId::none;  // this one or the next there is
  Part part = Part::settings;
  Seq seq = 0;  // this one or the next, of dedup or of messages
  AgedArrivals::Entry aged = AgedArrivals::before_all;  // those behind it
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// Replay tasks: they send a queue's earlier messages again, also deleted or expired ones.
//
//   running --all sent--> completed
//      \--cancelled by request--> cancelled      \--cannot go on--> failed
//
// A task belongs to its source queue and lives on that queue's shard and in its log. After a
// restart it continues from its last durable position. Replayed messages are new messages. After a
// crash the last ones, at most replay_batch_max, may be sent twice; a FIFO queue recognizes them
// for five minutes. Messages whose send was never acknowledged before a crash may be replayed too.
//
// The log keeps messages for the longest x-replay-retention of the shard's queues (wal/SPACE.md).
// net/engine/replayer.h reads them and sends them again.
//
// Units:  rate in messages a second; Instant ms.
// Limits: one running task a source, and one at a time of a shard; replays_kept of a source are
//         remembered.
// Errors: Status::failed with no_such_queue: the destination is deleted, or is of the other kind.
//         Unreadable log bytes are skipped and counted.
// Owner:  core/shard/shard.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/ids.h"
#include "core/base/result.h"
#include "core/base/time.h"

namespace pawl {

inline constexpr std::size_t replays_kept = 10;
inline constexpr std::uint32_t replay_rate_max = 1'000'000;
inline constexpr std::size_t replay_filter_bytes_max = 4096;
inline constexpr std::size_t replay_batch_max = 64;                 // messages under way
inline constexpr std::int64_t replay_retention_max_s = 31'536'000;  // a year, as x-replay-retention

struct ReplayTask {
  enum class Status : std::uint8_t { running, completed, cancelled, failed };

  QueueId source = QueueId::none;
  std::uint32_t number = 0;  // of the source's tasks, rising from 1
  Status status = Status::running;
  Errc failure = Errc::ok;
  std::uint32_t rate = 0;  // 0: as fast as the destination takes them
  Instant from, to;        // send times: `from` inclusive, `to` exclusive
  Instant started;
  std::uint64_t sent = 0;        // replayed messages
  std::uint64_t unreadable = 0;  // skipped bytes of the log: damaged, or no longer there
  LogPos position = 0;           // all selected messages before it have been sent
  LogPos end = 0;                // end of the log when the task was started
  std::string destination;       // format: QueueName::text()
  std::string filter;            // a filter policy (proto/sns/filter_policy.h); empty: all
  bool copies = false;           // also replays messages sent by replay tasks

  bool operator==(const ReplayTask&) const = default;
};

// A step of a task: the number of messages sent again durably. All selected messages before
// `position` have been sent.
struct ReplayStep {
  LogPos position = 0;
  std::uint64_t sent = 0;
  std::uint64_t unreadable = 0;
};

// The new state of a task; or only the progress of a known task: number, `sent`, `unreadable` and
// `position`.
struct ReplayRecord {
  ReplayTask task;
  bool progress = false;
};

// Parameters and results of start_replay, cancel_replay and list_replays.
struct ReplayParams {
  std::string_view destination;   // start: see ReplayTask
  std::string_view filter;        // start
  bool copies = false;            // start
  std::uint32_t rate = 0;         // start: 0..replay_rate_max
  Instant from, to;               // start; to 0: now
  LogPos position = 0, end = 0;   // start; filled in by the log's shard
  std::uint32_t number = 0;       // in of cancel, out of start
  std::uint64_t sent = 0;         // out of cancel
  std::vector<ReplayTask> tasks;  // out of list: newest first
};

}  // namespace pawl

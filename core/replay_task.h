// Replay tasks: what was sent to a queue is sent again, also what was deleted or expired since.
//
//   running --all sent--> completed
//      \--cancelled by request--> cancelled      \--cannot go on--> failed
//
// A task belongs to the queue whose messages it sends again and lives on that queue's shard, in its log too: it goes on
// after a restart from where it durably was. What it sends are new messages. After a crash those that it sent last, at
// most replay_batch_max, may be sent twice; a FIFO queue recognizes them for five minutes. What was sent
// and never acknowledged before a crash may be among them.
//
// The log keeps messages for the longest x-replay-retention of the shard's queues (wal/README.md).
// net/engine/replayer.h reads them and sends them again.
//
// Units:  rate in messages a second; Instant ms.
// Limits: one running task a source, and one at a time of a shard; replays_kept of a source are remembered.
// Errors: Status::failed with no_such_queue: the destination has gone, or is of the other kind. What cannot be read is
//         passed over, and counted.
// Owner:  core/shard.h.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "core/result.h"
#include "core/time.h"

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
  Instant from, to;        // what was sent from the one on, and before the other
  Instant started;
  std::uint64_t sent = 0;  // again
  std::uint64_t unreadable =
      0;                // bytes of the log that were passed over: damaged, or not there any more
  LogPos position = 0;  // what is wanted of the log before it has been sent
  LogPos end = 0;       // where the log ended when it was started
  std::string destination;  // as QueueName::text() has it
  std::string filter;       // a filter policy as proto/filter_policy.h says; empty: all
  bool copies = false;      // what replay tasks have sent is sent again too

  bool operator==(const ReplayTask&) const = default;
};

// A step of a task: so many more were sent again, durably, all that is wanted before `position` has been.
struct ReplayStep {
  LogPos position = 0;
  std::uint64_t sent = 0;
  std::uint64_t unreadable = 0;
};

// A task as it is from now on; or, of a known one, just how far it is: number, `sent`, `unreadable` and `position`.
struct ReplayRecord {
  ReplayTask task;
  bool progress = false;
};

// What start_replay, cancel_replay and list_replays say and hear.
struct ReplayParams {
  std::string_view destination;   // start: see ReplayTask
  std::string_view filter;        // start
  bool copies = false;            // start
  std::uint32_t rate = 0;         // start: 0..replay_rate_max
  Instant from, to;               // start; to 0: now
  LogPos position = 0, end = 0;   // start; filled in where the log is
  std::uint32_t number = 0;       // in of cancel, out of start
  std::uint64_t sent = 0;         // out of cancel
  std::vector<ReplayTask> tasks;  // out of list: newest first
};

}  // namespace pawl

// SPDX-License-Identifier: Apache-2.0
// The model's records of replay tasks and of copies, the messages that these tasks send.
//
// Copies are numbered separately, behind copy_mark, to tell them from the messages of clients.
//
// Units: Instant of the broker's clock; steps are turns.
// Owner: the model.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/base/time.h"
#include "core/queue/replay_task.h"
#include "tests/sim/call.h"

namespace pawl::sim {

inline constexpr std::uint32_t copy_mark = 0x8000'0000;

constexpr bool is_copy(std::uint32_t id) { return id >= copy_mark && id != UINT32_MAX; }
constexpr bool is_message(std::uint32_t id) { return id < copy_mark; }

// A message that a replay task has sent and a client has received.
struct Copy {
  std::uint32_t queue = 0, original = 0;
  Seq seq = 0;
  std::uint64_t seen_step = 0;  // 0: not judged yet
  Instant until;                // it is visible again by then
  bool gone = false;            // its delete or a purge has a response
};

// A start of a replay task that was requested and not refused.
struct ReplayRow {
  const Call* call = nullptr;  // set while the start is under way
  std::uint32_t number = 0;    // number of the task; 0: unknown
  bool answered = false;       // the start has a response, so it is durable
  bool lost = false;           // a crash came before the start was durable
  std::string destination;
  std::uint32_t rate = 0;
  bool copies = false;
  bool odd = false;                      // the filter selects odd message numbers only
  Instant asked_from, asked_to = never;  // interval in the request
  // Interval of send times, `to` excluded: messages that the task may send again.
  Instant from, to = never;
  Instant kept_from = never;  // messages sent since then are in the log for sure
  std::uint64_t asked_step = 0;
  std::uint64_t crashes = 0;  // crashes while it may have been running
  bool damaged = false;       // a bit of a file flipped while it may have been running
  std::optional<ReplayTask> seen;
  std::uint64_t seen_step = 0;

  // Sets the interval from `seen` or from the request, when the row turns out to belong to another
  // task.
  void find_interval() {
    from = seen ? seen->from : asked_from;
    to = seen ? seen->to : asked_to;
  }
  bool ended() const { return seen && seen->status != ReplayTask::Status::running; }
  bool may_run() const { return number != 0 ? !ended() : !lost; }
};

// Replay state of a queue, as a source or as a destination.
struct ReplaysOfQueue {
  std::vector<ReplayRow> rows;  // in the order of the requests
  std::uint32_t starts = 0;     // start requests under way
  std::uint64_t listed_step = 0;
  Range retention;             // x-replay-retention, s
  Instant kept_since = never;  // see ReplayRow::kept_from
  // All messages that clients ever sent here, with their times.
  std::unordered_map<std::uint32_t, Instant> sent;
  bool relaxed = false;                 // its durability was not always fsync
  bool lossy = false;                   // it was purged or deleted, or may have been
  std::map<Seq, std::uint32_t> copies;  // copies received from here
  // FIFO: for each task, positions in the log and the highest number of the copy from each
  // position.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint64_t, Seq>> places;
};

}  // namespace pawl::sim

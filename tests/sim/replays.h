// What the model knows of replay tasks and of the messages that they send: the copies.
//
// A copy has a number of its own for the model, behind copy_mark, so that it is told from the messages of clients.
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

#include "core/replay_task.h"
#include "core/time.h"
#include "tests/sim/call.h"

namespace pawl::sim {

inline constexpr std::uint32_t copy_mark = 0x8000'0000;

constexpr bool is_copy(std::uint32_t id) { return id >= copy_mark && id != UINT32_MAX; }
constexpr bool is_message(std::uint32_t id) { return id < copy_mark; }

// A message that a replay task has sent and a client has received.
struct Copy {
  std::uint32_t queue = 0, original = 0;
  Seq seq = 0;
  std::uint64_t seen_step = 0;  // 0: it is not judged yet
  Instant until;                // it is visible again by then
  bool gone = false;            // its delete or a purge was answered
};

// A start of a replay task that was asked for and not refused.
struct ReplayRow {
  const Call* call = nullptr;  // while it is under way
  std::uint32_t number = 0;    // 0: not known
  bool answered = false;       // so it is durable
  bool lost = false;           // a crash came before its start was durable
  std::string destination;
  std::uint32_t rate = 0;
  bool copies = false;
  bool odd = false;                      // wants messages of odd numbers alone
  Instant asked_from, asked_to = never;  // the request said so
  // What was sent from the one on and before the other may come again.
  Instant from, to = never;
  Instant kept_from = never;  // what was sent since then is in the log for sure
  std::uint64_t asked_step = 0;
  std::uint64_t crashes = 0;  // while it may have been running
  bool damaged = false;       // a bit of a file had flipped meanwhile
  std::optional<ReplayTask> seen;
  std::uint64_t seen_step = 0;

  // A row needs this when it turns out to belong to another task.
  void find_interval() {
    from = seen ? seen->from : asked_from;
    to = seen ? seen->to : asked_to;
  }
  bool ended() const { return seen && seen->status != ReplayTask::Status::running; }
  bool may_run() const { return number != 0 ? !ended() : !lost; }
};

// What a queue knows of replays, as their source or as their destination.
struct ReplaysOfQueue {
  std::vector<ReplayRow> rows;  // in the order in which they were asked for
  std::uint32_t starts = 0;     // requests under way
  std::uint64_t listed_step = 0;
  Range retention;                                  // seconds
  Instant kept_since = never;                       // see ReplayRow::kept_from
  std::unordered_map<std::uint32_t, Instant> sent;  // all that clients ever sent here
  bool relaxed = false;                             // it was not always fsync
  bool lossy = false;                               // it was purged, or may have been
  std::map<Seq, std::uint32_t> copies;              // that were received from here
  // FIFO: where the tasks' messages were in the log, and the highest number that each got here.
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::map<std::uint64_t, Seq>> places;
};

}  // namespace pawl::sim

// Call: a request with the memory it refers to, and what the simulator knows about its way.
//
//   under way --(decided by its shard)--> answered | cancelled
//
// Units:  steps are the turns of all shards, in the order in which they were run.
// Owner:  the clients; a call lives as long as the broker runs, so that a second answer is noticed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <forward_list>
#include <set>
#include <string>
#include <vector>

#include "core/request.h"

namespace pawl::sim {

// Numbers of which one is true, both ends included.
struct Range {
  std::int64_t low = 0, high = 0;
  bool exact() const { return low == high; }
  bool holds(std::int64_t value) const { return low <= value && value <= high; }
  void widen(std::int64_t value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

struct Call {
  enum class State : std::uint8_t { under_way, answered, cancelled };

  Request request;
  Op op = Op::none;  // as it was asked; the request's own may become undeliver
  State state = State::under_way;
  std::uint64_t number = 0;
  std::uint32_t client = 0;
  ShardId home{}, target{};
  std::uint32_t queue = 0;  // row of the model; not for create_queue

  // The memory.
  std::vector<SendEntry> sends;
  std::vector<ReceiptEntry> receipts;
  std::vector<Delivery> deliveries;
  std::forward_list<std::string>
      texts;  // of `deliveries`, for the model: contents do not outlive the turn
  std::vector<AttributeChange> changes;
  QueueSpec spec;
  std::string destination;  // of start_move and start_replay
  std::string filter;       // of start_replay
  ReplayParams replay;
  std::string attempt_text;   // of a receive
  std::uint32_t attempt = 0;  // its number; 0: none
  // The messages that `sends` or `receipts` are about; of what was delivered once it is known.
  std::vector<std::uint32_t> messages;
  std::vector<Seq> seqs;             // of what was delivered
  std::vector<std::uint64_t> names;  // content.attributes of `sends`
  std::size_t undecided = 0;         // of `sends`, for all the model knows

  // When.
  std::uint64_t asked_step = 0;  // turns up to this one came before it
  Instant asked_at;
  Instant fired_when_asked;  // timers of the target
  bool exact = false;        // decided in the very next turn of the target
  std::uint64_t decided_step = 0;
  Instant decided_at;

  Range wait;  // ms, of a receive
  std::set<std::uint32_t>
      in_time;  // messages that had surely not begun to move when the delete was decided

  bool abandoned = false;  // the client has gone: nobody reads the answer
  bool applied = false;    // the model knows what it delivered
  std::uint64_t delivered_step = 0;
  bool again = false;               // a receive that got what the same attempt had got before
  std::uint64_t starts_before = 0;  // start_move: so many had been asked for, this one included
  // When it was asked: start_move and start_replay, a task may have been running; list and cancel, a start was under way.
  bool was_busy = false;
  bool alone = false;  // nothing else was under way but parked long polls
};

}  // namespace pawl::sim

// SPDX-License-Identifier: Apache-2.0
// Call: a request, the memory it refers to, and the simulator's record of its progress.
//
//   under way --(decided by its shard)--> answered | cancelled
//
// Units:  steps are turns, numbered in the order in which all shards ran them.
// Owner:  the clients; a call lives as long as the broker runs, to detect a second response.
#pragma once

#include <algorithm>
#include <cstdint>
#include <forward_list>
#include <set>
#include <string>
#include <vector>

#include "core/queue/request.h"

namespace pawl::sim {

// Bounds of an unknown number, both ends included.
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
  Op op = Op::none;  // as submitted; the request's own op may become undeliver
  State state = State::under_way;
  std::uint64_t number = 0;
  std::uint32_t client = 0;
  ShardId home{}, target{};
  std::uint32_t queue = 0;  // row of the model; unused by create_queue and list_queues

  // Memory that the request refers to.
  std::vector<SendEntry> sends;
  std::vector<ReceiptEntry> receipts;
  std::vector<Delivery> deliveries;
  // Copies of texts in `deliveries` for the model: contents do not outlive the turn.
  std::forward_list<std::string> texts;
  std::vector<AttributeChange> changes;
  QueueSpec spec;
  std::string destination;  // for start_move and start_replay
  std::string filter;       // for start_replay
  ReplayParams replay;
  QueueSlice slice;  // for list_queues
  PeekSlice peek;
  std::string attempt_text;   // attempt id of a receive
  std::uint32_t attempt = 0;  // number of the attempt; 0: none
  // Messages that `sends` or `receipts` name; for a receive the delivered messages, once known.
  std::vector<std::uint32_t> messages;
  std::vector<Seq> seqs;             // of the delivered messages
  std::vector<std::uint64_t> names;  // content.attributes of `sends`
  std::uint32_t sender = 0;          // number of the producer; 0: none
  std::uint64_t connection = 0;      // of the producer, when the call began
  // take_numbers: `names` are the numbers of the texts.
  std::vector<Seq> numbers_known;  // to the model, 0 before
  bool waits_for_numbers = false;
  // A fan_out is one call for each queue; the request is that of the first.
  std::vector<FanOutTarget> targets;  // of the first
  Call* shared_by = nullptr;          // the first
  std::size_t place = 0;              // in its targets
  std::size_t undecided = 0;          // sends without a decision that the model knows

  // Times of the request and of its decision.
  std::uint64_t asked_step = 0;  // turns up to this one ended before the request
  Instant asked_at;
  Instant fired_when_asked;  // timers of the target shard, at the request
  bool exact = false;        // the target's very next turn decides the call
  std::uint64_t decided_step = 0;
  Instant decided_at;

  Range wait;  // ms, wait time of a receive
  // Messages that had surely not begun to move when the delete was decided.
  std::set<std::uint32_t> in_time;

  bool abandoned = false;  // the client disconnected: nobody reads the response
  bool applied = false;    // the model knows the deliveries
  std::uint64_t delivered_step = 0;
  bool again = false;  // a receive that repeats an earlier one of its attempt
  // start_move: number of starts requested for the queue so far, this one included.
  std::uint64_t starts_before = 0;
  // State at the request: for start_move and start_replay, a task may have been running; for list
  // and cancel, a start was under way.
  bool was_busy = false;
  bool alone = false;  // only parked long polls were under way at the request
};

// The address of the call's client; 1 is no client's.
inline std::uint8_t consumer_of(const Call& call) {
  return static_cast<std::uint8_t>(call.client + 2);
}

}  // namespace pawl::sim

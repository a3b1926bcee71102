// SPDX-License-Identifier: Apache-2.0
// LoadFigures: the counts and latencies of one thread of a load, by round and by second.
//
//   time:  start --warm-up--> round 1 --> round 2 ... --> last round, with the late responses
//
// A round that is over by time begins the next one. The last round has no end by time: responses
// after the deadline count in it. interrupt() makes the present round the last one, or the warm-up.
// Seconds are counted from the end of the warm-up.
//
// Units:  nanoseconds of CLOCK_MONOTONIC, messages.
// Errors: none.
// Owner:  a Run (bench/load_run.h). begin() comes first, finish() last; then the results are valid.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bench/histogram.h"
#include "bench/load_result.h"

namespace pawl::load {

// A second of one thread, or of all threads.
struct Interval {
  std::uint64_t second = 0;  // counted from the end of the warm-up
  std::uint64_t messages = 0;
  std::uint64_t errors = 0;
  const Histogram* latency = nullptr;
};

// Called after each second of a thread, or of all threads.
using SecondPassed = std::function<void(const Interval&)>;

class LoadFigures {
 public:
  explicit LoadFigures(std::uint32_t rounds);

  // The warm-up is the time from `start` to `measured`, none if they are equal. The rounds share
  // the time from there to `deadline` evenly.
  void begin(std::uint64_t start, std::uint64_t measured, std::uint64_t deadline);
  void record(std::uint64_t latency) { fresh_.record(latency); }
  void count_good(std::uint32_t messages, std::uint64_t now);
  void count_failed(std::uint64_t messages, const std::string& reason);
  // Ends the rounds and the seconds that are over.
  void advance(std::uint64_t now, const SecondPassed& second_passed);
  // An interruption: the present round is the last one, and incomplete.
  void interrupt();
  void finish(std::uint64_t now);

  std::uint64_t next_end() const;  // of a round or a second, whichever is first
  std::uint64_t messages() const { return messages_; }

  // Results. `rounds` of them, without the warm-up; after an interruption those from
  // complete_rounds() on are incomplete or empty.
  const LoadRound* rounds() const { return rounds_.data() + 1; }
  std::uint32_t complete_rounds() const { return complete_rounds_; }
  // Refusals by reason, the warm-up's too.
  const std::map<std::string, std::uint64_t>& reasons() const { return reasons_; }

 private:
  void end_round(std::uint64_t now);
  void end_second(const SecondPassed& second_passed);

  std::uint64_t measured_ = 0, deadline_ = 0;
  std::uint64_t round_begin_ = 0, round_end_ = 0, next_report_ = 0, last_progress_ = 0;
  std::uint64_t messages_ = 0, errors_ = 0;
  std::uint64_t reported_messages_ = 0, reported_errors_ = 0;
  std::map<std::string, std::uint64_t> reasons_;
  std::vector<LoadRound> rounds_;  // the first is the warm-up
  std::uint32_t round_ = 0;        // the present one
  std::uint32_t complete_rounds_;
  // Latencies since the last report or end of a round; of this second before that end.
  Histogram fresh_, second_;
};

}  // namespace pawl::load

// SPDX-License-Identifier: Apache-2.0
// The result of a load: its rounds, its seconds, its counts.
//
// Units:  nanoseconds in histograms; seconds.
// Owner:  the caller of run_threads().
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "bench/histogram.h"
#include "bench/load_delivery.h"

namespace pawl::load {

constexpr double microseconds(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }

struct LoadRound {
  Histogram latency;
  std::uint64_t messages = 0;
  std::uint64_t errors = 0;
  double seconds = 0;

  double per_second() const { return seconds > 0 ? static_cast<double>(messages) / seconds : 0; }
};

// A second of the measured time, of all threads. Latencies in microseconds.
struct LoadSecond {
  std::uint64_t messages = 0;
  std::uint64_t errors = 0;
  double p50_us = 0, p99_us = 0, max_us = 0;
};

// A rate of a ramp.
struct RampStep {
  double rate = 0;        // asked for, messages per second
  double per_second = 0;  // reached
  double p50_us = 0, p99_us = 0;
  std::uint64_t errors = 0;
  bool held = false;
};

struct LoadResult {
  LoadRound total;                // of all rounds, the interrupted one too
  std::vector<LoadRound> rounds;  // complete ones, without the warm-up
  std::vector<LoadSecond> seconds;
  std::map<std::string, std::uint64_t> reasons;  // of refusals, the warm-up's too
  std::optional<DeliveryCounts> deliveries;      // with --verify
  std::vector<RampStep> ramp;                    // with --ramp; the rest is of its last held step
  bool interrupted = false;                      // a signal ended the load before its time
  bool created = false;                          // the load created its queue
  std::vector<std::string> notes;                // sentences for the summary
  std::string fault;                             // a connection broke; empty: the run is complete

  // False: no response arrived in the measured time.
  bool measured() const { return total.messages > 0 || total.errors > 0; }
};

}  // namespace pawl::load

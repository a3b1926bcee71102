// SPDX-License-Identifier: Apache-2.0
// SecondsOfThreads: joins the seconds that the threads of a load report into those of the load.
//
// A thread passes its seconds in their order, one after another. A second is complete when each
// thread has passed it or has ended; complete seconds are reported once, in their order.
//
// Units:  seconds, counted from the end of the warm-up.
// Errors: none.
// Owner:  run_threads() (bench/load_team.h). Any thread may call passed() and ended().
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "bench/histogram.h"
#include "bench/load_figures.h"

namespace pawl::load {

class SecondsOfThreads {
 public:
  // `complete` is called by one thread at a time, and must outlive this object.
  SecondsOfThreads(std::uint32_t threads, const SecondPassed& complete);

  void passed(std::uint32_t thread, const Interval& interval);
  void ended(std::uint32_t thread);  // passes no more seconds

 private:
  struct Sum {
    std::uint64_t messages = 0;
    std::uint64_t errors = 0;
    Histogram latency;
  };

  void report_complete();

  std::mutex mutex_;
  std::vector<std::uint64_t> passed_;  // the last second of each thread; 0: none
  const SecondPassed& complete_;
  std::map<std::uint64_t, Sum> sums_;  // of the seconds that are not complete
};

}  // namespace pawl::load
